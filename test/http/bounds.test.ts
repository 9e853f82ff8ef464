import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, it } from "vitest";
import { REGISTRY_NAME } from "../../src/domain/registry.ts";
import { ENVIRONMENT_BYTES_MAX, KEYS_PER_ENVIRONMENT_MAX, OPERATORS_MAX } from "../../src/limits.ts";
import wranglerToml from "../../wrangler.toml?raw";
import { type Answer, call, codeOf } from "../support/client.ts";
import { forgedCredential } from "../support/forged.ts";
import { limiter } from "../support/limiter.ts";
import { inEnvironment, issueKey, issueOperator, newIntegrator, operator } from "../support/states.ts";
import { query, view } from "../support/viewers.ts";
import { watchedEnv } from "../support/watched-env.ts";

const ACME = inEnvironment();
const FULL = [507, "environment_full"];

const manage = (method: string, path: string, body?: object) => call(method, path, { credential: operator, body });
const issue = () => manage("POST", "/api/keys", { workspace: "acme", environment: "Testing", name: "one more" });
const inDirectory = <Value>(job: (storage: DurableObjectStorage) => Value): Promise<Value> =>
  runInDurableObject(env.GROUP_DIRECTORY.getByName("acme/Testing"), (_, { storage }) => job(storage));

/** All rows of the environment, to see that a refused call changed none. Reading a key may move its `last_used_at`. */
const rows = () =>
  inDirectory(({ sql }) =>
    ["user_groups", "api_keys", "stored_responses", "newest_deleted"].map((table) =>
      sql.exec(`SELECT * FROM ${table}`).toArray(),
    ),
  );

/** Makes the database report a size that is above the bound, or at it. */
const setSize = (bytes: number) =>
  inDirectory(({ sql }) => void Object.defineProperty(sql, "databaseSize", { value: bytes, configurable: true }));

/** An integrator in an environment that is full, with two groups, and an answer stored for the Idempotency-Key `before`. */
async function fullEnvironment() {
  const integrator = await newIntegrator();
  const send = (method: "POST" | "DELETE", current_token: string, idempotencyKey: string) =>
    call(method, "/api/user", {
      credential: integrator.key,
      body: { current_token },
      headers: { "Idempotency-Key": idempotencyKey },
    });
  const first = await integrator.tokenOf("acme", { name: "Acme", properties: { a: "bb" }, mapping: { m: "d" } });
  const stored = await send("POST", first, "before");
  await integrator.tokenOf("beta");
  await setSize(ENVIRONMENT_BYTES_MAX + 1);
  return { ...integrator, send, first, stored, token: stored.body.user_group.token as string };
}

describe("an environment of more than 9 GB", () => {
  it("refuses what adds data, and changes nothing", async ({ expect }) => {
    const { get, put, send, token } = await fullEnvironment();
    const before = await rows();
    const refused = [
      await get({ user_group_id: "new" }),
      await put({ user_group_id: "acme", name: "Acme!" }),
      await put({ user_group_id: "acme", properties: { a: "bbb" } }),
      await put({ user_group_id: "acme", mapping: { m: "dd" } }),
      await put({ user_group_id: "acme", new_user_group_id: "acme2" }),
      // Shorter in characters, and longer in bytes.
      await put({ user_group_id: "acme", name: "łłł" }),
      await manage("PUT", `/api/user_groups/1${ACME}`, { name: "Acme!" }),
      await send("POST", token, "new"),
      await send("DELETE", token, "new"),
      await issue(),
      await manage("POST", `/api/keys/1/roll${ACME}`, {}),
    ];
    expect(refused.map(codeOf)).toEqual(refused.map(() => FULL));
    expect(await rows()).toEqual(before);
  });

  it("still reads, shrinks, rotates, deletes and revokes", async ({ expect }) => {
    const { key, get, put, rotate, remove, token } = await fullEnvironment();
    const statusOf = async (answer: Promise<Answer>) => (await answer).status;
    expect([
      await statusOf(get({ user_group_id: "acme" })),
      await statusOf(call("GET", "/api/user_groups", { credential: key })),
      await statusOf(view(token)),
      await statusOf(query(token, { sql: "SELECT {{user_group_id}}" })),
      await statusOf(put({ user_group_id: "acme", name: "Acme" })),
      await statusOf(put({ user_group_id: "acme", name: "Emca" })),
      await statusOf(put({ user_group_id: "acme", new_user_group_id: "ac", name: "A" })),
      await statusOf(put({ user_group_id: "ac", properties: null, mapping: null })),
      await statusOf(manage("GET", `/api/keys${ACME}`)),
    ]).toEqual(Array(9).fill(200));

    const rotated = await rotate(token, { grace_seconds: 60 });
    expect(rotated.status).toBe(200);
    expect((await remove(rotated.body.user_group.token)).status).toBe(200);
    expect((await manage("PUT", `/api/user_groups/2${ACME}`, { name: "B" })).status).toBe(200);
    expect((await manage("POST", `/api/user_groups/2/rotate${ACME}`)).status).toBe(200);
    expect((await manage("DELETE", `/api/user_groups/2${ACME}`)).status).toBe(200);
    expect((await manage("DELETE", `/api/keys/1${ACME}`)).status).toBe(200);
    expect(codeOf(await get({ user_group_id: "ac" }))).toEqual([401, "credential_revoked"]);
  });

  it("still answers a call that repeats an earlier one", async ({ expect }) => {
    const { send, first, stored } = await fullEnvironment();
    const repeated = await send("POST", first, "before");
    expect([repeated.status, repeated.body]).toEqual([200, stored.body]);
  });

  it("accepts data again when it is no larger than 9 GB", async ({ expect }) => {
    const { get } = await fullEnvironment();
    await setSize(ENVIRONMENT_BYTES_MAX);
    expect((await get({ user_group_id: "new" })).status).toBe(200);
    expect((await issue()).status).toBe(201);
  });
});

