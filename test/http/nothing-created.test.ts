import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { REGISTRY_NAME } from "../../src/domain/placement.ts";
import { call, codeOf } from "../support/client.ts";
import { logLines } from "../support/each-test.ts";
import { forgedCredential } from "../support/forged.ts";
import { operatorPath, ROUTES } from "../support/routes.ts";
import { inEnvironment, issueOperator, newIntegrator, operator } from "../support/states.ts";
import { inDirectory, inRegistry } from "../support/storage.ts";

const ACME = inEnvironment();
const directory = () => env.GROUP_DIRECTORY.getByName("acme/Testing");
const registry = () => env.REGISTRY.getByName(REGISTRY_NAME);

/** The tables of the environment, or of the registry, but for those that the runtime itself keeps. */
const tables = (stub: ReturnType<typeof directory> | ReturnType<typeof registry> = directory()) =>
  runInDurableObject(stub, (_, { storage }: DurableObjectState) =>
    storage.sql.exec("SELECT name FROM sqlite_master WHERE name NOT GLOB '_cf_*'").toArray(),
  );

const KEY_CALLS = ROUTES.filter(({ access }) => access.scope);
const VIEWER_CALLS = ROUTES.filter(({ access }) => access.isForViewers);

const NOT_FOUND = [404, "environment_not_found"];

/** The calls of an operator that name an environment. A restore may begin where there is none. */
const CALLS_OF_ENVIRONMENT = ROUTES.filter(
  ({ name, access }) => access.environmentQuery === "required" && name !== "POST /api/restore",
).map((route) => [route.method, operatorPath(route), route.body, NOT_FOUND] as const);

/** The calls of an operator that read the registry, or that it refuses. */
const CALLS_OF_REGISTRY = [
  ["GET", "/api/operators", undefined, [200, undefined]],
  ["DELETE", "/api/operators/1", undefined, [404, "operator_not_found"]],
  ["POST", "/api/operators/1/roll", undefined, [404, "operator_not_found"]],
  ["POST", "/api/operators", { name: "bootstrap", role: "admin" }, [422, "invalid_body"]],
  ["GET", "/api/environments", undefined, [200, undefined]],
  ["GET", "/api/events", undefined, [200, undefined]],
  ["GET", "/api/events?cursor=latest", undefined, [200, undefined]],
  ["GET", `/api/events${ACME}`, undefined, NOT_FOUND],
  ["GET", "/api/whoami", undefined, [200, undefined]],
  ["POST", "/api/keys", { workspace: "acme", environment: "Testing" }, [422, "invalid_body"]],
  ...CALLS_OF_ENVIRONMENT,
] as const;

describe("an environment without an API key gets no tables", () => {
  it.for(KEY_CALLS)("by a forged API key: $name", async ({ method, path, body }) => {
    for (const headers of [{}, { "Idempotency-Key": "k" }] as Record<string, string>[]) {
      const credential = await forgedCredential("api_key");
      expect(codeOf(await call(method, path, { credential, body, headers }))).toEqual([401, "unauthenticated"]);
    }
    expect(await tables()).toEqual([]);
  });

  it.for(VIEWER_CALLS)("by a forged token: $name", async ({ method, path, body }) => {
    for (const headers of [{}, { "Cache-Control": "max-age=60" }] as Record<string, string>[]) {
      const credential = await forgedCredential("token");
      expect(codeOf(await call(method, path, { credential, body, headers }))).toEqual([401, "credential_revoked"]);
    }
    expect(await tables()).toEqual([]);
  });

  it("by an alarm", async () => {
    await runInDurableObject(directory(), (instance) => instance.alarm());
    expect(await tables()).toEqual([]);
  });
});

describe("a registry without environments and operators gets no tables", () => {
  it.for(CALLS_OF_REGISTRY)("by the bootstrap token: %s %s", async ([method, path, body, outcome]) => {
    expect(codeOf(await call(method, path, { credential: operator, body }))).toEqual(outcome);
    expect([await tables(registry()), await tables()]).toEqual([[], []]);
  });

  it.for([...CALLS_OF_REGISTRY, ["POST", "/api/operators", { name: "mallory", role: "admin" }] as const])(
    "by a forged operator's key: %s %s",
    async ([method, path, body]) => {
      const credential = await forgedCredential("operator_key");
      expect(codeOf(await call(method, path, { credential, body }))).toEqual([401, "unauthenticated"]);
      expect([await tables(registry()), await tables()]).toEqual([[], []]);
    },
  );

  it("by an alarm", async () => {
    await runInDurableObject(registry(), (instance) => instance.alarm());
    expect(await tables(registry())).toEqual([]);
  });
});

it("an environment gets its tables with its first API key, and a forged key adds no row", async () => {
  const { tokenOf } = await newIntegrator();
  await tokenOf("acme");
  const rows = () =>
    inDirectory(({ sql }) =>
      ["user_groups", "api_keys", "stored_responses"].map((table) => sql.exec(`SELECT * FROM ${table}`).toArray()),
    );
  const before = await rows();
  for (const { method, path, body } of KEY_CALLS)
    await call(method, path, { credential: await forgedCredential("api_key"), body });
  for (const { method, path, body } of VIEWER_CALLS)
    await call(method, path, { credential: await forgedCredential("token"), body });
  expect(await rows()).toEqual(before);
});

describe("a database of another schema number", () => {
  it.for([7, 8, 99])("is 503 service_not_configured at every call, with a log line: %i", async (number) => {
    const { key, tokenOf } = await newIntegrator();
    const token = await tokenOf("acme");
    await inDirectory(({ sql }) => sql.exec("UPDATE migrations SET level = ?", number));
    await evictDurableObject(directory());

    const calls = [
      ...KEY_CALLS.map(({ method, path, body }) => [key, method, path, body] as const),
      ...VIEWER_CALLS.map(({ method, path, body }) => [token, method, path, body] as const),
      // To erase an environment, nobody has to read it.
      ...CALLS_OF_ENVIRONMENT.filter(([, path]) => !path.startsWith("/api/environments")).map(
        (each) => [operator, ...each] as const,
      ),
      [operator, "POST", "/api/keys", { workspace: "acme", environment: "Testing", name: "x" }] as const,
    ];
    for (const [credential, method, path, body] of calls) {
      const answer = await call(method, path, { credential, body });
      expect(codeOf(answer)).toEqual([503, "service_not_configured"]);
      expect(logLines.at(-1)).toMatchObject({
        level: "error",
        request_id: answer.body.request_id,
        problem: expect.stringContaining(`the database has number ${number}`),
      });
    }
    // Only this environment is refused.
    expect((await newIntegrator({ environment: "Customer" })).key).toMatch(/^ugk_customer_/);
  });

  it("of the registry is 503 for operators, and API keys go on", async () => {
    const { key } = await newIntegrator();
    const operatorKey = await issueOperator("admin");
    await inRegistry(({ sql }) =>
      sql.exec("UPDATE migrations SET level = 99 WHERE level = (SELECT max(level) FROM migrations)"),
    );
    await evictDurableObject(registry());
    const body = { user_group_id: "acme" };
    for (const credential of [operator, operatorKey])
      for (const path of ["/api/operators", "/api/environments", `/api/user_groups${ACME}`])
        expect(codeOf(await call("GET", path, { credential }))).toEqual([503, "service_not_configured"]);
    expect((await call("GET", "/api/user", { credential: key, body })).status).toBe(200);
  });
});
