import { getEventListeners } from "node:events";
import { inspect } from "node:util";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  type CallOptions,
  type ConnectionOptions,
  type Environment,
  type Fetch,
  type JsonObject,
  OperatorClient,
  UserGroupClient,
  ViewerClient,
} from "../../client/src/index.ts";
import { errorOf } from "../support/node/refused.ts";
import { type Received, type Reply, refusal, standIn } from "../support/node/stand-in.ts";

const API_KEY = `ugk_testing_${"k".repeat(74)}`;
const TOKEN = `ugt_testing_${"t".repeat(74)}`;
const OPERATOR_KEY = `ugo_${"o".repeat(59)}`;
const BOOTSTRAP_TOKEN = "the-operator's-token";
/** What a proxy answers by itself, with a page for people. */
const PAGE_OF_PROXY = (status: number) => ({ status, body: "<html>", headers: AT_ONCE });

/** A `Retry-After` of zero. */
const AT_ONCE = { "Retry-After": "0" };
const ENVIRONMENT: Environment = { workspace: "acme", environment: null };

type Options = Partial<ConnectionOptions>;

/** Clients with short waits between tries. */
const groups = (url: string, options: Options = {}) =>
  new UserGroupClient({ url, apiKey: API_KEY, backoffMs: 1, ...options });
const viewer = (url: string, options: Options = {}) =>
  new ViewerClient({ url, token: TOKEN, backoffMs: 1, ...options });
const operator = (url: string, options: Options = {}) =>
  new OperatorClient({ url, operatorKey: OPERATOR_KEY, backoffMs: 1, ...options });

/** The calls of an operator in one environment. */
const environment = (url: string, options: Options = {}) => operator(url, options).inEnvironment(ENVIRONMENT);

const clientsOf = (url: string, options: Options = {}) => ({
  groups: groups(url, options),
  viewer: viewer(url, options),
  operator: operator(url, options),
  environment: environment(url, options),
});

type Caller = (clients: ReturnType<typeof clientsOf>, options?: CallOptions) => Promise<unknown>;

type Calls = [first: [string, Caller], ...more: [string, Caller][]];

const RETRYABLE: Calls = [
  ["ensure", ({ groups }, options) => groups.ensure({ userGroupId: "a" }, options)],
  ["update", ({ groups }, options) => groups.update({ userGroupId: "a", name: "b" }, options)],
  ["mintSession", ({ groups }, options) => groups.mintSession({ userGroupId: "a" }, options)],
  ["endSessions", ({ groups }, options) => groups.endSessions({ userGroupId: "a" }, options)],
  ["rotateToken", ({ groups }, options) => groups.rotateToken({ currentToken: TOKEN }, options)],
  ["remove", ({ groups }, options) => groups.remove({ currentToken: TOKEN }, options)],
  ["list", ({ groups }, options) => Array.fromAsync(groups.list({}, options))],
  ["get", ({ groups }, options) => groups.get({ teamId: 1 }, options)],
  ["eventPage", ({ groups }, options) => groups.eventPage({}, options)],
  ["events", ({ groups }, options) => Array.fromAsync(groups.events({}, options))],
  ["listPage", ({ groups }, options) => groups.listPage({}, options)],
  ["updateByNumber", ({ groups }, options) => groups.updateByNumber({ teamId: 1, name: "b" }, options)],
  ["mergeByNumber", ({ groups }, options) => groups.mergeByNumber({ teamId: 1, properties: { a: null } }, options)],
  ["suspend", ({ groups }, options) => groups.suspend({ userGroupId: "a" }, options)],
  ["resume", ({ groups }, options) => groups.resume({ userGroupId: "a" }, options)],
  ["suspendByNumber", ({ environment }, options) => environment.suspendByNumber({ teamId: 1 }, options)],
  ["resumeByNumber", ({ environment }, options) => environment.resumeByNumber({ teamId: 1 }, options)],
  ["rotateTokenByNumber", ({ groups }, options) => groups.rotateTokenByNumber({ teamId: 1 }, options)],
  ["removeByNumber", ({ groups }, options) => groups.removeByNumber({ teamId: 1 }, options)],
  ["restore", ({ environment }, options) => environment.restore({ teamId: 1, rotateToken: true }, options)],
  ["an operator's list", ({ environment }, options) => Array.fromAsync(environment.list({}, options))],
  ["an operator's get", ({ environment }, options) => environment.get({ teamId: 1 }, options)],
  [
    "updateByNumber that renames",
    ({ environment }, options) => environment.updateByNumber({ teamId: 1, newUserGroupId: "b" }, options),
  ],
  ["whoami of an API key", ({ groups }, options) => groups.whoami(options)],
  ["whoami of a viewer", ({ viewer }, options) => viewer.whoami(options)],
  ["whoami of an operator", ({ operator }, options) => operator.whoami(options)],
  ["the deployment's eventPage", ({ operator }, options) => operator.eventPage({}, options)],
  ["environmentPage", ({ operator }, options) => operator.environmentPage({}, options)],
  ["environments", ({ operator }, options) => Array.fromAsync(operator.environments({}, options))],
  ["operatorPage", ({ operator }, options) => operator.operatorPage({}, options)],
  ["listOperators", ({ operator }, options) => Array.fromAsync(operator.listOperators({}, options))],
  ["revokeOperator", ({ operator }, options) => operator.revokeOperator({ id: 1 }, options)],
  ["explainCredential", ({ operator }, options) => operator.explainCredential({ credential: "x" }, options)],
  ["view", ({ viewer }, options) => viewer.view({}, options)],
  ["bindQuery", ({ viewer }, options) => viewer.bindQuery({ sql: "" }, options)],
  ["keyPage", ({ operator }, options) => operator.keyPage(ENVIRONMENT, options)],
  ["listKeys", ({ operator }, options) => Array.fromAsync(operator.listKeys(ENVIRONMENT, options))],
  ["revokeKey", ({ operator }, options) => operator.revokeKey({ ...ENVIRONMENT, id: 1 }, options)],
];

