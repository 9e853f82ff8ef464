import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CLAIMS_BYTES_MAX, SESSION_VARIABLES_BYTES_MAX } from "../../../../common/limits.ts";
import { byNumber } from "../../../support/by-number.ts";
import { type Answer, call, codeOf } from "../../../support/client.ts";
import { NOW } from "../../../support/clock.ts";
import { logLines } from "../../../support/each-test.ts";
import { limiter } from "../../../support/limiter.ts";
import { bearer, claimsIn, mint, sessionOf, setSuspended } from "../../../support/sessions.ts";
import { issueKey, newIntegrator, operator } from "../../../support/states.ts";
import { inDirectory } from "../../../support/storage.ts";
import { answeredBy, query, STALE, view } from "../../../support/viewers.ts";
import { watchedEnv } from "../../../support/watched-env.ts";

const PAGE = { Origin: "https://app.example.com" };
const OF_ACME = "?workspace=acme&environment=Testing";
const UNDOCUMENTED = "The document lists this refusal only where it describes the call.";

beforeEach(() => {
  vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
});

afterEach(() => {
  expect(JSON.stringify(logLines), "the log").not.toContain("eyJ");
});

const setSeconds = (seconds: number) => vi.setSystemTime(NOW.getTime() + seconds * 1000);

/** An integrator with the group acme, and a session of it. */
async function newSession(fields: object = {}) {
  const integrator = await newIntegrator();
  const token = await integrator.tokenOf("acme");
  return { ...integrator, token, session: await sessionOf(integrator.key, fields) };
}

const manageKey = (method: string, path: string, body?: object) =>
  call(method, `/api/keys${path}${OF_ACME}`, { credential: operator, body });

