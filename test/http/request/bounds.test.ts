import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { ENVIRONMENT_BYTES_MAX, KEYS_PER_ENVIRONMENT_MAX, OPERATORS_MAX } from "../../../common/limits.ts";
import wranglerToml from "../../../wrangler.toml?raw";
import { type Answer, call, codeOf, tokenIn } from "../../support/client.ts";
import { forgedCredential } from "../../support/forged.ts";
import { limiter } from "../../support/limiter.ts";
import { inEnvironment, issueKey, issueOperator, newIntegrator, operator, withKey } from "../../support/states.ts";
import { inDirectory, inRegistry, setDatabaseSize } from "../../support/storage.ts";
import { query, view } from "../../support/viewers.ts";
import { watchedEnv } from "../../support/watched-env.ts";

const ACME = inEnvironment();
const FULL = [507, "environment_full"];

const manage = (method: string, path: string, body?: object) => call(method, path, { credential: operator, body });
const issue = () => manage("POST", "/api/keys", { workspace: "acme", environment: "Testing", name: "one more" });

/** All rows of the environment, to see that a refused call changed none. Reading a key may move its `last_used_at`. */
const rows = () =>
  inDirectory(({ sql }) =>
    ["user_groups", "api_keys", "stored_responses", "newest_deleted"].map((table) =>
      sql.exec(`SELECT * FROM ${table}`).toArray(),
    ),
  );

/** Adds live keys to a table until there are so many. */
const fill = (sql: SqlStorage, table: "api_keys" | "operators", count: number) =>
  sql.exec(
    `WITH RECURSIVE n (i) AS (SELECT coalesce(max(id), 0) + 1 FROM ${table} UNION ALL SELECT i + 1 FROM n WHERE i < ?)
      INSERT INTO ${table} (id, name, rights, nonce_hash, created_at) SELECT i, 'filler', 'viewer', x'01', 1 FROM n`,
    count,
  );

/** An integrator in an environment that is full, with two groups, and an answer stored for the Idempotency-Key `before`. */
async function fullEnvironment() {
  const integrator = await newIntegrator();
  const first = await integrator.tokenOf("acme", { name: "Acme", properties: { a: "bb" }, mapping: { m: "d" } });
  const stored = await integrator.rotate(first, {}, withKey("before"));
  await integrator.tokenOf("beta");
  await setDatabaseSize(ENVIRONMENT_BYTES_MAX + 1);
  return { ...integrator, first, stored, token: tokenIn(stored) };
}