const NOT_RETRYABLE: Calls = [
  ["update with ifMatch", ({ groups }, options) => groups.update({ userGroupId: "a", ifMatch: '"1.1"' }, options)],
  ["update that renames", ({ groups }, options) => groups.update({ userGroupId: "a", newUserGroupId: "b" }, options)],
  [
    "updateByNumber with ifMatch",
    ({ groups }, options) => groups.updateByNumber({ teamId: 1, ifMatch: '"1.1"' }, options),
  ],
  ["suspend with ifMatch", ({ groups }, options) => groups.suspend({ userGroupId: "a", ifMatch: '"1.1"' }, options)],
  ["purge", ({ environment }, options) => environment.purge({ teamId: 1 }, options)],
  ["issueKey", ({ operator }, options) => operator.issueKey({ ...ENVIRONMENT, name: "k" }, options)],
  ["rollKey", ({ operator }, options) => operator.rollKey({ ...ENVIRONMENT, id: 1 }, options)],
  ["issueOperator", ({ operator }, options) => operator.issueOperator({ name: "anna", role: "viewer" }, options)],
  ["rollOperator", ({ operator }, options) => operator.rollOperator({ id: 1 }, options)],
];

const GROUP = { team_id: 1, token: TOKEN, name: "a", provided_id: "a", properties: null, api_environment_tag: null };
const LISTED = {
  ...GROUP,
  ...{ mapping: { a: "b" }, state: "active", last_viewed_on: null },
  ...{ created_at: "2026-01-01T00:00:00Z", updated_at: "2026-01-02T00:00:00Z" },
};
const ENSURED = { success: 1, new_user_group: true, user_group: GROUP };
const ok = (body: object, headers: Record<string, string> = { ETag: '"1.1"' }) => ({ status: 200, headers, body });

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe("when the outcome of a try is unknown", () => {
  const UNKNOWN = [
    ["a 503", () => standIn(() => refusal(503, "directory_unavailable", {}, AT_ONCE)), "directory_unavailable"],
    ["a 502 of a proxy", () => standIn(() => PAGE_OF_PROXY(502)), "unexpected_answer"],
    ["a 504 of a proxy", () => standIn(() => PAGE_OF_PROXY(504)), "unexpected_answer"],
    ["a broken connection", () => standIn(() => "drop"), "network_error"],
    ["silence", () => standIn(() => "silence"), "timeout"],
    ["a response that stops in the middle", () => standIn(() => "headers only"), "timeout"],
  ] as const;

  /** Counts the tries of a call with two retries, and returns the error that it fails with. */
  const triesOf = async (call: Caller, url: string, timeoutMs: number) => {
    const fetched = vi.fn<Fetch>((to, init) => fetch(to, init));
    const { code, status } = await errorOf(call(clientsOf(url, { retries: 2, timeoutMs, fetch: fetched })));
    return { tries: fetched.mock.calls.length, code, status };
  };

  it.for(UNKNOWN)("after %s a call that may be repeated is tried three times, and another once", async (each) => {
    const [name, start, code] = each;
    const timeoutMs = code === "timeout" ? 30 : 10_000;
    const [digits] = /\d{3}/.exec(name) ?? [];
    const status = digits === undefined ? undefined : Number(digits);
    const { url } = await start();
    expect(await triesOf(RETRYABLE[0][1], url, timeoutMs)).toEqual({ tries: 3, code, status });
    expect(await triesOf(NOT_RETRYABLE[0][1], url, timeoutMs)).toEqual({ tries: 1, code, status });
  });

  it.for(RETRYABLE)("%s is tried three times", async ([, call]) => {
    const { url } = await standIn(() => "drop");
    expect(await triesOf(call, url, 10_000)).toMatchObject({ tries: 3, code: "network_error" });
  });

  it.for(NOT_RETRYABLE)("%s is sent once by a runtime that retries requests with strings", async ([, call]) => {
    const { url, received } = await standIn(() => "drop");
    const likeDeno: Fetch = (to, init) =>
      fetch(to, init).catch((error) => (typeof init.body === "string" ? fetch(to, init) : Promise.reject(error)));
    expect((await errorOf(call(clientsOf(url, { fetch: likeDeno })))).code).toBe("network_error");
    expect(received).toHaveLength(1);
    // A body with a length is not a stream; some releases of Node hide a 401 to a stream.
    expect(Number(received[0]?.headers["content-length"] ?? 0)).toBe(received[0]?.body.length);
  });

  it("an unreachable service is reported with the message of the runtime", async () => {
    const error = await errorOf(groups("http://127.0.0.1:1").ensure({ userGroupId: "a" }));
    expect(error).toMatchObject({ code: "network_error", issues: [] });
    expect(error.status).toBeUndefined();
    expect(error.message).toMatch(/The service did not respond: .+: .+/);
  });
});

it.for([...RETRYABLE, ...NOT_RETRYABLE])(
  "%s is tried again after a 429, which the service sends before it changes anything",
  async ([, call]) => {
    const { url, received } = await standIn(() => refusal(429, "rate_limited", {}, AT_ONCE));
    expect(await errorOf(call(clientsOf(url, { retries: 2 })))).toMatchObject({ code: "rate_limited", status: 429 });
    expect(received).toHaveLength(3);
    expect(new Set(received.map(({ body }) => body)).size).toBe(1);
  },
);

it.for([400, 401, 403, 404, 409, 412, 413, 415, 422, 500, 501, 505])("a %d is final", async (status) => {
  const { url, received } = await standIn(() => refusal(status, "internal_error"));
  expect(await errorOf(groups(url).ensure({ userGroupId: "a" }))).toMatchObject({ status, requestId: "the-request" });
  expect(received).toHaveLength(1);
});

