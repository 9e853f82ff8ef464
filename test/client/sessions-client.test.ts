import { readFileSync } from "node:fs";
import { inspect } from "node:util";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  type MintedSession,
  UserGroupClient,
  UserGroupServiceError,
  ViewerClient,
  type ViewerClientOptions,
} from "../../client/src/index.ts";
import { viewerProtocol } from "../../client/src/transport/viewer-protocol.ts";
import * as viewerEntry from "../../client/src/viewer.ts";
import openapi from "../../public/openapi.json" with { type: "json" };
import { refusal, standIn } from "../support/node/stand-in.ts";

const BUNDLE_BYTES_MAX = 4 * 1024;
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

type Mint = () => Promise<unknown>;

/**
 * A service, the backend of a page, and the page's client. The service has a clock of its own: `elapse` moves it together
 * with the clocks of the page's machine, and `sleep` moves it while the monotonic clock of that machine stands still.
 */
function startWorld({ lifeSeconds = 300, ...options }: Partial<ViewerClientOptions> & { lifeSeconds?: number } = {}) {
  let serviceNow = 0;
  let mints = 0;
  const revoked = new Set<string>();
  /** The tokens of the calls that the service has got, in their order. */
  const presented: string[] = [];

  const mintSession = (): MintedSession => {
    mints += 1;
    const token = `eyJhbGciOiJFUzI1NiJ9.${Buffer.from(`${mints}`).toString("base64url")}.s${serviceNow + lifeSeconds * SECOND}`;
    return { token, expires_in_seconds: lifeSeconds };
  };
  const session = vi.fn<Mint>(async () => mintSession());
  const fetch = vi.fn(async (_url: string, init: RequestInit) => {
    const token = new Headers(init.headers).get("Authorization")?.replace("Token ", "") ?? "";
    presented.push(token);
    const ended = revoked.has(token) ? "credential_revoked" : "credential_expired";
    if (revoked.has(token) || serviceNow >= Number(token.split(".s")[1])) {
      const { status, body } = refusal(401, ended);
      return Response.json(body, { status });
    }
    return Response.json({ success: 1, sql: "SELECT 1", params: [], dropped: [] });
  });
  const viewer = new ViewerClient({
    url: "https://service.test",
    fetch,
    session: session as () => Promise<MintedSession>,
    ...(options as object),
  });
  return {
    viewer,
    session,
    fetch,
    presented,
    mintSession,
    call: (signal?: AbortSignal) => viewer.bindQuery({ sql: "SELECT 1" }, { signal }),
    elapse: async (ms: number) => {
      serviceNow += ms;
      await vi.advanceTimersByTimeAsync(ms);
    },
    sleep: (ms: number) => {
      serviceNow += ms;
    },
    revoke: (token: string | undefined) => revoked.add(token ?? ""),
  };
}

const times = (count: number, call: () => Promise<unknown>) => Promise.all(Array.from({ length: count }, () => call()));

const errorOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => Promise.reject(new Error("The call succeeded.")),
    (error) => error,
  );

