import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, it, onTestFinished } from "vitest";
import { type Outcome, outcomeOf, runCommand } from "../support/node/commands.ts";
import { newFolder } from "../support/node/new-folder.ts";
import { startPlainService } from "../support/node/plain-workerd.ts";
import { runIn, waitUntil } from "../support/node/service.ts";
import { standIn } from "../support/node/stand-in.ts";

const { url, folder, operatorToken } = inject("service");
const WHERE = ["--workspace", "keys-command", "--environment", "untagged"];

const keys = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Outcome> => runCommand("keys", args, env);

it("calls the service at SERVICE_URL, unless --url names another", async () => {
  const where = ["--workspace", "keys-service-url", "--environment", "Testing"];
  const elsewhere = { SERVICE_URL: "http://localhost:1" };
  const insecure = { SERVICE_URL: "http://192.0.2.1" };
  expect((await keys(["issue", ...where, "--create", "--name", "k"], { SERVICE_URL: url })).status).toBe(0);
  expect((await keys(["list", ...where], elsewhere)).stderr).toContain("http://localhost:1 cannot be reached");
  expect((await keys(["list", ...where, "--url", url], elsewhere)).status).toBe(0);
  expect((await keys(["list", ...where], insecure)).stderr).toContain("Give SERVICE_URL as https://");
});

it("issues, lists, rolls and revokes, as JSON and as a table", async () => {
  const options = "--create --name backend --access read --expires-in 90d --json".split(" ");
  const issued = await keys(["issue", ...WHERE, ...options]);
  expect(issued.status).toBe(0);
  const { api_key: apiKey, key } = JSON.parse(issued.stdout);
  expect(apiKey).toMatchObject({ id: 1, environment: null, name: "backend", access: "read", last_used_at: null });
  expect(Date.parse(apiKey.expires_at) - Date.parse(apiKey.created_at)).toBe(90 * 24 * 60 * 60 * 1000);
  expect(key).toMatch(/^ugk_untagged_/);

  const rolled = await keys(["roll", "1", ...WHERE, "--grace", "1h"]);
  expect(rolled.stdout).toMatch(
    /^id +name +access .*\n2 +backend +read .*\n\nThe key, shown this once:\n\nugk_untagged_[\w-]+$/,
  );
  const unconfirmed = await keys(["revoke", "2", ...WHERE]);
  expect([unconfirmed.status, unconfirmed.stdout]).toEqual([1, ""]);
  expect(unconfirmed.stderr).toContain('This would revoke key 2 "backend" of keys-command/untagged');
  expect(await keys(["revoke", "2", ...WHERE, "--yes"])).toEqual({
    status: 0,
    stdout: 'Revoked key 2 "backend" of keys-command/untagged.',
    stderr: `At ${url}: revoke key 2 "backend" of keys-command/untagged.`,
  });

  const listed = JSON.parse((await keys(["list", ...WHERE, "--json"])).stdout).api_keys;
  expect(listed.map(({ revoked_at: revokedAt }: { revoked_at: string }) => Date.parse(revokedAt) > Date.now())).toEqual(
    [true, false],
  );
  const table = (await keys(["list", ...WHERE])).stdout;
  expect(table.split("\n")).toHaveLength(3);
  expect(table).not.toContain("ugk_");
});

it("issues a key with scopes alone, and shows them in place of the access", async () => {
  const where = ["--workspace", "keys-scopes", "--environment", "Testing"];
  const options = "--create --name pages --scopes groups:read,tokens:read --json".split(" ");
  const issued = await keys(["issue", ...where, ...options]);
  expect(JSON.parse(issued.stdout).api_key).toMatchObject({ access: null, scopes: ["groups:read", "tokens:read"] });
  expect((await keys(["list", ...where])).stdout).toMatch(/^id .*\n1 +pages +groups:read,tokens:read +/);
});

it("creates an environment only with --create", async () => {
  const where = ["--workspace", "keys-created", "--environment", "Testing"];
  const mistaken = await keys(["issue", ...where, "--name", "x", "--json"]);
  expect([mistaken.status, JSON.parse(mistaken.stdout).error.code]).toEqual([1, "environment_not_found"]);
  expect((await keys(["issue", ...where, "--name", "x", "--create"])).status).toBe(0);
  expect((await keys(["issue", ...where, "--name", "y"])).status).toBe(0);
});