describe("an environment with a thousand API keys", () => {
  /** Adds keys until there are so many, every second one revoked. */
  const fillWithKeys = (count: number) =>
    inDirectory(({ sql }) => {
      const { keys } = sql.exec<{ keys: number }>("SELECT count(*) AS keys FROM api_keys").one();
      for (let id = keys + 1; id <= count; id += 1)
        sql.exec(
          "INSERT INTO api_keys (name, rights, nonce_hash, created_at, revoked_at) VALUES ('filler', 'read', x'00', 1, ?)",
          id % 2 ? 1 : null,
        );
    });

  it("refuses one more, issued or rolled, and revoked keys count", async ({ expect }) => {
    const key = await issueKey();
    await fillWithKeys(KEYS_PER_ENVIRONMENT_MAX - 1);
    expect((await issue()).status).toBe(201);
    await manage("DELETE", `/api/keys/${KEYS_PER_ENVIRONMENT_MAX}${ACME}`);

    expect(codeOf(await issue())).toEqual(FULL);
    expect(codeOf(await manage("POST", `/api/keys/1/roll${ACME}`, { grace_seconds: 60 }))).toEqual(FULL);

    const { api_keys: keys } = (await manage("GET", `/api/keys${ACME}`)).body;
    expect(keys).toHaveLength(KEYS_PER_ENVIRONMENT_MAX);
    expect(keys[0].revoked_at).toBeNull();
    const body = { user_group_id: "acme" };
    expect((await call("GET", "/api/user", { credential: key, body })).status).toBe(200);
    expect(await issueKey({ environment: "Customer" })).toMatch(/^ugk_customer_/);
  });
});