/** Fails this often, and then as before. */
const failing = (
  session: ReturnType<typeof startWorld>["session"],
  count: number,
  error: unknown = new TypeError("Failed to fetch"),
) => {
  for (let time = 0; time < count; time += 1) session.mockRejectedValueOnce(error);
};

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(Math, "random").mockReturnValue(0.5);
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe("a session", () => {
  it("is minted once for 20 concurrent callers, and then kept", async () => {
    const { session, presented, call } = startWorld();
    expect(session).not.toHaveBeenCalled();
    await times(20, call);
    await call();
    expect(session).toHaveBeenCalledTimes(1);
    expect(presented).toHaveLength(21);
    expect(new Set(presented).size).toBe(1);
  });

  it("is renewed in the first call after 80 % of its life, without a wait", async () => {
    const { session, presented, call, elapse } = startWorld();
    await call();
    await elapse(240 * SECOND - 1);
    await call();
    expect(session).toHaveBeenCalledTimes(1);

    await elapse(1);
    let deliver = (_: unknown) => {};
    session.mockReturnValueOnce(new Promise((resolve) => (deliver = resolve)));
    await times(20, call);
    expect(session).toHaveBeenCalledTimes(2);
    expect(new Set(presented).size).toBe(1);

    deliver({ token: "eyJ.renewed.s999999999", expires_in_seconds: 300 });
    await elapse(0);
    await call();
    expect(session).toHaveBeenCalledTimes(2);
    expect(presented.at(-1)).toBe("eyJ.renewed.s999999999");
  });

  it("is minted before the call when its life is over, once for 20 callers", async () => {
    const { session, presented, call, elapse } = startWorld();
    await call();
    await elapse(300 * SECOND);
    await times(20, call);
    expect(session).toHaveBeenCalledTimes(2);
    expect(presented).toHaveLength(21);
  });

  it("begins before it is asked for, however long the answer takes", async () => {
    const { session, call, elapse, mintSession } = startWorld({ timeoutMs: MINUTE });
    session.mockImplementationOnce(async () => {
      const minted = mintSession();
      await new Promise((resolve) => setTimeout(resolve, 30 * SECOND));
      return minted;
    });
    const first = call();
    await elapse(30 * SECOND);
    await first;
    await elapse(210 * SECOND);
    await call();
    expect(session).toHaveBeenCalledTimes(2);
  });

  it.for<[string, (minted: { token: string; expires_in_seconds: number }) => object]>([
    ["what the client of a server returns", ({ token }) => ({ token, expiresAt: "…", expiresInSeconds: 100 })],
    ["the whole answer of the service", (session) => ({ success: 1, session: { ...session, expires_at: "…" } })],
    ["its answer as a Response", (session) => Response.json({ success: 1, session })],
  ])("may be %s", async ([, answerWith]) => {
    const { session, presented, call, elapse } = startWorld();
    session.mockResolvedValueOnce(answerWith({ token: "eyJ.odd.s100000", expires_in_seconds: 100 }));
    await call();
    await elapse(79_999);
    await call();
    expect(presented).toEqual(["eyJ.odd.s100000", "eyJ.odd.s100000"]);
    expect(session).toHaveBeenCalledTimes(1);
    await elapse(1);
    await call();
    expect(session).toHaveBeenCalledTimes(2);
    // A page and a program can end.
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("the clock of the page's machine", () => {
  it.for([-10, 10])("may be set by %i minutes while a session lives", async (minutes) => {
    const { session, presented, call, elapse } = startWorld();
    await call();
    vi.setSystemTime(Date.now() + minutes * MINUTE);
    await elapse(200 * SECOND);
    await call();
    expect(session).toHaveBeenCalledTimes(1);
    await elapse(100 * SECOND);
    await call();
    expect(session).toHaveBeenCalledTimes(2);
    expect(presented).toHaveLength(3);
  });

  it("may stand still in a sleep: one 401 leads to one mint", async () => {
    const { session, presented, call, sleep } = startWorld();
    await call();
    sleep(8 * 60 * MINUTE);
    await times(20, call);
    expect(session).toHaveBeenCalledTimes(2);
    // The 20 calls, and each of them again.
    expect(presented).toHaveLength(1 + 20 + 20);
  });
});

describe("a failed mint", () => {
  it("is tried again with backoff, once for all callers", async () => {
    const { session, call, elapse } = startWorld();
    failing(session, 2);
    const calls = times(20, call);
    await elapse(99);
    expect(session).toHaveBeenCalledTimes(1);
    await elapse(1);
    expect(session).toHaveBeenCalledTimes(2);
    await elapse(199);
    expect(session).toHaveBeenCalledTimes(2);
    await elapse(1);
    await calls;
    expect(session).toHaveBeenCalledTimes(3);
  });

  it("is the error of the calls that need a session, and the next call tries again", async () => {
    const { session, call, presented } = startWorld();
    const error = new Error("Not signed in.");
    failing(session, 1, error);
    expect(await Promise.all([errorOf(call()), errorOf(call())])).toEqual([error, error]);
    expect(session).toHaveBeenCalledTimes(1);
    await call();
    expect(presented).toHaveLength(1);
  });

  it.for<[string, unknown, number]>([
    ["a person who is signed out", Object.assign(new Error("Sign in."), { status: 401 }), 1],
    ["a suspended customer", new UserGroupServiceError("user_group_suspended", "Suspended.", { status: 403 }), 1],
    ["an unknown customer", new UserGroupServiceError("user_group_not_found", "Unknown.", { status: 404 }), 1],
    ["a page that is no JSON", new SyntaxError("Unexpected token <"), 1],
    ["a text", "no session", 1],
    ["nothing", null, 1],
    ["a status of 429", Object.assign(new Error("Busy."), { status: 429 }), 4],
    ["a status of 503", Object.assign(new Error("Down."), { status: 503 }), 4],
    ["the service's rate limit", new UserGroupServiceError("rate_limited", "Busy.", { status: 429 }), 4],
    ["a lost connection", new TypeError("Failed to fetch"), 4],
    ["a lost connection of the backend", new UserGroupServiceError("network_error", "Lost."), 4],
    ["a timeout of fetch", new DOMException("Too late.", "TimeoutError"), 4],
    ["a timeout of the backend", new UserGroupServiceError("timeout", "Too late."), 4],
  ])("after %s is final, or tried four times: %#", async ([, error, tries]) => {
    const { session, call, elapse } = startWorld();
    failing(session, 9, error);
    const outcome = errorOf(call());
    await elapse(MINUTE);
    expect(await outcome).toBe(error);
    expect(session).toHaveBeenCalledTimes(tries);
  });

  it.for([
    [401, "signed_out"],
    [403, "user_group_suspended"],
    [404, "user_group_not_found"],
    [500, "service_unavailable"],
  ] as const)("is final if the backend answers with %i %s, and has its code and sentence", async ([status, code]) => {
    const { session, call } = startWorld();
    session.mockImplementation(async () => Response.json(refusal(status, code).body, { status }));
    expect(await errorOf(call())).toMatchObject({
      name: "UserGroupServiceError",
      code,
      status,
      message: `It is ${code}.`,
    });
    expect(session).toHaveBeenCalledTimes(1);
  });

  it("is tried again if the backend has no session at the moment, after the time that it names", async () => {
    const { session, call, elapse, mintSession } = startWorld();
    const { status, body } = refusal(503, "service_unavailable");
    session.mockResolvedValueOnce(Response.json(body, { status, headers: { "Retry-After": "7" } }));
    session.mockImplementation(async () => mintSession());
    const answered = call();
    await elapse(7 * SECOND);
    expect(session).toHaveBeenCalledTimes(1);
    await elapse(SECOND);
    expect(await answered).toMatchObject({ sql: "SELECT 1" });
    expect(session).toHaveBeenCalledTimes(2);
  });

  it("is an unexpected answer if a proxy or a page for people is in the way", async () => {
    const { session, call } = startWorld({ retries: 0 });
    session.mockImplementation(async () => new Response("<h1>Bad gateway</h1>", { status: 502 }));
    expect(await errorOf(call())).toMatchObject({ code: "unexpected_answer", status: 502 });
    session.mockImplementation(async () => new Response("<h1>Welcome</h1>"));
    expect(await errorOf(call())).toBeInstanceOf(TypeError);
  });

  it("leaves the old session in use, and is repeated at ever shorter distances", async () => {
    const { session, presented, call, elapse } = startWorld({ retries: 0 });
    await call();
    const [first] = presented;
    await elapse(240 * SECOND);
    failing(session, 100);
    for (const [seconds, mints] of [
      [0, 2],
      [29, 2],
      [1, 3],
      [14, 3],
      [1, 4],
      [7, 4],
      [1, 5],
    ] as const) {
      await elapse(seconds * SECOND);
      await times(20, call);
      expect(session).toHaveBeenCalledTimes(mints);
    }
    expect(new Set(presented)).toEqual(new Set([first]));
  });

  it("lasts beyond the old session: calls wait for it, and for no other", async () => {
    const { session, presented, call, elapse } = startWorld({ backoffMs: 10 * SECOND });
    await call();
    await elapse(299 * SECOND);
    failing(session, 2);
    await call();
    expect(session).toHaveBeenCalledTimes(2);

    await elapse(SECOND);
    const waiting = times(20, call);
    await elapse(4 * SECOND);
    expect(session).toHaveBeenCalledTimes(3);
    await elapse(10 * SECOND);
    await waiting;
    expect(session).toHaveBeenCalledTimes(4);
    expect(presented).toHaveLength(2 + 20);
    expect(new Set(presented).size).toBe(2);
  });

  it("that never ends is a timeout", async () => {
    const { session, call, elapse } = startWorld({ retries: 0, timeoutMs: 5 * SECOND });
    session.mockReturnValue(new Promise(() => {}));
    const outcome = errorOf(call());
    await elapse(5 * SECOND);
    const message = "session() did not resolve within 5000 ms.";
    expect(await outcome).toEqual(new UserGroupServiceError("timeout", message));
  });

  it.for<[string, unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["a text", "eyJ.secret.s"],
    ["a Response", new Response("eyJ.secret.s")],
    ["an answer without a session", { success: 1, session: null }],
    ["an answer whose session has no life", { success: 1, session: { token: "eyJ.secret.s" } }],
    ["an error", { success: 0, error: { code: "unauthenticated" } }],
    ["no life", { token: "eyJ.secret.s" }],
    ["a life of zero", { token: "eyJ.secret.s", expires_in_seconds: 0 }],
    ["a life that is a text", { token: "eyJ.secret.s", expires_in_seconds: "300" }],
    ["a life that is not a number", { token: "eyJ.secret.s", expires_in_seconds: Number.NaN }],
    ["no token", { expires_in_seconds: 300 }],
  ])("is a clear error if it returns nonsense: %s", async ([, minted]) => {
    const { session, call } = startWorld();
    session.mockResolvedValue(minted);
    const error = await errorOf(call());
    expect(session).toHaveBeenCalledTimes(1);
    expect(error).toEqual(new TypeError("session() gave none."));
    expect(error).toBeInstanceOf(TypeError);
  });

  it("is a clear error if its token cannot be a header", async () => {
    const { session, call, presented } = startWorld();
    session.mockResolvedValue({ token: "eyJ\n", expires_in_seconds: 300 });
    expect(await errorOf(call())).toEqual(new TypeError("Give token as ASCII, no blanks."));
    expect(presented).toEqual([]);
    expect(session).toHaveBeenCalledTimes(1);
  });

  it("may also throw instead of rejecting", async () => {
    const { session, call } = startWorld({ retries: 0 });
    const error = new Error("No backend.");
    session.mockImplementation(() => {
      throw error;
    });
    expect(await errorOf(call())).toBe(error);
  });
});

describe("a 401", () => {
  it("leads to one mint for all callers, and each call is sent once more", async () => {
    const { session, presented, call, revoke } = startWorld();
    await call();
    revoke(presented[0]);
    await times(20, call);
    expect(session).toHaveBeenCalledTimes(2);
    expect(presented).toHaveLength(1 + 20 + 20);
    expect(new Set(presented).size).toBe(2);
  });

  it("to the new session, too, is the error of the call", async () => {
    const { session, presented, call, mintSession, revoke } = startWorld();
    session.mockImplementation(async () => {
      const minted = mintSession();
      revoke(minted.token);
      return minted;
    });
    expect(await errorOf(call())).toMatchObject({ code: "credential_revoked", status: 401 });
    expect(session).toHaveBeenCalledTimes(2);
    expect(presented).toHaveLength(2);
  });

  it("to a session that another call has replaced leads to no mint", async () => {
    const { session, fetch, presented, call, revoke } = startWorld();
    await call();
    // The answer to the first of two calls comes after the second has renewed the session.
    let deliver = () => {};
    const { status, body } = refusal(401, "credential_revoked");
    fetch.mockImplementationOnce(
      () => new Promise((resolve) => (deliver = () => resolve(Response.json(body, { status })))),
    );
    const slow = call();
    revoke(presented[0]);
    await call();
    expect(session).toHaveBeenCalledTimes(2);
    deliver();
    await slow;
    expect(session).toHaveBeenCalledTimes(2);
  });

  it("while the session is being renewed leads to no second mint", async () => {
    const { session, presented, call, elapse, revoke, mintSession } = startWorld();
    await call();
    await elapse(250 * SECOND);
    revoke(presented[0]);
    session.mockImplementationOnce(async () => {
      await new Promise((resolve) => setTimeout(resolve, SECOND));
      return mintSession();
    });
    const calls = times(20, call);
    await elapse(SECOND);
    await calls;
    expect(session).toHaveBeenCalledTimes(2);
  });

  it("is not answered by a mint when the client has a token", async () => {
    const fetch = vi.fn(async () => {
      const { status, body } = refusal(401, "credential_revoked");
      return Response.json(body, { status });
    });
    const viewer = new ViewerClient({ url: "https://service.test", token: "ugt_testing_x", fetch });
    expect(await errorOf(viewer.view())).toMatchObject({ code: "credential_revoked" });
    expect(fetch).toHaveBeenCalledTimes(1);
  });

  it.for([403, 404, 429, 500])("is no %d: that one mints nothing", async (status) => {
    const { session, fetch, call } = startWorld({ retries: 0 });
    fetch.mockImplementation(async () => Response.json(refusal(status, "origin_not_allowed").body, { status }));
    expect(await errorOf(call())).toMatchObject({ code: "origin_not_allowed", status });
    expect(session).toHaveBeenCalledTimes(1);
  });
});

describe("the current session", () => {
  it("is minted, kept and renewed as for the calls", async () => {
    const { session, viewer, call, presented, elapse } = startWorld();
    const first = await viewer.session();
    expect(first).toEqual({ token: expect.stringMatching(/^eyJ/), expiresInSeconds: 300 });
    await call();
    expect(presented).toEqual([first.token]);
    await elapse(100 * SECOND + 1);
    expect(await viewer.session()).toEqual({ token: first.token, expiresInSeconds: 199.999 });
    expect(session).toHaveBeenCalledTimes(1);
    await elapse(200 * SECOND);
    expect((await viewer.session()).token).not.toBe(first.token);
    expect(session).toHaveBeenCalledTimes(2);
  });

  it("is another one after a refusal, once for 20 callers", async () => {
    const { session, viewer } = startWorld();
    const { token: refused } = await viewer.session();
    const answers = await Promise.all(Array.from({ length: 20 }, () => viewer.session({ refused })));
    expect(new Set(answers.map(({ token }) => token)).size).toBe(1);
    expect(answers[0]?.token).not.toBe(refused);
    await viewer.session({ refused });
    expect(session).toHaveBeenCalledTimes(2);
  });

  it("does not exist in a client that has a token, which has nothing to reset either", async () => {
    const viewer = new ViewerClient({ url: "https://service.test", token: "eyJ.a.b" });
    expect(await errorOf(viewer.session())).toEqual(new TypeError("Give session, not token."));
    expect(() => viewer.reset()).toThrow(new TypeError("Give session, not token."));
  });
});

describe("an aborted call", () => {
  const reason = new Error("Nobody waits any more.");

  it("mints nothing if it is aborted before", async () => {
    const { session, call } = startWorld();
    expect(await errorOf(call(AbortSignal.abort(reason)))).toBe(reason);
    expect(session).not.toHaveBeenCalled();
  });

  it("ends at once, and the mint goes on for the others", async () => {
    const { session, call, elapse, mintSession } = startWorld();
    session.mockImplementation(async () => {
      await new Promise((resolve) => setTimeout(resolve, SECOND));
      return mintSession();
    });
    const controller = new AbortController();
    const aborted = errorOf(call(controller.signal));
    const other = call();
    await elapse(10);
    controller.abort(reason);
    expect(await aborted).toBe(reason);
    await elapse(SECOND);
    expect(await other).toMatchObject({ sql: "SELECT 1" });
    expect(session).toHaveBeenCalledTimes(1);
  });
});

describe("a client that is reset", () => {
  const aborted = { name: "AbortError" };

  it("rejects the calls in flight, and mints again for the next one", async () => {
    const { viewer, session, fetch, presented, call, elapse } = startWorld();
    await call();
    fetch.mockImplementationOnce(() => new Promise(() => {}));
    const sent = errorOf(call());
    await elapse(0);
    const inFlight = [sent, errorOf(viewer.session())];
    viewer.reset();
    for (const error of await Promise.all(inFlight)) {
      expect(error).toBeInstanceOf(DOMException);
      expect(error).toMatchObject(aborted);
    }
    await call();
    expect(session).toHaveBeenCalledTimes(2);
    expect(new Set(presented).size).toBe(2);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("never presents what a mint in flight brings for the person before", async () => {
    const { viewer, session, presented, call, elapse } = startWorld();
    let deliver = (_: unknown) => {};
    session.mockReturnValueOnce(new Promise((resolve) => (deliver = resolve)));
    const before = errorOf(call());
    await elapse(0);
    viewer.reset();
    expect(await before).toMatchObject(aborted);
    session.mockResolvedValueOnce({ token: "eyJ.after.s999999999", expires_in_seconds: 300 });
    const after = call();
    deliver({ token: "eyJ.before.s999999999", expires_in_seconds: 300 });
    await after;
    await call();
    expect((await viewer.session()).token).toBe("eyJ.after.s999999999");
    expect(presented).toEqual(["eyJ.after.s999999999", "eyJ.after.s999999999"]);
  });

  it("never presents what a renewal in the background brings, and ends its retries", async () => {
    const { viewer, session, presented, call, elapse } = startWorld();
    await call();
    await elapse(250 * SECOND);
    failing(session, 1);
    await call();
    expect(session).toHaveBeenCalledTimes(2);
    viewer.reset();
    await elapse(MINUTE);
    expect(session).toHaveBeenCalledTimes(2);

    await call();
    await elapse(250 * SECOND);
    let deliver = (_: unknown) => {};
    session.mockReturnValueOnce(new Promise((resolve) => (deliver = resolve)));
    await call();
    viewer.reset();
    deliver({ token: "eyJ.before.s999999999", expires_in_seconds: 300 });
    await elapse(0);
    await call();
    expect(presented).not.toContain("eyJ.before.s999999999");
  });

  it("does not send a call again that a 401 has refused", async () => {
    const { viewer, session, presented, call, elapse, revoke } = startWorld();
    await call();
    revoke(presented[0]);
    let deliver = (_: unknown) => {};
    session.mockReturnValueOnce(new Promise((resolve) => (deliver = resolve)));
    const refused = errorOf(call());
    await elapse(0);
    expect(session).toHaveBeenCalledTimes(2);
    viewer.reset();
    deliver({ token: "eyJ.before.s999999999", expires_in_seconds: 300 });
    expect(await refused).toMatchObject(aborted);
    await elapse(MINUTE);
    expect(presented).toHaveLength(2);
  });
});

describe("no session is in any error", () => {
  const texts = (error: unknown) =>
    `${String(error)} ${JSON.stringify(error)} ${inspect(error, { depth: null, showHidden: true })}`;

  it.for<[string, (leak: string) => Promise<Response>]>([
    [
      "an error of the service",
      async (leak) => Response.json(refusal(403, "origin_not_allowed", { message: leak }).body, { status: 403 }),
    ],
    ["a code", async (leak) => Response.json(refusal(400, leak).body, { status: 400 })],
    ["a page of a proxy", async (leak) => new Response(leak, { status: 502, headers: { "X-Request-Id": leak } })],
    ["the error of fetch", (leak) => Promise.reject(new Error(leak, { cause: new Error(leak) }))],
  ])("after %s that repeats it, and the one before", async ([, answer]) => {
    const { fetch, presented, call, elapse } = startWorld({ retries: 0 });
    await call();
    await elapse(300 * SECOND);
    await call();
    const [old = "", current = ""] = presented;
    fetch.mockImplementation(() => answer(`${current} and ${old}`));
    const error = await errorOf(call());
    expect(error).toBeInstanceOf(UserGroupServiceError);
    expect(texts(error)).not.toContain("eyJ");
  });

  it("nor does a client show it", async () => {
    const viewer = new ViewerClient({
      url: "https://service.test",
      session: async () => ({ token: "eyJ.secret.s", expires_in_seconds: 300 }),
      fetch: async () => Response.json({ success: 1, sql: "", params: [], dropped: [] }),
    });
    await viewer.bindQuery({ sql: "" });
    expect(texts(viewer)).not.toContain("eyJ");
  });
});

describe("options that cannot work are refused at once", () => {
  const url = "https://service.test";
  const session = async () => ({ token: "eyJ.a.b", expires_in_seconds: 300 });
  it.for<[string, object]>([
    ["a token and a session", { url, token: "ugt_testing_x", session }],
    ["neither", { url }],
    ["a session that is no function", { url, session: { token: "eyJ.a.b", expires_in_seconds: 300 } }],
    ["null as session", { url, session: null }],
  ])("%s", ([, options]) => {
    expect(() => new ViewerClient(options as ViewerClientOptions)).toThrow(/^Give /);
  });
});

describe("mintSession and endSessions", () => {
  const SESSION = {
    ...{ token: "eyJ.a.b", expires_at: "2035-01-01T00:05:00.000Z" },
    ...{ expires_in_seconds: 300, max_stale_seconds: 60 },
  };
  const answer = { status: 201, body: { success: 1, session: SESSION } };
  const groups = (url: string) => new UserGroupClient({ url, apiKey: "ugk_testing_x", backoffMs: 0 });

  beforeEach(() => {
    vi.useRealTimers();
  });

  it.for<["mintSession" | "endSessions", string, object, object]>([
    ["mintSession", "", { userGroupId: "acme" }, { user_group_id: "acme" }],
    [
      "mintSession",
      "",
      {
        ...{ userGroupId: "acme", expiresInSeconds: 60, origins: ["https://app.example.com"], viewerId: "jane" },
        ...{ viewerProperties: { store: 7 }, maxStaleSeconds: 60, includeVariables: true },
      },
      {
        ...{ user_group_id: "acme", expires_in_seconds: 60, origins: ["https://app.example.com"], viewer_id: "jane" },
        ...{ viewer_properties: { store: 7 }, max_stale_seconds: 60, include_variables: true },
      },
    ],
    [
      "endSessions",
      "/end",
      { userGroupId: "acme", viewerId: "jane", reason: "signed out" },
      { user_group_id: "acme", viewer_id: "jane", reason: "signed out" },
    ],
  ])("sends in the wire's names what %s is given, and only that: case %#", async (each) => {
    const [method, path, input, sent] = each;
    const { url, received } = await standIn(() => answer);
    await groups(url)[method](input as never);
    expect(received).toMatchObject([{ method: "POST", path: `/api/viewer_sessions${path}` }]);
    expect(JSON.parse(received[0]?.body ?? "")).toEqual(sent);
  });

  it("returns the session in names of its own", async () => {
    const { url } = await standIn(() => answer);
    expect(await groups(url).mintSession({ userGroupId: "acme" })).toEqual({
      ...{ token: "eyJ.a.b", expiresAt: SESSION.expires_at, expiresInSeconds: 300, maxStaleSeconds: 60 },
    });
  });

  it.for([{}, { ...SESSION, token: 1 }, { ...SESSION, expires_in_seconds: "300" }])(
    "refuses an answer without a session: %j",
    async (session) => {
      const { url } = await standIn(() => ({ status: 201, body: { success: 1, session } }));
      expect(await errorOf(groups(url).mintSession({ userGroupId: "acme" }))).toMatchObject({
        code: "unexpected_answer",
      });
    },
  );
});

describe("the file for pages", () => {
  it("is at most 4 KiB when it is compressed, and has nothing of the server's calls", async () => {
    const { outputFiles } = await build({
      entryPoints: ["client/src/viewer.ts"],
      bundle: true,
      minify: true,
      format: "esm",
      target: "es2022",
      write: false,
    });
    const [file] = outputFiles;
    const bytes = gzipSync(file?.contents ?? "", { level: 9 }).length;
    expect(bytes).toBeGreaterThan(2 * 1024);
    expect(bytes).toBeLessThanOrEqual(BUNDLE_BYTES_MAX);
    expect(file?.text).not.toMatch(/apiKey|operator|Idempotency|X-HTTP-Method-Override/);
  });

  it("has the same ViewerClient and its error, and nothing else", () => {
    expect({ ...viewerEntry }).toEqual({ ViewerClient, UserGroupServiceError });
  });

  it("knows each refusal that its calls can get", () => {
    /** Those that this client cannot cause: it sends well-formed calls to paths that exist. */
    const impossible = ["malformed_json", "malformed_request", "body_required", "unsupported_media_type"];
    const { "/api/viewer": view, "/api/viewer/query": query } = openapi.paths;
    const references = JSON.stringify([view.get.responses, query.post.responses]).matchAll(/responses\/([\w-]+)"/g);
    const documented = [...references].flatMap(([, name = ""]) => name.split("-or-"));
    expect(documented).toContain("unknown_variable");
    expect(viewerProtocol.codes).toEqual(
      expect.arrayContaining(documented.filter((code) => !impossible.includes(code))),
    );
  });

  it("is an entry of the package", () => {
    const { exports } = JSON.parse(readFileSync("client/package.json", "utf8"));
    expect(exports["./viewer"]).toEqual({ types: "./dist/viewer.d.ts", default: "./dist/viewer.js" });
  });
});
