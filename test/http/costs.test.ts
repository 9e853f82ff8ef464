import { describe, expect, it } from "vitest";
import { call } from "../support/client.ts";
import { forgedCredential } from "../support/forged.ts";
import { inEnvironment, issueKey, issueOperator, newIntegrator, operator } from "../support/states.ts";
import { watchedEnv } from "../support/watched-env.ts";

/** A call on group 1: its method, path, and body for the group's token; its RPC to the directory, and its status. */
type Costed = [
  name: string,
  sent: readonly [method: string, path: string, body?: ((token: string) => object) | undefined],
  rpc: string,
  status: number,
];

const acme = (fields = {}) => ({ user_group_id: "acme", ...fields });

const KEY_CALLS: Costed[] = [
  ["GET that creates", ["GET", "/api/user", () => ({ user_group_id: "new" })], "ensure", 200],
  ["GET that finds", ["GET", "/api/user", () => acme()], "ensure", 200],
  ["POST that creates", ["POST", "/api/user_groups", () => ({ user_group_id: "new" })], "ensure", 201],
  ["PUT", ["PUT", "/api/user", () => acme({ name: "x" })], "update", 200],
  ["POST", ["POST", "/api/user", (token) => ({ current_token: token })], "rotateToken", 200],
  ["DELETE", ["DELETE", "/api/user", (token) => ({ current_token: token })], "remove", 200],
  ["POST with a malformed token", ["POST", "/api/user", () => ({ current_token: "none" })], "rotateToken", 404],
  ["a minted session", ["POST", "/api/viewer_sessions", () => acme({ include_variables: true })], "startSession", 201],
  ["a refused body", ["PUT", "/api/user", () => ({ name: 7 })], "checkCaller", 422],
  ["an environment, which it must not name,", ["PUT", `/api/user${inEnvironment()}`, () => acme()], "checkCaller", 422],
  ["the same by number", ["PUT", `/api/user_groups/1${inEnvironment()}`, () => ({})], "checkCaller", 422],
];

/** The calls that operators can make too, in the environment that they name. */
const SHARED_CALLS: Costed[] = [
  ["a list", ["GET", "/api/user_groups?limit=1"], "list", 200],
  ["one group", ["GET", "/api/user_groups/1"], "show", 200],
  ["a search", ["GET", "/api/user_groups?search=ACME"], "search", 200],
  ["a group's events", ["GET", "/api/user_groups/1/events"], "history", 200],
  ["an update", ["PUT", "/api/user_groups/1", () => ({ name: "x" })], "updateByNumber", 200],
  ["a rotation", ["POST", "/api/user_groups/1/rotate"], "rotateByNumber", 200],
  ["a deletion", ["DELETE", "/api/user_groups/1"], "removeByNumber", 200],
  ["events", ["GET", "/api/events"], "listEvents", 200],
];

/** The calls that cost an operator something else. */
const OTHER_KEY_CALLS: Costed[] = [
  ["a refused query", ["GET", "/api/user_groups?limit=0"], "checkCaller", 422],
  ["a refused update", ["PUT", "/api/user_groups/1", () => ({ name: 7 })], "checkCaller", 422],
  ["whoami", ["GET", "/api/whoami"], "identify", 200],
];

const OPERATOR_CALLS: Costed[] = [
  ["the API keys", ["GET", "/api/keys"], "listKeys", 200],
  ["a revocation", ["DELETE", "/api/keys/1"], "revokeKey", 200],
  ["a roll", ["POST", "/api/keys/1/roll"], "rollKey", 201],
];

/** The status and the costs of a call. */
async function costOf(credential: string | undefined, [method, path, body]: Costed[1], token = "") {
  const { watched, costs } = watchedEnv();
  const sent = body?.(token);
  const { status } = await call(method, path, { ...(credential && { credential }), body: sent, env: watched });
  return { status, ...costs };
}

/** The path with the environment that an operator names. */
const inAcme = (path: string) => path + inEnvironment().replace("?", path.includes("?") ? "&" : "?");

