import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, it } from "vitest";
import { mintCredential, parseSigningKeys } from "../../src/domain/credentials/credential.ts";
import { REGISTRY_NAME } from "../../src/domain/registry.ts";
import { call } from "../support/client.ts";
import { issueKey, operator } from "../support/states.ts";
import { view } from "../support/viewers.ts";

/**
 * During a deploy a Worker of one release calls a directory of another. These are the calls of this release, with the fields
 * that its Worker reads. Until 1.0 no release has been deployed: RPC methods may change, and this recording with them. From
 * 1.0 on a recording is never edited: a changed call gets a new name, and the old one stays until no Worker makes it.
 */
const bytes = (length: number, value: number) => new Uint8Array(length).fill(value);
const buffer = (length: number, value: number) => bytes(length, value).buffer;
const AN_OPERATOR = { kind: "operator", id: 3, name: "ada", requestId: "request" } as const;
const BOOTSTRAP = { actor: { kind: "operator", id: null, name: "bootstrap" }, requestId: "request" };

describe("the directory takes the recorded calls of 0.4", () => {
  /** The directory, as a Worker that does not know today's types sees it, with a key. */
  async function newDirectory() {
    // biome-ignore lint/suspicious/noExplicitAny: another release has other types.
    const directory = env.GROUP_DIRECTORY.getByName("acme/Testing") as any;
    const draft = { name: "backend", rights: "write", nonceHash: buffer(32, 1), expiresInSeconds: undefined };
    const issued = await directory.issueKey(BOOTSTRAP, draft);
    const caller = { kind: "api_key", id: 1, nonceHash: buffer(32, 1), requestId: "request" };
    return { directory, issued, caller };
  }

  it("issueKey, listKeys, rollKey, revokeKey, checkCaller, identify", async ({ expect }) => {
    const { directory, issued, caller } = await newDirectory();
    const key = { id: 1, name: "backend", rights: "write", expiresAt: null, lastUsedAt: null, revokedAt: null };
    expect(issued).toMatchObject({ ok: true, value: { ...key, createdAt: expect.any(Number) } });
    for (const scope of ["groups:read", "groups:write", "groups:delete", "tokens:read", "tokens:rotate", "events:read"])
      expect(await directory.checkCaller(caller, scope)).toEqual({ ok: true, value: undefined });
    expect(await directory.checkCaller(caller, undefined)).toEqual({ ok: true, value: undefined });
    expect(await directory.identify({ id: 1, nonceHash: buffer(32, 1) })).toMatchObject({
      ok: true,
      value: { ...key, lastUsedAt: expect.any(Number) },
    });
    expect(await directory.rollKey(BOOTSTRAP, 1, 3600, buffer(32, 2))).toMatchObject({ ok: true, value: { id: 2 } });
    expect(await directory.listKeys(AN_OPERATOR, { start: 0, limit: 2 })).toMatchObject({
      ok: true,
      value: { keys: [{ id: 1, revokedAt: expect.any(Number) }, { id: 2 }], next: null },
    });
    expect(await directory.hasNoKeys()).toBe(false);
    expect(await directory.revokeKey(BOOTSTRAP, 1)).toEqual({ ok: true, value: undefined });
    expect(await directory.revokeKey(BOOTSTRAP, 3)).toEqual({ ok: false, failure: { code: "api_key_not_found" } });
    expect(await directory.checkCaller(caller, undefined)).toEqual({
      ok: false,
      failure: { code: "credential_revoked" },
    });
    const reader = { name: "reader", rights: "groups:read tokens:read", nonceHash: buffer(32, 3) };
    await directory.issueKey(BOOTSTRAP, reader);
    expect(await directory.checkCaller({ ...caller, id: 3, nonceHash: buffer(32, 3) }, "events:read")).toEqual({
      ok: false,
      failure: { code: "insufficient_access", required_scope: "events:read" },
    });
  });

  it("ensure, update, list, show", async ({ expect }) => {
    const { directory, caller } = await newDirectory();
    const draft = { providedId: "acme", name: "Acme", mapping: '{"m":"d"}', properties: '{"a":1}' };
    expect(await directory.ensure(caller, draft)).toMatchObject({
      ok: true,
      value: {
        created: true,
        group: { teamId: 1, providedId: "acme", name: "Acme", properties: '{"a":1}', revision: 1 },
      },
    });
    expect(await directory.update(caller, "acme", { newProvidedId: undefined, name: "B" }, ['"1.1"'])).toMatchObject({
      ok: true,
      value: { name: "B", revision: 2, nonce: expect.any(ArrayBuffer) },
    });
    expect(await directory.update(caller, "acme", {}, ['"1.1"'])).toEqual({
      ok: false,
      failure: { code: "revision_mismatch" },
    });
    await directory.ensure(caller, { providedId: "beta" });
    const listed = { teamId: 1, providedId: "acme", mapping: '{"m":"d"}', createdAt: expect.any(Number) };
    expect(await directory.list(caller, { start: undefined, prefix: undefined, limit: 1 })).toMatchObject({
      ok: true,
      value: { groups: [listed], next: 2 },
    });
    expect(await directory.list(caller, { start: undefined, prefix: "b", limit: 1 })).toMatchObject({
      ok: true,
      value: { groups: [{ providedId: "beta" }], next: null },
    });
    expect(await directory.show(caller, 1, "existing")).toMatchObject({
      ok: true,
      value: { group: listed, revision: 2 },
    });
  });

  it.for([
    ["an API key", undefined],
    ["an operator", { ...AN_OPERATOR, role: "admin" }],
  ] as const)("updateByNumber, rotateByNumber, removeByNumber of %s", async ([, operatorCaller], { expect }) => {
    const { directory, caller: keyCaller } = await newDirectory();
    const caller = operatorCaller ?? keyCaller;
    const { group } = (await directory.ensure(keyCaller, { providedId: "acme" })).value;
    const changes = { newProvidedId: "acme-2", name: "B", mapping: undefined, properties: undefined };
    expect(await directory.updateByNumber(caller, 1, changes, ['"1.1"'])).toMatchObject({
      ok: true,
      value: { group: { teamId: 1, providedId: "acme-2", name: "B" }, revision: 2 },
    });
    const token = { id: 1, nonce: new Uint8Array(group.nonce) };
    for (const _ of [1, 2]) await directory.view(token, true);
    const options = { graceSeconds: 60, ifMatch: undefined };
    const rotated = await directory.rotateByNumber(caller, 1, options, undefined);
    expect(rotated).toMatchObject({
      ok: true,
      value: { group: { teamId: 1 }, revision: 3, endedLeases: [group.nonce] },
    });
    expect(JSON.stringify(rotated.value.group)).not.toMatch(/nonce/i);
    expect(await directory.removeByNumber(caller, 1, ['"1.1"'], undefined)).toEqual({
      ok: false,
      failure: { code: "revision_mismatch" },
    });
    expect(await directory.removeByNumber(caller, 1, "*", undefined)).toMatchObject({
      ok: true,
      value: { group: { teamId: 1, deletedAt: expect.any(Number) }, revision: 4, endedLeases: [group.nonce] },
    });
    expect(await directory.removeByNumber(caller, 1, undefined, undefined)).toEqual({
      ok: false,
      failure: { code: "user_group_not_found" },
    });
  });

  it("update that suspends, removeByNumber, show and list of deleted groups, restore, purge", async ({ expect }) => {
    const { directory, caller } = await newDirectory();
    const { group } = (await directory.ensure(caller, { providedId: "acme" })).value;
    const token = { id: 1, nonce: new Uint8Array(group.nonce) };
    for (const _ of [1, 2]) await directory.view(token, true);
    const suspended = await directory.updateByNumber(caller, 1, { suspended: true }, undefined);
    expect(suspended).toMatchObject({
      ok: true,
      value: { group: { suspendedAt: expect.any(Number), deletedAt: null }, revision: 2, endedLeases: [group.nonce] },
    });
    expect(await directory.view(token, false)).toEqual({ ok: false, failure: { code: "user_group_suspended" } });
    const resumed = await directory.update(caller, "acme", { suspended: false }, undefined);
    expect(resumed).toMatchObject({ ok: true, value: { revision: 3, endedLeases: [] } });
    const restore = (fields: object) =>
      directory.restore(caller, 1, { newProvidedId: undefined, rotateToken: false, ...fields }, undefined);
    const purge = () => directory.purge(caller, 1, undefined);
    expect(await purge()).toEqual({ ok: false, failure: { code: "user_group_not_deleted" } });

    await directory.removeByNumber(caller, 1, undefined, undefined);
    const deleted = { teamId: 1, suspendedAt: null, deletedAt: expect.any(Number) };
    expect(await directory.show(caller, 1, "deleted")).toMatchObject({ value: { group: deleted, revision: 4 } });
    expect(
      await directory.list(caller, { start: undefined, prefix: undefined, state: "deleted", limit: 1 }),
    ).toMatchObject({
      ok: true,
      value: { groups: [deleted], next: null },
    });
    await directory.ensure(caller, { providedId: "acme" });
    expect(await restore({})).toEqual({ ok: false, failure: { code: "user_group_id_taken" } });
    const restored = await restore({ newProvidedId: "acme-2", rotateToken: true });
    expect(restored).toMatchObject({
      ok: true,
      value: { group: { providedId: "acme-2", deletedAt: null }, revision: 5 },
    });
    await directory.removeByNumber(caller, 1, undefined, undefined);
    expect(await purge()).toEqual({ ok: true, value: undefined });
    for (const answer of [await purge(), await restore({})])
      expect(answer).toEqual({ ok: false, failure: { code: "user_group_not_found" } });
  });

  it("view, rotateToken, remove, with a repeat", async ({ expect }) => {
    const { directory, caller } = await newDirectory();
    const { group } = (await directory.ensure(caller, { providedId: "acme" })).value;
    const current = { id: 1, nonce: new Uint8Array(group.nonce) };
    expect(await directory.view(current, true)).toMatchObject({
      ok: true,
      value: { readAt: expect.any(Number), group: { teamId: 1, validUntil: null }, writeLease: false },
    });
    expect(await directory.view(current, true)).toMatchObject({ value: { writeLease: true } });

    const idempotency = { key: buffer(32, 3), request: buffer(32, 4), signingId: "k1" };
    const options = { graceSeconds: 0, ifMatch: "*" };
    const rotated = await directory.rotateToken(caller, current, options, idempotency);
    expect(rotated).toMatchObject({ ok: true, value: { teamId: 1, revision: 2, endedLeases: [group.nonce] } });
    expect(await directory.rotateToken(caller, current, options, { ...idempotency, signingId: "k2" })).toMatchObject({
      ok: true,
      value: { teamId: 1, revision: 2, nonce: rotated.value.nonce, signingId: "k1", endedLeases: [] },
    });
    const newest = { id: 1, nonce: new Uint8Array(rotated.value.nonce) };
    const guards = { providedId: "other", dataSource: undefined, ifMatch: undefined };
    expect(await directory.remove(caller, newest, guards, undefined)).toMatchObject({
      failure: { code: "user_group_mismatch" },
    });
    expect(await directory.remove(caller, newest, {}, undefined)).toEqual({
      ok: true,
      value: { endedLeases: [], isReplay: false },
    });
    expect(await directory.view(newest, false)).toEqual({ ok: false, failure: { code: "credential_revoked" } });
  });

  it("listEvents", async ({ expect }) => {
    const { directory, caller } = await newDirectory();
    const query = { from: undefined, limit: 10, type: undefined, providedId: undefined };
    const { value } = await directory.listEvents(caller, query);
    expect(value).toMatchObject({
      events: [{ id: 1, type: "api_key.issued", ...BOOTSTRAP, details: { api_key: { id: 1, name: "backend" } } }],
      next: { incarnation: expect.any(String), after: 1 },
      hasMore: false,
    });
    expect(await directory.listEvents(caller, { ...query, from: value.next })).toMatchObject({ value: { events: [] } });
    expect(await directory.listEvents(caller, { ...query, from: "latest" })).toMatchObject({ value: { events: [] } });
  });
});