it("returns the response to a later try", async () => {
  const replies: Reply[] = ["drop", refusal(503, "directory_unavailable", {}, AT_ONCE), ok(ENSURED)];
  const { url, received } = await standIn((_, count) => replies[count - 1] ?? "drop");
  expect((await groups(url).ensure({ userGroupId: "a" })).group.userGroupId).toBe("a");
  expect(received).toHaveLength(3);
  expect(new Set(received.map((request) => JSON.stringify(request))).size).toBe(1);
});

it.for<[string, Options, Reply, string]>([
  ["while a database is damaged", {}, refusal(503, "environment_damaged", {}, AT_ONCE), "environment_damaged"],
  ["when retries is 0", { retries: 0 }, "drop", "network_error"],
  // A longer wait than `waitMsMax` is left to the caller.
  ["when it has to wait", {}, refusal(429, "rate_limited", {}, { "Retry-After": "61" }), "rate_limited"],
])("tries once %s", async ([, options, reply, code]) => {
  const { url, received } = await standIn(() => reply);
  expect((await errorOf(groups(url, options).get({ teamId: 1 }))).code).toBe(code);
  expect(received).toHaveLength(1);
});

describe("a rotation, a delete and a restore", () => {
  /** A service that acts once for each key, breaks the first connection, and repeats its response to a retry. */
  const actsOnce = async () => {
    const answers = new Map<string, Reply>();
    const { url, received } = await standIn(({ headers, body }) => {
      const key = String(headers["idempotency-key"]);
      const kept = answers.get(key);
      if (kept) return kept;
      answers.set(key, ok({ success: 1, user_group: { ...LISTED, name: `${answers.size + 1}: ${body}` } }));
      return "drop";
    });
    return { url, received, answers };
  };

  it("act once, although the first response was lost", async () => {
    const { url, received, answers } = await actsOnce();
    const rotated = await groups(url).rotateToken({ currentToken: TOKEN, graceSeconds: 5 });
    expect(rotated.name).toBe(`1: {"current_token":"${TOKEN}","grace_seconds":5}`);
    await groups(url).remove({ currentToken: TOKEN });
    expect(received.map(({ method, headers }) => [method, headers["x-http-method-override"]])).toEqual([
      ["POST", undefined],
      ["POST", undefined],
      ["POST", "DELETE"],
      ["POST", "DELETE"],
    ]);
    expect(answers.size).toBe(2);
    expect([...answers.keys()].every((key) => /^[\da-f-]{36}$/.test(key))).toBe(true);
  });

  it("act once by number, although the first response was lost", async () => {
    const { url, received, answers } = await actsOnce();
    const client = environment(url);
    const group = await client.rotateTokenByNumber({ teamId: 1, graceSeconds: 5 });
    expect(group.name).toBe('1: {"grace_seconds":5}');
    await client.removeByNumber({ teamId: 1 });
    await client.restore({ teamId: 1 });
    expect(received).toHaveLength(6);
    expect(answers.size).toBe(3);
  });

  it("go on in a full environment without a key, unless the caller has given it", async () => {
    const { url, received } = await standIn(({ headers }) =>
      headers["idempotency-key"] === undefined
        ? ok({ success: 1, user_group: LISTED })
        : refusal(507, "environment_full"),
    );
    await groups(url).rotateToken({ currentToken: TOKEN });
    await groups(url).remove({ currentToken: TOKEN });
    await environment(url).removeByNumber({ teamId: 1 });
    const error = await errorOf(environment(url).removeByNumber({ teamId: 1 }, { idempotencyKey: "mine" }));
    expect(error.code).toBe("environment_full");
    expect(received.map(({ headers }) => headers["idempotency-key"] !== undefined)).toEqual([
      ...[true, false, true, false, true, false],
      true,
    ]);
  });

  it("send the caller's key, and fail if another call has used it", async () => {
    const { url, received } = await standIn(() => refusal(422, "idempotency_key_reused"));
    const error = await errorOf(groups(url).rotateToken({ currentToken: TOKEN }, { idempotencyKey: "mine" }));
    expect(error.code).toBe("idempotency_key_reused");
    expect(received.map(({ headers }) => headers["idempotency-key"])).toEqual(["mine"]);
  });
});

it.for<[string, Options, random: number, headers: () => Record<string, string>, waitsMs: number[]]>([
  ["a random part of a time that doubles", { backoffMs: 100, waitMsMax: 300 }, 0.5, () => ({}), [50, 100, 150, 150]],
  ["at least as long as a Retry-After in seconds", {}, 0, () => ({ "Retry-After": "7" }), [7000]],
  ["as long as a date", {}, 0, () => ({ "Retry-After": new Date(Date.now() + 7000).toUTCString() }), [7000]],
  ["no longer than waitMsMax", { backoffMs: 1000, waitMsMax: 1000 }, 0.9, () => ({ "Retry-After": "1" }), [1000]],
])("waits between tries %s", async ([, options, random, headersOf, waitsMs]) => {
  vi.useFakeTimers({ now: Date.UTC(2030, 0, 1) });
  vi.spyOn(Math, "random").mockReturnValue(random);
  const headers = headersOf();
  const { status, body } = refusal(503, "directory_unavailable");
  const fetch = vi.fn<Fetch>(async () => Response.json(body, { status, headers }));
  const client = groups("https://service.test", { fetch, retries: waitsMs.length, ...options });
  const outcome = errorOf(client.ensure({ userGroupId: "a" }));
  await vi.advanceTimersByTimeAsync(0);
  for (const [tries, waitMs] of waitsMs.entries()) {
    await vi.advanceTimersByTimeAsync(waitMs - 1);
    expect(fetch).toHaveBeenCalledTimes(tries + 1);
    await vi.advanceTimersByTimeAsync(1);
    expect(fetch).toHaveBeenCalledTimes(tries + 2);
  }
  expect((await outcome).code).toBe("directory_unavailable");
  expect(vi.getTimerCount()).toBe(0);
});

