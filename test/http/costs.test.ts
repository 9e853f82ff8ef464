import { describe, it } from "vitest";
import { call } from "../support/client.ts";
import { forgedCredential } from "../support/forged.ts";
import { inEnvironment, issueKey, issueOperator, newIntegrator, operator } from "../support/states.ts";
import { watchedEnv } from "../support/watched-env.ts";

/** Calls by name: the RPC that each makes, its status, and its method and body for a current token. */
const CALLS: [string, string, number, (token: string) => [string, object]][] = [
  ["GET that creates", "ensure", 200, (token: string) => ["GET", { user_group_id: `new ${token.length}` }]],
  ["GET that finds", "ensure", 200, () => ["GET", { user_group_id: "acme" }]],
  ["PUT", "update", 200, () => ["PUT", { user_group_id: "acme", name: "x" }]],
  ["POST", "rotateToken", 200, (token: string) => ["POST", { current_token: token }]],
  ["DELETE", "remove", 200, (token: string) => ["DELETE", { current_token: token }]],
  ["POST with a malformed token", "rotateToken", 404, () => ["POST", { current_token: "none" }]],
  ["a refused body", "checkCaller", 422, () => ["PUT", { name: 7 }]],
];

/** The calls that API keys and operators can make, and `whoami`, on group 1: the RPC to the directory, and the status. */
const SHARED_CALLS = [
  ["a list", "GET", "/api/user_groups?limit=1", undefined, "list", 200],
  ["a refused query", "GET", "/api/user_groups?limit=0", undefined, "checkCaller", 422],
  ["one group", "GET", "/api/user_groups/1", undefined, "show", 200],
  ["an update", "PUT", "/api/user_groups/1", { name: "x" }, "updateByNumber", 200],
  ["a refused update", "PUT", "/api/user_groups/1", { name: 7 }, "checkCaller", 422],
  ["a rotation", "POST", "/api/user_groups/1/rotate", undefined, "rotateByNumber", 200],
  ["a deletion", "DELETE", "/api/user_groups/1", undefined, "removeByNumber", 200],
  ["events", "GET", "/api/events", undefined, "listEvents", 200],
  ["whoami", "GET", "/api/whoami", undefined, "identify", 200],
] as const;

describe("one RPC and no KV", () => {
  it.for(CALLS)("cost %s", async ([, rpc, status, callOf], { expect }) => {
    const { watched, costs } = watchedEnv();
    const { key, tokenOf } = await newIntegrator();
    const [method, body] = callOf(await tokenOf("acme"));

    const answer = await call(method, "/api/user", { credential: key, body, env: watched });

    expect(answer.status).toBe(status);
    expect(costs).toEqual({ rpcs: [rpc], kv: [] });
  });

  it.for(SHARED_CALLS)("cost an API key %s", async ([, method, path, body, rpc, status], { expect }) => {
    const { watched, costs } = watchedEnv();
    const { key, tokenOf } = await newIntegrator();
    await tokenOf("acme");
    expect(await call(method, path, { credential: key, body, env: watched })).toMatchObject({ status });
    expect(costs).toEqual({ rpcs: [rpc], kv: [] });
  });

  it.for(["/api/user", "/api/user_groups/1"])(
    "cost an API key that names an environment: %s",
    async (path, { expect }) => {
      const { watched, costs } = watchedEnv();
      const options = { credential: await issueKey(), body: { user_group_id: "acme" }, env: watched };
      expect(await call("PUT", path + inEnvironment(), options)).toMatchObject({ status: 422 });
      expect(costs).toEqual({ rpcs: ["checkCaller"], kv: [] });
    },
  );

  it.for([
    ["GET", "/api/operators", undefined, "listOperators"],
    ["POST", "/api/operators", { name: "ada", role: "viewer" }, "issueOperator"],
    ["GET", "/api/environments", undefined, "listEnvironments"],
    ["GET", "/api/events", undefined, "listEvents"],
  ] as const)("cost an operator a call of the deployment: %s %s", async (each, { expect }) => {
    const [method, path, body, rpc] = each;
    const { watched, costs } = watchedEnv();
    expect((await call(method, path, { credential: operator, body, env: watched })).status).toBeLessThan(300);
    expect(costs).toEqual({ rpcs: [`registry.${rpc}`], kv: [] });
  });
});

