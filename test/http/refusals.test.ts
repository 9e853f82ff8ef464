import { reset } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, it, vi } from "vitest";
import { version } from "../../package.json";
import { DIRECTORY_SECONDS_MAX } from "../../src/limits.ts";
import { call, codeOf } from "../support/client.ts";
import { logLines } from "../support/each-test.ts";
import { operatorPath, ROUTES, type Route } from "../support/routes.ts";
import { issueKey, issueOperator, newIntegrator, operator } from "../support/states.ts";

const BODIES = {
  GET: { user_group_id: "acme" },
  PUT: { user_group_id: "acme", name: "x" },
  POST: { current_token: "x" },
  DELETE: { current_token: "x" },
};

/** The credential with one character of its MAC changed. */
const forged = (credential: string) =>
  credential.slice(0, -10) + (credential.at(-10) === "x" ? "y" : "x") + credential.slice(-9);

const newToken = async () => (await newIntegrator()).tokenOf("acme");

/** A credential that the route takes, and the path to call with it. */
const goodCredential = async (route: Route) =>
  route.access.scope ? [await issueKey(), route.path] : [await issueOperator("admin"), operatorPath(route)];

type BadCredential = readonly [string, () => Promise<string | undefined>];

/** Every route refuses these by themselves. */
const UNSIGNED_CREDENTIALS: BadCredential[] = [
  ["no credential", async () => undefined],
  ["an empty one", async () => ""],
  ["a text that is not a credential", async () => "x".repeat(100)],
  ["a forged API key", async () => forged(await issueKey())],
  ["a truncated API key", async () => (await issueKey()).slice(0, -1)],
  ["an API key with something behind it", async () => `${await issueKey()}A`],
  ["a forged operator's key", async () => forged(await issueOperator("admin"))],
  ["a truncated operator's key", async () => (await issueOperator("admin")).slice(0, -1)],
  ["the bootstrap token with something behind it", async () => `${operator}A`],
];

/** Only a Durable Object knows that these are not valid. */
const UNKNOWN_CREDENTIALS: BadCredential[] = [
  [
    "an API key that the directory does not know",
    async () => {
      const key = await issueKey();
      await reset();
      return key;
    },
  ],
  [
    "an API key whose number is another key's, as after a restored backup",
    async () => {
      const key = await issueKey();
      await reset();
      await issueKey();
      return key;
    },
  ],
  [
    "an operator's key that the registry does not know",
    async () => {
      const key = await issueOperator("admin");
      await reset();
      return key;
    },
  ],
  [
    "an operator's key whose number is another's",
    async () => {
      const key = await issueOperator("admin");
      await reset();
      await issueOperator("admin");
      return key;
    },
  ],
];

/** What the route refuses before it reads the body: these, and the kinds of credentials that it does not take. */
const unacceptableFor = ({ access: { scope, role, isForViewers } }: Route): BadCredential[] => [
  ...UNSIGNED_CREDENTIALS,
  ...(scope ? [] : [["an API key", () => issueKey()] as const]),
  ...(role ? [] : [["an operator's key", () => issueOperator("admin")] as const]),
  ...(role ? [] : [["the bootstrap token", async () => operator] as const]),
  ...(isForViewers ? [] : [["the token of a user group", newToken] as const]),
];