describe("POST /api/viewer_sessions", () => {
  it("answers with a session, its end and its seconds", async () => {
    const { key, tokenOf } = await newIntegrator();
    await tokenOf("acme", { properties: { region: "eu" } });

    const answer = await mint(key);

    expect(answer.status).toBe(201);
    expect(answer.headers.get("Cache-Control")).toBe("no-store");
    expect(answer.body).toEqual({
      success: 1,
      session: {
        token: expect.stringMatching(/^eyJ[\w-]+\.eyJ[\w-]+\.[\w-]{86}$/),
        expires_at: "2035-01-01T00:05:00.000Z",
        expires_in_seconds: 300,
        max_stale_seconds: 0,
      },
    });
    expect(claimsIn(answer.body.session.token)).toEqual({
      iss: "http://localhost",
      aud: "acme/Testing",
      sub: "acme",
      team_id: 1,
      gen: expect.stringMatching(/^[\w-]{22}$/),
      key: 1,
      jti: expect.stringMatching(/^[\da-f-]{36}$/),
      seq: expect.any(Number),
      iat: NOW.getTime() / 1000,
      exp: NOW.getTime() / 1000 + 300,
    });
  });

  it("puts into a session what was asked for", async () => {
    const { key, tokenOf } = await newIntegrator({ environment: null });
    await tokenOf("acme", { name: "Acme Inc.", properties: { region: "eu", list: [1, null] } });
    const origins = ["HTTPS://App.Example.com/", "http://localhost:3000"];
    const session = await sessionOf(key, {
      expires_in_seconds: 3600,
      origins,
      viewer_id: "ann@example.com",
      include_variables: true,
    });
    expect(claimsIn(session)).toMatchObject({
      aud: "acme/untagged",
      exp: NOW.getTime() / 1000 + 3600,
      origins: ["https://app.example.com", "http://localhost:3000"],
      viewer_id: "ann@example.com",
      variables: {
        user_group_id: "acme",
        user_group_name: "Acme Inc.",
        viewer_id: "ann@example.com",
        "user_group.region": "eu",
        "user_group.list": [1, null],
      },
    });
  });

  it("signs claims for other verifiers as they are, and answers as without them", async () => {
    const { key, session } = await newSession();
    const claims = {
      role: "authenticated",
      token_type: "access",
      "https://hasura.io/jwt/claims": { "x-hasura-role": "u" },
      __proto__x: [1, null],
    };
    const withClaims = await sessionOf(key, { claims, max_stale_seconds: 60 });
    expect(claimsIn(withClaims)).toMatchObject(claims);
    for (const headers of [{}, STALE]) {
      const [one, other] = [await view(withClaims, headers), await view(session, headers)];
      expect([one.status, one.body]).toEqual([200, other.body]);
    }
  });

  it.for([
    ...["iss", "sub", "aud", "exp", "nbf", "iat", "jti", "team_id", "gen", "key", "seq", "origins", "viewer_id"],
    ...["viewer_properties", "variables", "max_stale_seconds", "group", "ug_", "ug_role"],
  ])("refuses a claim with the name %s", async (name) => {
    const { key } = await newSession();
    const { status, body } = await mint(key, { claims: { [name]: "x" } });
    expect([status, body.error.code, body.error.issues[0].path]).toEqual([422, "invalid_body", ["claims", name]]);
  });

  it.for(["", "1", "-", "é", "__proto__"])("admits a viewer whose session begins with the claim %j", async (name) => {
    const { key } = await newSession();
    const session = await sessionOf(key, { claims: JSON.parse(`{${JSON.stringify(name)}: "x"}`) });
    expect(Object.entries(claimsIn(session))[0]).toEqual([name, "x"]);
    expect((await view(session)).status).toBe(200);
  });

  it("takes 20 claims and 2 KiB, and no more", async () => {
    const { key } = await newSession();
    const some = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`claim_${n}`, n]));
    const long = (bytes: number) => ({ text: "x".repeat(bytes - '{"text":""}'.length) });
    for (const claims of [some(20), long(CLAIMS_BYTES_MAX), {}]) expect((await mint(key, { claims })).status).toBe(201);
    for (const claims of [some(21), long(CLAIMS_BYTES_MAX + 1), [], "role", null, 1]) {
      const { status, body } = await mint(key, { claims });
      expect([status, body.error.issues[0].path]).toEqual([422, ["claims"]]);
    }
  });

  it("names the group by its number", async () => {
    const { key } = await newSession();
    const byNumber = { user_group_id: undefined, team_id: 1 };
    expect(claimsIn(await sessionOf(key, byNumber))).toMatchObject({ sub: "acme", team_id: 1 });
    expect(codeOf(await mint(key, { ...byNumber, team_id: 2 }))).toEqual([404, "user_group_not_found"]);
    await setSuspended(key, true);
    expect(codeOf(await mint(key, byNumber))).toEqual([403, "user_group_suspended"]);
  });

  it("names the issuer of the variable PUBLIC_URL, if it is set", async () => {
    const { key } = await newSession();
    const callEnv = { ...env, PUBLIC_URL: "https://groups.example.com" };
    const session = await sessionOf(key, {}, callEnv);
    expect(claimsIn(session).iss).toBe("https://groups.example.com");
    expect((await view(session, {}, callEnv)).status).toBe(200);
  });

  it.for([
    "ftp://groups.example.com",
    "https://groups.example.com/path",
    "http://groups.example.com",
    `https://${"x".repeat(300)}.example.com`,
    "groups.example.com",
  ])("mints none with the PUBLIC_URL %s, and logs what to do", async (PUBLIC_URL) => {
    const { key } = await newSession();
    expect(codeOf(await mint(key, {}, { ...env, PUBLIC_URL }))).toEqual([503, "service_not_configured"]);
    expect(logLines.at(-1)).toMatchObject({ level: "error", problem: expect.stringContaining("Set PUBLIC_URL to") });
  });

  it.for([
    ["http://localhost:8787", "http://localhost:8787"],
    ["http://127.0.0.1:9000", "http://127.0.0.1:9000"],
    ["http://[::1]:8787", "http://[::1]:8787"],
    ["http://groups.example.com", undefined],
    ["http://localhost.example.com", undefined],
    ["http://127.0.0.1.example.com", undefined],
  ] as const)("has with PUBLIC_URL of ug serve and the origin %s the issuer %s", async ([origin, issuer]) => {
    const { key: credential } = await newSession();
    const callEnv = { ...env, PUBLIC_URL: "loopback" };
    const body = { user_group_id: "acme" };
    const minted = await call("POST", "/api/viewer_sessions", { credential, body, env: callEnv, origin });
    expect(minted.body.session && claimsIn(minted.body.session.token).iss).toBe(issuer);
    expect(minted.status).toBe(issuer ? 201 : 503);
  });

  it("makes another session at each call", async () => {
    const { key } = await newSession();
    const claims = [await sessionOf(key), await sessionOf(key)].map(claimsIn);
    expect(new Set(claims.map(({ jti }) => jti)).size).toBe(2);
    expect(new Set(claims.map(({ gen }) => gen)).size).toBe(1);
  });

  it.for([
    [59, 422],
    [60, 201],
    [3600, 201],
    [3601, 422],
    [60.5, 422],
    ["300", 422],
    [null, 422],
  ] as const)("takes expires_in_seconds %j with %i", async ([seconds, status]) => {
    const { key } = await newSession();
    const { status: actual, body } = await mint(key, { expires_in_seconds: seconds });
    expect(actual).toBe(status);
    expect(body.session?.expires_in_seconds ?? body.error.issues[0].path).toEqual(
      status === 201 ? seconds : ["expires_in_seconds"],
    );
  });

  const many = (count: number) => Array.from({ length: count }, (_, n) => `https://page-${n}.example.com`);

  it.for<[string, object, unknown[]]>([
    ["no origin in the list", { origins: [] }, ["origins"]],
    ["eleven origins", { origins: many(11) }, ["origins"]],
    ["one origin without a list", { origins: "https://app.example.com" }, ["origins"]],
    ["no list", { origins: null }, ["origins"]],
    ["an origin with a path", { origins: ["https://a.example", "https://b.example/x"] }, ["origins", 1]],
    ["an origin with a wildcard", { origins: ["https://*.example.com"] }, ["origins", 0]],
    ["an origin without a scheme", { origins: ["app.example.com"] }, ["origins", 0]],
    ["the origin null", { origins: ["null"] }, ["origins", 0]],
    ["a number as origin", { origins: [1] }, ["origins", 0]],
    ["an empty viewer_id", { viewer_id: "" }, ["viewer_id"]],
    ["a viewer_id of 256 units", { viewer_id: "v".repeat(256) }, ["viewer_id"]],
    ["a viewer_id with a control character", { viewer_id: "a\u0000b" }, ["viewer_id"]],
    ["a viewer_id with half a character", { viewer_id: "\ud800" }, ["viewer_id"]],
    ["a number as viewer_id", { viewer_id: 7 }, ["viewer_id"]],
    ["a text for include_variables", { include_variables: "true" }, ["include_variables"]],
    ["no user_group_id", { user_group_id: undefined }, ["user_group_id"]],
    ["a team_id beside the id", { team_id: 1 }, ["team_id"]],
    ...[0, -1, 1.5, "1", null].map((id): [string, object, unknown[]] => [
      `the team_id ${JSON.stringify(id)}`,
      { user_group_id: undefined, team_id: id },
      ["team_id"],
    ]),
    ["a claim of its own", { gen: "AAAAAAAAAAAAAAAAAAAAAA" }, ["gen"]],
  ])("refuses %s with 422", async ([, fields, path]) => {
    const { key } = await newSession();
    const { status, body } = await mint(key, fields);
    expect([status, body.error.code, body.error.issues[0].path]).toEqual([422, "invalid_body", path]);
  });

  it("takes ten origins and a viewer_id of 255 units", async () => {
    const { key } = await newSession();
    const fields = { origins: many(10), viewer_id: "ö".repeat(255) };
    const session = await sessionOf(key, fields);
    expect(claimsIn(session)).toMatchObject(fields);
    expect((await view(session)).body.variables.viewer_id).toBe(fields.viewer_id);
  });

  it("includes at most 4 KiB of variables", async () => {
    const { key, put } = await newSession();
    const room = SESSION_VARIABLES_BYTES_MAX - JSON.stringify({ ...variables, "user_group.a": "" }).length;
    await put({ user_group_id: "acme", properties: { a: `é${"a".repeat(room - 2)}` } });
    const session = await sessionOf(key, { include_variables: true });
    expect(claimsIn(session).variables).toMatchObject(variables);
    expect((await view(session)).status).toBe(200);

    await put({ user_group_id: "acme", properties: { a: `é${"a".repeat(room - 1)}` } });
    expect(codeOf(await mint(key, { include_variables: true }))).toEqual([422, "variables_too_large"]);
    expect(claimsIn(await sessionOf(key))).not.toHaveProperty("variables");
  });

  const variables = { user_group_id: "acme", user_group_name: "acme" };
});