describe("the registry takes the recorded calls of 0.4", () => {
  const presented = { key: "bootstrap", requestId: "request" };
  const ENVIRONMENT = { workspace: "acme", tag: "Testing" };

  /** The registry, as a Worker that does not know today's types sees it. */
  // biome-ignore lint/suspicious/noExplicitAny: another release does not know today's types.
  const registry = () => env.REGISTRY.getByName(REGISTRY_NAME) as any;
  const keyOf = (id: number, byte: number) => ({ key: { id, nonceHash: buffer(32, byte) }, requestId: "request" });

  it("recordEnvironment, listEnvironments, admit", async ({ expect }) => {
    const bootstrap = { id: null, name: "bootstrap", role: "admin", expiresAt: null };
    expect(await registry().admit(presented, "admin", ENVIRONMENT)).toEqual({
      ok: false,
      failure: { code: "environment_not_found" },
    });
    expect(await registry().recordEnvironment(presented, ENVIRONMENT, "weur")).toEqual({
      ok: true,
      value: { isNew: true, location: "weur" },
    });
    expect(await registry().recordEnvironment(presented, ENVIRONMENT, "enam")).toEqual({
      ok: true,
      value: { isNew: false, location: "weur" },
    });
    await registry().recordEnvironment(presented, { workspace: "acme", tag: null }, undefined);
    expect(await registry().admit(presented, "admin", ENVIRONMENT)).toEqual({ ok: true, value: bootstrap });
    expect(await registry().admit(presented, "viewer", undefined)).toEqual({ ok: true, value: bootstrap });
    expect(await registry().listEnvironments(presented, { start: 0, limit: 1 })).toEqual({
      ok: true,
      value: {
        environments: [{ id: 1, name: "acme/Testing", location: "weur", createdAt: expect.any(Number) }],
        next: 2,
        hasWaited: false,
      },
    });
    expect(await registry().listEnvironments(presented, { start: 2, limit: 1 })).toMatchObject({
      ok: true,
      value: { environments: [{ id: 2, name: "acme/untagged", location: null }], next: null },
    });
  });

  it("issueOperator, listOperators, rollOperator, revokeOperator", async ({ expect }) => {
    const draft = { name: "ada", rights: "support", nonceHash: buffer(32, 1), expiresInSeconds: 3600 };
    const operator = { id: 1, name: "ada", rights: "support", lastUsedAt: null, revokedAt: null };
    const issued = await registry().issueOperator(presented, draft);
    expect(issued).toMatchObject({ ok: true, value: { ...operator, expiresAt: expect.any(Number) } });
    expect(await registry().admit(keyOf(1, 1), "support", undefined)).toEqual({
      ok: true,
      value: { id: 1, name: "ada", role: "support", expiresAt: issued.value.expiresAt },
    });
    expect(await registry().admit(keyOf(1, 1), "admin", undefined)).toEqual({
      ok: false,
      failure: { code: "insufficient_access", required_role: "admin" },
    });
    expect(await registry().admit(keyOf(1, 2), "viewer", undefined)).toEqual({
      ok: false,
      failure: { code: "unauthenticated" },
    });
    const rolled = await registry().rollOperator(presented, 1, { graceSeconds: 0, nonceHash: buffer(32, 2) });
    expect(rolled).toMatchObject({ ok: true, value: { id: 2, name: "ada", rights: "support" } });
    expect(await registry().revokeOperator(presented, 2)).toEqual({ ok: true, value: undefined });
    expect(await registry().revokeOperator(presented, 3)).toEqual({
      ok: false,
      failure: { code: "operator_not_found" },
    });
    expect(await registry().listOperators(presented, { start: 0, limit: 10 })).toMatchObject({
      ok: true,
      value: {
        keys: [
          { id: 1, revokedAt: expect.any(Number) },
          { id: 2, revokedAt: expect.any(Number) },
        ],
        next: null,
      },
    });
  });

  it("listEvents", async ({ expect }) => {
    const query = { from: undefined, limit: 10, type: undefined, providedId: undefined };
    const nothing = { events: [], next: { incarnation: "", after: 0 }, hasMore: false };
    expect(await registry().listEvents(presented, query)).toEqual({
      ok: true,
      value: { ...nothing, hasWaited: false },
    });
    await registry().recordEnvironment(presented, ENVIRONMENT, undefined);
    expect(await registry().listEvents(presented, { ...query, from: nothing.next })).toMatchObject({
      ok: true,
      value: {
        events: [
          {
            id: 1,
            type: "environment.created",
            ...BOOTSTRAP,
            details: { environment: { workspace: "acme", environment: "Testing" } },
          },
        ],
        next: { incarnation: expect.any(String), after: 1 },
      },
    });
  });
});

