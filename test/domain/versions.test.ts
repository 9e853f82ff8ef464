import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, it } from "vitest";
import { mintCredential, parseSigningKeys } from "../../src/domain/credential.ts";
import { call } from "../support/client.ts";
import { operator } from "../support/states.ts";
import { view } from "../support/viewers.ts";

/**
 * During a deploy a Worker of one release calls a directory of the other. These are the calls of release 0.3.0, each with
 * the fields of its answer that the Worker reads, and a database as that release creates it.
 *
 * Until 1.0 RPC methods and the schema may change, and this recording with them. From 1.0 on they are only added: a call that
 * is to change gets a new name, the old one stays until no Worker makes it, and each release adds its recording here.
 */

const bytes = (length: number, value: number) => new Uint8Array(length).fill(value);
const hashOf = (nonce: Uint8Array<ArrayBuffer>) => crypto.subtle.digest("SHA-256", nonce);

// biome-ignore lint/suspicious/noExplicitAny: the Worker of 0.3.0 does not know today's types.
const directory = (): any => env.GROUP_DIRECTORY.getByName("acme/Testing");

const DRAFT = { providedId: "acme", name: "Acme", mapping: '{"m":"d"}', properties: '{"a":1}' };
const SHOWN = { teamId: 1, providedId: "acme", name: "Acme", properties: '{"a":1}' };

/** A caller with a new key, and what the directory answered when it was issued. */
async function newCaller(access: "read" | "write" = "write") {
  const nonceHash = await hashOf(crypto.getRandomValues(new Uint8Array(16)));
  const issued = await directory().issueKey({ name: "backend", access, nonceHash, expiresInSeconds: undefined });
  return { issued, caller: { id: issued.value.id, nonceHash } };
}

/** The same, and a group with its current token. */
async function newGroup() {
  const { caller } = await newCaller();
  const ensured = await directory().ensure(caller, DRAFT);
  const current = { id: 1, nonce: new Uint8Array(ensured.value.group.nonce) };
  return { caller, ensured, current };
}

const refused = (code: string) => ({ ok: false, failure: { code } });

