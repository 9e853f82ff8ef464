import { evictAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, it, vi } from "vitest";
import { runAlarm } from "../../../support/alarm.ts";
import { byNumber, IN_ACME } from "../../../support/by-number.ts";
import { type Answer, call, codeOf, invalid, pagesOf } from "../../../support/client.ts";
import { NOW } from "../../../support/clock.ts";
import { CREDENTIAL_PATTERN } from "../../../support/credential-pattern.ts";
import { logLines } from "../../../support/each-test.ts";
import { countRows } from "../../../support/rows.ts";
import { inEnvironment, issueKey, issueOperator, newIntegrator, operator, withKey } from "../../../support/states.ts";
import { inDirectory } from "../../../support/storage.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

// biome-ignore lint/suspicious/noExplicitAny: a test asserts what is in an event, whatever its type.
type Event = any;

const list = (credential: string, query: Record<string, string> = {}): Promise<Answer> =>
  call("GET", `/api/events?${new URLSearchParams(query)}`, { credential });

/** All events of a feed, page by page. */
const feed = async (credential: string, query: Record<string, string> = {}): Promise<Event[]> =>
  (await pagesOf((cursor) => list(credential, { ...query, ...cursor }))).flatMap(({ body }) => body.events);

/** Makes one change of every kind, and calls that change nothing in between. */
async function changeEverything() {
  const { key, get, put, rotate, remove } = await newIntegrator();
  const manage = (method: string, path: string) => call(method, path + inEnvironment(), { credential: operator });
  const { token } = (await get({ user_group_id: "acme", properties: { secret: "value-of-a-property" } })).body
    .user_group;
  await get({ user_group_id: "acme", name: "ignored" });
  await put({ user_group_id: "acme", name: "Acme", mapping: { sales: "value-of-a-mapping" } });
  await put({ user_group_id: "acme", name: "Acme" });
  await put({ user_group_id: "unknown", name: "x" });
  await put({ user_group_id: "acme", new_user_group_id: "acme-2" });
  const rotated = await rotate(token, {}, withKey("k"));
  await rotate(token, {}, withKey("k"));
  await rotate(token);
  await issueKey({ name: "other" });
  await manage("POST", "/api/keys/2/roll");
  await manage("DELETE", "/api/keys/3");
  await manage("DELETE", "/api/keys/3");
  const { token: current } = rotated.body.user_group;
  await remove(current, { user_group_id: "other" });
  await remove(current);
  return { key, token, current };
}

const EVERYTHING = [
  {
    type: "api_key.issued",
    api_key: { id: 1, name: "backend" },
    actor: { kind: "operator", id: null, name: "bootstrap" },
  },
  { type: "user_group.created", user_group: { team_id: 1, provided_id: "acme" } },
  { type: "user_group.updated", user_group: { team_id: 1, provided_id: "acme" }, changed: ["name", "mapping"] },
  {
    type: "user_group.updated",
    user_group: { team_id: 1, provided_id: "acme-2" },
    changed: ["provided_id"],
    previous_provided_id: "acme",
  },
  { type: "user_group.token_rotated", actor: { kind: "api_key", id: 1, name: "backend" } },
  { type: "api_key.issued", api_key: { id: 2, name: "other" } },
  { type: "api_key.rolled", api_key: { id: 2, name: "other" }, successor_id: 3 },
  { type: "api_key.revoked", api_key: { id: 3, name: "other" } },
  { type: "user_group.deleted", user_group: { team_id: 1, provided_id: "acme-2" } },
];

it("has exactly one event for each change, in order, at any page size", async ({ expect }) => {
  const { key } = await changeEverything();
  for (const limit of ["1", "7", "100"]) {
    const events = await feed(key, { limit });
    expect(events).toMatchObject(EVERYTHING);
    expect(events).toHaveLength(EVERYTHING.length);
    expect(events.map(({ id }) => id)).toEqual(EVERYTHING.map((_, index) => index + 1));
  }
});

it("holds no token, no key, and no value of a mapping or a property", async ({ expect }) => {
  const { key, token, current } = await changeEverything();
  const text = JSON.stringify(await feed(key));
  expect(text).not.toMatch(CREDENTIAL_PATTERN);
  for (const secret of [key, token, current, "value-of"]) expect(text).not.toContain(secret);
});

it("filters by type and by group, under both ids of a renamed one", async ({ expect }) => {
  const { key } = await changeEverything();
  expect((await feed(key, { type: "api_key.issued" })).map(({ id }) => id)).toEqual([1, 6]);
  expect((await feed(key, { user_group_id: "acme" })).map(({ id }) => id)).toEqual([2, 3, 4]);
  expect((await feed(key, { user_group_id: "acme-2", limit: "1" })).map(({ id }) => id)).toEqual([4, 5, 9]);
});

