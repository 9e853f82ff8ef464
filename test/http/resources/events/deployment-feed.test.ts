import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, it, vi } from "vitest";
import { REGISTRY_NAME } from "../../../../src/domain/placement.ts";
import { IN_ACME } from "../../../support/by-number.ts";
import { type Answer, call, codeOf, invalid, pagesOf } from "../../../support/client.ts";
import { NOW } from "../../../support/clock.ts";
import { CREDENTIAL_PATTERN } from "../../../support/credential-pattern.ts";
import { issueKey, issueOperator, newIntegrator, operator } from "../../../support/states.ts";
import { inRegistry } from "../../../support/storage.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const BOOTSTRAP = { kind: "operator", id: null, name: "bootstrap" };

// biome-ignore lint/suspicious/noExplicitAny: a test asserts what is in an event, whatever its type.
type Event = any;

const registry = () => env.REGISTRY.getByName(REGISTRY_NAME);
const list = (query: Record<string, string> = {}, credential = operator): Promise<Answer> =>
  call("GET", `/api/events?${new URLSearchParams(query)}`, { credential });
const manage = (method: string, path: string, body?: object) =>
  call(method, `/api/operators${path}`, { credential: operator, body });

/** All events of the feed, page by page. */
const feed = async (query: Record<string, string> = {}): Promise<Event[]> =>
  (await pagesOf((cursor) => list({ ...query, ...cursor }))).flatMap(({ body }) => body.events);

/** Makes one change of every kind, and calls that change nothing of the deployment in between. */
async function changeEverything(): Promise<string[]> {
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
  return [key, ada, rolled.body.key];
}

const EVERYTHING = [
  { type: "environment.created", environment: { workspace: "acme", environment: "Testing" } },
  { type: "operator.issued", operator: { id: 1, name: "ada" } },
  { type: "operator.rolled", operator: { id: 1, name: "ada" }, successor_id: 2 },
  { type: "operator.revoked", operator: { id: 1, name: "ada" } },
  { type: "environment.created", environment: { workspace: "beta", environment: null } },
];

describe("the deployment's feed", () => {
  it("has exactly one event for each change, with these fields, at any page size", async ({ expect }) => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    await changeEverything();
    for (const limit of ["1", "2", "100"])
      expect(await feed({ limit })).toEqual(
        EVERYTHING.map((event, index) => ({
          id: index + 1,
          at: NOW.toISOString(),
          actor: BOOTSTRAP,
          request_id: expect.stringMatching(/^[\da-f-]{36}$/),
          ...event,
        })),
      );
  });

  it("names the request that made the change", async ({ expect }) => {
    const issued = await manage("POST", "", { name: "ada", role: "viewer" });
    expect((await feed())[0].request_id).toBe(issued.headers.get("X-Request-Id"));
  });

  it("holds no key", async ({ expect }) => {
    const keys = await changeEverything();
    const text = JSON.stringify(await feed());
    expect(text).not.toMatch(CREDENTIAL_PATTERN);
    for (const secret of [operator, ...keys]) expect(text).not.toContain(secret);
  });

  it("filters by type, and holds no event of a group", async ({ expect }) => {
    await changeEverything();
    expect((await feed({ type: "environment.created" })).map(({ id }) => id)).toEqual([1, 5]);
    expect((await feed({ type: "operator.rolled", limit: "1" })).map(({ id }) => id)).toEqual([3]);
    expect(await feed({ type: "user_group.created" })).toEqual([]);
    expect(await feed({ user_group_id: "acme" })).toEqual([]);
  });

  it.for([
    ["limit", { limit: "0" }],
    ["limit", { limit: "1001" }],
    ["type", { type: "operator.made" }],
    ["cursor", { cursor: "x" }],
    ["page", { page: "1" }],
  ] as const)("refuses a query with a wrong %s", async ([path, query], { expect }) => {
    expect(await list(query)).toMatchObject(invalid(path));
  });
});

describe("a cursor of the deployment's feed", () => {
  it("latest answers no event, and leads to those after it", async ({ expect }) => {
    await changeEverything();
    const { body } = await list({ cursor: "latest" });
    expect(body).toMatchObject({ events: [], has_more: false });
    await issueOperator("viewer", { name: "ben" });
    const next = (await list({ cursor: body.next_cursor })).body;
    expect(next).toMatchObject({ events: [{ type: "operator.issued", operator: { name: "ben" } }], has_more: false });
    expect((await list({ cursor: next.next_cursor })).body.events).toEqual([]);
  });

  it.for([{}, { cursor: "latest" }, { type: "operator.issued" }] as Record<string, string>[])(
    "from before the registry had tables continues: %o",
    async (query, { expect }) => {
      const { body } = await list(query);
      expect(body).toEqual({ success: 1, events: [], next_cursor: expect.any(String), has_more: false });
      expect((await list({ cursor: body.next_cursor })).body).toEqual(body);
      await issueOperator("viewer", { name: "ada" });
      const { events } = (await list({ cursor: body.next_cursor })).body;
      expect(events).toMatchObject([{ id: 1, type: "operator.issued", operator: { name: "ada" } }]);
    },
  );

  it("from before the tables is 410 once the first events were deleted", async ({ expect }) => {
    const { next_cursor: cursor } = (await list()).body;
    await changeEverything();
    await inRegistry(({ sql }) => void sql.exec("DELETE FROM events WHERE id = 1"));
    expect(codeOf(await list({ cursor }))).toEqual([410, "cursor_expired"]);
  });

  it("is 422 in an environment's feed, and the other way round", async ({ expect }) => {
    const key = await issueKey();
    const own = (await list({ cursor: "latest" })).body.next_cursor;
    const ofEnvironment = (await list({ cursor: "latest" }, key)).body.next_cursor;
    for (const answer of [
      await list({ cursor: ofEnvironment }),
      await list({ cursor: own }, key),
      await list({ cursor: own, ...IN_ACME }),
      await list({ cursor: `${own}A` }),
    ])
      expect(answer).toMatchObject(invalid("cursor"));
    // An operator and an API key read the same feed.
    expect((await list({ cursor: ofEnvironment, ...IN_ACME })).body.events).toEqual([]);
  });

  it("of a registry that has lost its tables is 410", async ({ expect }) => {
    await changeEverything();
    const { next_cursor: cursor } = (await list({ cursor: "latest" })).body;
    await inRegistry((storage) => storage.deleteAll());
    await evictDurableObject(registry());
    expect(codeOf(await list({ cursor }))).toEqual([410, "cursor_expired"]);
  });
});

it("deletes old events of the deployment without traffic, and keeps the newest", async ({ expect }) => {
  vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
  await changeEverything();
  const { next_cursor: old } = (await list({ limit: "1" })).body;
  await evictDurableObject(registry());
  vi.setSystemTime(NOW.getTime() + 89 * DAY_MS);
  await runDurableObjectAlarm(registry());
  expect(await feed()).toHaveLength(EVERYTHING.length);
  vi.setSystemTime(NOW.getTime() + 90 * DAY_MS);
  expect(await runDurableObjectAlarm(registry())).toBe(true);
  expect(await feed()).toMatchObject([{ id: 5 }]);
  expect(codeOf(await list({ cursor: old }))).toEqual([410, "cursor_expired"]);
});
