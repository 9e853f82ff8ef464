import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { GroupDirectory } from "../../src/domain/group-directory.ts";
import { Registry } from "../../src/domain/registry.ts";
import { CREDENTIAL_PATTERN } from "../support/credential-pattern.ts";
import { issueOperator, newIntegrator } from "../support/states.ts";
import { inDirectory, inRegistry } from "../support/storage.ts";
import { words } from "../support/words.ts";

it("is one object for each environment, named after it", async () => {
  for (const [environment, name] of [
    ["Customer", "acme/Customer"],
    ["Testing", "acme/Testing"],
    [null, "acme/untagged"],
  ] as const) {
    const { tokenOf } = await newIntegrator({ environment });
    await tokenOf("acme");
    const count = await runInDurableObject(env.GROUP_DIRECTORY.getByName(name), (_, { storage }) =>
      storage.sql.exec("SELECT count(*) AS groups FROM user_groups").one(),
    );
    expect(count).toEqual({ groups: 1 });
  }
});

/** A stored value as text, bytes in hexadecimal digits. */
const textOf = (value: SqlStorageValue) =>
  value instanceof ArrayBuffer ? new Uint8Array(value).toHex() : String(value);

it("stores the nonce of a group token, and only the hash of an API key's nonce", async () => {
  const { key, rotate, tokenOf } = await newIntegrator();
  const old = await tokenOf("acme", { properties: { a: 1 } });
  const token: string = (await rotate(old, { grace_seconds: 60 })).body.user_group.token;

  const rows = await inDirectory(({ sql }) =>
    ["user_groups", "api_keys"].flatMap((table) => sql.exec(`SELECT * FROM ${table}`).toArray()),
  );

  const stored = rows.flatMap((row) => Object.values(row)).map(textOf);
  expect(rows).toHaveLength(2);
  expect(stored.join("\n")).not.toMatch(CREDENTIAL_PATTERN);
  for (const credential of [key, old, token]) {
    const bytes = Uint8Array.fromBase64(credential.slice("ugk_testing_".length), { alphabet: "base64url" });
    const nonce = bytes.slice(-32, -16);
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", nonce)).toHex();
    expect(stored.includes(nonce.toHex())).toBe(credential !== key);
    expect(stored.includes(hash)).toBe(credential === key);
    expect(stored.join("\n")).not.toContain(bytes.slice(-16).toHex());
  }
});

it("stores of an operator's key only the hash of its nonce", async () => {
  const key = await issueOperator("admin");
  const rows = await inRegistry(({ sql }) =>
    ["operators", "events"].flatMap((table) => sql.exec(`SELECT * FROM ${table}`).toArray()),
  );
  const stored = rows.flatMap((row) => Object.values(row)).map(textOf);
  expect(rows).toHaveLength(2);
  const bytes = Uint8Array.fromBase64(key.slice("ugo_".length), { alphabet: "base64url" });
  const nonce = bytes.slice(-32, -16);
  expect(stored).toContain(new Uint8Array(await crypto.subtle.digest("SHA-256", nonce)).toHex());
  for (const secret of [key, nonce.toHex(), bytes.slice(-16).toHex()]) expect(stored.join("\n")).not.toContain(secret);
});

/** What may be called over RPC. */
const methodsOf = ({ prototype }: { prototype: object }): string[] => Object.getOwnPropertyNames(prototype).toSorted();

describe("over RPC no more is shown than the product's verbs", () => {
  it("by a directory", () => {
    expect(methodsOf(GroupDirectory)).toEqual(
      words(`
      abandonRestore alarm backup checkCaller constructor countGroups endSessions endSessionsByNumber
      ensure erase explainViewer findKeys hasNoKeys history identify inspect issueKey list listEvents
      listKeys listNewestEvents overview probeDisk purge remove removeByNumber restore restorePage
      restoreProgress revokeKey rollKey rotateByNumber rotateToken search show startSession
      startSessionByNumber stopNotingUse update updateByNumber view viewSession`),
    );
  });

  it("by the registry", () => {
    expect(methodsOf(Registry)).toEqual(
      words(`
      abandonRestore admit admitForm alarm backup bury checkStorage constructor endConsoleSessions
      eraseEnvironment findOperators issueOperator issueOperatorWithEmail listConsoleSessions
      listEnvironments listEvents listNewestEvents listOperators neighbours noteRestored probeDisk
      purgedAmong recordEnvironment restorePage restoreProgress revokeOperator rollOperator
      startConsoleSession stopNotingUse`),
    );
  });
});
