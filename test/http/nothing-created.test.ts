import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, it } from "vitest";
import { call, codeOf } from "../support/client.ts";
import { logLines } from "../support/each-test.ts";
import { forgedCredential } from "../support/forged.ts";
import { newIntegrator, operator } from "../support/states.ts";

const ACME = "?workspace=acme&environment=Testing";
const directory = () => env.GROUP_DIRECTORY.getByName("acme/Testing");

/** The tables of the environment, but for those that the runtime itself keeps. */
const tables = () =>
  runInDurableObject(directory(), (_, { storage }) =>
    storage.sql.exec("SELECT name FROM sqlite_master WHERE name NOT GLOB '_cf_*'").toArray(),
  );

const KEY_CALLS = [
  ["GET", "/api/user", { user_group_id: "acme" }],
  ["PUT", "/api/user", { user_group_id: "acme", name: "x" }],
  ["POST", "/api/user", { current_token: "x" }],
  ["DELETE", "/api/user", { current_token: "x" }],
  ["PUT", "/api/user", { unknown: "field" }],
  ["GET", "/api/user_groups", undefined],
  ["GET", "/api/user_groups?limit=none", undefined],
] as const;

const VIEWER_CALLS = [
  ["GET", "/api/viewer", undefined],
  ["POST", "/api/viewer/query", { sql: "SELECT {{user_group_id}}" }],
] as const;

const OPERATOR_CALLS = [
  ["GET", `/api/keys${ACME}`, undefined, [200, undefined]],
  ["DELETE", `/api/keys/1${ACME}`, undefined, [404, "api_key_not_found"]],
  ["POST", `/api/keys/1/roll${ACME}`, {}, [404, "api_key_not_found"]],
  ["POST", "/api/keys", { workspace: "acme", environment: "Testing" }, [422, "invalid_body"]],
] as const;

describe("an environment without an API key gets no tables", () => {
  it.for(KEY_CALLS)("by a forged API key: %s %s %o", async ([method, path, body], { expect }) => {
    for (const headers of [{}, { "Idempotency-Key": "k" }] as Record<string, string>[]) {
      const credential = await forgedCredential("api_key");
      expect(codeOf(await call(method, path, { credential, body, headers }))).toEqual([401, "unauthenticated"]);
    }
    expect(await tables()).toEqual([]);
  });

  it.for(VIEWER_CALLS)("by a forged token: %s %s", async ([method, path, body], { expect }) => {
    for (const headers of [{}, { "Cache-Control": "max-age=60" }] as Record<string, string>[]) {
      const credential = await forgedCredential("token");
      expect(codeOf(await call(method, path, { credential, body, headers }))).toEqual([401, "credential_revoked"]);
    }
    expect(await tables()).toEqual([]);
  });

  it.for(OPERATOR_CALLS)("by an operator: %s %s", async ([method, path, body, outcome], { expect }) => {
    expect(codeOf(await call(method, path, { credential: operator, body }))).toEqual(outcome);
    expect(await tables()).toEqual([]);
  });

  it("by an alarm", async ({ expect }) => {
    await runInDurableObject(directory(), (instance) => instance.alarm());
    expect(await tables()).toEqual([]);
  });

  it("and lists none", async ({ expect }) => {
    const { body } = await call("GET", `/api/keys${ACME}`, { credential: operator });
    expect(body).toEqual({ success: 1, api_keys: [] });
  });
});

it("an environment gets its tables with its first API key, and a forged key adds no row", async ({ expect }) => {
  const { tokenOf } = await newIntegrator();
  await tokenOf("acme");
  const rows = () =>
    runInDurableObject(directory(), (_, { storage }) =>
      ["user_groups", "api_keys", "stored_responses"].map((table) =>
        storage.sql.exec(`SELECT * FROM ${table}`).toArray(),
      ),
    );
  const before = await rows();
  for (const [method, path, body] of KEY_CALLS)
    await call(method, path, { credential: await forgedCredential("api_key"), body });
  for (const [method, path, body] of VIEWER_CALLS)
    await call(method, path, { credential: await forgedCredential("token"), body });
  expect(await rows()).toEqual(before);
});

describe("a database of another schema number", () => {
  it.for([6, 7, 99])("is 503 service_not_configured at every call, with a log line: %i", async (number, { expect }) => {
    const { key, tokenOf } = await newIntegrator();
    const token = await tokenOf("acme");
    await runInDurableObject(directory(), (_, { storage }) => {
      storage.sql.exec("UPDATE migrations SET level = ?", number);
    });
    await evictDurableObject(directory());

    const calls = [
      ...KEY_CALLS.map((each) => [key, ...each] as const),
      ...VIEWER_CALLS.map((each) => [token, ...each] as const),
      [operator, "GET", `/api/keys${ACME}`, undefined] as const,
      [operator, "DELETE", `/api/keys/1${ACME}`, undefined] as const,
      [operator, "POST", `/api/keys/1/roll${ACME}`, {}] as const,
      [operator, "POST", "/api/keys", { workspace: "acme", environment: "Testing", name: "x" }] as const,
    ];
    for (const [credential, method, path, body] of calls) {
      const answer = await call(method, path, { credential, body });
      expect(codeOf(answer)).toEqual([503, "service_not_configured"]);
      expect(logLines).toContainEqual({
        request_id: answer.body.request_id,
        error: expect.stringContaining(`the database has number ${number}`),
      });
    }
    // Only this environment is refused.
    expect((await newIntegrator({ environment: "Customer" })).key).toMatch(/^ugk_customer_/);
  });
});
