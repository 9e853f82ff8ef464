import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { sha256 } from "../../../../src/domain/bytes.ts";
import { mintCredential } from "../../../../src/domain/credentials/credential.ts";
import { REGISTRY_NAME } from "../../../../src/domain/placement.ts";
import { backUp, rehashed, restore, restorePage, wipe } from "../../../support/backups.ts";
import { call, codeOf } from "../../../support/client.ts";
import { NOW } from "../../../support/clock.ts";
import { ringOfKeys } from "../../../support/signing-ring.ts";
import { operator } from "../../../support/states.ts";
import { inRegistry } from "../../../support/storage.ts";

const EMAIL = "ada@example.com";

const issue = (fields: object = {}) =>
  call("POST", "/api/operators", {
    credential: operator,
    body: { name: "ada", role: "admin", email: EMAIL, ...fields },
  });
const roll = (id: number, body: object = {}) =>
  call("POST", `/api/operators/${id}/roll`, { credential: operator, body });
const revoke = (id: number) => call("DELETE", `/api/operators/${id}`, { credential: operator });
const list = async () => (await call("GET", "/api/operators", { credential: operator })).body.operators;

describe("an operator with an email", () => {
  it("is issued and listed with it, in lower case, and with a key", async () => {
    const { status, body } = await issue({ email: "Ada@Example.COM" });
    expect([status, body.operator.email, body.operator.has_key]).toEqual([201, EMAIL, true]);
    expect(body.key).toMatch(/^ugo_/);
    expect(await list()).toMatchObject([{ email: EMAIL, has_key: true }]);
    expect((await call("GET", "/api/whoami", { credential: body.key })).status).toBe(200);
  });

  it.for(["ada", "", " ada@example.com", "ada@example.com\n", "\u0430da@example.com", "\u212aate@example.com"])(
    "is refused with %j",
    async (email) => {
      const answer = await issue({ email });
      expect(codeOf(answer)).toEqual([422, "invalid_body"]);
      expect(answer.body.error.issues).toMatchObject([{ path: ["email"] }]);
    },
  );

  it.for([null, 7, ["ada@example.com"], `${"a".repeat(243)}@example.com`])("is refused with %j", async (email) => {
    expect(codeOf(await issue({ email }))).toEqual([422, "invalid_body"]);
    expect(await list()).toEqual([]);
  });

  it("has the longest address that a mail server takes", async () => {
    const email = `${"a".repeat(242)}@example.com`;
    expect((await issue({ email })).body.operator.email).toBe(email);
  });

  it("is refused the role that does not sign in", async () => {
    const { body } = await issue({ role: "backup" });
    expect(body.error.issues).toMatchObject([{ path: ["email"] }]);
  });

  it("is the only one with it while it is valid, however it is spelt", async () => {
    vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
    await issue({ expires_in_seconds: 60 });
    for (const fields of [{}, { email: "ADA@EXAMPLE.COM" }, { key: false }])
      expect(codeOf(await issue(fields))).toEqual([409, "email_taken"]);
    vi.setSystemTime(NOW.getTime() + 60_000);
    const second = await issue({ key: false });
    expect([second.status, codeOf(await issue())]).toEqual([201, [409, "email_taken"]]);
    await revoke(second.body.operator.id);
    expect((await issue()).status).toBe(201);
    expect((await list()).map(({ id, email }: { id: number; email: string }) => [id, email])).toEqual([
      [1, EMAIL],
      [2, EMAIL],
      [3, EMAIL],
    ]);
  });

  it("keeps it when the key is rolled, for the whole grace", async () => {
    await issue();
    const { body } = await roll(1, { grace_seconds: 3600 });
    expect(body.operator).toMatchObject({ id: 2, email: EMAIL, has_key: true });
    expect(codeOf(await issue())).toEqual([409, "email_taken"]);
    await revoke(2);
    expect(codeOf(await issue())).toEqual([409, "email_taken"]);
    await revoke(1);
    expect((await issue()).status).toBe(201);
  });

  it("keeps it for one successor alone, however often the key is rolled in its grace", async () => {
    await issue();
    await roll(1, { grace_seconds: 3600 });
    expect(codeOf(await roll(1, { grace_seconds: 3600 }))).toEqual([409, "email_taken"]);
    expect(await list()).toHaveLength(2);
    await revoke(2);
    expect((await roll(1)).body.operator).toMatchObject({ id: 3, email: EMAIL });
    await revoke(3);
    expect((await issue()).status).toBe(201);
  });

  it("is named by the events of its issue as every operator is", async () => {
    await issue({ key: false, reason: "joined" });
    const { body } = await call("GET", "/api/events", { credential: operator });
    expect(body.events).toMatchObject([
      { type: "operator.issued", operator: { id: 1, name: "ada" }, reason: "joined", actor: { name: "bootstrap" } },
    ]);
    expect(JSON.stringify(body)).not.toContain(EMAIL);
  });
});