describe.for(ROUTES.filter(({ access }) => access.scope || access.role))("$name", (route) => {
  const { method, body } = route;

  it("refuses a credential that it does not take with 401 without reading the body", async ({ expect }) => {
    for (const [, credentialOf] of unacceptableFor(route)) {
      const body = method === "GET" && !route.body ? undefined : "x".repeat(70_000);
      const headers = { "Content-Type": "text/plain" };
      const answer = await call(method, operatorPath(route), { credential: await credentialOf(), body, headers });
      expect(codeOf(answer)).toEqual([401, "unauthenticated"]);
    }
  });

  it.for([...unacceptableFor(route), ...UNKNOWN_CREDENTIALS])(
    "refuses %s with 401, and says nothing of the body or the query",
    async ([, credentialOf], { expect }) => {
      const credential = await credentialOf();
      const path = operatorPath(route);
      const answers = [
        await call(method, path, { credential, body }),
        await call(method, `${path}${path.includes("?") ? "&" : "?"}unknown=field`, { credential }),
        body
          ? await call(method, path, { credential, body: "{" })
          : await call(method, path.replace("acme", "A C M E"), { credential }),
      ];
      for (const answer of answers) {
        expect(answer.status).toBe(401);
        expect(answer.headers.get("WWW-Authenticate")).toBe("Token");
        expect(answer.body).toEqual({
          success: 0,
          error: { code: "unauthenticated", message: expect.stringContaining("Authorization: Token") },
          request_id: answer.headers.get("X-Request-Id"),
        });
      }
    },
  );

  it.for([
    ["an Origin", { Origin: "https://app.example" }],
    ["an opaque Origin", { Origin: "null" }],
    ["Sec-Fetch-Site", { "Sec-Fetch-Site": "same-origin" }],
  ] as const)(
    "refuses the keys of integrators and operators with %s: 403 secret_key_in_browser",
    async ([, headers], { expect }) => {
      for (const [credential, logged] of [
        [await issueKey(), { key_id: 1, workspace: "acme", environment: "Testing" }],
        [await issueOperator("viewer"), {}],
        [operator, {}],
      ] as const) {
        const answer = await call(method, operatorPath(route), { credential, body, headers });
        expect(answer).toMatchObject({ status: 403, body: { success: 0, error: { code: "secret_key_in_browser" } } });
        expect(logLines.at(-1)).toMatchObject({ failure: "secret_key_in_browser", ...logged });
        // A page can read the refusal, and its developer learns what is wrong.
        const isForPages = "Origin" in headers || route.access.isForViewers;
        expect(answer.headers.get("Access-Control-Allow-Origin")).toBe(isForPages ? "*" : null);
      }
      expect(await call(method, route.path, { credential: "x", body, headers })).toMatchObject({ status: 401 });
    },
  );

  it("does not take the fetch of a server for a browser", async ({ expect }) => {
    const [credential, path = ""] = await goodCredential(route);
    const headers = { "Sec-Fetch-Mode": "cors", "User-Agent": "node", "Accept-Language": "*" };
    expect((await call(method, path, { credential, body, headers })).status).not.toBe(403);
  });

  it.for(["token", "Token", "TOKEN", "tOkEn", "Bearer", "bearer"])(
    "takes the scheme as %s",
    async (scheme, { expect }) => {
      const [credential, path = ""] = await goodCredential(route);
      const answer = await call(method, path, { body, headers: { Authorization: `${scheme} ${credential}` } });
      expect(answer.status).not.toBe(401);
    },
  );

  it.for(["Basic", "Tokens", "Bear", ""])("does not take the scheme %s", async (scheme, { expect }) => {
    const [credential, path = ""] = await goodCredential(route);
    const answer = await call(method, path, { body, headers: { Authorization: `${scheme} ${credential}` } });
    expect(answer.status).toBe(401);
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
  ] as const)("%s is 403 secret_key_in_browser", async ([, headerOf], { expect }) => {
    for (const secret of [await issueKey(), await issueOperator("viewer"), operator]) {
      const headers = { Authorization: headerOf(secret), Origin: "https://app.example" };
      for (const path of ["/api/user_groups", "/api/viewer", "/api/nothing"])
        expect(codeOf(await call("GET", path, { headers }))).toEqual([403, "secret_key_in_browser"]);
    }
  });

  it.for(["Basic x", "Basic !!!", "Token", "a b c d e f", "Basic OjpA"])(
    "is nothing else: %s",
    async (text, { expect }) => {
      const headers = { Authorization: text, Origin: "https://app.example" };
      expect(codeOf(await call("GET", "/api/user_groups", { headers }))).toEqual([401, "unauthenticated"]);
    },
  );
});

describe("every answer", () => {
  it.for([
    ["a success", "GET", "/api/user", { user_group_id: "acme" }, 200],
    ["a refusal", "PUT", "/api/user", { user_group_id: "acme" }, 404],
    ["an unknown path", "GET", "/nothing", undefined, 404],
    ["the health check", "GET", "/health", undefined, 200],
  ] as const)(
    "is JSON with a request id, and is not cached: %s",
    async ([, method, path, body, status], { expect }) => {
      const answer = await call(method, path, { credential: await issueKey(), body });
      expect(answer.status).toBe(status);
      expect(answer.body.success).toBe(status === 200 ? 1 : 0);
      expect(answer.headers.get("Content-Type")).toMatch(/^application\/json/);
      expect(answer.headers.get("Cache-Control")).toBe("no-store");
      expect(answer.headers.get("X-Request-Id")).toMatch(/^[\da-f-]{36}$/);
    },
  );

  it("is the same with and without a trailing slash", async ({ expect }) => {
    const credential = await issueKey();
    for (const path of ["/api/user", "/api/user/"])
      expect(await call("GET", path, { credential, body: { user_group_id: "acme" } })).toMatchObject({ status: 200 });
    for (const path of ["/api/user_groups", "/api/user_groups/"])
      expect(await call("GET", path, { credential })).toMatchObject({ status: 200 });
  });
});

it("answers GET /health with the version of package.json, without a credential", async ({ expect }) => {
  expect(await call("GET", "/health")).toMatchObject({ status: 200, body: { success: 1, version } });
});

