import { reset } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { DIRECTORY_SECONDS_MAX } from "../../../common/limits.ts";
import { version } from "../../../package.json";
import { type Answer, type CallOptions, call, codeOf } from "../../support/client.ts";
import { paths } from "../../support/documented.ts";
import { logLines } from "../../support/each-test.ts";
import { operatorPath, ROUTES, type Route } from "../../support/routes.ts";
import { inEnvironment, issueKey, issueOperator, newIntegrator, operator } from "../../support/states.ts";

const BODIES = {
  GET: { user_group_id: "acme" },
  PUT: { user_group_id: "acme", name: "x" },
  POST: { current_token: "x" },
  DELETE: { current_token: "x" },
};

/** The credential with one character of its MAC changed. */
const forged = (credential: string) =>
  credential.slice(0, -10) + (credential.at(-10) === "x" ? "y" : "x") + credential.slice(-9);

/** A credential that the route takes, and the path to call with it. */
const goodCredential = async (route: Route) =>
  route.access.scope ? [await issueKey(), route.path] : [await issueOperator("admin"), operatorPath(route)];

/** Credentials that the route refuses before it reads the body: of another kind than it takes, or with a wrong signature. */
async function unacceptableFor({
  access: { scope, role, isForViewers },
}: Route): Promise<Record<string, string | undefined>> {
  const { key, tokenOf } = await newIntegrator();
  const operatorKey = await issueOperator("admin");
  return {
    "no credential": undefined,
    "an empty one": "",
    "a text that is not a credential": "x".repeat(100),
    "a forged API key": forged(key),
    "a truncated API key": key.slice(0, -1),
    "an API key with something behind it": `${key}A`,
    "a forged operator's key": forged(operatorKey),
    "a truncated operator's key": operatorKey.slice(0, -1),
    "the bootstrap token with something behind it": `${operator}A`,
    ...(!scope && { "an API key": key }),
    ...(!role && { "an operator's key": operatorKey, "the bootstrap token": operator }),
    ...(!isForViewers && { "the token of a user group": await tokenOf("acme") }),
  };
}

describe.for(ROUTES.filter(({ access }) => access.scope || access.role))("$name", (route) => {
  const { method, body } = route;
  const path = operatorPath(route);

  /** What the route answers to a credential, with what it takes, and with a wrong body or environment and an unknown field. */
  const answersTo = async (credential: string | undefined, wrong: CallOptions) => [
    await call(method, path, { credential, body }),
    await call(method, `${path.replace("acme", "A C M E")}${path.includes("?") ? "&" : "?"}unknown=field`, {
      credential,
      ...((body || method !== "GET") && wrong),
    }),
  ];

  /** The same refusal for every wrong credential: it says nothing of the body or the query. */
  function expectUnauthenticated(answer: Answer, what: string) {
    expect([answer.status, answer.headers.get("WWW-Authenticate")], what).toEqual([401, "Token"]);
    expect(answer.body, what).toEqual({
      success: 0,
      error: { code: "unauthenticated", message: expect.stringContaining("Authorization: Token") },
      request_id: answer.headers.get("X-Request-Id"),
    });
  }

  it("refuses a credential that it does not take with 401, without reading the body or the query", async () => {
    const unread = { body: "x".repeat(70_000), headers: { "Content-Type": "text/plain" } };
    for (const [what, credential] of Object.entries(await unacceptableFor(route)))
      for (const answer of await answersTo(credential, unread)) expectUnauthenticated(answer, what);
  });

  it("refuses a key that its Durable Object does not know, also if another has its number", async () => {
    const issue = async () => ({ "an API key": await issueKey(), "an operator's key": await issueOperator("admin") });
    const lost = await issue();
    await reset();
    for (const what of ["nobody", "another"]) {
      for (const [kind, credential] of Object.entries(lost))
        for (const answer of await answersTo(credential, { body: "{" }))
          expectUnauthenticated(answer, `${kind} with the number of ${what}`);
      await issue();
    }
  });

  it("refuses the keys of integrators and operators in a browser: 403 secret_key_in_browser", async () => {
    const credentials = [
      [await issueKey(), { key_id: 1, workspace: "acme", environment: "Testing" }],
      [await issueOperator("viewer"), {}],
      [operator, {}],
    ] as const;
    for (const headers of [
      { Origin: "https://app.example" },
      { Origin: "null" },
      { "Sec-Fetch-Site": "same-origin" },
    ] as const) {
      for (const [credential, logged] of credentials) {
        const answer = await call(method, path, { credential, body, headers });
        expect(answer).toMatchObject({ status: 403, body: { success: 0, error: { code: "secret_key_in_browser" } } });
        expect(logLines.at(-1)).toMatchObject({ failure: "secret_key_in_browser", ...logged });
        // A page can read the refusal, and its developer learns what is wrong.
        const isForPages = "Origin" in headers || route.access.isForViewers;
        expect(answer.headers.get("Access-Control-Allow-Origin")).toBe(isForPages ? "*" : null);
      }
      expect(await call(method, route.path, { credential: "x", body, headers })).toMatchObject({ status: 401 });
    }
  });

  it("takes the schemes Token and Bearer in any case, also from the fetch of a server", async () => {
    // The operator whom the path names, so that the caller revokes somebody else.
    await issueOperator("viewer");
    const [credential, goodPath = ""] = await goodCredential(route);
    const ofServer = { "Sec-Fetch-Mode": "cors", "User-Agent": "node", "Accept-Language": "*" };
    const statusOf = async (scheme: string) => {
      const headers = { ...ofServer, Authorization: `${scheme} ${credential}` };
      return (await call(method, goodPath, { body, headers })).status;
    };
    for (const scheme of ["token", "Token", "TOKEN", "tOkEn", "Bearer", "bearer"])
      expect([401, 403], scheme).not.toContain(await statusOf(scheme));
    for (const scheme of ["Basic", "Tokens", "Bear", ""]) expect(await statusOf(scheme), scheme).toBe(401);
  });
});