describe("one RPC and no KV", () => {
  it.for([...KEY_CALLS, ...SHARED_CALLS, ...OTHER_KEY_CALLS])("cost an API key %s", async ([, sent, rpc, status]) => {
    const { key, tokenOf } = await newIntegrator();
    expect(await costOf(key, sent, await tokenOf("acme"))).toEqual({ status, rpcs: [rpc], kv: [] });
  });

  it.for([
    ["GET", "/api/operators", undefined, "listOperators", 200],
    ["POST", "/api/operators", () => ({ name: "ada", role: "viewer" }), "issueOperator", 201],
    ["GET", "/api/environments", undefined, "listEnvironments", 200],
    ["GET", "/api/events", undefined, "listEvents", 200],
  ] as const)("cost an operator a call of the deployment: %s %s", async (each) => {
    const [method, path, body, rpc, status] = each;
    expect(await costOf(operator, [method, path, body])).toEqual({ status, rpcs: [`registry.${rpc}`], kv: [] });
  });
});

it.for(["jwks.json", "openid-configuration"])("/.well-known/%s costs nothing at all", async (file) => {
  for (const method of ["GET", "HEAD"])
    expect(await costOf(undefined, [method, `/.well-known/${file}`])).toEqual({ status: 200, rpcs: [], kv: [] });
});

it.for([...SHARED_CALLS, ...OPERATOR_CALLS])(
  "two RPCs, one to the registry and one to the directory, cost an operator %s",
  async ([, [method, path, body], rpc, status]) => {
    const { tokenOf } = await newIntegrator();
    await tokenOf("acme");
    const cost = await costOf(await issueOperator("admin"), [method, inAcme(path), body]);
    expect(cost).toEqual({ status, rpcs: ["registry.admit", rpc], kv: [] });
  },
);

it.for([
  ["a token", async (token: string) => token, ["registry.admit", "explainViewer"]],
  ["an API key", async (_: string, key: string) => key, ["registry.admit", "findKeys"]],
  ["an operator's key", () => issueOperator("viewer"), ["registry.findOperators"]],
  ["an unknown text", async () => "unknown", ["registry.admit"]],
] as const)("two RPCs at most cost an operator who asks about %s", async ([, credentialOf, rpcs]) => {
  const { key, tokenOf } = await newIntegrator();
  const credential = await credentialOf(await tokenOf("acme"), key);
  const cost = await costOf(operator, ["POST", "/api/credentials/explain", () => ({ credential })]);
  expect(cost).toEqual({ status: 200, rpcs, kv: [] });
});

describe("one RPC to the registry, and none to a directory,", () => {
  it.for([
    ["a role that is not enough", "viewer", "PUT", "/api/user_groups/1", 403],
    ["an unknown environment", "admin", "PUT", "/api/user_groups/1?workspace=nobody&environment=Testing", 404],
    ["a query without an environment", "admin", "PUT", "/api/user_groups/1", 422],
    ["a refused body", "admin", "PUT", `/api/user_groups/1${inEnvironment()}`, 422],
    ["a refused query", "admin", "GET", `/api/user_groups${inEnvironment()}&limit=0`, 422],
  ] as const)("cost %s", async ([, role, method, path, status]) => {
    await issueKey();
    const body = method === "PUT" ? () => ({ name: 7 }) : undefined;
    const cost = await costOf(await issueOperator(role), [method, path, body]);
    expect(cost).toEqual({ status, rpcs: ["registry.admit"], kv: [] });
  });

  it("cost a forged operator's key", async () => {
    const cost = await costOf(await forgedCredential("operator_key"), ["GET", "/api/operators"]);
    expect(cost).toEqual({ status: 401, rpcs: ["registry.listOperators"], kv: [] });
  });
});

it("the issue of a key records its environment first, and once more in case it was erased meanwhile", async () => {
  const { watched, costs } = watchedEnv();
  const body = { workspace: "acme", environment: "Testing", name: "x" };
  await call("POST", "/api/keys", { credential: operator, body, env: watched });
  expect(costs).toEqual({ rpcs: ["registry.recordEnvironment", "issueKey", "registry.recordEnvironment"], kv: [] });
});

it("a forged, truncated or mistyped credential costs nothing at all", async () => {
  const { watched, costs } = watchedEnv();
  const { key, tokenOf } = await newIntegrator();
  const token = await tokenOf("acme");
  const changed = [...key].map((letter, at) => key.slice(0, at) + (letter === "x" ? "y" : "x") + key.slice(at + 1));
  for (const credential of [...changed, key.slice(0, -1), `${key}A`, token, "", "x"]) {
    const answer = await call("GET", "/api/user", { credential, body: { user_group_id: "acme" }, env: watched });
    expect(answer.status).toBe(401);
  }
  expect(costs).toEqual({ rpcs: [], kv: [] });
});
