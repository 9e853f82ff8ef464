import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { expect, inject, it } from "vitest";
import { CREDENTIAL_PATTERN } from "../support/credential-pattern.ts";
import { call } from "../support/node/client.ts";

const { folder, key, logFile } = inject("service");
const operatorKey = readFileSync(join(folder, ".demo-keys/default.operator"), "utf8").trim();
const CREDENTIALS = new RegExp(CREDENTIAL_PATTERN, "g");

/** The bytes of every file of the local state, except of files that SQLite deletes in the meantime. */
const state = () =>
  readdirSync(join(folder, ".ug"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .flatMap((file) => {
      try {
        return [{ file, bytes: readFileSync(file) }];
      } catch (error) {
        if (existsSync(file)) throw error;
        return [];
      }
    });

it("after all tests no file of the local state holds a credential or a secret", async () => {
  const { token } = (await call("GET", "/api/user", { user_group_id: "at rest" })).body.user_group;
  // Calls with credentials in wrong places.
  for (const path of [`/${token}`, `/api/user/${key}`, `/api/viewer?token=${token}`]) await call("POST", path, {});
  const secrets = Object.values(parseEnv(readFileSync(join(folder, ".dev.vars"), "utf8"))).map((value) =>
    String(value).replace(/^k1:/, ""),
  );
  const macs = [token, key].map((credential) =>
    Buffer.from(credential.split("_").slice(2).join("_"), "base64url").subarray(-16),
  );
  const files = state();
  const stored = Buffer.concat(files.map(({ bytes }) => bytes));

  expect(stored.includes("at rest")).toBe(true);
  expect(files.filter(({ bytes }) => bytes.toString("latin1").match(CREDENTIALS)).map(({ file }) => file)).toEqual([]);
  for (const secret of secrets) expect(stored.includes(secret)).toBe(false);
  for (const secret of secrets) expect(stored.includes(Buffer.from(secret, "base64"))).toBe(false);
  for (const mac of macs) expect(stored.includes(mac)).toBe(false);
});

it("after all tests no log line holds a credential, except the keys of npm start", () => {
  const log = readFileSync(logFile, "utf8");
  expect(log).toContain('"path":"/api/user"');
  expect(new Set(log.match(CREDENTIALS))).toEqual(new Set([key, operatorKey]));
});
