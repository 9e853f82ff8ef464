import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, it, vi } from "vitest";
import { indexSettled, indexSettledByAlarms } from "../support/index-state.ts";
import { newIntegrator } from "../support/states.ts";

/**
 * During a deploy a Worker of one version calls a directory of the other. What stands here was recorded from version 0.1
 * and is not edited: a call that is to change gets a new name, and the old one stays until no Worker makes it.
 */
describe("today's directory takes yesterday's calls", () => {
  it("and gives at least the fields that yesterday's Worker reads", async ({ expect }) => {
    // biome-ignore lint/suspicious/noExplicitAny: yesterday's Worker does not know today's types.
    const directory = env.GROUP_DIRECTORY.getByName("acme/Testing") as any;
    const key = await directory.issueKey({ name: "backend", access: "write", expiresInSeconds: undefined });
    expect(key).toMatchObject({
      id: 1,
      name: "backend",
      access: "write",
      nonce: expect.any(ArrayBuffer),
      createdAt: expect.any(Number),
      expiresAt: null,
      lastUsedAt: null,
      revokedAt: null,
    });
    const caller = { id: key.id, nonce: new Uint8Array(key.nonce) };

    const draft = { providedId: "acme", name: "Acme", mapping: '{"m":"d"}', properties: '{"a":1}' };
    const ensured = await directory.ensure(caller, draft);
    expect(ensured).toMatchObject({ ok: true, value: { created: true, group: { ...draft, teamId: 1, revision: 1 } } });
    const { nonce } = ensured.value.group;
    const current = { id: 1, nonce: new Uint8Array(nonce) };
    expect(await directory.view(current)).toEqual({ ok: true, value: { ...draft, teamId: 1, validUntil: null } });

    const updated = await directory.update(
      caller,
      "acme",
      { newProvidedId: undefined, name: "B", properties: null },
      '"1.1"',
    );
    expect(updated).toMatchObject({
      ok: true,
      value: { teamId: 1, providedId: "acme", name: "B", properties: null, revision: 2 },
    });
    expect(await directory.update(caller, "acme", {}, '"1.1"')).toEqual({
      ok: false,
      failure: { code: "revision_mismatch" },
    });

    const rotated = await directory.rotateToken(caller, current, 60);
    expect(rotated).toMatchObject({ ok: true, value: { teamId: 1, nonce: expect.any(ArrayBuffer), revision: 3 } });
    expect(await directory.rotateToken(caller, current, 0)).toEqual({
      ok: false,
      failure: { code: "token_superseded" },
    });
    expect(await directory.rotateToken(caller, undefined, 0)).toEqual({
      ok: false,
      failure: { code: "user_group_not_found" },
    });
    expect(await directory.view(current)).toMatchObject({ ok: true, value: { validUntil: expect.any(Number) } });

    const newest = { id: 1, nonce: new Uint8Array(rotated.value.nonce) };
    expect(await directory.remove(caller, newest, { providedId: "other", dataSource: undefined })).toEqual({
      ok: false,
      failure: { code: "user_group_mismatch" },
    });
    expect(await directory.remove(caller, newest, {})).toEqual({ ok: true, value: undefined });
    expect(await directory.view(newest)).toEqual({ ok: false, failure: { code: "credential_revoked" } });

    expect(await directory.checkAccess(caller, "write")).toEqual({ ok: true, value: undefined });
    expect(await directory.rollKey(1, 3600)).toMatchObject({
      ok: true,
      value: { id: 2, nonce: expect.any(ArrayBuffer) },
    });
    expect(await directory.listKeys()).toHaveLength(2);
    expect(await directory.revokeKey(1)).toEqual({ ok: true, value: undefined });
    expect(await directory.revokeKey(3)).toEqual({ ok: false, failure: { code: "api_key_not_found" } });
    expect(await directory.checkAccess(caller, "read")).toEqual({ ok: false, failure: { code: "credential_revoked" } });
  });
});

it("today's directory takes the calls of version 0.2: stale viewers, and calls made again", async ({ expect }) => {
  // biome-ignore lint/suspicious/noExplicitAny: yesterday's Worker does not know today's types.
  const directory = env.GROUP_DIRECTORY.getByName("acme/Testing") as any;
  const key = await directory.issueKey({ name: "backend", access: "write", expiresInSeconds: undefined });
  const caller = { id: key.id, nonce: new Uint8Array(key.nonce) };
  const { nonce } = (await directory.ensure(caller, { providedId: "acme" })).value.group;
  const current = { id: 1, nonce: new Uint8Array(nonce) };
  expect(await directory.view(current, true)).toMatchObject({ ok: true, value: { teamId: 1 } });

  const digest = (byte: number) => new Uint8Array(32).fill(byte).buffer;
  const repeatable = { key: digest(1), request: digest(2), signingId: "k1" };
  const rotated = await directory.rotateToken(caller, current, 0, repeatable);
  expect(rotated).toMatchObject({ ok: true, value: { teamId: 1, providedId: "acme", name: "acme", revision: 2 } });
  const again = await directory.rotateToken(caller, current, 0, { ...repeatable, signingId: "k2" });
  const { teamId, providedId, name, revision } = rotated.value;
  expect(again).toEqual({
    ok: true,
    value: { teamId, providedId, name, revision, nonce: rotated.value.nonce, signingId: "k1" },
  });
  const newest = { id: 1, nonce: new Uint8Array(rotated.value.nonce) };
  expect(await directory.remove(caller, newest, {}, repeatable)).toEqual({
    ok: false,
    failure: { code: "idempotency_key_reused" },
  });
  const removal = { ...repeatable, key: digest(3) };
  for (let time = 0; time < 2; time += 1)
    expect(await directory.remove(caller, newest, {}, removal)).toEqual({ ok: true, value: undefined });
});