it("examines 1,000 events a page for a filter, so that a page may be empty", async ({ expect }) => {
  const { key, get } = await newIntegrator();
  await inDirectory(({ sql }) =>
    sql.exec(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
        INSERT INTO events (at, type, actor, request_id, details) SELECT 1, 'api_key.revoked', '{}', 'r', '{}' FROM n`,
    ),
  );
  await get({ user_group_id: "needle" });
  const first = await list(key, { user_group_id: "needle" });
  expect(first.body).toMatchObject({ events: [], has_more: true });
  expect(await feed(key, { user_group_id: "needle" })).toMatchObject([{ type: "user_group.created" }]);
});

it("a poller beside 50 writers gets the events of a full read", async ({ expect }) => {
  const { key, get, put } = await newIntegrator();
  const writers = Array.from({ length: 50 }, async (_, writer) => {
    for (const name of ["a", "b", "c"]) {
      await get({ user_group_id: `group ${writer}` });
      await put({ user_group_id: `group ${writer}`, name });
    }
  });
  let isWriting = true;
  const written = Promise.all(writers).finally(() => (isWriting = false));
  const polled: Event[] = [];
  let cursor: string | undefined;
  for (let more = true; isWriting || more; ) {
    const { body } = await list(key, { limit: "7", ...(cursor !== undefined && { cursor }) });
    polled.push(...body.events);
    [cursor, more] = [body.next_cursor, body.has_more];
  }
  await written;
  expect(polled).toEqual(await feed(key));
  expect(polled).toHaveLength(1 + 50 * 4);
});

describe("cursor", () => {
  it("latest returns no event, and is followed by later ones", async ({ expect }) => {
    const { key, get } = await newIntegrator();
    const { body } = await list(key, { cursor: "latest" });
    expect(body).toMatchObject({ events: [], has_more: false });
    await get({ user_group_id: "acme" });
    const next = await list(key, { cursor: body.next_cursor });
    expect(next.body.events).toMatchObject([{ type: "user_group.created" }]);
    expect((await list(key, { cursor: next.body.next_cursor })).body).toMatchObject({ events: [], has_more: false });
  });

  it("of another environment, of a list, or changed is 422", async ({ expect }) => {
    const { key, tokenOf } = await newIntegrator();
    for (const id of ["a", "b"]) await tokenOf(id);
    const foreign = (await list(await issueKey({ environment: "Customer" }), { cursor: "latest" })).body.next_cursor;
    const ofList = (await call("GET", "/api/user_groups?limit=1", { credential: key })).body.next_cursor;
    for (const cursor of [foreign, ofList, "", "x", `${foreign}A`])
      expect(await list(key, { cursor })).toMatchObject(invalid("cursor"));
  });

  it("of a database that was created again is 410 cursor_expired", async ({ expect }) => {
    const key = await issueKey();
    const { next_cursor: cursor } = (await list(key, { cursor: "latest" })).body;
    await inDirectory(({ sql }) => sql.exec("UPDATE feed SET incarnation = 'another'"));
    expect(codeOf(await list(key, { cursor }))).toEqual([410, "cursor_expired"]);
  });

  it("ahead of the newest event is 410 cursor_expired", async ({ expect }) => {
    const { key, get } = await newIntegrator();
    await get({ user_group_id: "acme" });
    const { next_cursor: cursor } = (await list(key, { cursor: "latest" })).body;
    await inDirectory(({ sql }) => sql.exec("DELETE FROM events WHERE id = 2"));
    expect(codeOf(await list(key, { cursor }))).toEqual([410, "cursor_expired"]);
  });
});

it("deletes old events without traffic, and keeps the newest", async ({ expect }) => {
  vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
  const { key, get } = await newIntegrator();
  const { next_cursor: old } = (await list(key, { limit: "1" })).body;
  for (const id of ["a", "b", "c"]) await get({ user_group_id: id });
  await evictAllDurableObjects();
  vi.setSystemTime(NOW.getTime() + 89 * DAY_MS);
  await runAlarm("acme/Testing");
  expect(await feed(key)).toHaveLength(4);
  vi.setSystemTime(NOW.getTime() + 90 * DAY_MS);
  await runAlarm("acme/Testing");
  expect(await feed(key)).toMatchObject([{ id: 4, user_group: { provided_id: "c" } }]);
  expect(codeOf(await list(key, { cursor: old }))).toEqual([410, "cursor_expired"]);
  await get({ user_group_id: "d" });
  expect((await feed(key)).map(({ id }) => id)).toEqual([4, 5]);
});

it("the log line of a call names its group, its key and its operator", async ({ expect }) => {
  const { put, tokenOf } = await newIntegrator();
  expect(logLines.at(-1)).toMatchObject({ path: "/api/keys", operator: "bootstrap", subject_key_id: 1 });
  await tokenOf("acme");
  expect(logLines.at(-1)).toMatchObject({ key_id: 1, team_id: 1 });
  await put({ user_group_id: "acme", name: "x" });
  expect(logLines.at(-1)).toMatchObject({ key_id: 1, team_id: 1 });
  await call("DELETE", `/api/keys/1${inEnvironment()}`, { credential: operator });
  expect(logLines.at(-1)).toMatchObject({ operator: "bootstrap", subject_key_id: 1 });
});

describe("the filter actor", () => {
  it("selects the changes of one key, one operator, the bootstrap token or the service", async ({ expect }) => {
    const { key, get, tokenOf, remove } = await newIntegrator();
    await get({ user_group_id: "by key 1" });
    const other = await issueKey({ name: "other" });
    await call("POST", "/api/user_groups", { credential: other, body: { user_group_id: "by key 2" } });
    const admin = await issueOperator("admin");
    const who = (await call("GET", "/api/whoami", { credential: admin })).body.caller.id;
    await byNumber(admin, IN_ACME).update(1, { suspended: true });
    await remove(await tokenOf("purged"));
    vi.useFakeTimers({ now: Date.now() + 31 * DAY_MS, toFake: ["Date"] });
    await runAlarm("acme/Testing");
    vi.useRealTimers();
    const by = async (actor: string) =>
      (await feed(key, { actor })).map(({ type, user_group: g }) => g?.provided_id ?? type);
    expect(await by("api_key:1")).toEqual(["by key 1", "purged", "purged"]);
    expect(await by("api_key:2")).toEqual(["by key 2"]);
    expect(await by(`operator:${who}`)).toEqual(["by key 1"]);
    expect(await by("operator:bootstrap")).toEqual(["api_key.issued", "api_key.issued"]);
    expect(await by("system")).toEqual(["purged"]);
    expect(await by("api_key:9")).toEqual([]);
  });

  it.for(["3", "api_key", "api_key:0", "api_key:01", "operator:", "system:1", "bootstrap", "user:1", ""])(
    "is refused as %j",
    async (actor, { expect }) => {
      const { key } = await newIntegrator();
      expect(await list(key, { actor })).toMatchObject(invalid("actor"));
    },
  );
});

describe("since", () => {
  /** A feed with an event each second. */
  async function newFeed(count: number) {
    const { key, get } = await newIntegrator();
    await get({ user_group_id: "first" });
    const start = Date.parse("2035-01-01T00:00:00Z");
    const stub = env.GROUP_DIRECTORY.getByName("acme/Testing");
    await runInDurableObject(stub, (_, { storage: { sql } }) => {
      sql.exec("DELETE FROM events");
      sql.exec(
        `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
        INSERT INTO events (id, at, type, actor, request_id, details)
        SELECT 1000 + i, ? + i * 1000, 'api_key.issued', '{"kind":"system","id":null,"name":"x"}', 'r', '{}' FROM n`,
        count,
        start,
      );
    });
    const at = (seconds: number) => new Date(start + seconds * 1000).toISOString();
    const firstOf = async (since: string) => (await list(key, { since, limit: "1" })).body.events[0]?.id;
    return { key, stub, at, firstOf };
  }

  it("begins with the first event at that time or later", async ({ expect }) => {
    const { key, at, firstOf } = await newFeed(100);
    expect(await firstOf(at(-1000))).toBe(1001);
    expect(await firstOf(at(1))).toBe(1001);
    expect(await firstOf(at(50))).toBe(1050);
    expect(await firstOf(at(50.001))).toBe(1051);
    expect(await firstOf(at(100))).toBe(1100);
    expect(await firstOf("2035-01-01T01:00:50+01:00")).toBe(1050);
    expect(await firstOf("2035-01-01T00:00:50.000000Z")).toBe(1050);
    expect(await firstOf("2035-01-01T00:00:50.0001Z")).toBe(1051);
    const after = await list(key, { since: at(101) });
    expect([after.body.events, after.body.has_more]).toEqual([[], false]);
    const page = await list(key, { since: at(91), limit: "3" });
    expect(await feed(key, { cursor: page.body.next_cursor })).toHaveLength(7);
  });

  it("examines at most 40 rows, however long the feed is", async ({ expect }) => {
    const { stub, at, firstOf } = await newFeed(100_000);
    const rows = await countRows(stub);
    expect(await firstOf(at(77_777))).toBe(78_777);
    const found = rows.statements.filter(({ sql }) => sql.startsWith("SELECT id, at FROM events WHERE id >= ?"));
    expect(found.reduce((sum, { read }) => sum + read, 0)).toBeLessThanOrEqual(40);
    expect(found.length).toBeGreaterThan(0);
  });

  it.for([
    "2035-01-01",
    "yesterday",
    "2035-01-01T00:00:00",
    "2035-13-01T00:00:00Z",
    "2035-02-30T00:00:00Z",
    "2035-01-01T24:00:00Z",
    "1",
    "",
  ])("is refused as %j", async (since, { expect }) => {
    const { key } = await newIntegrator();
    expect(codeOf(await list(key, { since }))).toEqual([422, "invalid_body"]);
  });

  it("is refused together with a cursor", async ({ expect }) => {
    const { key } = await newIntegrator();
    const since = "2035-01-01T00:00:00Z";
    for (const cursor of ["latest", (await list(key)).body.next_cursor])
      expect((await list(key, { since, cursor })).body.error.issues[0].path).toEqual(["since"]);
  });
});
