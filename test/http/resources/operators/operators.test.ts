import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, it, vi } from "vitest";
import { REGISTRY_NAME } from "../../../../src/domain/placement.ts";
import { type Answer, call, codeOf } from "../../../support/client.ts";
import { CREDENTIAL_PATTERN } from "../../../support/credential-pattern.ts";
import { logLines } from "../../../support/each-test.ts";
import { ROUTES } from "../../../support/routes.ts";
import { inEnvironment, issueKey, issueOperator, newIntegrator, operator } from "../../../support/states.ts";

const HOUR = 60 * 60 * 1000;
const NOW = new Date("2026-03-01T10:30:00.000Z");

const manage = (method: string, path: string, body?: object, credential = operator) =>
  call(method, `/api/operators${path}`, { credential, body });
const issue = (fields: object = {}) => manage("POST", "", { name: "ada", role: "support", ...fields });
const list = async () => (await manage("GET", "")).body.operators;
const whoami = (credential: string) => call("GET", "/api/whoami", { credential });

/** Stops the clock of the Worker and of the registry, which is moved by hand from there. */
function stopClock(): void {
  vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
}

/** The path of each issue of a refused body. */
const pathsOf = ({ body }: Answer) => body.error.issues.map(({ path }: { path: string[] }) => path.join("."));

describe("POST /api/operators", () => {
  it("issues a key and shows it this once", async ({ expect }) => {
    stopClock();
    const answer = await issue({ expires_in_seconds: 3600 });
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual({
      success: 1,
      operator: {
        id: 1,
        name: "ada",
        role: "support",
        email: null,
        has_key: true,
        created_at: "2026-03-01T10:30:00.000Z",
        expires_at: "2026-03-01T11:30:00.000Z",
        last_used_at: null,
        revoked_at: null,
      },
      key: expect.stringMatching(/^ugo_[\w-]{59,100}$/),
    });
    expect(JSON.stringify(await list())).not.toMatch(CREDENTIAL_PATTERN);
    expect(JSON.stringify(logLines)).not.toContain(answer.body.key.slice(4, 30));
  });

  it("gives no expiry where none is asked for", async ({ expect }) => {
    expect((await issue()).body.operator.expires_at).toBeNull();
  });

  it.for(["bootstrap", " Bootstrap ", "BOOTSTRAP", "\u00a0bootstrap\u3000", "boot\u034fstrap\u2800"])(
    "refuses the name of the bootstrap token: %j",
    async (name, { expect }) => {
      const answer = await issue({ name });
      expect(codeOf(answer)).toEqual([422, "invalid_body"]);
      expect(answer.body.error.issues).toEqual([
        { path: ["name"], message: expect.stringContaining("bootstrap is the name of OPERATOR_TOKEN") },
      ]);
      expect(await list()).toEqual([]);
    },
  );

  it.for([
    "boot\u200bstrap",
    "\ufeffada",
    "a\u202eda",
    "ada\n",
    "a\u0000",
    "",
    "  ",
    "\u115f",
    "\u034f\u2800 ",
    "x".repeat(256),
  ])("refuses a name that is invisible or imitates another: %j", async (name, { expect }) => {
    const answer = await issue({ name });
    expect(codeOf(answer)).toEqual([422, "invalid_body"]);
    expect(new Set(pathsOf(answer))).toEqual(new Set(["name"]));
    expect(await list()).toEqual([]);
  });

  it.for([
    ["no name", { name: undefined }, ["name"]],
    ["no role", { role: undefined }, ["role"]],
    ["an unknown role", { role: "owner" }, ["role"]],
    ["a role in capitals", { role: "Admin" }, ["role"]],
    ["several roles", { role: ["admin"] }, ["role"]],
    ["an expiry of 0", { expires_in_seconds: 0 }, ["expires_in_seconds"]],
    ["an expiry that is text", { expires_in_seconds: "60" }, ["expires_in_seconds"]],
    ["a scope", { scopes: ["groups:read"] }, ["scopes"]],
    ["an unknown field", { id: 7 }, ["id"]],
  ] as const)("refuses %s", async ([, fields, paths], { expect }) => {
    const answer = await issue(fields);
    expect(codeOf(answer)).toEqual([422, "invalid_body"]);
    expect(pathsOf(answer)).toEqual(paths);
    expect(await list()).toEqual([]);
  });
});

