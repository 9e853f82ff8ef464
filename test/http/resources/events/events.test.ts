import { evictAllDurableObjects, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { REGISTRY_NAME } from "../../../../src/domain/placement.ts";
import { runAlarm } from "../../../support/alarm.ts";
import { byNumber, IN_ACME } from "../../../support/by-number.ts";
import { type Answer, call, codeOf, invalid, pagesOf } from "../../../support/client.ts";
import { NOW } from "../../../support/clock.ts";
import { CREDENTIAL_PATTERN } from "../../../support/credential-pattern.ts";
import { logLines } from "../../../support/each-test.ts";
import { countRows } from "../../../support/rows.ts";
import { inEnvironment, issueKey, issueOperator, newIntegrator, operator, withKey } from "../../../support/states.ts";
import { inDirectory, inRegistry } from "../../../support/storage.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

// biome-ignore lint/suspicious/noExplicitAny: a test asserts what is in an event, whatever its type.
type Event = any;

const list = (credential: string, query: Record<string, string> = {}): Promise<Answer> =>
  call("GET", `/api/events?${new URLSearchParams(query)}`, { credential });

/** All events of a feed, page by page. */
const feed = async (credential: string, query: Record<string, string> = {}): Promise<Event[]> =>
  (await pagesOf((cursor) => list(credential, { ...query, ...cursor }))).flatMap(({ body }) => body.events);

/** Makes one change of every kind in an environment, and calls that change nothing in between. */
async function changeEnvironment() {
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
  return { credential: key, secrets: [key, token, current, "value-of"] };
}

/** The same of the deployment. */
async function changeDeployment() {
  const manage = (method: string, path: string, body?: object) =>
    call(method, `/api/operators${path}`, { credential: operator, body });
  const { key, tokenOf } = await newIntegrator();
  await tokenOf("acme");
  await issueKey();
  const ada = await issueOperator("admin", { name: "ada" });
  await manage("POST", "", { name: "bootstrap", role: "admin" });
  const rolled = await manage("POST", "/1/roll", { grace_seconds: 60 });
  await manage("DELETE", "/1");
  await manage("DELETE", "/1");
  await manage("DELETE", "/7");
  await manage("POST", "/1/roll");
  await issueKey({ workspace: "beta", environment: null });
  await call("GET", "/api/operators", { credential: rolled.body.key });
  return { credential: operator, secrets: [operator, key, ada, rolled.body.key] };
}

const BOOTSTRAP = { kind: "operator", id: null, name: "bootstrap" };
const BACKEND = { kind: "api_key", id: 1, name: "backend" };
const registry = () => env.REGISTRY.getByName(REGISTRY_NAME);

const FEEDS = {
  "an environment": {
    changeEverything: changeEnvironment,
    everything: [
      { type: "api_key.issued", api_key: { id: 1, name: "backend" }, actor: BOOTSTRAP },
      { type: "user_group.created", user_group: { team_id: 1, provided_id: "acme" } },
      { type: "user_group.updated", user_group: { team_id: 1, provided_id: "acme" }, changed: ["name", "mapping"] },
      {
        type: "user_group.updated",
        user_group: { team_id: 1, provided_id: "acme-2" },
        changed: ["provided_id"],
        previous_provided_id: "acme",
      },
      { type: "user_group.token_rotated", actor: BACKEND },
      { type: "api_key.issued", api_key: { id: 2, name: "other" } },
      { type: "api_key.rolled", api_key: { id: 2, name: "other" }, successor_id: 3 },
      { type: "api_key.revoked", api_key: { id: 3, name: "other" } },
      { type: "user_group.deleted", user_group: { team_id: 1, provided_id: "acme-2" } },
    ],
    filtered: [
      [{ type: "api_key.issued" }, [1, 6]],
      [{ user_group_id: "acme" }, [2, 3, 4]],
      [{ user_group_id: "acme-2", limit: "1" }, [4, 5, 9]],
    ],
    changeOnce: () => issueKey(),
    alarm: () => runAlarm("acme/Testing"),
  },
  "the deployment": {
    changeEverything: changeDeployment,
    everything: [
      { type: "environment.created", environment: { workspace: "acme", environment: "Testing" }, actor: BOOTSTRAP },
      { type: "operator.issued", operator: { id: 1, name: "ada" } },
      { type: "operator.rolled", operator: { id: 1, name: "ada" }, successor_id: 2 },
      { type: "operator.revoked", operator: { id: 1, name: "ada" } },
      { type: "environment.created", environment: { workspace: "beta", environment: null } },
    ],
    filtered: [
      [{ type: "environment.created" }, [1, 5]],
      [{ type: "operator.rolled", limit: "1" }, [3]],
      [{ type: "user_group.created" }, []],
      [{ user_group_id: "acme" }, []],
    ],
    changeOnce: () => issueOperator("viewer"),
    alarm: () => runDurableObjectAlarm(registry()),
  },
} as const;

describe.for(Object.entries(FEEDS))("the feed of %s", ([, { everything, filtered, ...does }]) => {
  it("has exactly one event for each change, in order, at any page size", async () => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    const { credential } = await does.changeEverything();
    const request_id = expect.stringMatching(/^[\da-f-]{36}$/);
    for (const limit of ["1", "7", "100"])
      expect(await feed(credential, { limit })).toMatchObject(
        everything.map((event, index) => ({ id: index + 1, at: NOW.toISOString(), request_id, ...event })),
      );
  });

  it("holds no token, no key, and no value of a mapping or a property", async () => {
    const { credential, secrets } = await does.changeEverything();
    const text = JSON.stringify(await feed(credential));
    expect(text).not.toMatch(CREDENTIAL_PATTERN);
    for (const secret of secrets) expect(text).not.toContain(secret);
  });

  it("filters by type and by group, under both ids of a renamed one", async () => {
    const { credential } = await does.changeEverything();
    for (const [query, ids] of filtered) expect((await feed(credential, query)).map(({ id }) => id)).toEqual(ids);
  });

  it("has a cursor latest, which returns no event, and is followed by later ones", async () => {
    const { credential } = await does.changeEverything();
    const { body } = await list(credential, { cursor: "latest" });
    expect(body).toMatchObject({ events: [], has_more: false });
    await does.changeOnce();
    const next = (await list(credential, { cursor: body.next_cursor })).body;
    expect(next).toMatchObject({ events: [{ id: everything.length + 1 }], has_more: false });
    const last = (await list(credential, { cursor: next.next_cursor })).body;
    expect(last).toMatchObject({ events: [], has_more: false });
  });

  it("loses old events without traffic, and keeps the newest", async () => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    const { credential } = await does.changeEverything();
    const { next_cursor: old } = (await list(credential, { limit: "1" })).body;
    await evictAllDurableObjects();
    const keptAfter = async (days: number) => {
      vi.setSystemTime(NOW.getTime() + days * DAY_MS);
      await does.alarm();
      return (await feed(credential)).map(({ id }) => id);
    };
    const kept = await keptAfter(89);
    expect(kept).toEqual(expect.arrayContaining(everything.map((_, index) => index + 1)));
    for (const days of [90, 200]) expect(await keptAfter(days)).toEqual(kept.slice(-1));
    expect(codeOf(await list(credential, { cursor: old }))).toEqual([410, "cursor_expired"]);
    await does.changeOnce();
    expect((await feed(credential)).map(({ id }) => id)).toEqual([kept.length, kept.length + 1]);
  });
});