it.for([
  ["PATCH", "/api/user", "GET, PUT, POST, DELETE"],
  ["OPTIONS", "/api/user", "GET, PUT, POST, DELETE"],
  ["HEAD", "/api/user", "GET, PUT, POST, DELETE"],
  ["PUT", "/api/user_groups", "GET, POST"],
  ["POST", "/api/user_groups/1", "GET, PUT, DELETE"],
  ["HEAD", "/api/user_groups/1", "GET, PUT, DELETE"],
  ["GET", "/api/user_groups/1/rotate", "POST"],
  ["GET", "/api/operators/1", "DELETE"],
  ["PUT", "/api/operators", "GET, POST"],
  ["GET", "/api/operators/1/roll", "POST"],
  ["POST", "/api/environments", "GET"],
  ["DELETE", "/api/events", "GET"],
  ["POST", "/api/whoami", "GET"],
  ["HEAD", "/api/user_groups/", "GET, POST"],
  ["OPTIONS", "/api/user_groups", "GET, POST"],
  ["PUT", "/api/keys", "GET, POST"],
  ["HEAD", "/api/keys", "GET, POST"],
  ["GET", "/api/keys/1", "DELETE"],
  ["DELETE", "/api/keys/1/roll", "POST"],
  ["OPTIONS", "/api/keys", "GET, POST"],
  ["DELETE", "/health", "GET, HEAD"],
] as const)("refuses %s %s with 405 and names the methods of the path", async ([method, path, allow], { expect }) => {
  const answer = await call(method, path);
  expect(answer.status).toBe(405);
  expect(answer.headers.get("Allow")).toBe(allow);
});