describe("GET /api/operators", () => {
  it("lists all operators, oldest first, and never a key", async ({ expect }) => {
    const [ada, ben] = [(await issue()).body, (await issue({ name: "ben", role: "viewer" })).body];
    await manage("DELETE", "/1");
    const answer = await manage("GET", "", undefined, ben.key);
    expect(answer.body).toEqual({
      success: 1,
      operators: [
        { ...ada.operator, revoked_at: expect.any(String) },
        { ...ben.operator, last_used_at: expect.any(String) },
      ],
      next_cursor: null,
    });
  });

  it("keeps them when the registry is evicted", async ({ expect }) => {
    const { key, operator: shown } = (await issue()).body;
    await evictDurableObject(env.REGISTRY.getByName(REGISTRY_NAME));
    expect(await list()).toEqual([shown]);
    expect((await whoami(key)).body.caller).toMatchObject({ id: 1, name: "ada", role: "support" });
  });

  it("shows when each was last used, right to the hour", async ({ expect }) => {
    stopClock();
    const { key } = (await issue()).body;
    expect((await list())[0].last_used_at).toBeNull();
    const lastUsedAfter = async (milliseconds: number) => {
      vi.setSystemTime(NOW.getTime() + milliseconds);
      await whoami(key);
      return Date.parse((await list())[0].last_used_at) - NOW.getTime();
    };
    expect(await lastUsedAfter(0)).toBe(0);
    expect(await lastUsedAfter(HOUR - 1)).toBe(0);
    expect(await lastUsedAfter(HOUR)).toBe(HOUR);
  });
});

describe("an operator's key", () => {
  /** Every call that takes an operator, in an environment that is there. */
  const everyCall = async (credential: string): Promise<unknown[]> => {
    const codes: unknown[] = [];
    for (const { method, path, access, body } of ROUTES.filter((route) => route.access.role)) {
      const query = access.environmentQuery ? inEnvironment() : "";
      codes.push((await call(method, path + query, { credential, body })).body.error?.code);
    }
    return [...new Set(codes)];
  };

  it("is refused at every call once it is revoked", async ({ expect }) => {
    await issueKey();
    const { key } = (await issue({ role: "admin" })).body;
    expect(await manage("DELETE", "/1")).toMatchObject({ status: 200, body: { success: 1 } });
    expect(await everyCall(key)).toEqual(["credential_revoked"]);
  });

  it("is refused at every call from its expiry on", async ({ expect }) => {
    stopClock();
    await issueKey();
    const { key } = (await issue({ role: "admin", expires_in_seconds: 60 })).body;
    vi.setSystemTime(NOW.getTime() + 59_999);
    expect((await whoami(key)).status).toBe(200);
    vi.setSystemTime(NOW.getTime() + 60_000);
    expect(await everyCall(key)).toEqual(["credential_expired"]);
    expect((await list())[0].last_used_at).not.toBeNull();
  });

  it("is refused by the four calls of integrators, whatever the role", async ({ expect }) => {
    await newIntegrator();
    for (const credential of [operator, await issueOperator("admin")])
      for (const { method, path, body } of ROUTES.filter((route) => route.path === "/api/user"))
        for (const query of ["", inEnvironment()])
          expect(codeOf(await call(method, path + query, { credential, body }))).toEqual([401, "unauthenticated"]);
  });

  it("cannot give its holder more than its role", async ({ expect }) => {
    const support = await issueOperator("support");
    const lacking = { status: 403, body: { error: { code: "insufficient_access", required_role: "admin" } } };
    for (const answer of [
      await manage("POST", "", { name: "eve", role: "admin" }, support),
      await manage("POST", "", { name: "eve", role: "viewer" }, support),
      await manage("POST", "/1/roll", {}, support),
      await manage("DELETE", "/1", undefined, support),
    ])
      expect(answer).toMatchObject(lacking);
    expect(await list()).toMatchObject([{ id: 1, role: "support", revoked_at: null }]);
  });

  it("is no other operator's after a character of its name or number was guessed", async ({ expect }) => {
    const { key } = (await issue({ role: "viewer" })).body;
    await issueOperator("admin");
    const bytes = Uint8Array.fromBase64(key.slice("ugo_".length), { alphabet: "base64url" });
    // The number stands before 16 bytes of nonce and 16 of MAC.
    bytes[bytes.length - 33] = 2;
    const forged = `ugo_${bytes.toBase64({ alphabet: "base64url", omitPadding: true })}`;
    expect(codeOf(await whoami(forged))).toEqual([401, "unauthenticated"]);
  });
});