describe("today's directory takes the calls of release 0.3.0:", () => {
  it("issueKey, listKeys, rollKey, revokeKey and checkAccess", async ({ expect }) => {
    const { issued, caller } = await newCaller();
    const key = { id: 1, name: "backend", access: "write", createdAt: expect.any(Number), expiresAt: null };
    expect(issued).toMatchObject({ ok: true, value: { ...key, lastUsedAt: null, revokedAt: null } });
    expect(await directory().checkAccess(caller, "write")).toEqual({ ok: true, value: undefined });
    expect(await directory().listKeys()).toMatchObject([{ ...key, lastUsedAt: expect.any(Number), revokedAt: null }]);

    const nonceHash = await hashOf(bytes(16, 2));
    const rolled = await directory().rollKey(1, 3600, nonceHash);
    expect(rolled).toMatchObject({ ok: true, value: { ...key, id: 2, revokedAt: null } });
    expect(await directory().checkAccess({ id: 2, nonceHash }, "read")).toEqual({ ok: true, value: undefined });
    expect(await directory().revokeKey(1)).toEqual({ ok: true, value: undefined });
    expect(await directory().revokeKey(3)).toEqual(refused("api_key_not_found"));
    expect(await directory().rollKey(1, 0, nonceHash)).toEqual(refused("api_key_not_found"));
    expect(await directory().checkAccess(caller, "read")).toEqual(refused("credential_revoked"));
    expect(await directory().checkAccess({ id: 2, nonceHash: bytes(32, 0).buffer }, "read")).toEqual(
      refused("unauthenticated"),
    );
  });

  it("ensure", async ({ expect }) => {
    const { caller, ensured } = await newGroup();
    const group = { ...SHOWN, revision: 1, nonce: expect.any(ArrayBuffer) };
    expect(ensured).toMatchObject({ ok: true, value: { created: true, group } });
    const again = await directory().ensure(caller, { providedId: "acme" });
    expect(again).toMatchObject({ ok: true, value: { created: false, group } });

    const { caller: reader } = await newCaller("read");
    const read = await directory().ensure(reader, { providedId: "acme" });
    expect(read).toMatchObject({ ok: true, value: { created: false, group: { ...SHOWN, nonce: undefined } } });
    expect(await directory().ensure(reader, { providedId: "unknown" })).toEqual(refused("user_group_not_found"));
  });

  it("update", async ({ expect }) => {
    const { caller } = await newGroup();
    const changes = { newProvidedId: undefined, name: "B", properties: null };
    expect(await directory().update(caller, "acme", changes, ['"1.1"', '"other"'])).toMatchObject({
      ok: true,
      value: {
        teamId: 1,
        providedId: "acme",
        name: "B",
        properties: null,
        revision: 2,
        nonce: expect.any(ArrayBuffer),
      },
    });
    expect(await directory().update(caller, "acme", {}, ['"1.1"'])).toEqual(refused("revision_mismatch"));
    expect(await directory().update(caller, "acme", { newProvidedId: "b" }, "*")).toMatchObject({ ok: true });
    expect(await directory().update(caller, "b", { name: "C" }, undefined)).toMatchObject({ ok: true });
  });

  it("rotateToken", async ({ expect }) => {
    const { caller, current } = await newGroup();
    const rotate = (token: object | undefined, options: object, idempotency?: object) =>
      directory().rotateToken(caller, token, options, idempotency);
    const plain = { graceSeconds: 0, ifMatch: undefined };
    const idempotency = { key: bytes(32, 1).buffer, request: bytes(32, 2).buffer, signingId: "k1" };

    const rotated = await rotate(current, { graceSeconds: 60, ifMatch: ['"1.1"'] }, idempotency);
    const value = { teamId: 1, providedId: "acme", name: "Acme", revision: 2, nonce: expect.any(ArrayBuffer) };
    expect(rotated).toMatchObject({ ok: true, value: { ...value, endedLeases: [] } });
    const repeated = await rotate(current, plain, { ...idempotency, signingId: "k2" });
    expect(repeated).toEqual({
      ok: true,
      value: { ...value, nonce: rotated.value.nonce, signingId: "k1", endedLeases: [] },
    });
    expect(await rotate(current, plain, { ...idempotency, request: bytes(32, 3).buffer })).toEqual(
      refused("idempotency_key_reused"),
    );
    expect(await rotate(current, plain)).toEqual(refused("token_superseded"));
    expect(await rotate(undefined, plain)).toEqual(refused("user_group_not_found"));
    const newest = { id: 1, nonce: new Uint8Array(rotated.value.nonce) };
    expect(await rotate(newest, { ...plain, ifMatch: ['"1.1"'] })).toEqual(refused("revision_mismatch"));
  });

  it("view, and the leases that a rotation ends", async ({ expect }) => {
    const { caller, current } = await newGroup();
    const viewed = (writeLease: boolean) => ({
      ok: true,
      value: { readAt: expect.any(Number), group: { ...DRAFT, teamId: 1, validUntil: null }, writeLease },
    });
    expect(await directory().view(current, false)).toEqual(viewed(false));
    expect(await directory().view(current, true)).toEqual(viewed(false));
    expect(await directory().view(current, true)).toEqual(viewed(true));

    const rotated = await directory().rotateToken(caller, current, { graceSeconds: 60, ifMatch: undefined }, undefined);
    expect(rotated.value.endedLeases.map((nonce: ArrayBuffer) => new Uint8Array(nonce))).toEqual([current.nonce]);
    expect(await directory().view(current, false)).toMatchObject({
      ok: true,
      value: { group: { validUntil: expect.any(Number) } },
    });
    expect(await directory().view({ id: 2, nonce: bytes(16, 0) }, false)).toEqual(refused("credential_revoked"));
  });

  it("remove", async ({ expect }) => {
    const { caller, current } = await newGroup();
    const remove = (guards: object, idempotency?: object) => directory().remove(caller, current, guards, idempotency);
    const idempotency = { key: bytes(32, 1).buffer, request: bytes(32, 2).buffer, signingId: "k1" };
    const none = { providedId: undefined, dataSource: undefined, ifMatch: undefined };

    expect(await remove({ ...none, providedId: "other" })).toEqual(refused("user_group_mismatch"));
    expect(await remove({ ...none, dataSource: "other" })).toEqual(refused("user_group_mismatch"));
    expect(await remove({ ...none, ifMatch: ['"1.2"'] })).toEqual(refused("revision_mismatch"));
    const guards = { providedId: "acme", dataSource: "d", ifMatch: ['"1.1"'] };
    for (const _ of ["first", "repeat"])
      expect(await remove(guards, idempotency)).toEqual({ ok: true, value: { endedLeases: [] } });
    expect(await remove(none)).toEqual(refused("user_group_not_found"));
  });

  it("list", async ({ expect }) => {
    const { caller } = await newGroup();
    for (const providedId of ["beta", "alpha"]) await directory().ensure(caller, { providedId });
    const list = async (query: object) => (await directory().list(caller, query)).value;

    const first = await list({ start: undefined, prefix: undefined, limit: 1 });
    const times = { createdAt: expect.any(Number), updatedAt: expect.any(Number) };
    expect(first).toMatchObject({ groups: [{ ...DRAFT, ...times, teamId: 1 }], next: 2 });
    expect(await list({ start: 2, prefix: undefined, limit: 10 })).toMatchObject({
      groups: [
        { teamId: 2, providedId: "beta", mapping: null, properties: null },
        { teamId: 3, providedId: "alpha" },
      ],
      next: null,
    });
    expect(await list({ start: undefined, prefix: "a", limit: 1 })).toMatchObject({
      groups: [{ providedId: "acme" }],
      next: "alpha",
    });
    expect(await list({ start: "alpha", prefix: "a", limit: 1 })).toMatchObject({
      groups: [{ providedId: "alpha" }],
      next: null,
    });
  });
});