describe("a session ends with the key that mints it", () => {
  it.for([
    ["which expires a second before its own end", 299, 1000, 299],
    ["which expires with it", 300, 1000, 300],
    ["which expires after it", 301, 1000, 300],
    ["which expires at once", 1, 1000, 1],
    ["which expires before the grace of its roll", 200, 250, 200],
    ["which expires after the grace of its roll", 200, 150, 150],
  ] as const)("%s", async ([, keySeconds, grace_seconds, seconds]) => {
    await newSession();
    const key = await issueKey({ expires_in_seconds: keySeconds });
    await manageKey("POST", "/2/roll", { grace_seconds });
    const { session } = (await mint(key)).body;
    expect(session.expires_in_seconds).toBe(seconds);
    expect(Date.parse(session.expires_at)).toBe(NOW.getTime() + seconds * 1000);
    expect(claimsIn(session.token).exp).toBe(NOW.getTime() / 1000 + seconds);
  });

  it("in whole seconds, and is not minted in the key's last", async () => {
    await newSession();
    setSeconds(0.5);
    const key = await issueKey({ expires_in_seconds: 100 });
    expect((await mint(key)).body.session.expires_at).toBe("2035-01-01T00:01:40.000Z");
    setSeconds(100.2);
    expect(codeOf(await mint(key))).toEqual([401, "credential_expired"]);
  });
});