describe("the feed of the deployment", () => {
  it("names the request that made the change", async () => {
    const body = { name: "ada", role: "viewer" };
    const issued = await call("POST", "/api/operators", { credential: operator, body });
    expect((await feed(operator))[0].request_id).toBe(issued.headers.get("X-Request-Id"));
  });

  it.for([
    ["limit", { limit: "0" }],
    ["limit", { limit: "1001" }],
    ["type", { type: "operator.made" }],
    ["cursor", { cursor: "x" }],
    ["page", { page: "1" }],
  ] as const)("refuses a query with a wrong %s", async ([path, query]) => {
    expect(await list(operator, query)).toMatchObject(invalid(path));
  });

  it.for([{}, { cursor: "latest" }, { type: "operator.issued" }] as Record<string, string>[])(
    "has a cursor from before the registry had tables, which continues: %o",
    async (query) => {
      const { body } = await list(operator, query);
      expect(body).toEqual({ success: 1, events: [], next_cursor: expect.any(String), has_more: false });
      const later = async () => (await list(operator, { cursor: body.next_cursor })).body;
      expect(await later()).toEqual(body);
      await issueOperator("viewer", { name: "ada" });
      const first = { id: 1, type: "operator.issued", operator: { name: "ada" } };
      expect((await later()).events).toMatchObject([first]);
    },
  );

  it("has no cursor from before the tables once the first events were deleted", async () => {
    const { next_cursor: cursor } = (await list(operator)).body;
    await changeDeployment();
    await inRegistry(({ sql }) => void sql.exec("DELETE FROM events WHERE id = 1"));
    expect(codeOf(await list(operator, { cursor }))).toEqual([410, "cursor_expired"]);
  });

  it("has no cursor of a registry that has lost its tables", async () => {
    await changeDeployment();
    const { next_cursor: cursor } = (await list(operator, { cursor: "latest" })).body;
    await inRegistry((storage) => storage.deleteAll());
    await evictDurableObject(registry());
    expect(codeOf(await list(operator, { cursor }))).toEqual([410, "cursor_expired"]);
  });
});