const hashOf = (nonce: Uint8Array<ArrayBuffer>) => crypto.subtle.digest("SHA-256", nonce);

describe("a directory's database whose schema has number 13", () => {
  const hex = (value: ArrayBuffer | Uint8Array) => `x'${new Uint8Array(value).toHex()}'`;
  const NONCES = {
    key: bytes(16, 1),
    current: bytes(16, 2),
    grace: bytes(16, 3),
    kept: bytes(16, 4),
    suspended: bytes(16, 9),
    deleted: bytes(16, 10),
  };
  const EXPIRES_AT = Date.UTC(2090, 0, 1);

  /** All that SQLite would dump of it, with a row in each table. */
  const dumpOf = (keyNonceHash: ArrayBuffer) => `
    CREATE TABLE migrations (level INTEGER PRIMARY KEY, ran_at INTEGER NOT NULL) STRICT;
    INSERT INTO migrations VALUES (13, 1000);
    CREATE TABLE user_groups (
      team_id INTEGER PRIMARY KEY, provided_id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, nonce BLOB NOT NULL,
      generation BLOB NOT NULL, grace_nonce BLOB, grace_generation BLOB, grace_ends_at INTEGER, suspended_at INTEGER,
      revision INTEGER NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, mapping TEXT, properties TEXT) STRICT;
    INSERT INTO user_groups VALUES (7, 'acme', 'Acme', ${hex(NONCES.current)}, ${hex(bytes(16, 7))}, ${hex(NONCES.grace)},
      ${hex(bytes(16, 8))}, ${EXPIRES_AT}, NULL, 3, 1000, 2000, '{"m":"d"}', '{"a":1}');
    INSERT INTO user_groups VALUES (8, 'late', 'Late', ${hex(NONCES.suspended)}, ${hex(bytes(16, 7))}, NULL, NULL, NULL, 3000, 2,
      1000, 2000, NULL, NULL);
    CREATE TABLE deleted_groups (
      team_id INTEGER PRIMARY KEY, provided_id TEXT NOT NULL, deleted_at INTEGER NOT NULL, name TEXT NOT NULL, nonce BLOB NOT NULL,
      generation BLOB NOT NULL, grace_nonce BLOB, grace_generation BLOB, grace_ends_at INTEGER, suspended_at INTEGER,
      revision INTEGER NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, mapping TEXT, properties TEXT) STRICT;
    INSERT INTO deleted_groups VALUES (9, 'gone', ${EXPIRES_AT}, 'Gone', ${hex(NONCES.deleted)}, ${hex(bytes(16, 7))}, NULL, NULL,
      NULL, NULL, 2, 1000, 2000, NULL, '{"b":2}');
    CREATE INDEX deleted_groups_by_time ON deleted_groups (deleted_at);
    CREATE TABLE newest_deleted (id INTEGER PRIMARY KEY, team_id INTEGER NOT NULL) STRICT;
    INSERT INTO newest_deleted VALUES (1, 9);
    CREATE TABLE api_keys (
      id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, rights TEXT NOT NULL, nonce_hash BLOB NOT NULL,
      created_at INTEGER NOT NULL, expires_at INTEGER, last_used_at INTEGER, revoked_at INTEGER) STRICT;
    INSERT INTO api_keys VALUES (1, 'backend', 'write', ${hex(keyNonceHash)}, 1000, ${EXPIRES_AT}, 2000, NULL);
    CREATE TABLE stored_responses (
      id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, request BLOB NOT NULL, expires_at INTEGER NOT NULL,
      key_id INTEGER, team_id INTEGER NOT NULL, provided_id TEXT, name TEXT, nonce BLOB, revision INTEGER, signing_id TEXT, listed TEXT) STRICT;
    CREATE INDEX stored_responses_by_group ON stored_responses (team_id);
    CREATE TABLE purged_groups (team_id INTEGER PRIMARY KEY) STRICT;
    INSERT INTO stored_responses VALUES (1, ${hex(bytes(32, 5))}, ${hex(bytes(32, 6))}, ${EXPIRES_AT}, 1, 7, 'acme', 'Acme',
      ${hex(NONCES.kept)}, 2, 'test', NULL);
    CREATE TABLE events (
      id INTEGER PRIMARY KEY, at INTEGER NOT NULL, type TEXT NOT NULL, actor TEXT NOT NULL, request_id TEXT NOT NULL,
      team_id INTEGER, provided_id TEXT, details TEXT NOT NULL) STRICT;
    INSERT INTO events VALUES (1, 1000, 'api_key.issued', '{"kind":"operator","id":null,"name":"bootstrap"}', 'request', NULL,
      NULL, '{"api_key":{"id":1,"name":"backend"}}');
    CREATE TABLE feed (id INTEGER PRIMARY KEY, incarnation TEXT NOT NULL) STRICT;
    INSERT INTO feed VALUES (1, '0123456789abcdef');`;

  const ENVIRONMENT = { workspace: "acme", tag: "Testing" } as const;

  /** Restores the database, and returns its credentials. */
  async function restored() {
    const dump = dumpOf(await hashOf(NONCES.key));
    await runInDurableObject(env.GROUP_DIRECTORY.getByName("acme/Testing"), (_, { storage }) => {
      storage.sql.exec(dump);
    });
    await evictDurableObject(env.GROUP_DIRECTORY.getByName("acme/Testing"));
    const bootstrap = { key: "bootstrap", requestId: "request" } as const;
    await env.REGISTRY.getByName(REGISTRY_NAME).recordEnvironment(bootstrap, ENVIRONMENT, undefined);
    const ring = await parseSigningKeys(env.SIGNING_KEYS);
    if (!ring.ok) throw new Error(ring.failure);
    const token = (nonce: Uint8Array<ArrayBuffer>, id = 7) =>
      mintCredential(ring.value, { kind: "token", environment: ENVIRONMENT, id, nonce });
    const key = await mintCredential(ring.value, {
      kind: "api_key",
      environment: ENVIRONMENT,
      id: 1,
      nonce: NONCES.key,
    });
    return {
      key,
      token: await token(NONCES.current),
      graceToken: await token(NONCES.grace),
      suspendedToken: await token(NONCES.suspended, 8),
      deletedToken: await token(NONCES.deleted, 9),
    };
  }

  it("is read by the current directory, with all that is in it", async ({ expect }) => {
    const { key, token, graceToken } = await restored();
    const found = await call("GET", "/api/user", { credential: key, body: { user_group_id: "acme" } });
    expect(found.body).toMatchObject({
      new_user_group: false,
      user_group: { team_id: 7, token, name: "Acme", properties: { a: 1 } },
    });
    expect(found.headers.get("ETag")).toBe('"7.3"');
    for (const each of [token, graceToken])
      expect((await view(each)).body.user_group).toMatchObject({ provided_id: "acme", mapping: { m: "d" } });

    const { body: listed } = await call("GET", "/api/user_groups", { credential: key });
    expect(listed.user_groups).toMatchObject([
      { team_id: 7, state: "active", created_at: "1970-01-01T00:00:01.000Z", updated_at: "1970-01-01T00:00:02.000Z" },
      { team_id: 8, state: "suspended" },
    ]);
    const { body: deleted } = await call("GET", "/api/user_groups?state=deleted", { credential: key });
    expect(deleted.user_groups).toMatchObject([
      { team_id: 9, state: "deleted", deleted_at: "2090-01-01T00:00:00.000Z" },
    ]);
    const keys = await call("GET", "/api/keys?workspace=acme&environment=Testing", { credential: operator });
    expect(keys.body.api_keys).toMatchObject([
      { id: 1, name: "backend", access: "write", expires_at: "2090-01-01T00:00:00.000Z", revoked_at: null },
    ]);
  });

  it("still repeats stored responses, and uses no number twice", async ({ expect }) => {
    const { key } = await restored();
    const caller = { kind: "api_key", id: 1, nonceHash: await hashOf(NONCES.key), requestId: "request" } as const;
    const idempotency = { key: bytes(32, 5).buffer, request: bytes(32, 6).buffer, signingId: "test" };
    const options = { graceSeconds: 0, ifMatch: undefined };
    const directory = env.GROUP_DIRECTORY.getByName("acme/Testing");
    expect(await directory.rotateToken(caller, undefined, options, idempotency)).toMatchObject({
      ok: true,
      value: { teamId: 7, providedId: "acme", name: "Acme", nonce: NONCES.kept.buffer, revision: 2, signingId: "test" },
    });
    const created = await call("GET", "/api/user", { credential: key, body: { user_group_id: "new" } });
    expect(created.body.user_group.team_id).toBe(10);
  });

  it("goes on: a suspended group resumes, and a deleted one is restored with its token", async ({ expect }) => {
    const { key, suspendedToken, deletedToken } = await restored();
    const send = (method: string, path: string, body?: object) =>
      call(method, `/api/user_groups/${path}`, { credential: key, body });
    for (const each of [suspendedToken, deletedToken]) expect((await view(each)).status).not.toBe(200);
    expect((await send("PUT", "8", { suspended: false })).headers.get("ETag")).toBe('"8.3"');
    expect((await send("POST", "9/restore")).headers.get("ETag")).toBe('"9.3"');
    for (const each of [suspendedToken, deletedToken]) expect((await view(each)).status).toBe(200);
  });

  it("has the schema that today's directory creates", async ({ expect }) => {
    const columns = () =>
      runInDurableObject(env.GROUP_DIRECTORY.getByName("acme/Testing"), (_, { storage: { sql } }) => {
        const [tables, indexes] = ["table", "index"].map((type) =>
          [...sql.exec("SELECT name FROM sqlite_master WHERE type = ? ORDER BY name", type)].map(({ name }) =>
            String(name),
          ),
        );
        return [
          tables
            ?.filter((name) => !name.startsWith("_cf"))
            .map((name) => [name, ...sql.exec("SELECT * FROM pragma_table_info(?)", name)]),
          indexes?.map((name) => [name, ...sql.exec("SELECT * FROM pragma_index_info(?)", name)]),
        ];
      });
    await restored();
    const recorded = await columns();
    await runInDurableObject(env.GROUP_DIRECTORY.getByName("acme/Testing"), (_, { storage }) => storage.deleteAll());
    await evictDurableObject(env.GROUP_DIRECTORY.getByName("acme/Testing"));
    await issueKey();
    expect(await columns()).toEqual(recorded);
  });
});