describe("an environment of more than 9 GB", () => {
  it("refuses what adds data, and changes nothing", async () => {
    const { get, put, rotate, remove, token } = await fullEnvironment();
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
      await rotate(token, {}, withKey("new")),
      await remove(token, {}, withKey("new")),
      await issue(),
      await manage("POST", `/api/keys/1/roll${ACME}`, {}),
    ];
    expect(refused.map(codeOf)).toEqual(refused.map(() => FULL));
    expect(await rows()).toEqual(before);
  });

  it("still reads, shrinks, rotates, deletes and revokes", async () => {
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

  it("still answers a call that repeats an earlier one", async () => {
    const { rotate, first, stored } = await fullEnvironment();
    const repeated = await rotate(first, {}, withKey("before"));
    expect([repeated.status, repeated.body]).toEqual([200, stored.body]);
  });

  it("accepts data again when it is no larger than 9 GB", async () => {
    const { get } = await fullEnvironment();
    await setDatabaseSize(ENVIRONMENT_BYTES_MAX);
    expect((await get({ user_group_id: "new" })).status).toBe(200);
    expect((await issue()).status).toBe(201);
  });
});

describe("an environment with a thousand API keys", () => {
  /** Adds live keys until there are so many. */
  const fillWithKeys = (count: number) => inDirectory(({ sql }) => fill(sql, "api_keys", count));
  const issued = (answer: Answer): [number, number] => [answer.status, answer.body.api_key.id];
  const listed = async () =>
    (await manage("GET", `/api/keys${ACME}&limit=1000`)).body.api_keys.map(({ id }: { id: number }) => id);

  it("refuses one more, issued or rolled, while all are live", async () => {
    const key = await issueKey();
    await fillWithKeys(KEYS_PER_ENVIRONMENT_MAX - 1);
    expect((await issue()).status).toBe(201);

    expect(codeOf(await issue())).toEqual(FULL);
    expect(codeOf(await manage("POST", `/api/keys/1/roll${ACME}`, { grace_seconds: 60 }))).toEqual(FULL);

    expect(await listed()).toHaveLength(KEYS_PER_ENVIRONMENT_MAX);
    const body = { user_group_id: "acme" };
    expect((await call("GET", "/api/user", { credential: key, body })).status).toBe(200);
    expect(await issueKey({ environment: "Customer" })).toMatch(/^ugk_customer_/);
  });

  it("deletes the one that ended longest ago, by revocation or expiry, also one that ends now", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const old = await issueKey();
    await fillWithKeys(KEYS_PER_ENVIRONMENT_MAX);
    const end = (id: number, columns: string) =>
      inDirectory(({ sql }) => sql.exec(`UPDATE api_keys SET ${columns} WHERE id = ?`, id));
    await end(1, `expires_at = ${Date.now()}`);
    await end(2, "expires_at = 2000, revoked_at = 9000");
    await end(3, "expires_at = 9000, revoked_at = 1000");
    await end(4, `revoked_at = ${Date.now() + 60_000}`);
    await inDirectory(({ sql }) => sql.exec("DELETE FROM events WHERE id > 1"));

    expect(issued(await issue())).toEqual([201, KEYS_PER_ENVIRONMENT_MAX + 1]);
    expect(issued(await manage("POST", `/api/keys/5/roll${ACME}`, {}))).toEqual([201, KEYS_PER_ENVIRONMENT_MAX + 2]);
    expect((await listed()).slice(0, 3)).toEqual([1, 4, 5]);
    expect(issued(await issue())).toEqual([201, KEYS_PER_ENVIRONMENT_MAX + 3]);
    // The key that was rolled without a grace has ended too; the one that is in its grace has not.
    expect(issued(await issue())).toEqual([201, KEYS_PER_ENVIRONMENT_MAX + 4]);
    expect(codeOf(await issue())).toEqual(FULL);
    expect((await listed()).slice(0, 2)).toEqual([4, 6]);

    const body = { user_group_id: "acme" };
    expect(codeOf(await call("GET", "/api/user", { credential: old, body }))).toEqual([401, "unauthenticated"]);
    const { events } = (await call("GET", `/api/events${ACME}&limit=1`, { credential: operator })).body;
    expect(events[0]).toMatchObject({ type: "api_key.issued", api_key: { id: 1, name: "backend" } });
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
  ] as const)("are those of the design in wrangler.toml: %s is %i a minute", ([name, limit]) => {
    const [, section = ""] = wranglerToml.split(`name = "${name}"`);
    const [, written = "", period] = /simple = \{ limit = ([\d_]+), period = (\d+) \}/.exec(section) ?? [];
    expect([Number(written.replaceAll("_", "")), period]).toEqual([limit, "60"]);
  });

  it("give each namespace a number of its own", () => {
    const ids = [...wranglerToml.matchAll(/namespace_id = "(\d+)"/g)].map(([, id]) => id);
    // Those of production and of staging.
    expect(ids).toHaveLength(12);
    expect(new Set(ids).size).toBe(12);
  });

  it("count a list as a call too", async () => {
    const callEnv = { ...env, API_KEY_LIMIT: limiter(2) };
    const credential = await issueKey();
    const list = () => call("GET", "/api/user_groups", { credential, env: callEnv });
    for (const status of [200, 200, 429]) expect((await list()).status).toBe(status);
    const body = { user_group_id: "acme" };
    expect((await call("GET", "/api/user", { credential, body, env: callEnv })).status).toBe(429);
  });

  it("refuse an operator that calls too often, and wrong tokens use up nothing", async () => {
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

  it.for([
    ["/api/user_groups", 1, () => issueKey()],
    ["/api/operators", 1, () => issueOperator("viewer")],
    ["/api/environments", 1, () => issueOperator("viewer")],
    ["/api/events", 1, () => issueOperator("viewer")],
    [`/api/keys${ACME}`, 2, () => issueOperator("viewer")],
    [`/api/user_groups${ACME}`, 2, () => issueOperator("viewer")],
    [`/api/events${ACME}`, 2, () => issueOperator("viewer")],
  ] as const)("refuse a caller that lists too often, before any RPC: %s", async (each) => {
    const [path, rpcsOfList, issueCaller] = each;
    await issueKey();
    const { watched, costs } = watchedEnv();
    const callEnv = { ...watched, LIST_LIMIT: limiter(2) };
    const [busy, other] = [await issueCaller(), await issueCaller()];
    const list = (credential: string) => call("GET", path, { credential, env: callEnv });
    for (const status of [200, 200, 429]) expect((await list(busy)).status).toBe(status);
    expect((await list(busy)).headers.get("Retry-After")).toBe("60");
    expect(costs.rpcs).toHaveLength(2 * rpcsOfList);
    expect((await list(other)).status).toBe(200);
    expect((await call("GET", "/api/whoami", { credential: busy, env: callEnv })).status).toBe(200);
  });
});

describe("a deployment with a thousand operators", () => {
  const BODY = { name: "one more", role: "viewer" };

  it("refuses one more, issued or rolled, while all are live", async () => {
    const key = await issueOperator("admin");
    await inRegistry(({ sql }) => fill(sql, "operators", OPERATORS_MAX - 1));
    await issueOperator("viewer", { name: "the last" });

    expect(codeOf(await call("POST", "/api/operators", { credential: key, body: BODY }))).toEqual(FULL);
    expect(codeOf(await manage("POST", "/api/operators/1/roll", { grace_seconds: 60 }))).toEqual(FULL);

    const { operators } = (await call("GET", "/api/operators?limit=1000", { credential: key })).body;
    expect(operators).toHaveLength(OPERATORS_MAX);
    expect(OPERATORS_MAX).toBe(1000);
    expect(operators.at(-1)).toMatchObject({ name: "the last", revoked_at: null });
    // Environments are not bounded by it.
    expect(await issueKey()).toMatch(/^ugk_testing_/);
  });

  it("deletes the one that was revoked first for a new one, and for a roll", async () => {
    const key = await issueOperator("admin");
    await inRegistry(({ sql }) => fill(sql, "operators", OPERATORS_MAX));
    for (const id of [7, 3]) expect((await manage("DELETE", `/api/operators/${id}`)).status).toBe(200);
    await inRegistry(({ sql }) => sql.exec("UPDATE operators SET revoked_at = revoked_at - id WHERE id IN (3, 7)"));

    expect((await call("POST", "/api/operators", { credential: key, body: BODY })).status).toBe(201);
    expect((await manage("POST", "/api/operators/2/roll", { grace_seconds: 60 })).status).toBe(201);
    expect(codeOf(await manage("POST", "/api/operators", BODY))).toEqual(FULL);
    const { operators } = (await call("GET", "/api/operators?limit=1000", { credential: key })).body;
    expect(operators.slice(0, 6).map(({ id }: { id: number }) => id)).toEqual([1, 2, 4, 5, 6, 8]);
  });
});