describe("a secret that a browser sends in another form", () => {
  it.for([
    ["as Bearer", (secret: string) => `Bearer ${secret}`],
    ["as Basic", (secret: string) => `Basic ${secret}`],
    ["bare", (secret: string) => secret],
    ["as the user of Basic", (secret: string) => `Basic ${btoa(`${secret}:`)}`],
    ["as the password of Basic", (secret: string) => `Basic ${btoa(`api:${secret}`)}`],
    ["after two schemes", (secret: string) => `Token Bearer ${secret}`],
    ["with a comma", (secret: string) => `Token ${secret},`],
  ] as const)("%s is 403 secret_key_in_browser", async ([, headerOf]) => {
    for (const secret of [await issueKey(), await issueOperator("viewer"), operator]) {
      const headers = { Authorization: headerOf(secret), Origin: "https://app.example" };
      for (const path of ["/api/user_groups", "/api/viewer", "/api/nothing"])
        expect(codeOf(await call("GET", path, { headers }))).toEqual([403, "secret_key_in_browser"]);
    }
  });

  it.for(["Basic x", "Basic !!!", "Token", "a b c d e f", "Basic OjpA"])("is nothing else: %s", async (text) => {
    const headers = { Authorization: text, Origin: "https://app.example" };
    expect(codeOf(await call("GET", "/api/user_groups", { headers }))).toEqual([401, "unauthenticated"]);
  });
});

describe("every answer", () => {
  it.for([
    ["a success", "GET", "/api/user", { user_group_id: "acme" }, 200],
    ["a refusal", "PUT", "/api/user", { user_group_id: "acme" }, 404],
    ["an unknown path", "GET", "/nothing", undefined, 404],
    ["the health check", "GET", "/health", undefined, 200],
  ] as const)("is JSON with a request id, and is not cached: %s", async ([, method, path, body, status]) => {
    const answer = await call(method, path, { credential: await issueKey(), body });
    expect(answer.status).toBe(status);
    expect(answer.body.success).toBe(status === 200 ? 1 : 0);
    expect(answer.headers.get("Content-Type")).toMatch(/^application\/json/);
    expect(answer.headers.get("Cache-Control")).toBe("no-store");
    expect(answer.headers.get("X-Request-Id")).toMatch(/^[\da-f-]{36}$/);
  });

  it("is the same with and without a trailing slash", async () => {
    const credential = await issueKey();
    for (const path of ["/api/user", "/api/user/"])
      expect(await call("GET", path, { credential, body: { user_group_id: "acme" } })).toMatchObject({ status: 200 });
    for (const path of ["/api/user_groups", "/api/user_groups/"])
      expect(await call("GET", path, { credential })).toMatchObject({ status: 200 });
  });
});