it.for<[string, number | undefined]>([
  ["7", 7000],
  ["  7\t", 7000],
  ["0", 0],
  ["Tue, 01 Jan 2030 00:00:09 GMT", 9000],
  ["Tuesday, 01-Jan-30 00:00:09 GMT", 9000],
  ["Mon, 31 Dec 2029 00:00:00 GMT", 0],
  ["-5", undefined],
  ["1.5", undefined],
  ["abc 5", undefined],
  ["2030-01-01", undefined],
  ["", undefined],
])("reads Retry-After: %j as %s milliseconds", async ([header, retryAfterMs]) => {
  vi.useFakeTimers({ now: Date.UTC(2030, 0, 1), toFake: ["Date"] });
  const headers = { get: (name: string) => (name === "Retry-After" ? header : null) };
  const fetch = async () => ({ ...refusal(503, "directory_unavailable"), headers, text: async () => "{}" });
  const answer = fetch as unknown as Fetch;
  const error = await errorOf(
    groups("https://service.test", { fetch: answer, retries: 0 }).ensure({ userGroupId: "a" }),
  );
  expect(error.retryAfterMs).toBe(retryAfterMs);
});

it("does not call the given fetch as a method, which browsers refuse", async () => {
  const owners: unknown[] = [];
  const fetch = async function (this: unknown) {
    owners.push(this);
    return Response.json(ENSURED, { headers: { ETag: '"1.1"' } });
  };
  await groups("https://service.test", { fetch }).ensure({ userGroupId: "a" });
  expect(owners).toEqual([undefined]);
});