describe("two RPCs, one to the registry and one to the directory,", () => {
  it.for(SHARED_CALLS.filter(([name, , , , , status]) => status === 200 && name !== "whoami"))(
    "cost an operator in an environment %s",
    async ([, method, path, body, rpc], { expect }) => {
      const { watched, costs } = watchedEnv();
      const { tokenOf } = await newIntegrator();
      await tokenOf("acme");
      const credential = await issueOperator("admin");
      const url = new URL(`http://localhost${path}`);
      for (const [name, value] of new URLSearchParams(inEnvironment())) url.searchParams.set(name, value);
      const answer = await call(method, url.pathname + url.search, { credential, body, env: watched });
      expect(answer.status).toBe(200);
      expect(costs).toEqual({ rpcs: ["registry.admit", rpc], kv: [] });
    },
  );

  it.for([
    ["GET", "", undefined, "listKeys", 200],
    ["DELETE", "/1", undefined, "revokeKey", 200],
    ["POST", "/1/roll", undefined, "rollKey", 201],
  ] as const)("cost an operator: %s /api/keys%s", async ([method, path, body, rpc, status], { expect }) => {
    const { watched, costs } = watchedEnv();
    await issueKey();
    const answer = await call(method, `/api/keys${path}${inEnvironment()}`, {
      credential: operator,
      body,
      env: watched,
    });
    expect(answer.status).toBe(status);
    expect(costs).toEqual({ rpcs: ["registry.admit", rpc], kv: [] });
  });
});

describe("one RPC to the registry, and none to a directory,", () => {
  it.for([
    ["a role that is not enough", "viewer", "PUT", "/api/user_groups/1", 403],
    ["an unknown environment", "admin", "PUT", "/api/user_groups/1?workspace=nobody&environment=Testing", 404],
    ["a query without an environment", "admin", "PUT", "/api/user_groups/1", 422],
    ["a refused body", "admin", "PUT", `/api/user_groups/1${inEnvironment()}`, 422],
    ["a refused query", "admin", "GET", `/api/user_groups${inEnvironment()}&limit=0`, 422],
  ] as const)("cost %s", async ([, role, method, path, status], { expect }) => {
    const { watched, costs } = watchedEnv();
    await issueKey();
    const credential = await issueOperator(role);
    const body = method === "PUT" ? { name: 7 } : undefined;
    expect(await call(method, path, { credential, body, env: watched })).toMatchObject({ status });
    expect(costs).toEqual({ rpcs: ["registry.admit"], kv: [] });
  });

  it("cost a forged operator's key", async ({ expect }) => {
    const { watched, costs } = watchedEnv();
    const credential = await forgedCredential("operator_key");
    expect((await call("GET", "/api/operators", { credential, env: watched })).status).toBe(401);
    expect(costs).toEqual({ rpcs: ["registry.listOperators"], kv: [] });
  });
});

it("the issue of a key records its environment first, and once more in case it was erased meanwhile", async ({
  expect,
}) => {
  const { watched, costs } = watchedEnv();
  const body = { workspace: "acme", environment: "Testing", name: "x" };
  await call("POST", "/api/keys", { credential: operator, body, env: watched });
  expect(costs).toEqual({ rpcs: ["registry.recordEnvironment", "issueKey", "registry.recordEnvironment"], kv: [] });
});

it("a forged, truncated or mistyped credential costs nothing at all", async ({ expect }) => {
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

it("a token with any character changed costs nothing at all either", async ({ expect }) => {
  const { watched, costs } = watchedEnv();
  const { tokenOf } = await newIntegrator();
  const token = await tokenOf("acme");
  for (let at = 0; at < token.length; at += 1) {
    const credential = token.slice(0, at) + (token[at] === "x" ? "y" : "x") + token.slice(at + 1);
    const headers = { "Cache-Control": "max-age=60" };
    expect((await call("GET", "/api/viewer", { credential, headers, env: watched })).status).toBe(401);
  }
  expect(costs).toEqual({ rpcs: [], kv: [] });
});