describe("the registry's database of release 0.4.0, whose schema has number 1,", () => {
  const NONCE = bytes(16, 1);
  const dumpOf = (nonceHash: ArrayBuffer) => `
    CREATE TABLE migrations (level INTEGER PRIMARY KEY, ran_at INTEGER NOT NULL) STRICT;
    INSERT INTO migrations VALUES (1, 1000);
    CREATE TABLE environments (
      id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, location TEXT, created_at INTEGER NOT NULL) STRICT;
    INSERT INTO environments VALUES (1, 'acme/Testing', 'weur', 1000), (2, 'acme/untagged', NULL, 2000);
    CREATE TABLE operators (
      id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, rights TEXT NOT NULL, nonce_hash BLOB NOT NULL,
      created_at INTEGER NOT NULL, expires_at INTEGER, last_used_at INTEGER, revoked_at INTEGER) STRICT;
    INSERT INTO operators VALUES (1, 'ada', 'viewer', x'${new Uint8Array(nonceHash).toHex()}', 1000, NULL, 2000, NULL);
    CREATE TABLE events (
      id INTEGER PRIMARY KEY, at INTEGER NOT NULL, type TEXT NOT NULL, actor TEXT NOT NULL, request_id TEXT NOT NULL,
      team_id INTEGER, provided_id TEXT, details TEXT NOT NULL) STRICT;
    INSERT INTO events VALUES (1, 1000, 'environment.created', '{"kind":"operator","id":null,"name":"bootstrap"}', 'request', NULL,
      NULL, '{"environment":{"workspace":"acme","environment":"Testing"}}');
    CREATE TABLE feed (id INTEGER PRIMARY KEY, incarnation TEXT NOT NULL) STRICT;
    INSERT INTO feed VALUES (1, '0123456789abcdef');`;

  const registry = () => env.REGISTRY.getByName(REGISTRY_NAME);

  /** Puts the database in its place, and returns the key of its operator. */
  async function restored(): Promise<string> {
    const dump = dumpOf(await hashOf(NONCE));
    await runInDurableObject(registry(), (_, { storage }) => void storage.sql.exec(dump));
    await evictDurableObject(registry());
    const ring = await parseSigningKeys(env.SIGNING_KEYS);
    if (!ring.ok) throw new Error(ring.failure);
    return mintCredential(ring.value, { kind: "operator_key", id: 1, nonce: NONCE });
  }

  it("is read by today's registry, with all that is in it", async ({ expect }) => {
    const credential = await restored();
    const environments = await call("GET", "/api/environments", { credential });
    expect(environments.body.environments).toEqual([
      { workspace: "acme", environment: "Testing", location: "weur", created_at: "1970-01-01T00:00:01.000Z" },
      { workspace: "acme", environment: null, location: null, created_at: "1970-01-01T00:00:02.000Z" },
    ]);
    const operators = await call("GET", "/api/operators", { credential });
    expect(operators.body.operators).toMatchObject([{ id: 1, name: "ada", role: "viewer", expires_at: null }]);
    const events = await call("GET", "/api/events", { credential });
    expect(events.body.events).toMatchObject([
      { id: 1, type: "environment.created", environment: { workspace: "acme", environment: "Testing" } },
    ]);
  });

  it("has the schema that today's registry creates", async ({ expect }) => {
    const columns = () =>
      runInDurableObject(registry(), (_, { storage }) =>
        ["migrations", "environments", "operators", "events", "feed"].map((table) =>
          storage.sql.exec("SELECT * FROM pragma_table_info(?)", table).toArray(),
        ),
      );
    await restored();
    const recorded = await columns();
    await runInDurableObject(registry(), (_, { storage }) => storage.deleteAll());
    await evictDurableObject(registry());
    await issueKey();
    expect(await columns()).toEqual(recorded);
  });
});