describe("today's directory takes the calls that came after version 0.1", () => {
  it("list", async ({ expect }) => {
    // biome-ignore lint/suspicious/noExplicitAny: yesterday's Worker does not know today's types.
    const directory = env.GROUP_DIRECTORY.getByName("acme/Testing") as any;
    const key = await directory.issueKey({ name: "backend", access: "write", expiresInSeconds: undefined });
    const caller = { id: key.id, nonce: new Uint8Array(key.nonce) };
    const draft = { providedId: "acme", name: "Acme", mapping: '{"m":"d"}', properties: '{"a":1}' };
    await directory.ensure(caller, draft);
    await directory.ensure(caller, { providedId: "beta" });

    const everything = { after: 0, limit: 1, filter: { providedIdPrefix: "", updatedSince: 0 } };
    const first = await directory.list(caller, everything);
    expect(first).toMatchObject({
      ok: true,
      value: {
        groups: [{ ...draft, teamId: 1, createdAt: expect.any(Number), updatedAt: expect.any(Number) }],
        next: 1,
      },
    });
    expect(await directory.list(caller, { ...everything, after: 1 })).toMatchObject({
      ok: true,
      value: { groups: [{ teamId: 2, providedId: "beta", mapping: null, properties: null }], next: null },
    });
    const filter = { providedIdPrefix: "b", updatedSince: Date.now() + 1000 };
    expect(await directory.list(caller, { ...everything, filter })).toEqual({
      ok: true,
      value: { groups: [], next: null },
    });
    expect(await directory.list({ ...caller, id: 2 }, everything)).toEqual({
      ok: false,
      failure: { code: "unauthenticated" },
    });
  });
});

describe("a database of an older level", () => {
  /** The schema as migration 1 left it, with a group and a key in it. */
  const LEVEL_1 = `
    CREATE TABLE migrations (level INTEGER PRIMARY KEY, ran_at INTEGER NOT NULL) STRICT;
    INSERT INTO migrations VALUES (1, 1);
    CREATE TABLE user_groups (
      team_id INTEGER PRIMARY KEY AUTOINCREMENT, provided_id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, mapping TEXT,
      properties TEXT, nonce BLOB NOT NULL, grace_nonce BLOB, grace_ends_at INTEGER, revision INTEGER NOT NULL,
      created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL) STRICT;
    CREATE TABLE api_keys (
      id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, access TEXT NOT NULL, nonce BLOB NOT NULL,
      created_at INTEGER NOT NULL, expires_at INTEGER, last_used_at INTEGER, revoked_at INTEGER) STRICT;
    INSERT INTO user_groups VALUES (7, 'acme', 'Acme', NULL, '{"a":1}', x'000102030405060708090a0b0c0d0e0f', NULL, NULL, 3, 1, 1);
    INSERT INTO user_groups VALUES (9, 'gone', 'Gone', NULL, NULL, x'00', NULL, NULL, 1, 1, 1);
    DELETE FROM user_groups WHERE team_id = 9;
    INSERT INTO api_keys VALUES (1, 'old', 'write', x'0f0e0d0c0b0a09080706050403020100', 1, NULL, NULL, NULL);`;

  it("is brought to today's when its directory starts, with all that is in it", async ({ expect }) => {
    const directory = env.GROUP_DIRECTORY.getByName("acme/Testing");
    await runInDurableObject(directory, (_, { storage }) => {
      for (const { name } of storage.sql
        .exec<{ name: string }>(
          "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '\\_cf%' ESCAPE '\\'",
        )
        .toArray())
        storage.sql.exec(`DROP TABLE ${name}`);
      storage.sql.exec(LEVEL_1);
    });
    await evictDurableObject(directory);
    // The index was told of every token then. This is what it knew of this one.
    const digest = await crypto.subtle.digest("SHA-256", Uint8Array.fromHex("000102030405060708090a0b0c0d0e0f"));
    await env.TOKEN_INDEX.put(`token:${new Uint8Array(digest).toHex()}`, "{}");

    const { get, rotate } = await newIntegrator();
    const found = await get({ user_group_id: "acme" });
    expect(found.body).toMatchObject({
      new_user_group: false,
      user_group: { team_id: 7, name: "Acme", properties: { a: 1 } },
    });
    expect((await rotate(found.body.user_group.token)).status).toBe(200);
    await indexSettled("acme/Testing");
    expect((await env.TOKEN_INDEX.list()).keys).toEqual([]);
    // 8 was never given out, but lies below a number that was.
    expect((await get({ user_group_id: "new" })).body.user_group.team_id).toBe(10);
    expect(await directory.listKeys()).toMatchObject([{ id: 1, name: "old" }, { id: 2 }]);
  });

  it("has its outbox told when it is of level 5", async ({ expect }) => {
    const directory = env.GROUP_DIRECTORY.getByName("acme/Testing");
    await runInDurableObject(directory, (_, { storage }) => {
      for (const column of ["again_at", "again_version"]) storage.sql.exec(`ALTER TABLE outbox DROP COLUMN ${column}`);
      storage.sql.exec("DELETE FROM migrations WHERE level > 5");
      storage.sql.exec("INSERT INTO outbox VALUES (x'00', 1, 1, 1)");
    });
    const digest = await crypto.subtle.digest("SHA-256", new Uint8Array(1));
    await env.TOKEN_INDEX.put(`token:${new Uint8Array(digest).toHex()}`, "{}");
    vi.useFakeTimers({ now: new Date("2035-01-01T00:00:00.000Z"), toFake: ["Date"] });
    await evictDurableObject(directory);
    await indexSettledByAlarms("acme/Testing");
    expect((await env.TOKEN_INDEX.list()).keys).toEqual([]);
  });
});