describe("a viewer with a session", () => {
  it.for(["Token", "Bearer", "bearer"])("gets after %s what the token would get", async (scheme) => {
    const { token, session } = await newSession();
    const headers = { Authorization: `${scheme} ${session}` };
    const answer = await view(undefined, headers);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual((await view(token)).body);
    const bound = await query(undefined, { sql: "g = {{user_group_id}}" }, headers);
    expect(bound.body).toMatchObject({ sql: "g = ?", params: ["acme"] });
  });

  it("is always answered by the directory, in one RPC and without KV", async () => {
    const { watched, costs } = watchedEnv();
    const { session, leasedTokenOf } = await newSession();
    await leasedTokenOf("acme");
    for (const headers of [STALE, STALE, STALE, {}] as Record<string, string>[]) {
      const answer = await view(session, headers, watched);
      expect([answer.status, answeredBy(answer), answer.headers.get("Age")]).toEqual([200, "directory", null]);
    }
    const body = { sql: "1" };
    await call("POST", "/api/viewer/query", { credential: session, body, headers: STALE, env: watched });
    await call("GET", "/api/whoami", { credential: session, headers: STALE, env: watched });
    expect(costs).toEqual({ rpcs: Array(6).fill("viewSession"), kv: [] });
  });

  it("sees a new name, id and properties at once", async () => {
    const { session, put, tokenOf } = await newSession({ include_variables: true });
    await put({ user_group_id: "acme", new_user_group_id: "acme-2", name: "Two", properties: { tier: 2 } });
    await tokenOf("acme");
    const { user_group: group, variables } = (await view(session, STALE)).body;
    expect(group).toMatchObject({ team_id: 1, provided_id: "acme-2", name: "Two", properties: { tier: 2 } });
    expect(variables).toMatchObject({ user_group_id: "acme-2", "user_group.tier": 2 });
    expect((await query(session, { sql: "{{user_group_id}} {{user_group.tier}}" })).body.params).toEqual(["acme-2", 2]);
  });

  it("has its viewer_id among the variables and in templates, apart from a property of that name", async () => {
    const { session, put } = await newSession({ viewer_id: "ann" });
    await put({ user_group_id: "acme", properties: { viewer_id: "mallory" } });
    expect((await view(session)).body.variables).toEqual({
      user_group_id: "acme",
      user_group_name: "acme",
      viewer_id: "ann",
      "user_group.viewer_id": "mallory",
    });
    const { body } = await query(session, { sql: "a = {{user_group_id}} [[AND v = {{viewer_id}}]]" });
    expect(body).toMatchObject({ sql: "a = ? AND v = ?", params: ["acme", "ann"], dropped: [] });
  });
});

type State = Awaited<ReturnType<typeof newSession>>;

/** How each change ends a session, and what a viewer gets from then on. */
const ENDS: [string, (state: State) => Promise<unknown>, [number, string]][] = [
  ["a rotation", ({ rotate, token }) => rotate(token), [401, "credential_revoked"]],
  ["a rotation by number", ({ key }) => byNumber(key).rotate(1), [401, "credential_revoked"]],
  ["a deletion", ({ remove, token }) => remove(token), [401, "credential_revoked"]],
  ["a deletion by number", ({ key }) => byNumber(key).remove(1), [401, "credential_revoked"]],
  ["a suspension", ({ key }) => setSuspended(key, true), [403, "user_group_suspended"]],
  ["revoking its key", () => manageKey("DELETE", "/1"), [401, "credential_revoked"]],
  ["rolling its key without grace", () => manageKey("POST", "/1/roll", {}), [401, "credential_revoked"]],
];

