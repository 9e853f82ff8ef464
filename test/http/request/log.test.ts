import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { type CallOptions, call, codeOf } from "../../support/client.ts";
import { CONSOLE_ROUTES, formToken, signIn, visit } from "../../support/console.ts";
import { logLines } from "../../support/each-test.ts";
import { limiter } from "../../support/limiter.ts";
import { bearer, claimsIn, sessionOf, setSuspended } from "../../support/sessions.ts";
import { issueKey, issueOperator, newIntegrator, operator } from "../../support/states.ts";

const FROM = { "CF-Connecting-IP": "198.51.100.7" };
const PAGE = "https://app.example";
const SQL = { sql: "SELECT 1 WHERE customer = {{user_group_id}}" };

/** The credentials of the group acme, which has the number 2, and what a line has of each. */
async function newViewers() {
  const { key, tokenOf } = await newIntegrator();
  await tokenOf("wonka");
  const token = await tokenOf("acme");
  const session = await sessionOf(key, { origins: [PAGE] });
  const group = { team_id: 2, workspace: "acme", environment: "Testing" };
  const ofSession = { ...group, session_id: claimsIn(session).jti };
  return { key, token, session, group, ofSession };
}

describe("the log", () => {
  it("has one line for each request, with its caller and its outcome", async () => {
    const { put } = await newIntegrator();
    logLines.length = 0;

    const answer = await put({ user_group_id: "acme", name: "secret name" }, { headers: FROM });

    expect(logLines).toEqual([
      {
        time: expect.any(String),
        level: "info",
        method: "PUT",
        path: "/api/user",
        status: 404,
        failure: "user_group_not_found",
        key_id: 1,
        signing_key: "test",
        workspace: "acme",
        environment: "Testing",
        client: "198.51.100.7",
        milliseconds: expect.any(Number),
        request_id: answer.body.request_id,
      },
    ]);
  });

  it("contains no text of an unknown path or header", async () => {
    const credential = await (await newIntegrator()).tokenOf("acme");
    logLines.length = 0;
    const headers = { "X-HTTP-Method-Override": credential, "X-Request-Id": credential };
    for (const start of ["/", "/api/user/", "/api/user?token=", "/api/keys/"])
      await call("POST", start + credential, { credential, headers });
    expect(logLines).toHaveLength(4);
    expect(JSON.stringify(logLines)).not.toContain(credential.slice(12, 40));
  });
});

describe("the line of a view", () => {
  it("names the group and the session", async () => {
    const { session, ofSession } = await newViewers();
    const calls = [
      ["GET", "/api/viewer", undefined],
      ["POST", "/api/viewer/query", SQL],
      ["GET", "/api/whoami", undefined],
    ] as const;
    for (const [method, path, body] of calls) {
      await call(method, path, { headers: bearer(session), body });
      expect(logLines.at(-1)).toMatchObject({ path, status: 200, ...ofSession });
    }
  });

  it("names the group of a token, which has no session", async () => {
    const { token, group } = await newViewers();
    await call("GET", "/api/viewer", { credential: token });
    expect(logLines.at(-1)).toMatchObject({ status: 200, ...group });
    expect(logLines.at(-1)).not.toHaveProperty("session_id");
  });

  it("names both when the view is refused, for each reason", async () => {
    const { key, session, ofSession } = await newViewers();
    const refusals: [string, string, CallOptions][] = [
      ["origin_not_allowed", "/api/viewer", { headers: { Origin: "https://evil.example" } }],
      ["audience_mismatch", "/api/viewer?audience=acme%2FCustomer", {}],
      ["rate_limited", "/api/viewer", { env: { ...env, SESSION_LIMIT: limiter(0) } }],
      ["unauthenticated", "/api/keys", {}],
    ];
    const undocumented = "A call with a session that the path does not take.";
    for (const [failure, path, options] of refusals) {
      await call("GET", path, { undocumented, ...options, headers: { ...bearer(session), ...options.headers } });
      expect(logLines.at(-1)).toMatchObject({ failure, ...ofSession });
    }
    await setSuspended(key, true);
    await call("GET", "/api/viewer", { headers: bearer(session) });
    expect(logLines.at(-1)).toMatchObject({ failure: "user_group_suspended", ...ofSession });
  });

  it("names the group of a token that browsers may not send", async () => {
    const { token, group } = await newViewers();
    const strict = { ...env, BROWSER_TOKENS: "refuse" };
    await call("GET", "/api/viewer", { credential: token, headers: { Origin: PAGE }, env: strict });
    expect(logLines.at(-1)).toMatchObject({ failure: "token_in_browser", ...group });
  });

  it("names no group of a session that this service has not signed", async () => {
    const { session } = await newViewers();
    await call("GET", "/api/viewer", { headers: bearer(`${session.slice(0, -2)}AA`) });
    expect(logLines.at(-1)).toMatchObject({ failure: "unauthenticated" });
    for (const field of ["team_id", "session_id", "workspace"]) expect(logLines.at(-1)).not.toHaveProperty(field);
  });
});

it("the line of a mint names the session, by which a view leads to its key", async () => {
  const { session } = await newViewers();
  const { jti } = claimsIn(session);
  expect(logLines.at(-1)).toMatchObject({ path: "/api/viewer_sessions", key_id: 1, team_id: 2, session_id: jti });
});

/** The requests that the console answers before or without an operator of the registry. */
const WITHOUT_OPERATOR = [
  "GET /console",
  "GET /console/sign-in",
  "POST /console/sign-in",
  "POST /console/sign-in/company",
];