describe("DELETE /api/operators/{id}", () => {
  it("keeps the time of the first revocation, and touches nobody else", async ({ expect }) => {
    stopClock();
    await issue();
    const { key } = (await issue({ name: "ben" })).body;
    await manage("DELETE", "/1");
    vi.setSystemTime(NOW.getTime() + HOUR);
    expect((await manage("DELETE", "/1")).status).toBe(200);
    expect(await list()).toMatchObject([{ revoked_at: NOW.toISOString() }, { revoked_at: null }]);
    expect((await whoami(key)).status).toBe(200);
  });

  it.for(["2", "0", "-1", "01", "1.0", "0x1", "1e0", "ada", "9007199254740993"])(
    "answers 404 operator_not_found for the id %s, and so does roll",
    async (id, { expect }) => {
      const { key } = (await issue()).body;
      expect(codeOf(await manage("DELETE", `/${id}`))).toEqual([404, "operator_not_found"]);
      expect(codeOf(await manage("POST", `/${id}/roll`, {}))).toEqual([404, "operator_not_found"]);
      expect((await whoami(key)).status).toBe(200);
    },
  );
});

describe("POST /api/operators/{id}/roll", () => {
  const roll = (body?: object, id = 1) => manage("POST", `/${id}/roll`, body);

  it("issues a key with the same name, role and expiry, and ends the old one", async ({ expect }) => {
    stopClock();
    const old = (await issue({ expires_in_seconds: 3600 })).body;
    vi.setSystemTime(NOW.getTime() + 1000);
    const rolled = await roll({});
    expect(rolled.status).toBe(201);
    expect(rolled.body).toEqual({
      success: 1,
      operator: { ...old.operator, id: 2, created_at: "2026-03-01T10:30:01.000Z" },
      key: expect.stringMatching(/^ugo_/),
    });
    expect(codeOf(await whoami(old.key))).toEqual([401, "credential_revoked"]);
    expect((await whoami(rolled.body.key)).body.caller).toMatchObject({ id: 2, name: "ada", role: "support" });
  });

  it("needs no body, and leaves the old key good for a grace", async ({ expect }) => {
    stopClock();
    const old = (await issue()).body;
    await roll({ grace_seconds: 60 });
    vi.setSystemTime(NOW.getTime() + 59_999);
    expect((await whoami(old.key)).status).toBe(200);
    expect((await list())[0].revoked_at).toBe("2026-03-01T10:31:00.000Z");
    vi.setSystemTime(NOW.getTime() + 60_000);
    expect(codeOf(await whoami(old.key))).toEqual([401, "credential_revoked"]);
    expect((await roll(undefined, 2)).status).toBe(201);
  });

  it("a revocation ends the grace of the old key, and not its successor", async ({ expect }) => {
    const old = (await issue()).body;
    const { key } = (await roll({ grace_seconds: 3600 })).body;
    await manage("DELETE", "/1");
    expect(codeOf(await whoami(old.key))).toEqual([401, "credential_revoked"]);
    expect((await whoami(key)).status).toBe(200);
  });

  it("refuses a key that is no longer valid with 404 operator_not_found", async ({ expect }) => {
    stopClock();
    await issue({ expires_in_seconds: 60 });
    await issue();
    await manage("DELETE", "/2");
    vi.setSystemTime(NOW.getTime() + 60_000);
    expect(codeOf(await roll({}, 1))).toEqual([404, "operator_not_found"]);
    expect(codeOf(await roll({}, 2))).toEqual([404, "operator_not_found"]);
    expect(await list()).toHaveLength(2);
  });

  it.for([{ grace_seconds: -1 }, { grace_seconds: 604801 }, { grace_seconds: "1" }, { role: "admin" }])(
    "refuses %o",
    async (body, { expect }) => {
      await issue();
      expect(codeOf(await roll(body))).toEqual([422, "invalid_body"]);
      expect(await list()).toHaveLength(1);
    },
  );
});

