import { expect, inject, it } from "vitest";
import { outcomeOf, runCommand } from "../support/node/commands.ts";
import { runIn } from "../support/node/service.ts";
import { standIn } from "../support/node/stand-in.ts";

const { url, folder, operatorToken } = inject("service");
const CREDENTIAL = /ug[kto]_[\w-]{20,}/g;

const operators = (args: readonly string[], env: NodeJS.ProcessEnv = {}) => runCommand("operators", args, env);

it("issues, lists, rolls and revokes, as JSON and as a table", async () => {
  const issued = await operators(["issue", "--name", "carol", "--role", "admin", "--expires-in", "90d", "--json"]);
  expect(issued.status).toBe(0);
  const { success, operator, key } = JSON.parse(issued.stdout);
  expect(success).toBe(1);
  expect(operator).toMatchObject({ name: "carol", role: "admin", last_used_at: null, revoked_at: null });
  expect(Date.parse(operator.expires_at) - Date.parse(operator.created_at)).toBe(90 * 24 * 60 * 60 * 1000);
  expect(key).toMatch(/^ugo_[\w-]{59,100}$/);

  const rolled = await operators(["roll", String(operator.id), "--grace", "1h"]);
  expect(rolled.stdout).toMatch(/^id +name +role .*\n\d+ +carol +admin .*\n\nThe key, shown this once:\n\nugo_[\w-]+$/);
  const successor = Number(/\n(\d+) /.exec(rolled.stdout)?.[1]);
  expect(successor).toBeGreaterThan(operator.id);
  const unconfirmed = await operators(["revoke", String(successor)]);
  expect([unconfirmed.status, unconfirmed.stdout]).toEqual([1, ""]);
  expect(unconfirmed.stderr).toContain(`This would revoke operator ${successor} "carol", admin`);
  expect(await operators(["revoke", String(successor), "--yes"])).toEqual({
    status: 0,
    stdout: `Revoked operator ${successor} "carol", admin.`,
    stderr: `At ${url}: revoke operator ${successor} "carol", admin.`,
  });

  const listed: { id: number; revoked_at: string }[] = JSON.parse(
    (await operators(["list", "--json"])).stdout,
  ).operators;
  const ended = [operator.id, successor].map((id) => listed.find((one) => one.id === id)?.revoked_at ?? "");
  expect(ended.map((at) => Date.parse(at) > Date.now())).toEqual([true, false]);
  expect((await operators(["list"])).stdout).toMatch(new RegExp(`^${successor} +carol +admin `, "m"));
});

it("issues an operator without a key, who is listed with the email and is never rolled", async () => {
  const issued = await operators(["issue", "erin", "--email", "Erin@example.com", "--no-key", "--json"]);
  const { operator, ...others } = JSON.parse(issued.stdout);
  expect(operator).toMatchObject({ name: "erin", role: "viewer", email: "erin@example.com", has_key: false });
  expect(others).toEqual({ success: 1 });
  const listed = await operators(["list"]);
  expect(listed.stdout).toMatch(/^id +name +role +email +key +created_at/);
  expect(listed.stdout).toMatch(/^\d+ +erin +viewer +erin@example\.com +no key +/m);

  const taken = await operators(["issue", "other", "--email", "ERIN@example.com"]);
  expect([taken.status, taken.stderr]).toEqual([1, expect.stringContaining("has this email")]);
  const rolled = await operators(["roll", String(operator.id)]);
  expect([rolled.status, rolled.stderr]).toEqual([1, expect.stringContaining("has no key to roll")]);
  await operators(["revoke", String(operator.id), "--yes"]);
  const again = await operators(["issue", "erin", "--email", "erin@example.com"]);
  expect(again.stdout).toMatch(/erin@example\.com +yes .*\n\nThe key, shown this once:\n\nugo_[\w-]+$/);
});

