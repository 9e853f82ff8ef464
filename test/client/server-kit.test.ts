import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { request } from "undici";
import { describe, expect, expectTypeOf, inject, it, onTestFinished, vi } from "vitest";
import { UserGroupClient, UserGroupServiceError } from "../../client/src/index.ts";
import {
  expressHandler,
  requireSession,
  sessionHandler,
  signOutHandler,
  type VerifiedSession,
} from "../../client/src/server.ts";
import { type Person, SERVERS } from "../support/node/kit-servers.ts";
import { AUDIENCE, errorIn, groups, JWKS, newMintingKey, testSites } from "../support/node/kit-site.ts";
import { forgedSessions, mintSessions } from "../support/node/sessions.ts";
import { refusal, standIn } from "../support/node/stand-in.ts";

const { url } = inject("service");
const ORIGIN = "https://app.example.com";

// The others are in examples/test.
testSites({ "plain Request and Response": SERVERS["plain Request and Response"] });

describe("sessionHandler", () => {
  const person: Person = { id: "jane", customer: "handled", store: 7 };
  const session = {
    token: "eyJ.a.b",
    expiresAt: "2035-01-01T00:05:00.000Z",
    expiresInSeconds: 300,
    maxStaleSeconds: 0,
  };
  const post = (headers: Record<string, string> = {}) => new Request(`${ORIGIN}/session`, { method: "POST", headers });

  /** A handler, and the functions of its client. */
  function start(options: object = {}, minted: object = {}) {
    const mintSession = vi.fn<UserGroupClient["mintSession"]>(async () => ({ ...session, ...minted }));
    const endSessions = vi.fn(async () => {});
    const onFailure = vi.fn();
    const handler = sessionHandler({
      client: { mintSession, endSessions },
      user: () => person,
      customer: (user) => user.customer,
      viewer: (user) => ({ viewerId: user.id, viewerProperties: { store: user.store } }),
      origins: [`${ORIGIN}/`],
      onFailure,
      ...options,
    });
    return { handler, mintSession, endSessions, onFailure };
  }

  /** Who is signed in before a mint, and after it. */
  const signedIn = (now: Person | null | undefined) =>
    vi.fn<() => Person | null | undefined>().mockReturnValueOnce(person).mockReturnValueOnce(now);

  it("mints what the person may see, for the pages of its origins", async () => {
    const { handler, mintSession } = start({ expiresInSeconds: 60, maxStaleSeconds: 30 });
    const response = await handler(post({ Origin: ORIGIN }));
    expect(response.headers.get("Cache-Control")).toBe("no-store");
    expect(await response.json()).toEqual({
      success: 1,
      session: { token: "eyJ.a.b", expires_at: session.expiresAt, expires_in_seconds: 300, max_stale_seconds: 0 },
    });
    expect(mintSession).toHaveBeenCalledExactlyOnceWith(
      {
        userGroupId: "handled",
        viewerId: "jane",
        viewerProperties: { store: 7 },
        origins: [ORIGIN],
        expiresInSeconds: 60,
        maxStaleSeconds: 30,
        includeVariables: undefined,
      },
      { signal: expect.any(AbortSignal) },
    );
  });

  it.for([
    ["a GET, which a browser may cache", new Request(`${ORIGIN}/session`), 405, "method_not_allowed"],
    ["a page of another site", post({ Origin: "https://thief.example" }), 403, "origin_not_allowed"],
    ["a sandboxed frame", post({ Origin: "null" }), 403, "origin_not_allowed"],
  ] as const)("refuses %s before it reads who has signed in", async ([, request, status, code]) => {
    const user = vi.fn(() => person);
    const response = await start({ user }).handler(request);
    expect(await errorIn(response)).toEqual({ status, code, cached: "no-store" });
    expect(user).not.toHaveBeenCalled();
  });

  it("finds no customer for a person who has none, without a call of the service", async () => {
    const { handler, mintSession } = start({ customer: () => undefined });
    const response = await handler(post());
    expect(await errorIn(response)).toMatchObject({ status: 404, code: "user_group_not_found" });
    expect(mintSession).not.toHaveBeenCalled();
  });

  it("passes on how long the service asks to wait", async () => {
    const { url: busy } = await standIn(() => refusal(429, "rate_limited", {}, { "Retry-After": "7" }));
    const client = new UserGroupClient({ url: busy, apiKey: "ugk_testing_x", retries: 0 });
    const response = await start({ client }).handler(post());
    expect(response.status).toBe(503);
    expect(response.headers.get("Retry-After")).toBe("7");
  });

  it("answers before the page gives up, if the service is silent", async () => {
    vi.useFakeTimers();
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const timeout = vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => {
      const controller = new AbortController();
      setTimeout(() => controller.abort(new DOMException("Too late.", "TimeoutError")), ms);
      return controller.signal;
    });
    onTestFinished(() => timeout.mockRestore());
    const mintSession = (_: unknown, { signal }: { signal: AbortSignal }) =>
      new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    const answered = start({ client: { mintSession } }).handler(post());
    await vi.advanceTimersByTimeAsync(9_000);
    expect(await errorIn(await answered)).toMatchObject({ status: 503, code: "service_unavailable" });
  });

  it("leaves a bug of the integrator to the server's own handling of errors", async () => {
    const bug = new TypeError("user.company is undefined");
    const fail = () => {
      throw bug;
    };
    await expect(start({ customer: fail }).handler(post())).rejects.toBe(bug);
    await expect(start({ client: { mintSession: async () => fail() } }).handler(post())).rejects.toBe(bug);
  });

  it.for([[[]], [["app.example.com"]], [["https://app.example.com/page"]], [Array(11).fill(ORIGIN)]])(
    "refuses origins that cannot work: %j",
    ([origins]) => {
      expect(() => start({ origins })).toThrow(/^Give .*origins.*https:\/\/app.example.com/);
    },
  );

  const PEOPLE: Record<string, Person | null | undefined> = {
    "has signed out": undefined,
    "is somebody else of the customer": { ...person, id: "joe" },
    "is of another customer": { ...person, customer: "other" },
  };

  it.for(Object.entries(PEOPLE))("ends a session, and does not send it, if the person now %s", async ([, now]) => {
    const { handler, endSessions } = start({ user: signedIn(now) });
    const response = await handler(post());
    expect(await errorIn(response)).toEqual({ status: 401, code: "signed_out", cached: "no-store" });
    expect(endSessions).toHaveBeenCalledExactlyOnceWith(
      { session: session.token, reason: "signed out during the mint" },
      { signal: expect.any(AbortSignal) },
    );
  });

  it.for(["viewerProperties", "claims"])("tells people without an id apart by their %s", async (name) => {
    const answerTo = async (now: Person) => {
      const viewer = ({ id }: Person) => ({ [name]: { role: { of: id } } });
      const { handler, endSessions } = start({ user: signedIn(now), viewer });
      const { status } = await handler(post());
      return [status, endSessions.mock.calls.length];
    };
    expect(await answerTo({ ...person })).toEqual([200, 0]);
    expect(await answerTo({ ...person, id: "joe" })).toEqual([401, 1]);
  });

  it.for([
    [0, 503],
    [700, 503],
    [701, 200],
    [null, 200],
    [undefined, 200],
  ] as const)(
    "of a wait of 200 ms, an end %j ms before the mint makes the answer %j",
    async ([viewerEndedMsAgo, status]) => {
      const now = vi.spyOn(performance, "now").mockReturnValueOnce(1_000).mockReturnValueOnce(1_200);
      onTestFinished(() => now.mockRestore());
      const { handler, endSessions } = start({}, { viewerEndedMsAgo });
      const response = await handler(post());
      expect([response.status, response.headers.get("Retry-After")]).toEqual([status, status === 503 ? "1" : null]);
      expect(endSessions).toHaveBeenCalledTimes(status === 503 ? 1 : 0);
      expect(await response.text()).not.toContain("ended");
    },
  );

  it.for(["client", "user", "customer", "viewer"])("without %s fails at once, by its name", (option) => {
    expect(() => start({ [option]: undefined })).toThrow(new RegExp(`^(?:Give )?${option} `));
  });

  it("ends the session, too, if the person cannot be asked for again", async () => {
    const lost = new Error("The table of sign-ins cannot be read.");
    const user = vi.fn<() => Person>().mockReturnValueOnce(person);
    user.mockImplementationOnce(() => {
      throw lost;
    });
    const { handler, endSessions } = start({ user });
    await expect(handler(post())).rejects.toBe(lost);
    expect(endSessions).toHaveBeenCalledOnce();
  });

  it("does not send a session that it cannot end, and reports why", async () => {
    const failure = new UserGroupServiceError("network_error", "Lost.");
    const mintSession = async () => session;
    const client = { mintSession, endSessions: () => Promise.reject(failure) };
    const { handler, onFailure } = start({ user: signedIn(undefined), client });
    expect(await errorIn(await handler(post()))).toMatchObject({ status: 401, code: "signed_out" });
    expect(onFailure).toHaveBeenCalledExactlyOnceWith(failure, "handled");
    // A client that an integrator has written for 1.0.
    const older = start({ user: signedIn(undefined), client: { mintSession } });
    expect((await older.handler(post())).status).toBe(401);
  });

  it("mints no session of everybody for a viewer whose id is undefined", async () => {
    const client = new UserGroupClient({ url, apiKey: "ugk_testing_x" });
    const { handler } = start({ client, viewer: () => ({ viewerId: undefined }) });
    await expect(handler(post())).rejects.toThrow(/^viewerId is undefined/);
  });

  it("has the integrator's own type of a person", () => {
    sessionHandler({
      client: groups,
      user: (_request, _context: { user?: Person }) => _context.user,
      customer: (user) => {
        expectTypeOf(user).toEqualTypeOf<Person>();
        return user.customer;
      },
      viewer: ({ id, store }) => ({ viewerId: id, viewerProperties: { store } }),
      origins: [ORIGIN],
    });
  });
});

