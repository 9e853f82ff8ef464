import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { generateX25519Identity, identityToRecipient } from "age-encryption";
import { beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { OperatorClient, UserGroupClient, ViewerClient } from "../../client/src/index.ts";
import { outcomeOf, runCommand, startCommand } from "../support/node/commands.ts";
import { newFolder } from "../support/node/new-folder.ts";
import { keyOfWorkspace } from "../support/node/workspace.ts";

const { url, operatorToken } = inject("service");
const operator = new OperatorClient({ url, operatorKey: operatorToken });
let supportKey = "";
let adminKey = "";
beforeAll(async () => {
  supportKey = (await operator.issueOperator({ name: "restores", role: "support" })).key;
  adminKey = (await operator.issueOperator({ name: "renames", role: "admin" })).key;
});

const CONTENT = { name: "Acme", properties: { plan: "pro", seats: 5 }, mapping: { sales: "w-1" } };

/** An environment of the test's own with the group `acme`, and a backup of it. */
async function start(name: string, backup: readonly string[] = []) {
  const workspace = `restore-${name}`;
  const apiKey = await keyOfWorkspace(workspace);
  const client = new UserGroupClient({ url, apiKey });
  const { group } = await client.ensure({ userGroupId: "acme", ...CONTENT });
  const file = join(newFolder(), "backup.ndjson");
  const where = ["--workspace", workspace, "--environment", "Testing"];
  await runCommand("backup", [file, ...where, ...backup], { OPERATOR_TOKEN: operatorToken });
  const restore = (...args: string[]) =>
    runCommand("restore", [file, "--group", "acme", ...args], { OPERATOR_KEY: adminKey });
  return { client, apiKey, group, file, where, workspace, restore };
}

const contentOf = async (client: UserGroupClient, teamId: number) => {
  const { userGroupId, name, properties, mapping, state } = await client.get({ teamId });
  return { userGroupId, state, content: { name, properties, mapping } };
};
const AS_IT_WAS = { userGroupId: "acme", state: "active", content: CONTENT };

it("shows what would change, and with --yes brings back the content in one change, and keeps the token", async () => {
  const { client, group, restore } = await start("changed");
  await client.update({
    userGroupId: "acme",
    newUserGroupId: "acme-inc",
    name: "\u202e",
    properties: { plan: "free" },
  });
  const before = await contentOf(client, 1);
  const shown = await restore();
  expect([shown.status, shown.stdout]).toEqual([1, ""]);
  expect(shown.stderr.split("\n").slice(0, 5)).toEqual([
    "field             now         in the backup",
    'user_group_id     "acme-inc"  "acme"',
    'name              "\\u202e"    "Acme"',
    'properties.plan   "free"      "pro"',
    "properties.seats  -           5",
  ]);
  expect(shown.stderr).toContain("Nothing was changed. To do it, add --yes.");
  expect(await contentOf(client, 1)).toEqual(before);
  const { status, stdout } = await restore("--yes", "--reason", "overwritten");
  expect([status, stdout]).toEqual([
    0,
    expect.stringContaining("Group 1 is as it was in the backup. Its token is that of now."),
  ]);
  expect(await contentOf(client, 1)).toEqual(AS_IT_WAS);
  expect((await new ViewerClient({ url, token: group.token }).view()).group.name).toBe("Acme");
  const events = await Array.fromAsync(client.history({ teamId: 1 }));
  expect(events.map(({ type, reason }) => [type, reason])).toEqual([
    ["user_group.updated", "overwritten"],
    ["user_group.updated", undefined],
    ["user_group.created", undefined],
  ]);
  expect((await restore()).stdout).toContain("Group 1 is as it was in the backup. Nothing was changed.");
});

it("restores a deleted group, and leaves a suspension as it is", async () => {
  const { client, file } = await start("deleted");
  await client.update({ userGroupId: "acme", name: "Other", suspended: true });
  await client.removeByNumber({ teamId: 1 });
  const bySupport = runCommand("restore", [file, "--group", "acme", "--yes"], { OPERATOR_KEY: supportKey });
  expect((await bySupport).stdout).toContain("It is suspended.");
  expect(await contentOf(client, 1)).toEqual({ ...AS_IT_WAS, state: "suspended" });
});

it("creates a purged group again by an API key of its environment, with a new token that it shows once", async () => {
  const { client, group, file, apiKey, restore } = await start("purged");
  await client.suspend({ userGroupId: "acme" });
  const later = join(newFolder(), "later.ndjson");
  await runCommand("backup", [later, "--workspace", "restore-purged", "--environment", "Testing"], {
    OPERATOR_TOKEN: operatorToken,
  });
  await client.removeByNumber({ teamId: 1 });
  await client.purge({ teamId: 1 });
  expect((await restore("--yes")).stderr).toContain(
    "operators create no groups. Give an API key of restore-purged/Testing",
  );
  const foreign = await keyOfWorkspace("restore-purged-not");
  const by = (key: string, from: string, ...args: string[]) =>
    runCommand("restore", [from, "--group", "acme", "--yes", ...args], { API_KEY: key });
  expect((await by(foreign, file)).stderr).toContain(
    "The backup is of restore-purged/Testing, and the API key of restore-purged-not/Testing",
  );
  const { stdout } = await by(apiKey, later);
  const [, token = ""] = /The new token, shown this once:\n\n(\S+)$/.exec(stdout) ?? [];
  expect(token).not.toBe(group.token);
  expect(await contentOf(client, 2)).toEqual({ ...AS_IT_WAS, state: "suspended" });
  await client.resume({ userGroupId: "acme" });
  expect((await new ViewerClient({ url, token }).view()).group.teamId).toBe(2);
  expect((await by(apiKey, file)).stderr).toContain('Group 2, "acme", named "Acme" has this id now.');
  const second = await by(apiKey, file, "--new-id", "acme-old", "--json");
  expect(JSON.parse(second.stdout)).toMatchObject({
    user_group: { team_id: 3, provided_id: "acme-old" },
    token: expect.any(String),
  });
});

it("changes no other group that has the id, or in another deployment the number", async () => {
  const { client, restore, file } = await start("taken");
  const { createdAt } = await client.get({ teamId: 1 });
  await client.removeByNumber({ teamId: 1 });
  await client.ensure({ userGroupId: "acme", name: "Another" });
  expect((await restore("--yes")).stderr).toContain('Group 2, "acme", named "Another" has this id now.');
  expect((await restore("--yes", "--new-id", "acme-old")).status).toBe(0);
  expect(await contentOf(client, 1)).toEqual({ ...AS_IT_WAS, userGroupId: "acme-old" });

  const before = await Array.fromAsync(client.list());
  writeFileSync(file, readFileSync(file, "utf8").replaceAll(createdAt, "2020-01-31T09:00:00.000Z"));
  expect((await restore("--yes", "--new-id", "elsewhere")).stderr).toContain("Group 1 of the backup is gone");
  expect(await Array.fromAsync(client.list())).toEqual(before);
});

it("finds the group in a folder of several environments, and in an encrypted file", async () => {
  const identity = await generateX25519Identity();
  const key = join(newFolder(), "key");
  writeFileSync(key, identity);
  const one = await start("one", ["--recipient", await identityToRecipient(identity)]);
  const other = await start("other");
  const folder = newFolder();
  writeFileSync(join(folder, "a.ndjson.age"), readFileSync(one.file));
  writeFileSync(join(folder, "b.ndjson"), readFileSync(other.file));
  await one.client.update({ userGroupId: "acme", name: "Other" });
  const restore = (from: string, ...args: string[]) =>
    runCommand("restore", [from, "--group", "acme", "--yes", ...args], { OPERATOR_KEY: supportKey });
  const identified = ["--identity-file", key];
  expect((await restore(folder, ...identified)).stderr).toContain(
    'Groups "acme" are in restore-one/Testing, restore-other/Testing.',
  );
  expect(await restore(folder)).toMatchObject({ status: 2, stderr: expect.stringContaining("--identity-file") });
  expect((await restore(one.file, ...identified, ...other.where)).stderr).toContain(
    "has no backup of restore-other/Testing",
  );
  expect((await restore(folder, ...identified, ...one.where)).status).toBe(0);
  expect(await contentOf(one.client, 1)).toEqual(AS_IT_WAS);
});

it.for([
  ["a group that the backup has not", ["--group", "Acme"], 1, "has no group"],
  ["a group that was deleted by then", ["--group", "gone"], 1, "was deleted before the backup was taken"],
  ["an option of a whole restore", ["--group", "acme", "--rotate-tokens"], 2, "--rotate-tokens: not with --group."],
  ["an option of one group", ["--new-id", "x"], 2, "--new-id: only with --group."],
  ["an environment of a whole restore", ["--workspace", "x", "--environment", "Testing"], 2, "only with --group."],
] as const)("refuses %s", async ([name, args, expected, sentence]) => {
  const { client, file, where } = await start(`no-${name.split(" ").at(-1)}-${args.length}`);
  await client.ensure({ userGroupId: "gone" });
  await client.removeByNumber({ teamId: 2 });
  await runCommand("backup", [file, ...where], { OPERATOR_TOKEN: operatorToken });
  const { status, stdout, stderr } = await runCommand("restore", [file, ...args], { OPERATOR_KEY: supportKey });
  expect([status, stdout, stderr]).toEqual([expected, "", expect.stringContaining(sentence)]);
});

describe("stopped in the middle", () => {
  /** A proxy before the service that handles the changes: it passes them on, or not, and then answers, or not. */
  async function proxyWith(handle: (change: number) => { passes: boolean; answers: boolean }, onChange = () => {}) {
    let changes = 0;
    const server = createServer(async (request, response) => {
      const body = Buffer.concat(await Array.fromAsync(request));
      const isChange = request.method !== "GET";
      if (isChange) changes += 1;
      const { passes, answers } = isChange ? handle(changes) : { passes: true, answers: true };
      if (isChange) onChange();
      if (!passes) return request.socket.destroy();
      const headers = {
        authorization: String(request.headers.authorization),
        "content-type": "application/json",
        ...ifMatch(request),
      };
      const passed = await fetch(url + request.url, {
        method: request.method ?? "",
        headers,
        ...(body.length > 0 && { body: new Uint8Array(body) }),
      });
      if (!answers) return request.socket.destroy();
      const etag = passed.headers.get("etag");
      response.writeHead(passed.status, { ...(etag && { etag }) }).end(await passed.text());
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return `http://127.0.0.1:${Object(server.address()).port}`;
  }
  const ifMatch = ({ headers }: { headers: NodeJS.Dict<string | string[]> }): Record<string, string> =>
    headers["if-match"] ? { "if-match": String(headers["if-match"]) } : {};

  /** A group that somebody has overwritten, or deleted too, and its restore by a proxy. */
  async function lost(name: string, isDeleted: boolean) {
    const started = await start(name);
    await started.client.update({ userGroupId: "acme", name: "Other" });
    if (isDeleted) await started.client.removeByNumber({ teamId: 1 });
    const restoreAt = (at: string) =>
      ["restore", [started.file, "--group", "acme", "--yes"], { OPERATOR_KEY: supportKey, SERVICE_URL: at }] as const;
    return { ...started, restoreAt };
  }

  it.for([
    ["before the change", false, { passes: false, answers: false }, 3, "The group is as it was.", "Other"],
    ["after the change", false, { passes: true, answers: false }, 0, "Group 1 is as it was in the backup.", "Acme"],
    [
      "between the undo and the change",
      true,
      { passes: false, answers: false },
      3,
      "Only a part was done: run the command again",
      "Other",
    ],
  ] as const)(
    "by a connection that is lost %s, says what it has left",
    async ([name, isDeleted, outcome, expected, sentence, left]) => {
      const { client, restoreAt, restore } = await lost(name.replaceAll(" ", "-"), isDeleted);
      const all = { passes: true, answers: true };
      const at = await proxyWith((change) => (isDeleted && change === 1 ? all : outcome));
      const { status, stdout, stderr } = await runCommand(...restoreAt(at));
      expect([status, stdout + stderr]).toEqual([expected, expect.stringContaining(sentence)]);
      expect((await client.get({ teamId: 1 })).name).toBe(left);
      expect((await restore("--yes")).status).toBe(0);
      expect(await contentOf(client, 1)).toEqual(AS_IT_WAS);
    },
  );

  it.for(["SIGINT", "SIGKILL"] as const)("by %s, leaves the group as it was or as it became", async (signal) => {
    const { client, restoreAt, restore } = await lost(signal.toLowerCase(), false);
    let stop = () => {};
    const at = await proxyWith(
      () => ({ passes: true, answers: true }),
      () => stop(),
    );
    const child = startCommand(...restoreAt(at));
    stop = () => process.kill(-(child.pid ?? 0), signal);
    const { status, stdout } = await outcomeOf(child);
    expect([status, stdout]).toEqual(
      signal === "SIGINT" ? [0, expect.stringContaining("Group 1 is as it was in the backup.")] : [null, ""],
    );
    expect((await restore("--yes")).status).toBe(0);
    expect(await contentOf(client, 1)).toEqual(AS_IT_WAS);
  });
});