describe("a database of release 0.3.0, whose schema has number 7,", () => {
  const hex = (value: ArrayBuffer | Uint8Array) => `x'${new Uint8Array(value).toHex()}'`;
  const NONCES = { key: bytes(16, 1), current: bytes(16, 2), grace: bytes(16, 3), kept: bytes(16, 4) };
  const EXPIRES_AT = Date.UTC(2090, 0, 1);

  /** All that SQLite would dump of it, with a row in each table. */
  const dumpOf = (keyNonceHash: ArrayBuffer) => `
    CREATE TABLE migrations (level INTEGER PRIMARY KEY, ran_at INTEGER NOT NULL) STRICT;
    INSERT INTO migrations VALUES (7, 1000);
    CREATE TABLE user_groups (
      team_id INTEGER PRIMARY KEY, provided_id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, nonce BLOB NOT NULL,
      grace_nonce BLOB, grace_ends_at INTEGER, revision INTEGER NOT NULL, created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL, mapping TEXT, properties TEXT) STRICT;
    INSERT INTO user_groups VALUES (7, 'acme', 'Acme', ${hex(NONCES.current)}, ${hex(NONCES.grace)}, ${EXPIRES_AT}, 3, 1000, 2000,
      '{"m":"d"}', '{"a":1}');
    CREATE TABLE newest_deleted (id INTEGER PRIMARY KEY, team_id INTEGER NOT NULL) STRICT;
    INSERT INTO newest_deleted VALUES (1, 9);
    CREATE TABLE api_keys (
      id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, access TEXT NOT NULL, nonce_hash BLOB NOT NULL,
      created_at INTEGER NOT NULL, expires_at INTEGER, last_used_at INTEGER, revoked_at INTEGER) STRICT;
    INSERT INTO api_keys VALUES (1, 'backend', 'write', ${hex(keyNonceHash)}, 1000, ${EXPIRES_AT}, 2000, NULL);
    CREATE TABLE stored_responses (
      id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, request BLOB NOT NULL, expires_at INTEGER NOT NULL,
      team_id INTEGER, provided_id TEXT, name TEXT, nonce BLOB, revision INTEGER, signing_id TEXT) STRICT;
    INSERT INTO stored_responses VALUES (1, ${hex(bytes(32, 5))}, ${hex(bytes(32, 6))}, ${EXPIRES_AT}, 7, 'acme', 'Acme',
      ${hex(NONCES.kept)}, 2, 'test');`;

  const ENVIRONMENT = { workspace: "acme", tag: "Testing" } as const;

  /** Puts the database in its place, and returns its credentials. */
  async function restored() {
    const dump = dumpOf(await hashOf(NONCES.key));
    await runInDurableObject(env.GROUP_DIRECTORY.getByName("acme/Testing"), (_, { storage }) => {
      storage.sql.exec(dump);
    });
    await evictDurableObject(env.GROUP_DIRECTORY.getByName("acme/Testing"));
    const ring = await parseSigningKeys(env.SIGNING_KEYS);
    if (!ring.ok) throw new Error(ring.failure);
    const token = (nonce: Uint8Array<ArrayBuffer>) =>
      mintCredential(ring.value, "token", { environment: ENVIRONMENT, id: 7, nonce });
    const key = await mintCredential(ring.value, "api_key", { environment: ENVIRONMENT, id: 1, nonce: NONCES.key });
    return { key, token: await token(NONCES.current), graceToken: await token(NONCES.grace) };
  }

  it("is read by today's directory, with all that is in it", async ({ expect }) => {
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
      { team_id: 7, created_at: "1970-01-01T00:00:01.000Z", updated_at: "1970-01-01T00:00:02.000Z" },
    ]);
    const keys = await call("GET", "/api/keys?workspace=acme&environment=Testing", { credential: operator });
    expect(keys.body.api_keys).toMatchObject([
      { id: 1, name: "backend", access: "write", expires_at: "2090-01-01T00:00:00.000Z", revoked_at: null },
    ]);
  });

  it("goes on: stored responses are repeated, and no number is used again", async ({ expect }) => {
    const { key } = await restored();
    const caller = { id: 1, nonceHash: await hashOf(NONCES.key) };
    const idempotency = { key: bytes(32, 5).buffer, request: bytes(32, 6).buffer, signingId: "test" };
    const options = { graceSeconds: 0, ifMatch: undefined };
    expect(await directory().rotateToken(caller, undefined, options, idempotency)).toMatchObject({
      ok: true,
      value: { teamId: 7, providedId: "acme", name: "Acme", nonce: NONCES.kept.buffer, revision: 2, signingId: "test" },
    });
    const created = await call("GET", "/api/user", { credential: key, body: { user_group_id: "new" } });
    expect(created.body.user_group.team_id).toBe(10);
  });

  it("has the schema that today's directory creates", async ({ expect }) => {
    const columns = () =>
      runInDurableObject(env.GROUP_DIRECTORY.getByName("acme/Testing"), (_, { storage }) =>
        ["migrations", "user_groups", "newest_deleted", "api_keys", "stored_responses"].map((table) =>
          storage.sql.exec("SELECT * FROM pragma_table_info(?)", table).toArray(),
        ),
      );
    await restored();
    const recorded = await columns();
    await runInDurableObject(env.GROUP_DIRECTORY.getByName("acme/Testing"), (_, { storage }) => storage.deleteAll());
    await evictDurableObject(env.GROUP_DIRECTORY.getByName("acme/Testing"));
    await newCaller();
    expect(await columns()).toEqual(recorded);
  });
});