describe("the limits of calls", () => {
  it.for([
    ["API_KEY_LIMIT", 30_000],
    ["TOKEN_LIMIT", 12_000],
    ["OPERATOR_LIMIT", 6_000],
    ["LIST_LIMIT", 600],
    ["SESSION_LIMIT", 600],
    ["REFUSED_CREDENTIAL_LIMIT", 600],
  ] as const)("are those of the design in wrangler.toml: %s is %i a minute", ([name, limit], { expect }) => {
    const [, section = ""] = wranglerToml.split(`name = "${name}"`);
    const [, written = "", period] = /simple = \{ limit = ([\d_]+), period = (\d+) \}/.exec(section) ?? [];
    expect([Number(written.replaceAll("_", "")), period]).toEqual([limit, "60"]);
  });

  it("give each namespace a number of its own", ({ expect }) => {
    const ids = [...wranglerToml.matchAll(/namespace_id = "(\d+)"/g)].map(([, id]) => id);
    expect(ids).toHaveLength(6);
    expect(new Set(ids).size).toBe(6);
  });

  it("refuse a key that lists too often, before any RPC, and no other key", async ({ expect }) => {
    const { watched, costs } = watchedEnv();
    const callEnv = { ...watched, LIST_LIMIT: limiter(2) };
    const [busy, other] = [await issueKey(), await issueKey()];
    const list = (credential: string) => call("GET", "/api/user_groups", { credential, env: callEnv });
    for (const status of [200, 200, 429]) expect((await list(busy)).status).toBe(status);
    expect((await list(busy)).headers.get("Retry-After")).toBe("60");
    expect(costs.rpcs).toEqual(["list", "list"]);

    expect((await list(other)).status).toBe(200);
    const body = { user_group_id: "acme" };
    expect((await call("GET", "/api/user", { credential: busy, body, env: callEnv })).status).toBe(200);
  });

  it("count a list as a call too", async ({ expect }) => {
    const callEnv = { ...env, API_KEY_LIMIT: limiter(2) };
    const credential = await issueKey();
    const list = () => call("GET", "/api/user_groups", { credential, env: callEnv });
    for (const status of [200, 200, 429]) expect((await list()).status).toBe(status);
    const body = { user_group_id: "acme" };
    expect((await call("GET", "/api/user", { credential, body, env: callEnv })).status).toBe(429);
  });

  it("refuse a viewer's token that calls too often, and no other", async ({ expect }) => {
    const { tokenOf } = await newIntegrator();
    const [busy, other] = [await tokenOf("busy"), await tokenOf("other")];
    const callEnv = { ...env, TOKEN_LIMIT: limiter(2) };
    for (const status of [200, 200, 429]) expect((await view(busy, {}, callEnv)).status).toBe(status);
    expect((await view(other, {}, callEnv)).status).toBe(200);
  });

  it("refuse an operator that calls too often, and wrong tokens use up nothing", async ({ expect }) => {
    const limit = limiter(2);
    const callEnv = { ...env, OPERATOR_LIMIT: limit };
    const list = (credential: string) => call("GET", "/api/operators", { credential, env: callEnv });
    for (let count = 0; count < 5; count += 1) expect((await list("wrong")).status).toBe(401);
    const [busy, other] = [await issueOperator("viewer"), await issueOperator("viewer")];
    // Forged with a stolen signing key, under the number of the real one.
    for (let count = 0; count < 5; count += 1)
      expect((await list(await forgedCredential("operator_key"))).status).toBe(401);
    for (const credential of [operator, busy])
      for (const status of [200, 200, 429]) expect((await list(credential)).status).toBe(status);
    expect((await list(other)).status).toBe(200);
    for (const key of [busy, other]) expect([...limit.counts.keys()].filter((name) => key.includes(name))).toEqual([]);
  });

  it.for(["/api/environments", "/api/events", `/api/user_groups${ACME}`, `/api/events${ACME}`])(
    "refuse an operator that lists too often, before any RPC: %s",
    async (path, { expect }) => {
      await issueKey();
      const { watched, costs } = watchedEnv();
      const callEnv = { ...watched, LIST_LIMIT: limiter(2) };
      const [busy, other] = [await issueOperator("viewer"), await issueOperator("viewer")];
      const list = (credential: string) => call("GET", path, { credential, env: callEnv });
      for (const status of [200, 200, 429]) expect((await list(busy)).status).toBe(status);
      expect(costs.rpcs).toHaveLength(4);
      expect((await list(other)).status).toBe(200);
      expect((await call("GET", "/api/operators", { credential: busy, env: callEnv })).status).toBe(200);
    },
  );
});

describe("a deployment with a thousand operators", () => {
  it("refuses one more, issued or rolled, and revoked ones count", async ({ expect }) => {
    const key = await issueOperator("admin");
    const fill = (count: number) =>
      runInDurableObject(env.REGISTRY.getByName(REGISTRY_NAME), (_, { storage: { sql } }) => {
        for (let id = 2; id <= count; id += 1)
          sql.exec(
            "INSERT INTO operators (name, rights, nonce_hash, created_at, revoked_at) VALUES ('filler', 'viewer', x'00', 1, ?)",
            id % 2 ? 1 : null,
          );
      });
    await fill(OPERATORS_MAX - 1);
    await issueOperator("viewer", { name: "the last" });
    await manage("DELETE", `/api/operators/${OPERATORS_MAX}`);

    const body = { name: "one more", role: "viewer" };
    expect(codeOf(await call("POST", "/api/operators", { credential: key, body }))).toEqual(FULL);
    expect(codeOf(await manage("POST", "/api/operators/1/roll", { grace_seconds: 60 }))).toEqual(FULL);

    const { operators } = (await call("GET", "/api/operators", { credential: key })).body;
    expect(operators).toHaveLength(OPERATORS_MAX);
    expect(OPERATORS_MAX).toBe(1000);
    expect(operators[0].revoked_at).toBeNull();
    expect(operators.at(-1)).toMatchObject({ name: "the last", revoked_at: expect.any(String) });
    // Environments are not bounded by it.
    expect(await issueKey()).toMatch(/^ugk_testing_/);
  });
});
