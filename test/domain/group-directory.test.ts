import { evictAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, it } from "vitest";
import { GroupDirectory } from "../../src/domain/group-directory.ts";
import { Registry } from "../../src/domain/registry.ts";
import type { Answer } from "../support/client.ts";
import { CREDENTIAL_PATTERN } from "../support/credential-pattern.ts";
import { issueOperator, newIntegrator } from "../support/states.ts";
import { inDirectory, inRegistry } from "../support/storage.ts";

/** Makes calls of every kind, and most refusals, with `between` run before each call. */
async function walk(workspace: string, between: () => Promise<unknown>): Promise<Answer[]> {
  const { get, put, rotate, remove } = await newIntegrator({ workspace });
  const answers: Answer[] = [];
  const step = async (call: () => Promise<Answer>) => {
    await between();
    const answer = await call();
    answers.push(answer);
    return answer;
  };
  const tokenIn = ({ body }: Answer): string => body.user_group.token;

  const first = tokenIn(await step(() => get({ user_group_id: "a", properties: { x: 1 }, mapping: { m: "d" } })));
  await step(() => get({ user_group_id: "a" }));
  const etag = (await step(() => put({ user_group_id: "a", name: "A" }))).headers.get("ETag") ?? "";
  await step(() => put({ user_group_id: "a", name: "B" }, { headers: { "If-Match": etag } }));
  await step(() => put({ user_group_id: "a", name: "C" }, { headers: { "If-Match": etag } }));
  const second = tokenIn(await step(() => rotate(first, { grace_seconds: 60 })));
  await step(() => rotate(first));
  await step(() => put({ user_group_id: "a", new_user_group_id: "b", properties: null }));
  await step(() => get({ user_group_id: "a" }));
  await step(() => put({ user_group_id: "a", new_user_group_id: "b" }));
  await step(() => remove(second, { data_source_provided_id: "other" }));
  await step(() => remove(second, { data_source_provided_id: "d" }));
  await step(() => remove(second));
  await step(() => get({ user_group_id: "b" }));
  return answers;
}

it("gives the same answers whether or not it is evicted between calls", async ({ expect }) => {
  const comparable = (answers: Answer[]) =>
    answers.map(({ status, headers, body }) => ({
      status,
      etag: headers.get("ETag"),
      body: { ...body, request_id: undefined, user_group: { ...body.user_group, token: undefined } },
    }));
  const kept = await walk("kept", async () => undefined);
  const evicted = await walk("evicted", () => evictAllDurableObjects());
  expect(comparable(evicted)).toEqual(comparable(kept));
  expect(kept.map(({ status }) => status)).toEqual([
    200, 200, 200, 200, 412, 200, 409, 200, 200, 409, 409, 200, 404, 200,
  ]);
});

it("is one object for each environment, named after it", async ({ expect }) => {
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

it("stores the nonce of a group token, and only the hash of an API key's nonce", async ({ expect }) => {
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

it("stores of an operator's key only the hash of its nonce", async ({ expect }) => {
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

describe("over RPC no more is shown than the product's verbs", () => {
  it("by a directory", ({ expect }) => {
    expect(Object.getOwnPropertyNames(GroupDirectory.prototype).toSorted()).toEqual([
      "abandonRestore",
      "alarm",
      "backup",
      "checkCaller",
      "constructor",
      "countGroups",
      "endSessions",
      "endSessionsByNumber",
      "ensure",
      "erase",
      "explainViewer",
      "findKeys",
      "hasNoKeys",
      "history",
      "identify",
      "inspect",
      "issueKey",
      "list",
      "listEvents",
      "listKeys",
      "listNewestEvents",
      "overview",
      "probeDisk",
      "purge",
      "remove",
      "removeByNumber",
      "restore",
      "restorePage",
      "restoreProgress",
      "revokeKey",
      "rollKey",
      "rotateByNumber",
      "rotateToken",
      "search",
      "show",
      "startSession",
      "startSessionByNumber",
      "stopNotingUse",
      "update",
      "updateByNumber",
      "view",
      "viewSession",
    ]);
  });

  it("by the registry", ({ expect }) => {
    expect(Object.getOwnPropertyNames(Registry.prototype).toSorted()).toEqual([
      "abandonRestore",
      "admit",
      "admitForm",
      "alarm",
      "backup",
      "bury",
      "checkStorage",
      "constructor",
      "endConsoleSessions",
      "eraseEnvironment",
      "findOperators",
      "issueOperator",
      "issueOperatorWithEmail",
      "listConsoleSessions",
      "listEnvironments",
      "listEvents",
      "listNewestEvents",
      "listOperators",
      "neighbours",
      "noteRestored",
      "probeDisk",
      "purgedAmong",
      "recordEnvironment",
      "restorePage",
      "restoreProgress",
      "revokeOperator",
      "rollOperator",
      "startConsoleSession",
      "stopNotingUse",
    ]);
  });
});