describe("two operators", () => {
  /** Ada and Ben each issue a key in an environment, and change the same group. */
  async function twoAtWork() {
    const { tokenOf } = await newIntegrator();
    await tokenOf("acme");
    const [ada, ben] = [await issueOperator("admin", { name: "ada" }), await issueOperator("admin", { name: "ben" })];
    for (const [credential, name] of [
      [ada, "by ada"],
      [ben, "by ben"],
    ] as const) {
      await call("PUT", `/api/user_groups/1${inEnvironment()}`, { credential, body: { name } });
      await call("POST", `/api/user_groups/1/rotate${inEnvironment()}`, { credential });
      const body = { workspace: name.replace("by ", ""), environment: "Testing", name };
      await call("POST", "/api/keys", { credential, body });
      await manage("POST", "", { name: `${name}, too`, role: "viewer" }, credential);
    }
    return { ada, ben };
  }
  const ADA = { kind: "operator", id: 1, name: "ada" };
  const BEN = { kind: "operator", id: 2, name: "ben" };
  const eventsOf = async (query: string) =>
    (await call("GET", `/api/events${query}`, { credential: operator })).body.events;

  it("are named by their acts in both feeds", async ({ expect }) => {
    await twoAtWork();
    expect((await eventsOf(inEnvironment())).slice(2)).toMatchObject([
      { type: "user_group.updated", actor: ADA, changed: ["name"] },
      { type: "user_group.token_rotated", actor: ADA },
      { type: "user_group.updated", actor: BEN },
      { type: "user_group.token_rotated", actor: BEN },
    ]);
    expect(await eventsOf(inEnvironment("ben"))).toMatchObject([{ type: "api_key.issued", actor: BEN }]);
    const bootstrap = { kind: "operator", id: null, name: "bootstrap" };
    expect(await eventsOf("")).toMatchObject([
      { type: "environment.created", actor: bootstrap },
      { type: "operator.issued", actor: bootstrap, operator: { id: 1, name: "ada" } },
      { type: "operator.issued", actor: bootstrap, operator: { id: 2, name: "ben" } },
      { type: "environment.created", actor: ADA, environment: { workspace: "ada", environment: "Testing" } },
      { type: "operator.issued", actor: ADA, operator: { id: 3, name: "by ada, too" } },
      { type: "environment.created", actor: BEN, environment: { workspace: "ben", environment: "Testing" } },
      { type: "operator.issued", actor: BEN, operator: { id: 4, name: "by ben, too" } },
    ]);
  });

  it("are named in the log, with whom they issued or revoked", async ({ expect }) => {
    const { ada } = await twoAtWork();
    expect(logLines.at(-1)).toMatchObject({ path: "/api/operators", operator: "ben", subject_operator_id: 4 });
    await manage("DELETE", "/2", undefined, ada);
    expect(logLines.at(-1)).toMatchObject({ operator_id: 1, operator: "ada", subject_operator_id: 2, status: 200 });
    await call("DELETE", `/api/user_groups/1${inEnvironment()}`, { credential: ada });
    expect(logLines.at(-1)).toMatchObject({ operator: "ada", team_id: 1, workspace: "acme", environment: "Testing" });
  });

  it("can be told apart when one is revoked", async ({ expect }) => {
    const { ada, ben } = await twoAtWork();
    await manage("DELETE", "/1", undefined, ben);
    expect(codeOf(await whoami(ada))).toEqual([401, "credential_revoked"]);
    expect((await whoami(ben)).body.caller).toMatchObject({ id: 2, name: "ben" });
    expect((await whoami(operator)).body.caller).toMatchObject({ id: null, name: "bootstrap" });
  });

  it("cannot both use a key that one of them has just rolled", async ({ expect }) => {
    const { ben } = await twoAtWork();
    const answers = await Promise.all([1, 2, 3].map(() => manage("POST", "/1/roll", {}, ben)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 404, 404]);
  });
});