it.for([
  ["an unknown command", ["destroy"], "Unknown command 'destroy'"],
  ["a command that every object has", ["constructor"], "Unknown command"],
  ["a missing id", ["revoke", ...WHERE], "Missing required argument 'id'"],
  ["an argument too many", ["list", "1", ...WHERE], "Too many arguments"],
  ["an id that is a path", ["revoke", "..", ...WHERE], "Give the number as a positive whole number"],
  ["an id with a leading zero", ["revoke", "01", ...WHERE], "Give the number as a positive whole number"],
  ["an id that is a fraction", ["roll", "1.5", ...WHERE], "Give the number as a positive whole number"],
  ["a text that is not a time", ["issue", ...WHERE, "--name", "x", "--expires-in", "soon"], "Give a time as a number"],
  ["an environment of another name", ["list", ...WHERE.slice(0, 2), "--environment", "null"], "untagged"],
  ["no environment", ["list", ...WHERE.slice(0, 2)], "Give --environment as Customer, Testing or untagged"],
  [
    "an environment that there is not",
    ["list", ...WHERE.slice(0, 2), "--environment", "prod\u202e"],
    'Give --environment as Customer, Testing or untagged, not "prod\\u202e".',
  ],
  ["an unknown option", ["list", ...WHERE, "--nmae", "x"], "Unknown option '--nmae'"],
  ["an option of another command", ["list", ...WHERE, "--name", "x"], "Unknown option '--name'"],
  [
    "an option without its value",
    ["issue", ...WHERE, "--url", url, "--name"],
    "Option '--name <name>' argument missing",
  ],
  ["an option in the place of a value", ["issue", ...WHERE, "--name", "--create"], "--name lacks its value"],
  ["no workspace", ["list", ...WHERE.slice(2)], "Give --workspace as the slug of the workspace"],
  ["no name", ["issue", ...WHERE], "--name"],
  ["an unknown access", ["issue", ...WHERE, "--name", "x", "--access", "all"], "Allowed choices are read, write"],
  ["a URL without TLS", ["list", ...WHERE, "--url", "http://192.0.2.1"], "Give --url as https://"],
  ["a file that is not there", ["list", ...WHERE, "--key-file", "nowhere"], "cannot be read: ENOENT"],
] as const)("refuses %s as wrong usage, with one sentence and status 2", async ([, args, sentence]) => {
  const { status, stdout, stderr } = await keys(args);
  expect([status, stdout, stderr.split("\n").length]).toEqual([2, "", 1]);
  expect(stderr).toContain(sentence);
  const json = await keys([...args, "--json"]);
  expect([json.status, json.stderr]).toEqual([2, ""]);
  expect(JSON.parse(json.stdout)).toEqual({
    success: 0,
    error: { code: "wrong_usage", message: expect.any(String) },
  });
});

it.for([
  ["an environment that is not there", ["list", "--workspace", "keys-typo", "--environment", "Testing"], "environment"],
  ["an unknown key", ["roll", "99", ...WHERE], "This environment has no such API key"],
  [
    "fields that the service refuses",
    ["issue", "--workspace", "X", "--environment", "untagged", "--create", "--name", "x"],
    "workspace: Give a slug",
  ],
  [
    "both access and scopes",
    ["issue", ...WHERE, "--name", "x", "--access", "read", "--scopes", "groups:read"],
    "scopes: ",
  ],
  ["an unknown scope", ["issue", ...WHERE, "--name", "x", "--scopes", "groups:read,all"], "scopes.1: "],
  ["a location of a later key", ["issue", ...WHERE, "--name", "x", "--location", "weur"], "location: "],
  ["a name that is blank", ["issue", ...WHERE, "--name", " "], "name: Give at least one visible character"],
] as const)("passes on that the service refuses %s, with the request", async ([, args, sentence]) => {
  const { status, stdout, stderr } = await keys(args);
  expect([status, stdout]).toEqual([1, ""]);
  expect(stderr).toContain(sentence);
  expect(stderr).toMatch(/ \(request [\w-]{36}\)$/);
  const json = await keys([...args, "--json"]);
  expect([json.status, json.stderr]).toEqual([1, ""]);
  expect(JSON.parse(json.stdout)).toMatchObject({
    success: 0,
    error: { code: expect.stringMatching(/^[a-z_]+$/), message: expect.stringContaining(sentence) },
    request_id: expect.stringMatching(/^[\w-]{36}$/),
  });
});