it("the adapter of Express answers a method that no Request may have", async () => {
  const options = {
    client: groups,
    user: () => null,
    customer: () => undefined,
    viewer: () => ({}),
    origins: [ORIGIN],
  };
  const handler = expressHandler(sessionHandler(options));
  const server = createServer((incoming, outgoing) => void handler(incoming, outgoing, () => {}));
  server.listen(0, "localhost");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const { statusCode } = await request(`http://localhost:${port}/`, { method: "TRACE" });
  expect(statusCode).toBe(405);
});

describe("an endpoint in a module that a build loads without settings", () => {
  const signedIn = { client: groups, user: () => null, customer: () => undefined, viewer: () => ({}) };
  const signOut = () => new Response(null, { status: 204 });
  type Settings = { origins: string[]; audience: string; jwks: string };
  const ENDPOINTS: [string, (settings: () => Settings) => (request: Request) => Promise<unknown>][] = [
    ["sessionHandler", (settings) => sessionHandler(() => ({ ...signedIn, ...settings() }))],
    ["signOutHandler", (settings) => signOutHandler(() => ({ ...signedIn, signOut, ...settings() }))],
    ["requireSession", (settings) => requireSession(settings)],
  ];

  it.for(ENDPOINTS)("%s asks for its options at the first request, and once", async ([, endpoint]) => {
    const settings = vi.fn(() => ({ origins: [ORIGIN], audience: AUDIENCE, jwks: JWKS }));
    const answer = endpoint(settings);
    expect(settings).not.toHaveBeenCalled();
    for (let time = 0; time < 2; time += 1)
      await answer(new Request(`${ORIGIN}/`, { method: "POST", headers: { Origin: ORIGIN } }));
    expect(settings).toHaveBeenCalledOnce();
  });

  it("has the types of the integrator's own person in a function, too", () => {
    sessionHandler(() => ({
      client: groups,
      user: (_request: Request, context: { user?: Person }) => context.user,
      customer: ({ customer }) => customer,
      viewer: ({ id }) => ({ viewerId: id }),
      origins: [ORIGIN],
    }));
    const check = requireSession(() => ({
      client: groups,
      audience: AUDIENCE,
      origins: [ORIGIN],
      user: ({ teamId }) => ({ shop: teamId }),
    }));
    expectTypeOf(check)
      .returns.resolves.exclude<Response>()
      .toEqualTypeOf<VerifiedSession & { user: { shop: number } }>();
  });

  const VALID = { client: groups, audience: AUDIENCE, origins: [ORIGIN] };
  it.for([
    [{ origins: undefined }, "origins is undefined."],
    [{ origins: [ORIGIN, undefined] }, "origins[1] is undefined."],
    [{ origins: [""] }, "origins[0] is empty."],
    [{ audience: undefined }, "audience is undefined."],
    [{ audience: "" }, "audience is empty."],
    [{ client: undefined }, "jwks is undefined."],
    [{ jwks: "https://groups.example.com/.well-known/jwks.json" }, "Give either jwks or client."],
  ])("%j fails at once without a function: %s", ([options, message]) => {
    expect(() => requireSession({ ...VALID, ...Object(options) })).toThrow(
      new RegExp(`^${RegExp.escape(String(message))}`),
    );
  });
});