it("answers GET /health with the version of package.json, without a credential", async () => {
  expect(await call("GET", "/health")).toMatchObject({ status: 200, body: { success: 1, version } });
});

it.for(Object.entries(paths))("refuses other methods of %s with 405, and names its own", async (each) => {
  const [path, operations] = each;
  const own = Object.keys(operations).map((method) => method.toUpperCase());
  // Public files and checks of gateways are there for HEAD, too.
  if (!path.startsWith("/api/") || path === "/api/viewer/check") own.push("HEAD");
  const others = ["GET", "HEAD", "OPTIONS", "PATCH", "PUT", "POST", "DELETE"].filter((method) => !own.includes(method));
  for (const method of others) {
    const { status, headers } = await call(method, path.replace(/\{\w+\}/, "1"));
    expect([method, status]).toEqual([method, 405]);
    expect(new Set(headers.get("Allow")?.split(", "))).toEqual(new Set(own));
  }
});

it.for([
  ...["/api", "/api/users", "/api/user/acme", "/api/user_groupsx", "/API/USER"],
  ...["/api/user_groups/1/nothing", "/api/operators/1/nothing"],
])("serves nothing at %s", async (path) => {
  const credential = await issueKey();
  for (const method of ["PUT", "PATCH"]) {
    const answer = await call(method, path, { credential });
    expect(answer).toMatchObject({ status: 404, body: { error: { code: "route_not_found" } } });
  }
});

describe("X-HTTP-Method-Override", () => {
  const post = async (override: string, body: object | undefined, headers = {}) =>
    call("POST", "/api/user", {
      credential: await issueKey(),
      body,
      headers: { "X-HTTP-Method-Override": override, ...headers },
    });

  it.for(["GET", "get", "PUT", "DELETE", "POST"] as const)(
    "turns a POST into a %s, refusals included",
    async (method) => {
      const real = method.toUpperCase() as keyof typeof BODIES;
      const direct = await call(real, "/api/user", { credential: await issueKey(), body: BODIES[real] });
      const overridden = await post(method, BODIES[real]);
      expect(overridden.status).toBe(direct.status);
      expect(overridden.body.error).toEqual(direct.body.error);
      expect(await post(method, undefined)).toMatchObject({ status: 400, body: { error: { code: "body_required" } } });
    },
  );

  it.for(["PATCH", "HEAD", "rotate", " "])("refuses %s with 405", async (method) => {
    expect(await post(method, BODIES.POST)).toMatchObject({ status: 405 });
  });

  it("applies to every spelling of the path", async () => {
    for (const path of ["/api/user/", "/api/%75ser"]) {
      const { key, tokenOf, get } = await newIntegrator();
      const body = { current_token: await tokenOf("acme") };
      const headers = { "X-HTTP-Method-Override": "DELETE" };
      expect((await call("POST", path, { credential: key, body, headers })).body).toEqual({ success: 1 });
      expect((await get({ user_group_id: "acme" })).body.new_user_group).toBe(true);
    }
  });

  it("is ignored with any other method or path", async () => {
    const headers = { "X-HTTP-Method-Override": "DELETE" };
    const credential = await issueKey();
    expect(await call("PUT", "/api/user", { credential, body: BODIES.PUT, headers })).toMatchObject({ status: 404 });
    const body = { workspace: "acme", environment: "Testing", name: "x" };
    const keys = await call("POST", "/api/keys", { credential: operator, body, headers });
    expect(keys.status).toBe(201);
  });
});