it("examines 1,000 events a page for a filter, so that a page may be empty", async () => {
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

it("a poller beside 50 writers gets the events of a full read", async () => {
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
  it("of another feed, of a list, or changed is 422", async () => {
    const { key, tokenOf } = await newIntegrator();
    for (const id of ["a", "b"]) await tokenOf(id);
    const latest = async (credential: string) => (await list(credential, { cursor: "latest" })).body.next_cursor;
    const [own, ofDeployment] = [await latest(key), await latest(operator)];
    const foreign = await latest(await issueKey({ environment: "Customer" }));
    const ofList = (await call("GET", "/api/user_groups?limit=1", { credential: key })).body.next_cursor;
    for (const cursor of [foreign, ofList, ofDeployment, "", "x", `${foreign}A`])
      expect(await list(key, { cursor })).toMatchObject(invalid("cursor"));
    for (const query of [{ cursor: own }, { cursor: ofDeployment, ...IN_ACME }, { cursor: `${ofDeployment}A` }])
      expect(await list(operator, query)).toMatchObject(invalid("cursor"));
    // An operator and an API key read the same feed.
    expect((await list(operator, { cursor: own, ...IN_ACME })).body.events).toEqual([]);
  });

  it("of a database that was created again is 410 cursor_expired", async () => {
    const key = await issueKey();
    const { next_cursor: cursor } = (await list(key, { cursor: "latest" })).body;
    await inDirectory(({ sql }) => sql.exec("UPDATE feed SET incarnation = 'another'"));
    expect(codeOf(await list(key, { cursor }))).toEqual([410, "cursor_expired"]);
  });

  it("ahead of the newest event is 410 cursor_expired", async () => {
    const { key, get } = await newIntegrator();
    await get({ user_group_id: "acme" });
    const { next_cursor: cursor } = (await list(key, { cursor: "latest" })).body;
    await inDirectory(({ sql }) => sql.exec("DELETE FROM events WHERE id = 2"));
    expect(codeOf(await list(key, { cursor }))).toEqual([410, "cursor_expired"]);
  });
});

it("the log line of a call names its group, its key and its operator", async () => {
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
  it("selects the changes of one key, one operator, the bootstrap token or the service", async () => {
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
    async (actor) => {
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

  it("begins with the first event at that time or later", async () => {
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

  it("examines at most 40 rows, however long the feed is", async () => {
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
  ])("is refused as %j", async (since) => {
    const { key } = await newIntegrator();
    expect(codeOf(await list(key, { since }))).toEqual([422, "invalid_body"]);
  });

  it("is refused together with a cursor", async () => {
    const { key } = await newIntegrator();
    const since = "2035-01-01T00:00:00Z";
    for (const cursor of ["latest", (await list(key)).body.next_cursor])
      expect((await list(key, { since, cursor })).body.error.issues[0].path).toEqual(["since"]);
  });
});