it.for([
  "/",
  "/api",
  "/api/users",
  "/api/user/acme",
  "/api/user_groupsx",
  "/api/user_groups/1/nothing",
  "/api/operators/1/nothing",
  "/API/USER",
])("serves nothing at %s", async (path, { expect }) => {
  const answer = await call("PUT", path, { credential: await issueKey() });
  expect(answer).toMatchObject({ status: 404, body: { error: { code: "route_not_found" } } });
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
    async (method, { expect }) => {
      const real = method.toUpperCase() as keyof typeof BODIES;
      const direct = await call(real, "/api/user", { credential: await issueKey(), body: BODIES[real] });
      const overridden = await post(method, BODIES[real]);
      expect(overridden.status).toBe(direct.status);
      expect(overridden.body.error).toEqual(direct.body.error);
      expect(await post(method, undefined)).toMatchObject({ status: 400, body: { error: { code: "body_required" } } });
    },
  );

  it.for(["PATCH", "HEAD", "rotate", " "])("refuses %s with 405", async (method, { expect }) => {
    expect(await post(method, BODIES.POST)).toMatchObject({ status: 405 });
  });

  it("applies to every spelling of the path", async ({ expect }) => {
    for (const path of ["/api/user/", "/api/%75ser"]) {
      const { key, tokenOf, get } = await newIntegrator();
      const body = { current_token: await tokenOf("acme") };
      const headers = { "X-HTTP-Method-Override": "DELETE" };
      expect((await call("POST", path, { credential: key, body, headers })).body).toEqual({ success: 1 });
      expect((await get({ user_group_id: "acme" })).body.new_user_group).toBe(true);
    }
  });

  it("is ignored with any other method or path", async ({ expect }) => {
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

  it("answers a crash with 500 and the request id alone, and logs the cause", async ({ expect }) => {
    const credential = await issueKey();
    const { brokenEnv, tries } = withDirectory(() => Promise.reject(new Error("disk on fire")));
    const answer = await call("GET", "/api/user", { credential, body: BODIES.GET, env: brokenEnv });
    expect(answer.status).toBe(500);
    expect(answer.body.error.code).toBe("internal_error");
    expect(JSON.stringify(answer.body)).not.toContain("fire");
    expect(tries).toHaveLength(1);
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
    ["/api/user", BODIES.GET, "ensure"],
    ["/api/user_groups", undefined, "list"],
  ] as const)(
    "retries an idempotent call that failed as retryable, with a new stub: GET %s",
    async ([path, body, rpc], { expect }) => {
      const credential = await issueKey();
      const { brokenEnv, tries } = withDirectory((count, real) =>
        count < 3 ? Promise.reject(flagged("retryable")) : real(),
      );
      const answer = await call("GET", path, { credential, body, env: brokenEnv });
      expect(answer.status).toBe(200);
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
  ] as const)("answers 503 to a %s whose directory is %s; tries: %i", async ([method, flag, most], { expect }) => {
    const credential = await issueKey();
    const { brokenEnv, tries } = withDirectory(() => Promise.reject(flagged(flag)));
    const answer = await call(method, "/api/user", { credential, body: BODIES[method], env: brokenEnv });
    expect(answer).toMatchObject({ status: 503, body: { success: 0, error: { code: "directory_unavailable" } } });
    expect(answer.headers.get("Retry-After")).toMatch(/^\d+$/);
    expect(tries).toHaveLength(most);
  });

  it.for(["GET", "POST"] as const)(
    "answers 503 to a %s whose directory hangs for eight seconds, after one try",
    async (method, { expect }) => {
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
    ["too short", "k1:c2hvcnQ="],
    ["not base64", "k1:!!!!"],
    ["base64 of no whole bytes", `k1:${"A".repeat(45)}`],
    ["given twice under one id", `k1:${SECRET},k1:${SECRET}`],
    ["with an empty entry", `k1:${SECRET},`],
    ["too many", Array.from({ length: 9 }, (_, index) => `k${index}:${SECRET}`).join(",")],
  ])("answers every call with 503 while SIGNING_KEYS is %s, and logs the fix", async ([, keys = ""], { expect }) => {
    const unset = { ...env, SIGNING_KEYS: keys };
    const credential = await issueKey();
    for (const [method, path] of [
      ["GET", "/health"],
      ["GET", "/api/user"],
      ["POST", "/api/keys"],
      ["GET", "/nothing"],
    ] as const) {
      const answer = await call(method, path, { credential, env: unset });
      expect(answer).toMatchObject({ status: 503, body: { success: 0, error: { code: "service_not_configured" } } });
      expect(answer.headers.get("Retry-After")).toMatch(/^\d+$/);
    }
    const logged = JSON.stringify(logLines);
    expect(logged).toContain("SIGNING_KEYS is unusable");
    expect(logged).toContain("npx wrangler secret put SIGNING_KEYS");
    expect(logged).not.toContain(SECRET);
  });

  it("answers 503 to the bootstrap token alone while OPERATOR_TOKEN is shorter than 32 characters", async ({
    expect,
  }) => {
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
] as const)("the 401 of %s names the credential that it takes", async ([path, method, kind], { expect }) => {
  for (const credential of [undefined, "x"]) {
    const answer = await call(method, path, { credential });
    expect(answer.status).toBe(401);
    expect(answer.body.error.message).toContain(kind);
  }
});

it("answers a browser's preflight on every route, so that its page can read refusals", async ({ expect }) => {
  for (const path of ROUTES.map((route) => route.path)) {
    const headers = { Origin: "https://page.example", "Access-Control-Request-Method": "PUT" };
    const preflight = await call("OPTIONS", path, { headers, undocumented: "A preflight is not an operation." });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("Access-Control-Allow-Methods")).toContain("PUT");
    expect(preflight.headers.get("Access-Control-Allow-Headers")).toContain("Idempotency-Key");
  }
});

it("names the call that creates or rotates to a client that confused them", async ({ expect }) => {
  const { put, rotate } = await newIntegrator();
  expect((await put({ user_group_id: "new", name: "x" })).body.error.message).toContain(
    "GET /api/user and POST /api/user_groups create a group",
  );
  const { issues } = (await rotate("", { user_group_id: "new" })).body.error;
  expect(JSON.stringify(issues)).toContain("POST rotates it");
});

it("names the position of a number that JSON cannot represent", async ({ expect }) => {
  const { get } = await newIntegrator();
  const { issues } = (await get('{"user_group_id":"a","properties":{"n":1e400}}')).body.error;
  expect(issues).toEqual([{ path: ["properties", "n"], message: expect.stringContaining("position 39 of the body") }]);
});

describe("the log", () => {
  it("has one line for each request, with its caller and its outcome", async ({ expect }) => {
    const { put } = await newIntegrator();
    logLines.length = 0;

    const answer = await put({ user_group_id: "acme", name: "secret name" });

    expect(logLines).toEqual([
      {
        time: expect.any(String),
        level: "info",
        method: "PUT",
        path: "/api/user",
        status: 404,
        failure: "user_group_not_found",
        key_id: 1,
        workspace: "acme",
        environment: "Testing",
        milliseconds: expect.any(Number),
        request_id: answer.body.request_id,
      },
    ]);
  });

  it("contains no text of an unknown path or header", async ({ expect }) => {
    const credential = await (await newIntegrator()).tokenOf("acme");
    logLines.length = 0;
    const spy = vi.fn();
    for (const path of [
      `/${credential}`,
      `/api/user/${credential}`,
      `/api/user?token=${credential}`,
      `/api/keys/${credential}`,
    ])
      spy(
        await call("POST", path, {
          credential,
          headers: { "X-HTTP-Method-Override": credential, "X-Request-Id": credential },
        }),
      );
    expect(spy).toHaveBeenCalledTimes(4);
    expect(logLines).toHaveLength(4);
    expect(JSON.stringify(logLines)).not.toContain(credential.slice(12, 40));
  });
});