it("reads a credential from --key-file, and the environment from UG_WORKSPACE and UG_ENVIRONMENT", async () => {
  const file = join(newFolder(), "key");
  writeFileSync(file, `${operatorToken}\n`);
  const named = { UG_WORKSPACE: "keys-command", UG_ENVIRONMENT: "untagged", OPERATOR_KEY: "ugo_wrong" };
  const { status, stdout } = await keys(["list", "--key-file", file, "--json"], named);
  expect([status, JSON.parse(stdout).api_keys.length]).toEqual([0, 2]);
});

it("prints no character that a terminal interprets or hides, and the same JSON", async () => {
  const hidden = "\u001b[2J\u009b31m\u202etxt\u200b\u2028\u{e0041}";
  const apiKey = {
    ...{ id: 1, workspace: "a", environment: null, name: `é ${hidden}`, access: "read", scopes: [hidden] },
    ...{ created_at: "now", expires_at: null, last_used_at: null, revoked_at: null },
  };
  const { url: other } = await standIn(() => ({
    status: 200,
    body: { success: 1, api_keys: [apiKey], next_cursor: null },
  }));
  const print = async (...args: string[]) => (await keys(["list", ...WHERE, "--url", other, ...args])).stdout;

  const table = await print();
  expect(table).toContain("é \\u001b[2J\\u009b31m\\u202etxt\\u200b\\u2028\\udb40\\udc41");
  expect(table).not.toMatch(/[^\P{C}\n]/u);
  const json = await print("--json");
  expect(json).not.toMatch(/[\p{Cc}\p{Zl}]/u);
  expect(JSON.parse(json)).toEqual({ success: 1, api_keys: [apiKey] });
});

it("reports a key that it issued and could not print", async () => {
  const where = ["--workspace", "unseen", "--environment", "Testing"];
  const command = `node -- cli/src/main.ts keys issue ${where.join(" ")} --create --name x --url ${url} >/dev/full`;
  const { status, stderr } = await outcomeOf(runIn(folder, ["sh", "-c", command]));
  expect(status).toBe(1);
  expect(stderr).toContain("Standard output could not be written: ENOSPC. Nobody has seen key 1: revoke it");
  expect((await keys(["revoke", "1", ...where, "--yes"])).status).toBe(0);
});

it.for([
  ["a health check", 200, () => '{"status":"ok"}', "is not the user group service"],
  ["a page", 200, (credential: string) => `<p>${credential}`, "is not the user group service"],
  ["a page that asks for a login", 401, () => "<p>", "is not the user group service"],
  ["a redirect", 302, () => "", "redirects elsewhere"],
  [
    "a gateway that repeats the request",
    404,
    (credential: string) => `{"error":{"message":"No ${credential}"}}`,
    "is not the user",
  ],
  [
    "a service that repeats the request",
    422,
    (credential: string) =>
      `{"success":0,"error":{"code":"invalid_body","message":"No \\u009b${credential}","issues":[]}}`,
    "No \\u009bToken [credential]",
  ],
] as const)("does not take %s for a success, and prints no credential", async ([, status, say, sentence]) => {
  const other = await standIn(({ headers }) => ({ status, body: say(headers.authorization ?? "") }));
  const revoke = ["revoke", "3", ...WHERE, "--url", other.url];
  const { status: exitCode, stdout, stderr } = await keys(revoke, { OPERATOR_TOKEN: "hunter2" });
  expect(exitCode).toBe(sentence.includes("credential") ? 1 : 3);
  expect(stdout).toBe("");
  expect(stderr).toContain(sentence);
  expect(stderr).not.toContain("hunter2");
});

it("reports an OPERATOR_TOKEN that cannot be in a header", async () => {
  const { status, stderr } = await keys(["list", ...WHERE], { OPERATOR_TOKEN: "hunter\n2" });
  expect(status).toBe(1);
  expect(stderr).toBe("error: OPERATOR_TOKEN cannot be in a header: it holds characters other than printable ASCII.");
});