describe("aborting rejects with the signal's reason", () => {
  const reason = new Error("Nobody waits any more.");

  it.for([...RETRYABLE, ...NOT_RETRYABLE])("before the first try of %s", async ([, call]) => {
    const { url, received } = await standIn(() => "drop");
    await expect(call(clientsOf(url), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(received).toHaveLength(0);
  });

  it("during a try, also when fetch ignores the signal", async () => {
    for (const deaf of [false, true]) {
      const controller = new AbortController();
      const { url, received } = await standIn(() => {
        controller.abort(reason);
        return "silence";
      });
      const options: Options = deaf
        ? { fetch: (to: string, init: RequestInit) => fetch(to, { ...init, signal: null }) }
        : {};
      await expect(groups(url, { ...options, retries: 0 }).ensure({ userGroupId: "a" }, controller)).rejects.toBe(
        reason,
      );
      expect(received).toHaveLength(1);
    }
  });

  it("at once between tries, and leaves no timer and no listener", async () => {
    vi.useFakeTimers();
    const controller = new AbortController();
    const remove = vi.spyOn(controller.signal, "removeEventListener");
    const add = vi.spyOn(controller.signal, "addEventListener");
    const fetch = async () => new Response("", { status: 503, headers: { "Retry-After": "60" } });
    const outcome = groups("https://service.test", { fetch }).ensure({ userGroupId: "a" }, controller);
    await vi.advanceTimersByTimeAsync(1000);
    controller.abort(reason);
    await expect(outcome).rejects.toBe(reason);
    expect(vi.getTimerCount()).toBe(0);
    expect(add).toHaveBeenCalledTimes(2);
    expect(remove).toHaveBeenCalledTimes(2);
  });

  it("of many calls with one signal, which has one listener for them", async () => {
    const controller = new AbortController();
    const { url, received } = await standIn(() => "silence");
    const calls = Array.from({ length: 11 }, () => groups(url).ensure({ userGroupId: "a" }, controller));
    const outcomes = Promise.allSettled(calls);
    await vi.waitUntil(() => received.length === 11);
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(1);
    controller.abort(reason);
    expect(await outcomes).toEqual(calls.map(() => ({ status: "rejected", reason })));
    expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
  });

  it("of one call, and not of another with a signal of its own", async () => {
    const [mine, other] = [new AbortController(), new AbortController()];
    const { url, received } = await standIn(({ body }) => (body.includes("mine") ? "silence" : ok(ENSURED)));
    const aborted = groups(url).ensure({ userGroupId: "mine" }, mine);
    const kept = groups(url).ensure({ userGroupId: "other" }, other);
    await vi.waitUntil(() => received.length === 2);
    mine.abort(reason);
    await expect(aborted).rejects.toBe(reason);
    expect((await kept).created).toBe(true);
    expect(getEventListeners(other.signal, "abort")).toHaveLength(0);
  });

  it("at once for a value that is not a signal, and leaves no timer", async () => {
    vi.useFakeTimers();
    const call = groups("https://service.test").ensure({ userGroupId: "a" }, { signal: {} as AbortSignal });
    await expect(call).rejects.toThrow(TypeError);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("a list", () => {
  const page = (ids: string[], next_cursor: string | null) =>
    ok({ success: 1, user_groups: ids.map((id) => ({ ...LISTED, provided_id: id })), next_cursor }, {});

  it("reads all pages, empty ones too, each when it is needed", async () => {
    const pages = [page(["a", "b"], "one +/="), page([], "two"), page(["c"], null)];
    const { url, received } = await standIn((_, count) => pages[count - 1] ?? "drop");
    const list = groups(url).list({ prefix: "ä&", pageSize: 2 });
    expect(received).toHaveLength(0);
    expect((await list.next()).value).toEqual({
      teamId: 1,
      userGroupId: "a",
      name: "a",
      mapping: { a: "b" },
      properties: null,
      apiEnvironmentTag: null,
      state: "active",
      lastViewedOn: null,
      createdAt: "2026-01-01T00:00:00Z",
      updatedAt: "2026-01-02T00:00:00Z",
    });
    expect((await list.next()).value).toMatchObject({ userGroupId: "b" });
    expect(received).toHaveLength(1);
    expect((await Array.fromAsync(list)).map(({ userGroupId }) => userGroupId)).toEqual(["c"]);
    const queries = received.map(({ path }) => Object.fromEntries(new URL(path, url).searchParams));
    const query = { user_group_id_prefix: "ä&", limit: "2" };
    expect(queries).toEqual([query, { ...query, cursor: "one +/=" }, { ...query, cursor: "two" }]);
    expect(received.every(({ method, path }) => method === "GET" && path.startsWith("/api/user_groups?"))).toBe(true);
  });

  it("ends in the middle of a page, and after the last group, if aborted", async () => {
    const reason = new Error("Enough.");
    const { url } = await standIn(() => page(["a", "b"], null));
    for (const most of [1, 2]) {
      const controller = new AbortController();
      const seen: string[] = [];
      const walk = async () => {
        for await (const { userGroupId } of groups(url).list({}, controller)) {
          seen.push(userGroupId);
          if (seen.length === most) controller.abort(reason);
        }
      };
      await expect(walk()).rejects.toBe(reason);
      expect(seen).toHaveLength(most);
    }
  });

  it("ends when a page's cursor names the page itself", async () => {
    const { url, received } = await standIn(() => page(["a"], "same"));
    expect((await errorOf(Array.fromAsync(groups(url).list()))).code).toBe("unexpected_answer");
    expect(received).toHaveLength(2);
  });
});

describe("an operator's calls", () => {
  /** The method and the URL of each request. */
  const requestsOf = (received: readonly Received[]) => received.map(({ method, path }) => `${method} ${path}`);

  it.for([
    [null, "untagged"],
    ["Testing", "Testing"],
  ] as const)("name the environment %s in the query", async ([tag, named]) => {
    const { url, received } = await standIn(({ path }) =>
      ok({
        ...{ success: 1, user_group: LISTED, user_groups: [LISTED], next_cursor: path.includes("events") ? "x" : null },
        ...{ events: [], has_more: false },
      }),
    );
    const client = operator(url).inEnvironment({ workspace: "acme", environment: tag });
    const [group] = await Array.fromAsync(client.list({ prefix: "a b", state: "suspended" }));
    await client.listPage({ search: "a&b", lastViewedBefore: "2026-01-02" });
    await client.listPage({ userGroupId: "a", lastViewedBefore: new Date("2026-01-02T23:00:00-02:00") });
    await client.get({ teamId: 7, state: "deleted" });
    await client.updateByNumber({ teamId: 7, properties: null, newUserGroupId: "b", ifMatch: '"7.1"' });
    const rotated = await client.rotateTokenByNumber({ teamId: 7, graceSeconds: 5, ifMatch: '"7.2"' });
    await client.removeByNumber({ teamId: 7, ifMatch: '"7.3"' });
    await client.suspendByNumber({ teamId: 7, ifMatch: '"7.4"' });
    await client.restore({ teamId: 7, newUserGroupId: "b", rotateToken: true });
    await client.purge({ teamId: 7 });
    await Array.fromAsync(client.events({ type: "user_group.deleted" }));

    expect(rotated).toStrictEqual({ ...group, etag: '"1.1"' });
    expect(JSON.stringify(rotated)).not.toContain(TOKEN);
    const query = `workspace=acme&environment=${named}`;
    expect(requestsOf(received)).toEqual([
      `GET /api/user_groups?${query}&user_group_id_prefix=a+b&state=suspended`,
      `GET /api/user_groups?${query}&search=a%26b&last_viewed_before=2026-01-02`,
      `GET /api/user_groups?${query}&user_group_id=a&last_viewed_before=2026-01-03`,
      `GET /api/user_groups/7?${query}&state=deleted`,
      `PUT /api/user_groups/7?${query}`,
      `POST /api/user_groups/7/rotate?${query}`,
      `DELETE /api/user_groups/7?${query}`,
      `PUT /api/user_groups/7?${query}`,
      `POST /api/user_groups/7/restore?${query}`,
      `POST /api/user_groups/7/purge?${query}`,
      `GET /api/events?${query}&type=user_group.deleted`,
    ]);
    expect(received.map(({ headers, body }) => [headers["if-match"], body]).slice(4, 10)).toEqual([
      ['"7.1"', '{"new_user_group_id":"b","properties":null}'],
      ['"7.2"', '{"grace_seconds":5}'],
      ['"7.3"', ""],
      ['"7.4"', '{"suspended":true}'],
      [undefined, '{"new_user_group_id":"b","rotate_token":true}'],
      [undefined, ""],
    ]);
    expect(received.every(({ headers }) => headers["x-http-method-override"] === undefined)).toBe(true);
  });

  it("go through all pages of environments", async () => {
    const one = { workspace: "acme", environment: null, location: "weur", created_at: "2026-01-01T00:00:00.000Z" };
    const pageOf = (environments: object[], cursor: string | null) =>
      ok({ success: 1, environments, next_cursor: cursor });
    const pages = [pageOf([one], "next"), pageOf([{ ...one, environment: "Testing", location: null }], null)];
    const { url, received } = await standIn((_, count) => pages[count - 1] ?? "drop");
    expect(await Array.fromAsync(operator(url).environments({ pageSize: 1 }))).toEqual([
      { workspace: "acme", environment: null, location: "weur", createdAt: "2026-01-01T00:00:00.000Z" },
      { workspace: "acme", environment: "Testing", location: null, createdAt: "2026-01-01T00:00:00.000Z" },
    ]);
    expect(requestsOf(received)).toEqual([
      "GET /api/environments?limit=1",
      "GET /api/environments?cursor=next&limit=1",
    ]);
  });

  it("read the events of operators and environments in the deployment's feed", async () => {
    const actor = { kind: "operator", id: 2, name: "anna" };
    const event = { id: 1, at: "2026-01-01T00:00:00.000Z", actor, request_id: "r" };
    const events = [
      { ...event, type: "operator.rolled", operator: { id: 3, name: "ben" }, successor_id: 4 },
      { ...event, type: "environment.created", environment: { workspace: "acme", environment: null } },
    ];
    const { url, received } = await standIn(() => ok({ success: 1, events, next_cursor: "x", has_more: false }));
    const common = { id: 1, at: event.at, actor, requestId: "r" };
    expect(await Array.fromAsync(operator(url).events())).toStrictEqual([
      { ...common, type: "operator.rolled", operator: { id: 3, name: "ben" }, successorId: 4 },
      { ...common, type: "environment.created", environment: { workspace: "acme", environment: null } },
    ]);
    expect(requestsOf(received)).toEqual(["GET /api/events"]);
  });

  it("send scopes and the location of a key, and read a key without access", async () => {
    const apiKey = {
      ...{ id: 1, workspace: "acme", environment: null, name: "k", access: null, scopes: ["groups:read", "new:scope"] },
      ...{ created_at: "now", expires_at: null, last_used_at: null, revoked_at: null },
    };
    const { url, received } = await standIn(() => ok({ success: 1, api_key: apiKey, key: "the key" }));
    const input = { ...ENVIRONMENT, name: "k", scopes: ["groups:read"], location: "weur" } as const;
    const issued = await operator(url).issueKey(input);
    expect(issued.apiKey).toMatchObject({ access: null, scopes: ["groups:read", "new:scope"] });
    expect(JSON.parse(received[0]?.body ?? "")).toEqual(input);
  });
});

it.for([
  ["required_scope", "groups:write", { requiredScope: "groups:write", requiredRole: undefined }],
  ["required_role", "support", { requiredScope: undefined, requiredRole: "support" }],
] as const)("has the %s of a refusal", async ([field, value, expected]) => {
  const { url } = await standIn(() => refusal(403, "insufficient_access", { [field]: value }));
  expect(await errorOf(groups(url).ensure({ userGroupId: "a" }))).toMatchObject({
    code: "insufficient_access",
    status: 403,
    message: expect.stringMatching(new RegExp(`^It is insufficient_access. The required .* is ${value}.$`)),
    ...expected,
  });
});

it("does not take an id that contains ugo_ for a credential", async () => {
  const { url } = await standIn(() => refusal(404, "user_group_not_found", { message: "No hugo_boss." }));
  expect((await errorOf(groups(url).ensure({ userGroupId: "a" }))).message).toBe("No hugo_boss.");
});

describe("an unexpected response", () => {
  it.for<[string, Reply]>([
    ["a page of a proxy", { status: 200, body: "<html>" }],
    ["a list", { status: 200, body: [] }],
    ["another service's JSON", { status: 200, body: { ok: true } }],
    ["a status of success without success", { status: 200, body: { success: 0 } }],
    ["a group without its name", ok({ ...ENSURED, user_group: { ...GROUP, name: undefined } })],
    ["a number for a text", ok({ ...ENSURED, user_group: { ...GROUP, name: 1 } })],
    ["properties that are a list", ok({ ...ENSURED, user_group: { ...GROUP, properties: [] } })],
    ["no ETag", ok(ENSURED, {})],
    ["an unknown code", refusal(418, "teapot")],
    ["a very long code", refusal(418, "teapot".repeat(1000))],
    [
      "an issue without a valid path",
      refusal(422, "invalid_body", { issues: [{ path: [{ toString: 0 }], message: "" }] }),
    ],
    ["an error page", { status: 500, body: "<html>" }],
  ])("is refused: %s", async ([, reply]) => {
    const { url, received } = await standIn(() => reply);
    const error = await errorOf(groups(url).ensure({ userGroupId: "a" }));
    expect(error.code).toBe("unexpected_answer");
    expect(error.message.length).toBeLessThan(200);
    expect(received).toHaveLength(1);
  });

  it("fails the calls of viewers, too", async () => {
    const user_group = { ...GROUP, mapping: { sales: "warehouse" } };
    const view = (fields: object) =>
      standIn(() => ok({ success: 1, user_group: { ...user_group, ...fields }, variables: {} })).then(({ url }) =>
        viewer(url).view(),
      );
    expect((await view({})).group.mapping).toEqual({ sales: "warehouse" });
    expect((await errorOf(view({ mapping: { sales: 1 } }))).code).toBe("unexpected_answer");
    expect((await errorOf(view({ api_environment_tag: "Other" }))).code).toBe("unexpected_answer");
  });

  it("a redirect is not followed, whatever its target is", async () => {
    const other = await standIn(() => ok(ENSURED));
    const { url, received } = await standIn(() => ({ status: 307, headers: { Location: other.url } }));
    const error = await errorOf(groups(url).ensure({ userGroupId: "a" }));
    expect(error).toMatchObject({ code: "unexpected_answer", status: 307 });
    expect([received.length, other.received.length]).toEqual([1, 0]);
  });
});

describe("a group without its token, as for a key with read access", () => {
  const { token: _, ...tokenless } = GROUP;

  it("is returned by ensure and update without the field", async () => {
    const { url } = await standIn(() => ok({ ...ENSURED, user_group: tokenless }));
    const expected = { teamId: 1, userGroupId: "a", name: "a", properties: null, etag: '"1.1"' };
    expect((await groups(url).ensure({ userGroupId: "a" })).group).toStrictEqual(expected);
    const updated = await groups(url).update({ userGroupId: "a" });
    expect(updated).toStrictEqual({ ...expected, apiEnvironmentTag: null });
  });

  it("a rotation fails without a token that is a string", async () => {
    for (const group of [tokenless, { ...GROUP, token: null }]) {
      const { url } = await standIn(() => ok({ success: 1, user_group: group }));
      const error = await errorOf(groups(url).rotateToken({ currentToken: TOKEN }));
      expect(error.code).toBe("unexpected_answer");
    }
  });

  it("is refused as an argument where a call needs the token", async () => {
    const { url, received } = await standIn(() => ok({ ...ENSURED, user_group: tokenless }));
    const { group } = await groups(url).ensure({ userGroupId: "a" });
    await expect(groups(url).rotateToken({ currentToken: group.token })).rejects.toThrow(/write access/);
    await expect(groups(url).remove({ currentToken: group.token })).rejects.toThrow(TypeError);
    expect(() => new ViewerClient({ url, token: group.token })).toThrow(TypeError);
    expect(received).toHaveLength(1);
  });
});

it("names the first issues of an invalid body, and how many more there are", async () => {
  const issues = Array.from({ length: 5 }, (_, index) => ({
    path: ["mapping", `${index}${"x".repeat(100)}`],
    message: "Fix it.",
  }));
  const { url } = await standIn(() => refusal(422, "invalid_body", { issues }));
  const error = await errorOf(groups(url).ensure({ userGroupId: "a" }));
  const path = (index: number) => `mapping.${index}${"x".repeat(71)}`;
  expect(error.message).toBe(
    `It is invalid_body. ${path(0)}: Fix it. ${path(1)}: Fix it. ${path(2)}: Fix it. 2 more in issues.`,
  );
  expect(error.issues).toEqual(issues);
});

it("returns the service's refusal of a token that is not a string", async () => {
  const { url } = await standIn(() =>
    refusal(422, "invalid_body", { issues: [{ path: ["current_token"], message: "No." }] }),
  );
  for (const currentToken of [42, {}, ""] as string[]) {
    const error = await errorOf(groups(url).rotateToken({ currentToken }));
    expect(error.issues).toEqual([{ path: ["current_token"], message: "No." }]);
  }
});

it("restores the strong ETag that a compressing proxy weakened", async () => {
  const { url, received } = await standIn(() => ok(ENSURED, { ETag: 'W/"1.7"' }));
  const { group } = await groups(url).ensure({ userGroupId: "a" });
  expect(group.etag).toBe('"1.7"');
  await groups(url).update({ userGroupId: "a", ifMatch: group.etag });
  expect(received[1]).toMatchObject({ method: "PUT", headers: { "if-match": '"1.7"' } });
});

it("sends the calls of viewers with headers that browsers may send, and no others", async () => {
  const sent: RequestInit[] = [];
  const fetch = async (_: string, init: RequestInit) => {
    sent.push(init);
    return new Response("{}");
  };
  await errorOf(viewer("https://service.test", { fetch }).view({ maxAgeSeconds: 90 }));
  await errorOf(viewer("https://service.test", { fetch }).bindQuery({ sql: "" }));
  expect(sent.map(({ method, headers }) => [method, headers])).toEqual([
    ["GET", { Authorization: `Token ${TOKEN}`, "Cache-Control": "max-age=90" }],
    ["POST", { Authorization: `Token ${TOKEN}`, "Content-Type": "application/json" }],
  ]);
});

describe("an argument that cannot work is refused before any call", () => {
  it.for<[string, Partial<ConnectionOptions>]>([
    ["no URL", { url: "service.test" }],
    ["no TLS", { url: "http://service.test" }],
    ["a host whose name begins with localhost", { url: "http://localhost.service.test" }],
    ["a host whose name ends with localhost", { url: "http://not-localhost" }],
    ["no TLS, and a text that allows it", { url: "http://service.test", allowHttp: "false" as unknown as boolean }],
    ["another protocol", { url: "ftp://localhost" }],
    ["another protocol, although HTTP is allowed", { url: "ftp://service.test", allowHttp: true }],
    ["a path, although HTTP is allowed", { url: "http://service.test/hidden", allowHttp: true }],
    ["a password in the URL", { url: "https://user:hidden@service.test" }],
    ["a query", { url: "https://service.test/?hidden" }],
    ["the path of a call", { url: "https://service.test/api/user" }],
    ["any other path", { url: "https://service.test/hidden/" }],
    ["a fraction of a retry", { retries: 0.5 }],
    ["an infinite number of retries", { retries: Number.POSITIVE_INFINITY }],
    ["a time limit that is not a number", { timeoutMs: Number.NaN }],
    ["a time limit of more than a day", { timeoutMs: 24 * 60 * 60 * 1000 + 1 }],
    ["a negative backoff", { backoffMs: -1 }],
    ["a fetch that is not a function", { fetch: 5 as unknown as Fetch }],
  ])("%s", ([, options]) => {
    const make = () => new UserGroupClient({ url: "https://service.test", apiKey: API_KEY, ...options });
    expect(make).toThrow(TypeError);
    expect(make).toThrow(/^Give (?!.*hidden)/);
  });

  it.for(["http://localhost:8787", "http://127.0.0.2", "http://[::1]:80/", "https://service.test/"])(
    "but not %s",
    (url) => {
      expect(groups(url)).toBeInstanceOf(UserGroupClient);
    },
  );

  it("but not the address of a container to which HTTP is allowed", async () => {
    const called: string[] = [];
    const fetch: Fetch = async (url) => {
      called.push(url);
      return new Response("", { status: 404 });
    };
    const options = { url: "http://groups.internal:8787", allowHttp: true, fetch, retries: 0 };
    const session = async () => ({ token: TOKEN, expires_in_seconds: 60 });
    await errorOf(new UserGroupClient({ ...options, apiKey: API_KEY }).whoami());
    await errorOf(new ViewerClient({ ...options, session }).view());
    const operator = new OperatorClient({ ...options, operatorKey: API_KEY });
    await errorOf(operator.inEnvironment({ workspace: "acme", environment: null }).get({ teamId: 1 }));
    expect(called.map((url) => new URL(url).origin)).toEqual(Array(3).fill("http://groups.internal:8787"));
  });

  it.for(["", "two words", "line\nbreak", "ünicode", undefined as unknown as string])(
    "a credential that cannot be a header: %j",
    (apiKey) => {
      const make = () => new UserGroupClient({ url: "https://service.test", apiKey });
      expect(make).toThrow(new TypeError("Give apiKey as ASCII, no blanks."));
    },
  );

  it.for<unknown>(["../user", "1", 0, -1, 1.5, Number.NaN, 2 ** 53, "", null, undefined, { toString: () => "1" }])(
    "the number %j of a key, an operator or a group",
    async (number) => {
      const { url, received } = await standIn(() => ok({ success: 1 }));
      const id = number as number;
      const teamId = id;
      for (const call of [
        () => operator(url).revokeKey({ ...ENVIRONMENT, id }),
        () => operator(url).rollKey({ ...ENVIRONMENT, id }),
        () => operator(url).revokeOperator({ id }),
        () => operator(url).rollOperator({ id }),
        () => environment(url).get({ teamId }),
        () => environment(url).updateByNumber({ teamId }),
        () => environment(url).rotateTokenByNumber({ teamId }),
        () => environment(url).removeByNumber({ teamId }),
      ])
        await expect(call()).rejects.toThrow(TypeError);
      expect(received).toHaveLength(0);
    },
  );

  it("a value that a header, JSON or a URL cannot hold unchanged", async () => {
    const properties = (value: unknown) => ({ userGroupId: "a", properties: { deep: value } as JsonObject });
    const { url, received } = await standIn(() => ok(ENSURED));
    const client = groups(url);
    for (const call of [
      () => client.update({ userGroupId: "a", ifMatch: "\n" }),
      () => client.rotateToken({ currentToken: TOKEN }, { idempotencyKey: "\n" }),
      () => client.ensure(properties(Number.POSITIVE_INFINITY)),
      () => client.ensure(properties(new Array(3))),
      () => client.list({ prefix: "\ud83d" }).next(),
    ])
      await expect(call()).rejects.toThrow(TypeError);
    expect(received).toHaveLength(0);
    await client.ensure(properties([null, new Date(0)]));
    expect(received[0]?.body).toContain('"deep":[null,"1970-01-01T00:00:00.000Z"]');
  });
});

describe("no credential is in any error", () => {
  /** Every text that a value contains, in hidden properties too. */
  const textsOf = (value: unknown) =>
    [JSON.stringify(value), inspect(value, { depth: null, showHidden: true }), String(value)].join("\n");

  const json = (status: number, error: object, fields = {}) =>
    Response.json({ success: 0, error: { message: "", ...error }, ...fields }, { status });

  const LEAKY: [string, (leak: string) => Promise<Response>][] = [
    [
      "a service that repeats the request",
      async (leak) =>
        json(
          422,
          { code: "invalid_body", message: leak, issues: [{ path: [leak], message: leak }] },
          { request_id: leak },
        ),
    ],
    ["a code that repeats it", async (leak) => json(400, { code: leak })],
    [
      "a failure of status 200 that repeats it",
      async (leak) => json(200, { code: "invalid_template", message: leak, reason: leak, position: 0 }),
    ],
    [
      "a page and a request id that repeat it",
      async (leak) => new Response(leak, { headers: { "X-Request-Id": leak } }),
    ],
    [
      "a fetch whose error holds it",
      async (leak) => {
        const cause = Object.assign(new AggregateError([new Error(leak)], leak), { leak });
        throw Object.assign(new Error(leak, { cause }), { leak });
      },
    ],
    ["a fetch whose error holds it as JSON", (leak) => Promise.reject(new Error(JSON.stringify({ leak })))],
    ["a fetch that throws no error", (leak) => Promise.reject(leak)],
    ["a fetch that never answers", () => new Promise(() => {})],
  ];
  const SERVICE = "https://service.test";
  const ODD_TOKEN = 'looks-"like"\\none';
  const CALLS: [string, (options: Options) => Promise<unknown>][] = [
    [API_KEY, (options) => groups(SERVICE, options).ensure({ userGroupId: "a" })],
    [TOKEN, (options) => groups(SERVICE, options).rotateToken({ currentToken: TOKEN })],
    [ODD_TOKEN, (options) => groups(SERVICE, options).remove({ currentToken: ODD_TOKEN })],
    [TOKEN, (options) => viewer(SERVICE, options).view()],
    [OPERATOR_KEY, (options) => operator(SERVICE, options).keyPage(ENVIRONMENT)],
    [
      BOOTSTRAP_TOKEN,
      (options) => new OperatorClient({ url: SERVICE, operatorKey: BOOTSTRAP_TOKEN, ...options }).operatorPage(),
    ],
  ];

  it.for(LEAKY)("after %s", async ([, answer]) => {
    for (const [secret, call] of CALLS) {
      const leak = `${secret} ${API_KEY} ugk_customer_${"k".repeat(60)} ugo_${"k".repeat(59)}`;
      const error = await errorOf(call({ fetch: () => answer(leak), retries: 0, timeoutMs: 20 }));
      expect(error.cause).toBeUndefined();
      for (const form of [secret, JSON.stringify(secret).slice(1, -1)])
        expect(`${error.message} ${textsOf(error)}`.includes(form)).toBe(false);
      expect(/k{20}/.test(textsOf(error))).toBe(false);
    }
  });

  it("nor does a client show it", () => {
    for (const client of [groups(SERVICE), viewer(SERVICE), operator(SERVICE), environment(SERVICE)])
      expect(/[kto]{20}/.test(textsOf(client))).toBe(false);
  });
});