describe.for(CONSOLE_ROUTES.filter(({ name }) => !WITHOUT_OPERATOR.includes(name)))("the line of $name", (route) => {
  it("names the operator and the client", async () => {
    await newViewers();
    await issueOperator("viewer", { name: "ada" });
    const { cookie } = await signIn(await issueOperator("admin", { name: "ben" }));
    const fields = { form_token: await formToken(cookie, route.path) };
    await visit(route.method, route.path, { headers: { Cookie: cookie, ...FROM }, fields });
    const ben = { operator_id: 2, operator: "ben", client: "198.51.100.7" };
    expect(logLines.findLast(({ path }) => path !== undefined)).toMatchObject(ben);
  });
});

it("the line of a call that is refused for its content names the operator", async () => {
  const credential = await issueOperator("admin", { name: "ada" });
  await call("POST", "/api/operators", { credential, body: { name: 7 } });
  expect(logLines.at(-1)).toMatchObject({ status: 422, operator_id: 1, operator: "ada" });
});

describe("the line of a sign-in", () => {
  it("names the operator", async () => {
    await signIn(await issueOperator("viewer", { name: "ada" }));
    expect(logLines.at(-1)).toMatchObject({ path: "/console/sign-in", status: 303, operator_id: 1, operator: "ada" });
  });

  it("names the operator whose key was revoked, and the client", async () => {
    const key = await issueOperator("viewer");
    await call("DELETE", "/api/operators/1", { credential: operator });
    await visit("POST", "/console/sign-in", { fields: { operator_key: key }, headers: FROM });
    const refused = { status: 401, failure: "credential_revoked", operator_id: 1, client: "198.51.100.7" };
    expect(logLines.at(-1)).toMatchObject(refused);
  });

  it("has no number for bootstrap", async () => {
    await signIn(operator);
    expect(logLines.at(-1)).toMatchObject({ path: "/console/sign-in", operator: "bootstrap" });
    expect(logLines.at(-1)).not.toHaveProperty("operator_id");
  });
});

describe("LOG_CLIENT_ADDRESS", () => {
  /** The addresses that the lines of an accepted call, two refused ones and a page of the console have. */
  async function clientsWith(setting: string | undefined, headers: Record<string, string> = FROM) {
    const callEnv = { ...env, LOG_CLIENT_ADDRESS: setting } as Env;
    const credential = await issueKey();
    logLines.length = 0;
    const options = { headers, env: callEnv };
    expect((await call("GET", "/api/user_groups", { ...options, credential })).status).toBe(200);
    expect(codeOf(await call("GET", "/api/user_groups", options))).toEqual([401, "unauthenticated"]);
    const malformed = await call("POST", "/api/user_groups", { ...options, credential, body: "{" });
    expect(codeOf(malformed)).toEqual([400, "malformed_json"]);
    expect((await visit("GET", "/console/sign-in", options)).status).toBe(200);
    // A setting that cannot be read has a line of its own.
    return logLines.filter(({ path }) => path !== undefined).map(({ client }) => client);
  }

  it.for([
    ["credentials", Array(4).fill("198.51.100.7")],
    ["refused", [undefined, "198.51.100.7", "198.51.100.7", "198.51.100.7"]],
    [undefined, Array(4).fill("198.51.100.7")],
    ["", Array(4).fill("198.51.100.7")],
    ["all", Array(4).fill("198.51.100.7")],
    ["none", Array(4).fill(undefined)],
    ["All", Array(4).fill(undefined)],
  ] as const)("is %j: which lines have the address", async ([setting, clients]) => {
    expect(await clientsWith(setting)).toEqual(clients);
  });

  it("is credentials: all calls with keys have the address, and no viewer whom the service admits", async () => {
    const callEnv = { ...env, LOG_CLIENT_ADDRESS: "credentials" } as Env;
    const credential = await issueKey();
    const options = { headers: FROM, env: callEnv };
    const made = await call("POST", "/api/user_groups", { ...options, credential, body: { user_group_id: "acme" } });
    const body = { user_group_id: "acme" };
    const minted = await call("POST", "/api/viewer_sessions", { ...options, credential, body });
    const operatorKey = await issueOperator("viewer");
    logLines.length = 0;
    const credentials = [credential, operatorKey, operator, made.body.user_group.token, minted.body.session.token];
    const paths = ["/api/whoami", "/api/whoami", "/api/environments", "/api/viewer", "/api/viewer"];
    for (const [index, path] of paths.entries())
      expect((await call("GET", path, { ...options, credential: credentials[index] })).status).toBe(200);
    expect((await call("GET", "/health", options)).status).toBe(200);
    expect((await call("GET", "/.well-known/jwks.json", options)).status).toBe(200);
    const address = FROM["CF-Connecting-IP"];
    expect(logLines.map(({ client }) => client)).toEqual([address, address, address, ...Array(4).fill(undefined)]);
  });

  it("is of IPv6 the network by which the client is counted", async () => {
    const [, refused] = await clientsWith("refused", { "CF-Connecting-IP": "2001:DB8:1:2:3:4:5:6" });
    expect(refused).toBe("2001:db8:1:2::/64");
  });

  it("is `unknown` for a text that is no address", async () => {
    const [, refused] = await clientsWith("refused", { "CF-Connecting-IP": 'x","operator_id":"1' });
    expect(refused).toBe("unknown");
  });
});
