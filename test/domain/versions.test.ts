import { env } from "cloudflare:workers";
import { describe, it } from "vitest";

/**
 * During a deploy a Worker of one release calls a directory of another. These are the calls of this release, with the fields
 * that its Worker reads. Until 1.0 no release has been deployed: RPC methods may change, and this recording with them. From
 * 1.0 on a recording is never edited: a changed call gets a new name, and the old one stays until no Worker makes it.
 */
describe("the directory takes the recorded calls of 0.3", () => {
  const author = { actor: { kind: "operator", id: null, name: "bootstrap" }, requestId: "request" };
  const bytes = (length: number, value: number) => new Uint8Array(length).fill(value).buffer;

  /** The directory, as a Worker that does not know today's types sees it, with a key. */
  async function newDirectory() {
    // biome-ignore lint/suspicious/noExplicitAny: another release does not know today's types.
    const directory = env.GROUP_DIRECTORY.getByName("acme/Testing") as any;
    const draft = { name: "backend", access: "write", nonceHash: bytes(32, 1), expiresInSeconds: undefined };
    const issued = await directory.issueKey(draft, author);
    return { directory, issued, caller: { id: 1, nonceHash: bytes(32, 1), requestId: "request" } };
  }

  it("issueKey, listKeys, rollKey, revokeKey, checkAccess", async ({ expect }) => {
    const { directory, issued, caller } = await newDirectory();
    const key = { id: 1, name: "backend", access: "write", expiresAt: null, lastUsedAt: null, revokedAt: null };
    expect(issued).toMatchObject({ ok: true, value: { ...key, createdAt: expect.any(Number) } });
    expect(await directory.checkAccess(caller, "write")).toEqual({ ok: true, value: undefined });
    expect(await directory.rollKey(1, 3600, bytes(32, 2), author)).toMatchObject({ ok: true, value: { id: 2 } });
    expect(await directory.listKeys()).toMatchObject([{ id: 1, revokedAt: expect.any(Number) }, { id: 2 }]);
    expect(await directory.revokeKey(1, author)).toEqual({ ok: true, value: undefined });
    expect(await directory.revokeKey(3, author)).toEqual({ ok: false, failure: { code: "api_key_not_found" } });
    expect(await directory.checkAccess(caller, "read")).toEqual({ ok: false, failure: { code: "credential_revoked" } });
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
    expect(await directory.show(caller, 1)).toMatchObject({ ok: true, value: listed });
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

    const idempotency = { key: bytes(32, 3), request: bytes(32, 4), signingId: "k1" };
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
    expect(await directory.remove(caller, newest, {}, undefined)).toEqual({ ok: true, value: { endedLeases: [] } });
    expect(await directory.view(newest, false)).toEqual({ ok: false, failure: { code: "credential_revoked" } });
  });

  it("listEvents", async ({ expect }) => {
    const { directory, caller } = await newDirectory();
    const query = { from: undefined, limit: 10, type: undefined, providedId: undefined };
    const { value } = await directory.listEvents(caller, query);
    expect(value).toMatchObject({
      events: [{ id: 1, type: "api_key.issued", ...author, details: { api_key: { id: 1, name: "backend" } } }],
      next: { incarnation: expect.any(String), after: 1 },
      hasMore: false,
    });
    expect(await directory.listEvents(caller, { ...query, from: value.next })).toMatchObject({ value: { events: [] } });
    expect(await directory.listEvents(caller, { ...query, from: "latest" })).toMatchObject({ value: { events: [] } });
  });
});