describe("an operator without a key", () => {
  it("gets none, and none can be rolled", async () => {
    const { status, body } = await issue({ key: false });
    expect([status, Object.keys(body), body.operator.has_key]).toEqual([201, ["success", "operator"], false]);
    expect(await list()).toMatchObject([{ email: EMAIL, has_key: false }]);
    expect(codeOf(await roll(1))).toEqual([422, "operator_without_key"]);
    expect(await list()).toHaveLength(1);
    await revoke(1);
    expect(codeOf(await roll(1))).toEqual([404, "operator_not_found"]);
  });

  it("needs an email, and a key is true or false", async () => {
    for (const fields of [{ key: false, email: undefined }, { key: null }, { key: "false" }, { key: 0 }]) {
      const answer = await issue(fields);
      expect(answer.body.error.issues).toMatchObject([{ path: ["key"] }]);
    }
    expect((await issue({ key: true, email: undefined })).body.key).toMatch(/^ugo_/);
  });

  it("is admitted by no key that the signing keys can make", async () => {
    await issue({ key: false });
    const ring = await ringOfKeys(env.SIGNING_KEYS);
    const stored = await inRegistry(({ sql }) =>
      sql.exec<{ hash: ArrayBuffer }>("SELECT nonce_hash AS hash FROM operators").one(),
    );
    for (const nonce of [new Uint8Array(16), new Uint8Array(16).fill(255), new Uint8Array(stored.hash).slice(0, 16)]) {
      expect(new Uint8Array(await sha256(nonce))).not.toEqual(new Uint8Array(stored.hash));
      const key = await mintCredential(ring, { kind: "operator_key", id: 1, nonce });
      expect(codeOf(await call("GET", "/api/operators", { credential: key }))).toEqual([401, "unauthenticated"]);
    }
  });
});

describe("a backup of the registry", () => {
  it("brings back each email, and who has no key", async () => {
    await issue({ key: false });
    await issue({ name: "ben", email: "ben@example.com" });
    await issue({ name: "carol", email: undefined });
    const [before, pages] = [await list(), await backUp("")];
    await wipe(REGISTRY_NAME);
    expect((await restore(pages, "")).status).toBe(200);
    expect(await list()).toEqual(before);
    expect(codeOf(await issue())).toEqual([409, "email_taken"]);
    expect(codeOf(await roll(1))).toEqual([422, "operator_without_key"]);
    const next = await issue({ email: undefined });
    expect([next.status, next.body.operator.email]).toEqual([201, null]);
  });

  it("of a release without emails brings back operators without one", async () => {
    await issue({ email: undefined });
    const [page = ""] = await backUp("");
    const old = await rehashed(page, (text) => text.replace('"format":2', '"format":1').replace(',"email":null', ""));
    await wipe(REGISTRY_NAME);
    expect((await restorePage(old, "", "unsigned=true")).status).toBe(200);
    expect(await list()).toMatchObject([{ name: "ada", email: null, has_key: true }]);
  });

  it("with an address that no call takes is refused", async () => {
    await issue();
    const [page = ""] = await backUp("");
    for (const email of ["ADA@example.com", "ada", ""]) {
      const edited = await rehashed(page, (text) => text.replace(`"${EMAIL}"`, `"${email}"`));
      await wipe(REGISTRY_NAME);
      expect(codeOf(await restorePage(edited, "", "unsigned=true"))).toEqual([422, "invalid_backup"]);
    }
  });
});