describe("requireSession offline", () => {
  const OFFLINE = { audience: "verifiers/Customer", origins: [ORIGIN, "https://other.example"] };

  /** Serves the keys of the tests, and returns how an API answers a request with a token. */
  async function startApi(options: Partial<Parameters<typeof requireSession>[0]> = {}) {
    let reply: Parameters<typeof standIn>[0] = () => "drop";
    const { url: issuer, received } = await standIn((...all) => reply(...all));
    const { jwks } = mintSessions([{ issuer, providedId: "initech" }]);
    reply = () => ({ status: 200, headers: { "Content-Type": "application/json" }, body: jwks });
    const check = requireSession({ ...OFFLINE, jwks: `${issuer}/.well-known/jwks.json`, ...options } as never);
    const answer = async (token: string, headers: Record<string, string> = {}) => {
      const result = await check(
        new Request("https://api.example.com", { headers: { Authorization: `Bearer ${token}`, ...headers } }),
      );
      return result instanceof Response ? errorIn(result) : result;
    };
    const mint = (session: object) => mintSessions([{ issuer, providedId: "initech", ...session }]).tokens[0] ?? "";
    return { issuer, received, answer, mint, setReply: (next: typeof reply) => (reply = next) };
  }

  it("accepts a session, and says whose it is", async () => {
    const { answer, mint, received } = await startApi();
    const token = mint({ teamId: 12, viewerId: "jane" });
    expect(await answer(token)).toMatchObject({
      ...{ teamId: 12, userGroupId: "initech", viewerId: "jane", viewerProperties: {}, variables: {}, token },
      claims: { team_id: 12, aud: "verifiers/Customer" },
    });
    await answer(token);
    expect(received.map(({ path }) => path)).toEqual(["/.well-known/jwks.json"]);
  });

  it("ignores keys of other kinds in the set, which a later release may add", async () => {
    const { answer, mint, setReply } = await startApi();
    const { jwks } = mintSessions([]);
    const others = [{ kty: "OKP", crv: "Ed25519", kid: "new", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" }, null];
    const keys = [...others, ...(jwks as { keys: object[] }).keys];
    setReply(() => ({ status: 200, body: { keys } }));
    expect(await answer(mint({ teamId: 12 }))).toMatchObject({ teamId: 12 });
  });

  it("refuses every text that is no session of this environment", async () => {
    const { answer, mint, issuer } = await startApi();
    const { valid, wrong } = forgedSessions(issuer, 4);
    expect(await answer(valid)).toMatchObject({ teamId: 4 });
    const texts = { ...wrong, "a session of another workspace": mint({ workspace: "other" }) };
    for (const [what, text] of Object.entries(texts))
      expect(await answer(text), what).toMatchObject({
        status: 401,
        code: what === "an end in the past" ? "credential_expired" : "unauthenticated",
      });
  });

  it("accepts a session from the pages of its origins alone", async () => {
    const { answer, mint } = await startApi();
    const limited = mint({ origins: [ORIGIN] });
    expect(await answer(limited)).toMatchObject({ userGroupId: "initech" });
    expect(await answer(limited, { Origin: ORIGIN })).toMatchObject({ userGroupId: "initech" });
    for (const Origin of ["https://other.example", "https://thief.example", "null"])
      expect(await answer(limited, { Origin })).toMatchObject({ status: 403, code: "origin_not_allowed" });
    expect(await answer(mint({}), { Origin: "https://other.example" })).toMatchObject({ userGroupId: "initech" });
    expect(await answer(mint({}), { Origin: "https://thief.example" })).toMatchObject({ code: "origin_not_allowed" });
  });
  /** Stops the clock by which the kit measures times. The function that it returns moves it. */
  function stopClock() {
    let now = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    onTestFinished(() => {
      clock.mockRestore();
      logged.mockRestore();
    });
    return { logged, elapse: (ms: number) => (now += ms) };
  }

  it("keeps the keys for 5 minutes, and asks for an unknown one twice a minute at most", async () => {
    const { elapse } = stopClock();
    const { answer, mint, received, issuer } = await startApi();
    const stranger = forgedSessions(issuer, 1).wrong["a stranger's kid"] ?? "";
    await answer(mint({}));
    for (let time = 0; time < 10; time += 1) await answer(stranger);
    expect(received).toHaveLength(1);
    elapse(31_000);
    await Promise.all([answer(stranger), answer(stranger)]);
    expect(received).toHaveLength(2);
    elapse(299_000);
    await answer(mint({}));
    expect(received).toHaveLength(2);
    elapse(2_000);
    await answer(mint({}));
    expect(received).toHaveLength(3);
  });

  it("is 503 while it has no keys, and works again by itself", async () => {
    const { logged, elapse } = stopClock();
    const { answer, mint, setReply } = await startApi();
    const token = mint({});
    const { jwks } = mintSessions([]);
    for (const reply of [
      "drop",
      { status: 302, headers: { Location: "https://thief.example" } },
      { status: 200, body: "<html>" },
      { status: 200, body: {} },
      { status: 503 },
    ] as const) {
      setReply(() => reply);
      elapse(5_000);
      expect(await answer(token)).toEqual({ status: 503, code: "service_unavailable", cached: "no-store" });
    }
    expect(logged).toHaveBeenCalledTimes(5);
    elapse(5_000);
    setReply(() => ({ status: 200, body: jwks }));
    expect(await answer(token)).toMatchObject({ userGroupId: "initech" });
  });

  it("asks and logs once for 300 forged sessions while there are no keys", async () => {
    const { logged, elapse } = stopClock();
    const { answer, issuer, received, setReply, mint } = await startApi();
    setReply(() => "drop");
    const forged = forgedSessions(issuer, 1).wrong["a stranger's kid"] ?? "";
    const unavailable = { status: 503, code: "service_unavailable" };
    const present = async (count: number) => {
      for (let time = 0; time < count; time += 1) expect(await answer(forged)).toMatchObject(unavailable);
    };
    await Promise.all([present(100), present(100), present(100)]);
    expect([received.length, logged.mock.calls.length]).toEqual([1, 1]);
    elapse(4_999);
    await present(1);
    expect(received).toHaveLength(1);
    elapse(1);
    await present(2);
    expect([received.length, logged.mock.calls.length]).toEqual([2, 2]);

    setReply(() => ({ status: 200, body: mintSessions([]).jwks }));
    elapse(5_000);
    expect(await answer(mint({}))).toMatchObject({ userGroupId: "initech" });
  });

  it("goes on with the keys that it has while forged sessions ask for others in vain", async () => {
    const { elapse } = stopClock();
    const { answer, issuer, mint, received, setReply } = await startApi();
    const valid = mint({});
    expect(await answer(valid)).toMatchObject({ userGroupId: "initech" });
    setReply(() => "drop");
    elapse(31_000);
    for (let time = 0; time < 10; time += 1) {
      expect(await answer(forgedSessions(issuer, 1).wrong["a stranger's kid"] ?? "")).toMatchObject({ status: 503 });
      expect(await answer(valid)).toMatchObject({ userGroupId: "initech" });
    }
    expect(received).toHaveLength(2);
  });

  it("finds the integrator's own record of the customer, or is 404", async () => {
    const customers = new Map([[12, { plan: "gold" }]]);
    const user = (session: VerifiedSession) => customers.get(session.teamId);
    const { answer, mint } = await startApi({ user } as object);
    expect(await answer(mint({ teamId: 12 }))).toMatchObject({ teamId: 12, user: { plan: "gold" } });
    expect(await answer(mint({ teamId: 13 }))).toMatchObject({ status: 404, code: "user_group_not_found" });
    const check = requireSession({ jwks: JWKS, ...OFFLINE, user });
    expectTypeOf(check)
      .returns.resolves.extract<{ user: unknown }>()
      .toHaveProperty("user")
      .toEqualTypeOf<{ plan: string }>();
  });

  it.for<[string, object, RegExp]>([
    ["an audience without an environment", { audience: "acme" }, /^Give audience as/],
    ["keys that anybody on the way can replace", { jwks: "http://groups.internal/jwks" }, /allowHttp/],
    ["a text as keys", { jwks: "keys" }, /^Give jwks as https/],
    ["no origins", { origins: [] }, /^Give origins as a list/],
  ])("refuses %s at once", ([, wrong, message]) => {
    expect(() => requireSession({ ...OFFLINE, jwks: JWKS, ...wrong } as never)).toThrow(message);
  });

  it("takes keys of a private network if allowHttp allows it", () => {
    expect(requireSession({ ...OFFLINE, jwks: "http://groups:8787/jwks", allowHttp: true })).toBeTypeOf("function");
  });
});

describe("requireSession online", () => {
  it("shows the present variables, and refuses a session of another environment", async () => {
    await groups.ensure({ userGroupId: "variables", properties: { plan: "gold" } });
    const options = { client: groups, audience: AUDIENCE, origins: [ORIGIN] };
    const check = requireSession(options);
    const { token } = await groups.mintSession({ userGroupId: "variables", viewerProperties: { store: 7 } });
    const request = new Request("https://api.example.com", { headers: { Authorization: `Bearer ${token}` } });
    expect(await check(request)).toMatchObject({
      viewerProperties: { store: 7 },
      variables: { "user_group.plan": "gold", "viewer.store": 7 },
    });
    const elsewhere = await requireSession({ ...options, audience: "kit/Testing" })(request);
    expect(await errorIn(elsewhere as Response)).toMatchObject({ status: 401, code: "unauthenticated" });
  });

  it.for([
    ["a token of a group", async () => (await groups.ensure({ userGroupId: "tokens" })).group.token ?? ""],
    ["an API key", async () => (await newMintingKey()).key],
    ["a forged session", async () => forgedSessions(url, 1).valid],
  ] as const)("refuses %s", async ([, credential]) => {
    // The environment of the forged session, so that only the service can refuse it.
    const check = requireSession({ client: groups, audience: "verifiers/Customer", origins: [ORIGIN] });
    const headers = { Authorization: `Bearer ${await credential()}` };
    const response = await check(new Request("https://api.example.com", { headers }));
    expect(await errorIn(response as Response)).toMatchObject({ status: 401, code: "unauthenticated" });
  });
});