it("an operator's key is refused under another ring of signing keys", async ({ expect }) => {
  const key = await issueOperator("admin");
  const other = { ...env, SIGNING_KEYS: `test:${new Uint8Array(32).fill(9).toBase64()}` };
  expect(codeOf(await call("GET", "/api/whoami", { credential: key, env: other }))).toEqual([401, "unauthenticated"]);
});

describe("a registry that does not answer", () => {
  /** The environment, in which each call of `method` fails as the platform says when it may be repeated. */
  const failingAt = (method: string) => {
    const tries: string[] = [];
    const getByName = (name: string) =>
      new Proxy(env.REGISTRY.getByName(name), {
        get:
          (stub, called) =>
          async (...args: unknown[]) => {
            tries.push(String(called));
            if (called === method) throw Object.assign(new Error("busy"), { retryable: true });
            return Reflect.get(stub, called)(...args);
          },
      });
    return { tries, callEnv: { ...env, REGISTRY: { getByName } } as unknown as Env };
  };

  it.for([
    ["GET", "/api/whoami", undefined, "admit", 4],
    ["GET", "/api/operators", undefined, "listOperators", 4],
    ["GET", "/api/environments", undefined, "listEnvironments", 4],
    ["GET", "/api/events", undefined, "listEvents", 4],
    ["DELETE", "/api/operators/1", undefined, "revokeOperator", 4],
    ["POST", "/api/operators", { name: "ada", role: "viewer" }, "issueOperator", 1],
    ["POST", "/api/operators", { name: "ada", role: "viewer", email: "ada@example.com" }, "issueOperatorWithEmail", 1],
    ["POST", "/api/operators/1/roll", undefined, "rollOperator", 1],
    ["POST", "/api/keys", { workspace: "acme", environment: "Testing", name: "x" }, "recordEnvironment", 4],
  ] as const)("is 503, and asked again where that is safe: %s %s", async (each, { expect }) => {
    const [method, path, body, rpc, most] = each;
    await issue();
    const { tries, callEnv } = failingAt(rpc);
    const answer = await call(method, path, { credential: operator, body, env: callEnv });
    expect(codeOf(answer)).toEqual([503, "directory_unavailable"]);
    expect(answer.headers.get("Retry-After")).toMatch(/^\d+$/);
    expect(tries.filter((name) => name === rpc)).toHaveLength(most);
    expect(await list()).toHaveLength(1);
  });

  it("leaves API keys and viewers alone", async ({ expect }) => {
    const { key, tokenOf } = await newIntegrator();
    const token = await tokenOf("acme");
    const { tries, callEnv } = failingAt("admit");
    for (const [credential, path] of [
      [key, "/api/user_groups"],
      [token, "/api/viewer"],
    ] as const)
      expect((await call("GET", path, { credential, env: callEnv })).status).toBe(200);
    expect(tries).toEqual([]);
  });
});