describe("when something breaks", () => {
  /** The environment with directories whose calls `answer` handles, and the list of these calls. */
  const withDirectory = (answer: (tries: number, real: () => Promise<unknown>) => Promise<unknown>) => {
    const tries: string[] = [];
    const getByName = (name: string) => {
      const stub = env.GROUP_DIRECTORY.getByName(name);
      let hasFailed = false;
      return new Proxy(stub, {
        get:
          (_, method) =>
          (...args: unknown[]) => {
            if (hasFailed) throw new Error("This stub has failed before; the platform requires a new one.");
            tries.push(String(method));
            return answer(tries.length, () => Reflect.get(stub, method)(...args)).catch((error) => {
              hasFailed = true;
              throw error;
            });
          },
      });
    };
    return { tries, brokenEnv: { ...env, GROUP_DIRECTORY: { getByName } } as unknown as Env };
  };
  const flagged = (flag: string) => Object.assign(new Error("busy"), { [flag]: true });

  it("answers a crash with 500 and the request id alone, and logs the cause", async () => {
    const credential = await issueKey();
    const { brokenEnv, tries } = withDirectory(() => Promise.reject(new Error("disk on fire")));
    const answer = await call("GET", "/api/user", { credential, body: BODIES.GET, env: brokenEnv });
    expect(answer.status).toBe(500);
    expect(answer.body.error.code).toBe("internal_error");
    expect(JSON.stringify(answer.body)).not.toContain("fire");
    // The call is made once. What follows only finds out whether the disk is full.
    expect(tries).toEqual(["ensure", "probeDisk"]);
    expect(logLines.at(-1)).toMatchObject({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      level: "error",
      method: "GET",
      path: "/api/user",
      status: 500,
      failure: "internal_error",
      key_id: 1,
      workspace: "acme",
      environment: "Testing",
      request_id: answer.body.request_id,
      problem: expect.stringMatching(/^Error: disk on fire\n *at /),
    });
  });

  it.for([
    ["/api/user", BODIES.GET, "ensure", 200],
    ["/api/user_groups", undefined, "list", 200],
    ["/api/user_groups?limit=0", undefined, "checkCaller", 422],
    [`/api/backup${inEnvironment()}`, undefined, "backup", 200],
  ] as const)(
    "retries an idempotent call that failed as retryable, with a new stub: GET %s",
    async ([path, body, rpc, status]) => {
      const key = await issueKey();
      const credential = rpc === "backup" ? operator : key;
      const { brokenEnv, tries } = withDirectory((count, real) =>
        count < 3 ? Promise.reject(flagged("retryable")) : real(),
      );
      const answer = await call("GET", path, { credential, body, env: brokenEnv });
      expect(answer.status).toBe(status);
      expect(tries).toEqual([rpc, rpc, rpc]);
    },
  );

  it.for([
    ["GET", "retryable", 4],
    ["GET", "overloaded", 1],
    ["PUT", "retryable", 1],
    ["POST", "retryable", 1],
    ["DELETE", "retryable", 1],
    ["DELETE", "overloaded", 1],
  ] as const)("answers 503 to a %s whose directory is %s; tries: %i", async ([method, flag, most]) => {
    const credential = await issueKey();
    const { brokenEnv, tries } = withDirectory(() => Promise.reject(flagged(flag)));
    const answer = await call(method, "/api/user", { credential, body: BODIES[method], env: brokenEnv });
    expect(answer).toMatchObject({ status: 503, body: { success: 0, error: { code: "directory_unavailable" } } });
    expect(answer.headers.get("Retry-After")).toMatch(/^\d+$/);
    expect(tries).toHaveLength(most);
  });

  it.for(["GET", "POST"] as const)(
    "answers 503 to a %s whose directory hangs for eight seconds, after one try",
    async (method) => {
      const credential = await issueKey();
      const { brokenEnv, tries } = withDirectory(() => new Promise(() => undefined));
      vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
      const onResponse = vi.fn(async () => undefined);
      const answering = call(method, "/api/user", { credential, body: BODIES[method], env: brokenEnv, onResponse });
      // The runtime's own timer: vi.waitUntil would move the clock.
      while (tries.length === 0) await scheduler.wait(1);
      await vi.advanceTimersByTimeAsync(DIRECTORY_SECONDS_MAX * 1000 - 1);
      expect(onResponse).not.toHaveBeenCalled();
      await vi.advanceTimersByTimeAsync(1);
      expect(await answering).toMatchObject({ status: 503, body: { error: { code: "directory_unavailable" } } });
      expect(tries).toHaveLength(1);
    },
  );
});

