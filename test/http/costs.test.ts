import { describe, it } from "vitest";
import { call } from "../support/client.ts";
import { issueKey, newIntegrator, operator } from "../support/states.ts";
import { watchedEnv } from "../support/watched-env.ts";

/** Calls by name: the RPC that each makes, its status, and its method and body for a current token. */
const CALLS: [string, string, number, (token: string) => [string, object]][] = [
  ["GET that creates", "ensure", 200, (token: string) => ["GET", { user_group_id: `new ${token.length}` }]],
  ["GET that finds", "ensure", 200, () => ["GET", { user_group_id: "acme" }]],
  ["PUT", "update", 200, () => ["PUT", { user_group_id: "acme", name: "x" }]],
  ["POST", "rotateToken", 200, (token: string) => ["POST", { current_token: token }]],
  ["DELETE", "remove", 200, (token: string) => ["DELETE", { current_token: token }]],
  ["POST with a malformed token", "rotateToken", 404, () => ["POST", { current_token: "none" }]],
  ["a refused body", "checkAccess", 422, () => ["PUT", { name: 7 }]],
];

describe("one RPC and no KV", () => {
  it.for(CALLS)("cost %s", async ([, rpc, status, callOf], { expect }) => {
    const { watched, costs } = watchedEnv();
    const { key, tokenOf } = await newIntegrator();
    const [method, body] = callOf(await tokenOf("acme"));

    const answer = await call(method, "/api/user", { credential: key, body, env: watched });

    expect(answer.status).toBe(status);
    expect(costs).toEqual({ rpcs: [rpc], kv: [] });
  });

  it.for([
    ["a list", "list", "/api/user_groups?limit=1", 200],
    ["a list with a refused query", "checkAccess", "/api/user_groups?limit=0", 422],
  ] as const)("cost %s", async ([, rpc, path, status], { expect }) => {
    const { watched, costs } = watchedEnv();
    const credential = await issueKey();
    expect(await call("GET", path, { credential, env: watched })).toMatchObject({ status });
    expect(costs).toEqual({ rpcs: [rpc], kv: [] });
  });

  it("cost the issue of a key", async ({ expect }) => {
    const { watched, costs } = watchedEnv();
    const body = { workspace: "acme", environment: "Testing", name: "x" };
    await call("POST", "/api/keys", { credential: operator, body, env: watched });
    expect(costs).toEqual({ rpcs: ["issueKey"], kv: [] });
  });
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