/** All that a session can be presented to. */
const present = (session: string): Promise<Answer>[] => [
  view(session),
  view(session, STALE),
  view(session, PAGE),
  query(session, { sql: "{{user_group_id}}" }),
  call("GET", "/api/whoami", { credential: session }),
];

describe("a session is ended by", () => {
  it.for(ENDS)("%s, from the next request on", async ([, end, code]) => {
    const state = await newSession();
    for (const answer of await Promise.all(present(state.session))) expect(answer.status).toBe(200);
    expect(((await end(state)) as Answer).status).toBeLessThan(300);
    for (const answer of await Promise.all(present(state.session))) {
      expect(codeOf(answer)).toEqual(code);
      expect(answer.body).not.toHaveProperty("user_group");
    }
  });
});

describe("origins", () => {
  const ORIGINS = { origins: ["https://app.example.com/", "http://localhost:3000"] };

  it("admit the pages that they list, and programs", async () => {
    const { session } = await newSession(ORIGINS);
    for (const headers of [PAGE, { Origin: "http://localhost:3000" }, {}] as Record<string, string>[]) {
      expect((await view(session, headers)).status).toBe(200);
      expect((await query(session, { sql: "1" }, headers)).status).toBe(200);
    }
  });

  it.for([
    "https://app.example.com.evil.example",
    "https://evil.example",
    "http://app.example.com",
    "https://app.example.com:8443",
    "https://app.example.com/",
    "https://app.example.com, https://evil.example",
    "HTTPS://APP.EXAMPLE.COM",
    "null",
  ])("refuse %s with 403, which its page can read", async (origin) => {
    const { watched, costs } = watchedEnv();
    const { session } = await newSession(ORIGINS);
    for (const [method, path, body] of [
      ["GET", "/api/viewer", undefined],
      ["POST", "/api/viewer/query", { sql: "1" }],
      ["GET", "/api/whoami", undefined],
    ] as const) {
      const headers = { Origin: origin };
      const answer = await call(method, path, { credential: session, body, headers, env: watched });
      expect(codeOf(answer)).toEqual([403, "origin_not_allowed"]);
      expect(answer.headers.get("Access-Control-Allow-Origin")).toBe("*");
      expect(answer.body).not.toHaveProperty("user_group");
    }
    expect(costs.rpcs).toEqual([]);
  });

  it("not given admit every page", async () => {
    const { session } = await newSession();
    for (const Origin of ["https://anywhere.example", "null"]) {
      const answer = await view(session, { Origin });
      expect([answer.status, answer.headers.get("Access-Control-Allow-Origin")]).toEqual([200, "*"]);
    }
  });
});

describe("BROWSER_TOKENS = refuse", () => {
  const strict: Env = { ...env, BROWSER_TOKENS: "refuse" };
  const BROWSERS = [PAGE, { Origin: "null" }, { "Sec-Fetch-Site": "same-origin" }] as Record<string, string>[];

  it.for([
    ...["/api/viewer", "/api/whoami", "/api/user_groups", "/health", "/.well-known/jwks.json", "/nothing"],
    "/api/viewer/query",
  ])("refuses a token from a browser at %s", async (path) => {
    const { token } = await newSession();
    for (const headers of BROWSERS) {
      const [method, body] = path.endsWith("/query") ? (["POST", { sql: "1" }] as const) : (["GET"] as const);
      const options = { credential: token, body, headers, env: strict, undocumented: UNDOCUMENTED };
      const answer = await call(method, path, options);
      expect(codeOf(answer)).toEqual([403, "token_in_browser"]);
      expect(answer.headers.get("Access-Control-Allow-Origin") ?? "*").toBe("*");
    }
  });

  it("admits tokens from servers and sessions from browsers", async () => {
    const { token, session } = await newSession();
    expect((await view(token, {}, strict)).status).toBe(200);
    for (const headers of [...BROWSERS, {}]) expect((await view(session, headers, strict)).status).toBe(200);
  });

  it("is what any other value but allow means", async () => {
    const { token } = await newSession();
    for (const BROWSER_TOKENS of ["Refuse", "refuse ", "no"])
      expect(codeOf(await view(token, PAGE, { ...env, BROWSER_TOKENS }))).toEqual([403, "token_in_browser"]);
  });

  it("is not the default", async () => {
    const { token } = await newSession();
    for (const headers of BROWSERS) expect((await view(token, headers)).status).toBe(200);
  });
});