it("reads OPERATOR_TOKEN from the environment before .dev.vars, and prints neither", async () => {
  const refused = await keys(["list", ...WHERE], { OPERATOR_TOKEN: "another-token" });
  expect(refused.status).toBe(1);
  expect(refused.stderr).toContain(
    "refused OPERATOR_TOKEN (unauthenticated). This command takes the key of an operator",
  );
  expect(refused.stderr + refused.stdout).not.toContain("another-token");
  expect((await keys(["list", ...WHERE], { OPERATOR_TOKEN: operatorToken })).status).toBe(0);
});

it.for(["https://groups.invalid", "https://127.0.0.1.groups.invalid"])(
  "sends the bootstrap token of .dev.vars to no other machine, such as %s",
  async (other) => {
    const { status, stderr } = await keys(["list", ...WHERE, "--url", other]);
    expect(status).toBe(1);
    expect(stderr).toBe(
      `error: Set OPERATOR_KEY to the key of an operator of ${other}, or give --key-file. The token in .dev.vars is sent to a service on this machine alone.`,
    );
  },
);

it.for(["http://127.1.2.3:1", "http://[::1]:1", "http://localhost:1"])(
  "sends the bootstrap token of .dev.vars to this machine as %s",
  async (local) => {
    expect((await keys(["list", ...WHERE, "--url", local])).stderr).toContain(`${local} cannot be reached`);
  },
);

it("sends a credential of the environment to the service that --url names", async () => {
  const elsewhere = ["list", ...WHERE, "--url", "https://groups.invalid"];
  for (const name of ["OPERATOR_KEY", "OPERATOR_TOKEN"])
    expect((await keys(elsewhere, { [name]: "hunter2" })).stderr).toContain("https://groups.invalid cannot be reached");
});

it("lists valid keys that nobody uses or that end soon, of all environments", async () => {
  // A service of its own: the shared one has hundreds of environments, each of which is asked in turn.
  const own = await startPlainService();
  onTestFinished(() => own.stop());
  const keys = (args: readonly string[]) =>
    runCommand("keys", args, { SERVICE_URL: own.url, OPERATOR_KEY: own.operatorToken });
  const [unused, ending] = ["keys-filter-a", "keys-filter-b"];
  const issue = (workspace: string, name: string, ...more: string[]) =>
    keys([
      ...`issue --workspace ${workspace} --environment Testing --create --name ${name} --json`.split(" "),
      ...more,
    ]);
  await issue(unused, "lasting");
  await issue(unused, "soon", "--expires-in", "3d");
  await issue(ending, "later", "--expires-in", "90d");
  await issue(ending, "rolled");
  await keys(["roll", "2", "--workspace", ending, "--environment", "Testing", "--grace", "1d"]);
  await issue(ending, "revoked", "--expires-in", "2d");
  await keys(["revoke", "4", "--workspace", ending, "--environment", "Testing", "--yes"]);
  const listed = async (...args: string[]) => {
    const { stdout } = await keys(["list", "--json", ...args]);
    return (JSON.parse(stdout).api_keys as { workspace: string; name: string; id: number }[])
      .filter(({ workspace }) => [unused, ending].includes(workspace))
      .map(({ workspace, name, id }) => `${workspace} ${name} ${id}`);
  };
  expect(await listed("--all", "--ending-within", "14d")).toEqual([`${unused} soon 2`, `${ending} rolled 2`]);
  expect(await listed("--all", "--ending-within", "14d", "--unused-for", "1d")).toEqual([]);
  await waitUntil(
    async () => (await listed("--all", "--unused-for", "1s")).length === 5,
    "all were unused for a second",
  );
  const used = (await issue(unused, "used")).stdout;
  expect((await runCommand("whoami", [], { SERVICE_URL: own.url, API_KEY: JSON.parse(used).key })).status).toBe(0);
  expect(await listed("--workspace", unused, "--environment", "Testing")).toHaveLength(3);
  expect(await listed("--all", "--unused-for", "1s")).not.toContain(`${unused} used 3`);
  expect((await keys(["list", "--all"])).stdout).toMatch(/^workspace +environment +id +name /);
  expect((await keys(["list", "--all", ...WHERE])).status).toBe(2);
});