describe("the secrets", () => {
  const SECRET = "c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0IHNlY3JldA==";

  it.for([
    ["missing", ""],
    ["without an id", SECRET],
  ])("answers every call with 503 while SIGNING_KEYS is %s, and logs the fix", async ([, keys = ""]) => {
    const unset = { ...env, SIGNING_KEYS: keys };
    const credential = await issueKey();
    for (const path of ["/health", "/api/user", "/api/keys", "/nothing"]) {
      const answer = await call("GET", path, { credential, env: unset });
      expect(answer).toMatchObject({ status: 503, body: { success: 0, error: { code: "service_not_configured" } } });
      expect(answer.headers.get("Retry-After")).toMatch(/^\d+$/);
    }
    const logged = JSON.stringify(logLines);
    expect(logged).toMatch(/SIGNING_KEYS (?:is missing\.|cannot be read: )/);
    expect(logged).toContain("npx wrangler secret put SIGNING_KEYS");
    expect(logged).not.toContain(SECRET);
  });

  it("answers 503 to the bootstrap token alone while OPERATOR_TOKEN is shorter than 32 characters", async () => {
    for (const OPERATOR_TOKEN of ["", undefined, "a", "x".repeat(31)]) {
      const unset = { ...env, OPERATOR_TOKEN } as Env;
      const issue = { workspace: "acme", environment: "Testing", name: "x" };
      for (const credential of ["", "undefined", operator, OPERATOR_TOKEN])
        expect(codeOf(await call("POST", "/api/keys", { credential, body: issue, env: unset }))).toEqual([
          503,
          "service_not_configured",
        ]);
      expect(codeOf(await call("GET", "/api/whoami", { credential: operator, env: unset }))[0]).toBe(401);
      const admin = await issueOperator("admin");
      expect((await call("POST", "/api/keys", { credential: admin, body: issue, env: unset })).status).toBe(201);
      const { key } = await newIntegrator();
      const body = { user_group_id: "acme" };
      expect((await call("GET", "/api/user", { credential: key, body, env: unset })).status).toBe(200);
    }
    expect(JSON.stringify(logLines)).toContain("npx wrangler secret put OPERATOR_TOKEN");
  });
});

it.for([
  ["/api/user", "PUT", "an API key, ugk_"],
  ["/api/user_groups", "GET", "an API key, ugk_…, or the key of an operator, ugo_…."],
  ["/api/keys", "GET", "takes the key of an operator, ugo_…."],
  ["/api/viewer", "GET", "takes a viewer session, or the token of a user group, ugt_…."],
  ["/api/whoami", "GET", "the key of an operator, ugo_…, or a viewer session, or the token of a user group, ugt_…."],
] as const)("the 401 of %s names the credential that it takes", async ([path, method, kind]) => {
  for (const credential of [undefined, "x"]) {
    const answer = await call(method, path, { credential });
    expect(answer.status).toBe(401);
    expect(answer.body.error.message).toContain(kind);
  }
});

it("answers a browser's preflight on every route, so that its page can read refusals", async () => {
  for (const path of ROUTES.map((route) => route.path)) {
    const headers = { Origin: "https://page.example", "Access-Control-Request-Method": "PUT" };
    const preflight = await call("OPTIONS", path, { headers, undocumented: "A preflight is not an operation." });
    expect([preflight.status, preflight.headers.get("Access-Control-Allow-Origin")]).toEqual([204, "*"]);
    expect(preflight.headers.get("Access-Control-Allow-Methods")).toContain("PUT");
    const allowed = preflight.headers.get("Access-Control-Allow-Headers")?.toLowerCase().split(",");
    const sent = ["authorization", "content-type", "cache-control", "idempotency-key", "traceparent", "tracestate"];
    const traced = ["baggage", "sentry-trace", "b3", "x-datadog-trace-id", "x-requested-with"];
    expect(allowed).toEqual(expect.arrayContaining([...sent, ...traced]));
  }
});

it("names the call that creates or rotates to a client that confused them", async () => {
  const { put, rotate } = await newIntegrator();
  expect((await put({ user_group_id: "new", name: "x" })).body.error.message).toContain(
    "GET /api/user and POST /api/user_groups create a group",
  );
  const { issues } = (await rotate("", { user_group_id: "new" })).body.error;
  expect(JSON.stringify(issues)).toContain("POST rotates it");
});

it("names the position of a number that JSON cannot represent", async () => {
  const { get } = await newIntegrator();
  const { issues } = (await get('{"user_group_id":"a","properties":{"n":1e400}}')).body.error;
  expect(issues).toEqual([{ path: ["properties", "n"], message: expect.stringContaining("position 39 of the body") }]);
});