describe("an expired session", () => {
  it("is refused without an RPC, wherever it comes from", async () => {
    const { watched, costs } = watchedEnv();
    const { session } = await newSession({ expires_in_seconds: 60, origins: ["https://app.example.com"] });
    setSeconds(59.999);
    expect((await view(session)).status).toBe(200);
    for (const seconds of [60, 3600, 1_000_000]) {
      setSeconds(seconds);
      for (const headers of [{}, PAGE, { Origin: "https://evil.example" }, bearer(session)] as Record<
        string,
        string
      >[]) {
        const answer = await view(session, headers, watched);
        expect(codeOf(answer)).toEqual([401, "credential_expired"]);
        expect(answer.headers.get("WWW-Authenticate")).toBe("Token");
      }
    }
    expect(costs).toEqual({ rpcs: [], kv: [] });
  });

  it("is not counted as a guess, as a revoked one is not", async () => {
    const guesses = limiter(0);
    const callEnv = { ...env, REFUSED_CREDENTIAL_LIMIT: guesses };
    const { session, key } = await newSession({ expires_in_seconds: 60 });
    const revoked = await sessionOf(await issueKey(), { expires_in_seconds: 3600 });
    await manageKey("DELETE", "/2");
    setSeconds(61);
    for (const headers of [{}, PAGE] as Record<string, string>[]) {
      expect(codeOf(await view(session, headers, callEnv))).toEqual([401, "credential_expired"]);
      expect(codeOf(await view(revoked, headers, callEnv))).toEqual([401, "credential_revoked"]);
      expect((await view(await sessionOf(key), headers, callEnv)).status).toBe(200);
    }
    expect(guesses.counts.size).toBe(0);
  });

  it("that nobody signed is counted", async () => {
    const guesses = limiter(0);
    const callEnv = { ...env, REFUSED_CREDENTIAL_LIMIT: guesses };
    const { session } = await newSession();
    const forged = `${session.slice(0, -6)}AAAAAA`;
    for (const headers of [{}, PAGE, bearer(forged)] as Record<string, string>[])
      expect(codeOf(await view(forged, headers, callEnv))).toEqual([429, "rate_limited"]);
  });
});

describe("the limit of calls", () => {
  it("counts each session alone, by its jti", async () => {
    const calls = limiter(3);
    const callEnv = { ...env, SESSION_LIMIT: calls };
    const { session, key, token } = await newSession();
    const other = await sessionOf(key);
    expect((await view(session, bearer(session), callEnv)).status).toBe(200);
    expect((await view(session, STALE, callEnv)).status).toBe(200);
    expect((await call("GET", "/api/whoami", { credential: session, env: callEnv })).status).toBe(200);

    const refused = await view(session, PAGE, callEnv);
    expect(codeOf(refused)).toEqual([429, "rate_limited"]);
    expect(refused.headers.get("Retry-After")).toBe("60");
    expect(refused.headers.get("Access-Control-Allow-Origin")).toBe("*");
    for (const credential of [other, token]) expect((await view(credential, {}, callEnv)).status).toBe(200);
    expect([...calls.counts]).toEqual([
      [claimsIn(session).jti, 4],
      [claimsIn(other).jti, 1],
    ]);
  });

  it("of tokens does not count sessions", async () => {
    const tokens = limiter(0);
    const { session } = await newSession();
    expect((await view(session, {}, { ...env, TOKEN_LIMIT: tokens })).status).toBe(200);
    expect(tokens.counts.size).toBe(0);
  });
});

it("a session rotates and deletes nothing as a current_token", async () => {
  const { session, token, rotate, remove } = await newSession();
  expect(codeOf(await rotate(session))).toEqual([404, "user_group_not_found"]);
  expect(codeOf(await remove(session))).toEqual([404, "user_group_not_found"]);
  expect((await view(token)).status).toBe(200);
});

it("a session outlives the memory of its directory", async () => {
  const { session } = await newSession();
  await evictDurableObject(env.GROUP_DIRECTORY.getByName("acme/Testing"));
  expect((await view(session)).status).toBe(200);
});

it("the directory's tables hold no session and no claim of one", async () => {
  const { session } = await newSession({ viewer_id: "ann-of-accounting" });
  await view(session);
  const tables = ["user_groups", "api_keys", "events", "stored_responses"];
  const rows = await inDirectory(({ sql }) => tables.flatMap((table) => sql.exec(`SELECT * FROM ${table}`).toArray()));
  expect(rows.length).toBeGreaterThan(2);
  const text = JSON.stringify(rows);
  for (const part of ["eyJ", "ann-of-accounting", String(claimsIn(session).jti)]) expect(text).not.toContain(part);
});
