import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { REGISTRY_NAME } from "../../../../src/domain/placement.ts";
import { type Answer, call, codeOf } from "../../../support/client.ts";
import { logLines } from "../../../support/each-test.ts";
import { inEnvironment, issueOperator, newIntegrator, operator } from "../../../support/states.ts";

const manage = (method: string, path: string, body?: object, credential = operator) =>
  call(method, `/api/operators${path}`, { credential, body });
const issue = (fields: object = {}) => manage("POST", "", { name: "ada", role: "support", ...fields });
const list = async () => (await manage("GET", "")).body.operators;
const whoami = (credential: string) => call("GET", "/api/whoami", { credential });

/** The path of each issue of a refused body. */
const pathsOf = ({ body }: Answer) => body.error.issues.map(({ path }: { path: string[] }) => path.join("."));

describe("POST /api/operators", () => {
  it.for(["bootstrap", " Bootstrap ", "BOOTSTRAP", "\u00a0bootstrap\u3000", "boot\u034fstrap\u2800"])(
    "refuses the name of the bootstrap token: %j",
    async (name) => {
      const answer = await issue({ name });
      expect(codeOf(answer)).toEqual([422, "invalid_body"]);
      expect(answer.body.error.issues).toEqual([
        { path: ["name"], message: expect.stringContaining("bootstrap is the name of OPERATOR_TOKEN") },
      ]);
      expect(await list()).toEqual([]);
    },
  );

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
  ] as const)("refuses %s", async ([, fields, paths]) => {
    const answer = await issue(fields);
    expect(codeOf(answer)).toEqual([422, "invalid_body"]);
    expect(pathsOf(answer)).toEqual(paths);
    expect(await list()).toEqual([]);
  });
});

describe("GET /api/operators", () => {
  it("keeps them when the registry is evicted", async () => {
    const { key, operator: shown } = (await issue()).body;
    await evictDurableObject(env.REGISTRY.getByName(REGISTRY_NAME));
    expect(await list()).toEqual([shown]);
    expect((await whoami(key)).body.caller).toMatchObject({ id: 1, name: "ada", role: "support" });
  });
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

  it("are named by their acts in both feeds", async () => {
    await twoAtWork();
    const updated = { type: "user_group.updated", changed: ["name"] };
    expect((await eventsOf(inEnvironment())).slice(2)).toMatchObject([
      { ...updated, actor: ADA },
      { ...updated, actor: BEN },
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

  it("are named in the log, with whom they issued or revoked", async () => {
    const { ada } = await twoAtWork();
    expect(logLines.at(-1)).toMatchObject({ path: "/api/operators", operator: "ben", subject_operator_id: 4 });
    await manage("DELETE", "/2", undefined, ada);
    expect(logLines.at(-1)).toMatchObject({ operator_id: 1, operator: "ada", subject_operator_id: 2, status: 200 });
    await call("DELETE", `/api/user_groups/1${inEnvironment()}`, { credential: ada });
    expect(logLines.at(-1)).toMatchObject({ operator: "ada", team_id: 1, workspace: "acme", environment: "Testing" });
  });
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
  ] as const)("is 503, and asked again where that is safe: %s %s", async (each) => {
    const [method, path, body, rpc, most] = each;
    await issue();
    const { tries, callEnv } = failingAt(rpc);
    const answer = await call(method, path, { credential: operator, body, env: callEnv });
    expect(codeOf(answer)).toEqual([503, "directory_unavailable"]);
    expect(answer.headers.get("Retry-After")).toMatch(/^\d+$/);
    expect(tries.filter((name) => name === rpc)).toHaveLength(most);
    expect(await list()).toHaveLength(1);
  });

  it("leaves API keys and viewers alone", async () => {
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