it("prints no credential but the one it issues, and that one once", async () => {
  const { stdout, stderr } = await operators(["issue", "--name", "dan", "--role", "viewer"]);
  const [key = "", ...others] = stdout.match(CREDENTIAL) ?? [];
  expect(key).toMatch(/^ugo_/);
  expect([others, stderr]).toEqual([[], ""]);
  for (const args of [["list"], ["list", "--json"], ["revoke", "999999"]])
    expect(Object.values(await operators(args, { OPERATOR_KEY: key })).join("\n")).not.toMatch(CREDENTIAL);
});

it.for([
  ["a missing id", ["roll"], "Missing required argument 'id'", 2],
  ["an id that is a path", ["revoke", "../keys/1"], "Give the number as a positive whole number", 2],
  ["no name", ["issue", "--role", "admin"], "Give the name of the operator once", 2],
  ["two names", ["issue", "x", "--name", "x"], "Give the name of the operator once", 2],
  ["neither key nor email", ["issue", "x", "--no-key"], "Give --email with --no-key", 2],
  ["an email that is none", ["issue", "x", "--email", "ada"], "email: Give an address such as ada@example.com", 1],
  ["an unknown role", ["issue", "--name", "x", "--role", "root"], "Allowed choices are viewer, support, admin", 2],
  ["the name of the bootstrap token", ["issue", "--name", "bootstrap", "--role", "admin"], "name: ", 1],
  ["an unknown operator", ["revoke", "999999", "--yes"], "no such operator", 1],
  ["a role for a command without one", ["list", "--role", "admin"], "Unknown option '--role'", 2],
  ["a service that is not there", ["list", "--url", "http://localhost:1"], "cannot be reached", 3],
] as const)("refuses %s with one sentence and a status", async ([, args, sentence, expected]) => {
  const { status, stdout, stderr } = await operators(args);
  expect([status, stdout, stderr.split("\n").length]).toEqual([expected, "", 1]);
  expect(stderr).toContain(sentence);
});

it("revokes the last admin only with --force", async () => {
  const admins = [
    { id: 1, name: "anna", role: "admin", expires_at: null, revoked_at: null },
    { id: 2, name: "ben", role: "admin", expires_at: "2020-01-01T00:00:00Z", revoked_at: null },
    { id: 3, name: "carol", role: "admin", expires_at: null, revoked_at: "2020-01-01T00:00:00Z" },
    { id: 4, name: "dan", role: "support", expires_at: null, revoked_at: null },
  ].map((each) => ({ ...each, created_at: "2019-01-01T00:00:00Z", last_used_at: null }));
  const deleted: string[] = [];
  const { url: other } = await standIn(({ method, path }) => {
    if (method === "DELETE") deleted.push(path);
    return { status: 200, body: { success: 1, ...(method === "GET" && { operators: admins, next_cursor: null }) } };
  });
  const revoke = (...args: string[]) => operators(["revoke", ...args, "--yes", "--json", "--url", other]);
  const refused = await revoke("1");
  expect([refused.status, JSON.parse(refused.stdout).error.code, deleted]).toEqual([1, "last_admin", []]);
  for (const id of ["2", "3", "4"]) expect((await revoke(id)).status).toBe(0);
  expect((await revoke("1", "--force")).status).toBe(0);
  expect(deleted).toEqual(["2", "3", "4", "1"].map((id) => `/api/operators/${id}`));
});

it("reads OPERATOR_KEY before OPERATOR_TOKEN, and names the refused one", async () => {
  const refused = await operators(["list"], { OPERATOR_KEY: "ugo_hunter2", OPERATOR_TOKEN: operatorToken });
  expect(refused.status).toBe(1);
  expect(refused.stderr).toContain("refused OPERATOR_KEY (unauthenticated)");
  expect(refused.stderr).not.toContain("hunter2");
  expect((await operators(["list"], { OPERATOR_KEY: "", OPERATOR_TOKEN: operatorToken })).status).toBe(0);
});

it("reports a key that it issued and could not print", async () => {
  const command = `node -- cli/src/main.ts operators issue --name unseen --role viewer --url ${url} >/dev/full`;
  const { status, stderr } = await outcomeOf(runIn(folder, ["sh", "-c", command]));
  expect(status).toBe(1);
  expect(stderr).toMatch(/could not be written: ENOSPC. Nobody has seen the key of operator \d+: revoke it/);
});
