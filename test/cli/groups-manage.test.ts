import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { RotationRecord } from "../../cli/src/groups/rotate-all.ts";
import { OperatorClient, type Role, type Scope, UserGroupClient, ViewerClient } from "../../client/src/index.ts";
import { outcomeOf, runCommand, startCommand, withoutCredential } from "../support/node/commands.ts";
import { newFolder } from "../support/node/new-folder.ts";
import { standIn } from "../support/node/stand-in.ts";

const { url, operatorToken } = inject("service");
const bootstrap = new OperatorClient({ url, operatorKey: operatorToken });
const DAY_MS = 24 * 60 * 60 * 1000;

const runGroups = (args: readonly string[], env: NodeJS.ProcessEnv) =>
  withoutCredential(runCommand("groups", args, env));

/** A workspace of the test's own with the groups `acme` and `acme-2`, and the command with its API key or as an operator. */
async function start(workspace: string, scopes?: Scope[]) {
  const environment = { workspace, environment: "Testing" } as const;
  const { key: apiKey } = await bootstrap.issueKey({ ...environment, name: "backend" });
  const client = new UserGroupClient({ url, apiKey });
  const { group } = await client.ensure({ userGroupId: "acme", name: "Acme", properties: { region: "eu" } });
  await client.ensure({ userGroupId: "acme-2" });
  const given = scopes && (await bootstrap.issueKey({ ...environment, name: "given", scopes })).key;
  const where = ["--workspace", workspace, "--environment", "Testing"];
  return {
    client,
    teamId: group.teamId,
    token: group.token,
    groups: (...args: string[]) => runGroups(args, { API_KEY: given ?? apiKey }),
    as: (operatorKey: string, ...args: string[]) => runGroups([...args, ...where], { OPERATOR_KEY: operatorKey }),
    viewer: new ViewerClient({ url, token: group.token }),
  };
}

const operatorKey = async (role: Role): Promise<string> =>
  (await bootstrap.issueOperator({ name: `groups ${role}`, role })).key;

describe("with an API key", () => {
  it("suspends and resumes a group, and names the undo", async () => {
    const { groups, viewer, teamId } = await start("groups-suspend");
    const suspended = await groups("suspend", "--id", "acme");
    expect(suspended.stdout).toMatch(/^team_id +provided_id +name +state .*\n\d+ +acme +Acme +suspended /);
    expect(suspended.stdout).toMatch(/Group 1 is suspended\. To undo it: ug groups resume 1$/);
    await expect(viewer.view()).rejects.toMatchObject({ code: "user_group_suspended" });

    const resumed = await groups("resume", String(teamId), "--json");
    expect(JSON.parse(resumed.stdout)).toMatchObject({ success: 1, user_group: { team_id: 1, state: "active" } });
    expect((await viewer.view()).group.userGroupId).toBe("acme");
  });

  it("lists groups by name, and those that nobody has viewed", async () => {
    const { groups, client, as } = await start("groups-search");
    await client.ensure({ userGroupId: "zrh", name: "Café Zürich" });
    expect((await groups("list", "--search", "CAFE zur")).stdout).toMatch(
      /^team_id .*\n3 +zrh +Café Zürich +active .*$/,
    );
    const viewer = await operatorKey("viewer");
    const found = await as(viewer, "list", "--search", "zürich", "--json");
    expect(JSON.parse(found.stdout).user_groups).toMatchObject([{ provided_id: "zrh" }]);
    await client.removeByNumber({ teamId: 3 });
    expect((await groups("list", "--prefix", "z", "--state", "deleted")).stdout).toMatch(/\n3 +zrh /);

    const unviewed = async (time: string) =>
      JSON.parse((await groups("list", "--not-viewed-for", time, "--json")).stdout).user_groups;
    expect(await unviewed("30d")).toEqual([]);
    for (const time of ["12h", "30"])
      expect(await groups("list", "--not-viewed-for", time)).toMatchObject({
        status: 2,
        stderr: expect.stringMatching(/such as 30d/),
      });
    const both = await groups("list", "--prefix", "a", "--search", "a");
    expect(both).toMatchObject({ status: 2, stderr: expect.stringMatching(/^Give --prefix or --search, not both/) });
  });

  it("deletes a group, and restores it with the command that it names", async () => {
    const { groups, viewer, client } = await start("groups-restore");
    const before = (await groups("export")).stdout;
    const deleted = await groups("delete", "1");
    const [, until = "", undo = ""] =
      /Group 1 is deleted\. To undo it, until (\S+): ug groups (.*)$/.exec(deleted.stdout) ?? [];
    expect(Math.abs(Date.parse(until) - Date.now() - 30 * DAY_MS)).toBeLessThan(DAY_MS);
    await expect(viewer.view()).rejects.toMatchObject({ code: "credential_revoked" });

    const restored = await groups(...undo.split(" "));
    expect(restored).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("Group 1 is restored with its token."),
    });
    expect((await groups("export")).stdout).toBe(before);
    expect((await viewer.view()).group.name).toBe("Acme");
    expect((await groups("restore", "1")).stdout).toContain("Group 1 is not deleted. Nothing was changed.");
    expect((await Array.fromAsync(client.events({ type: "user_group.restored" }))).length).toBe(1);
  });

  it("restores under another id, and with a new token", async () => {
    const { groups, client, viewer } = await start("groups-restore-taken");
    await groups("delete", "--id", "acme");
    await client.ensure({ userGroupId: "acme" });
    expect(await groups("restore", "1")).toEqual({
      status: 1,
      stdout: "",
      stderr: "Another group has this id now. Give the restored one an id of its own with --new-id.",
    });
    const { stdout } = await groups("restore", "--id", "acme", "--new-id", "acme-old", "--rotate-token");
    expect(stdout).toMatch(/\n1 +acme-old +Acme +active /);
    expect(stdout).toContain("Group 1 is restored with a new token. To undo it: ug groups delete 1");
    await expect(viewer.view()).rejects.toMatchObject({ code: "credential_revoked" });
  });

  it("merges what it updates with --merge, and says why with --reason", async () => {
    const { groups, client } = await start("groups-merge");
    const properties = '{"region":null,"plan":"gold"}';
    const updated = await groups("update", "1", "--merge", "--properties", properties, "--reason", "upgrade", "--json");
    expect(JSON.parse(updated.stdout).user_group.properties).toEqual({ plan: "gold" });
    const suspended = await groups("suspend", "1", "--reason", "unpaid");
    expect(suspended.stdout).toMatch(/ suspended_reason\n.* unpaid\n/);
    for (const command of ["resume", "rotate", "delete", "restore", "delete", "purge"])
      expect(
        await groups(command, "1", "--reason", command, ...(["rotate", "purge"].includes(command) ? ["--yes"] : [])),
      ).toMatchObject({ status: 0 });
    const reasons = (await Array.fromAsync(client.events())).map(({ reason }) => reason);
    const told = ["upgrade", "unpaid", "resume", "rotate", "delete", "restore", "delete", "purge"];
    expect(reasons.filter((reason) => reason !== undefined)).toEqual(told);
  });

  it("creates a group, and changes none that exists", async () => {
    const { groups, client } = await start("groups-create");
    const fields = ["--name", "New Inc.", "--properties", '{"region":"us"}', "--mapping", '{"s":"d"}'];
    const created = await groups("create", "new", ...fields);
    expect([created.status, created.stdout]).toEqual([0, 'Created group 3, "new", named "New Inc.".']);
    const group = await client.get({ teamId: 3 });
    expect(group).toMatchObject({ name: "New Inc.", properties: { region: "us" }, mapping: { s: "d" } });
    const again = await groups("create", "new", "--name", "Other", "--json");
    expect([again.status, JSON.parse(again.stdout).error.code]).toEqual([1, "user_group_exists"]);
    expect((await client.get({ teamId: 3 })).etag).toBe(group.etag);
    expect((await groups("create", "x", "--properties", "[]")).status).toBe(2);
    const { groups: readOnly } = await start("groups-create-read", ["groups:read"]);
    expect((await readOnly("create", "x")).stderr).toContain("Use one with the scope groups:write.");
  });

  it("renames a group, and says how to undo it", async () => {
    const { groups, client } = await start("groups-rename");
    await client.update({ userGroupId: "acme", name: "Ann's \u202e" });
    const renamed = await groups(
      "rename",
      "--id",
      "acme",
      "--name",
      "Acme Inc.",
      "--new-id",
      "acme inc",
      "--reason",
      "merger",
    );
    expect(renamed.stdout).toContain(
      `Group 1, which was group 1, "acme", named "Ann's \\u202e", is renamed. To undo it: ug groups rename 1 --name 'Ann'\\''s \\u202e' --new-id acme`,
    );
    expect((await client.get({ teamId: 1 })).userGroupId).toBe("acme inc");
    expect((await groups("rename", "1", "--new-id", "acme-2")).stderr).toContain("Another group has this id.");
    expect((await groups("rename", "1")).status).toBe(2);
    const reasons = (await Array.fromAsync(client.events())).map(({ reason }) => reason);
    expect(reasons).toContain("merger");
  });

  it("erases a deleted group for good, and no other", async () => {
    const { groups } = await start("groups-purge");
    expect((await groups("purge", "1", "--yes")).stderr).toBe(
      "Group 1 is not deleted. Delete it first: ug groups delete 1",
    );
    await groups("delete", "1");
    expect(await groups("purge", "--id", "acme", "--yes")).toEqual({
      status: 0,
      stdout: 'Purged group 1, "acme", named "Acme". This cannot be undone.',
      stderr: `At ${url}: purge group 1, "acme", named "Acme".`,
    });
    expect((await groups("list", "--state", "deleted", "--json")).stdout).toBe('{"success":1,"user_groups":[]}');
    expect((await groups("restore", "1")).stderr).toMatch(/^There is no group 1 in this environment/);
    expect((await groups("show", "--id", "acme")).stderr).toMatch(/^There is no group with the id "acme"/);
  });

  it("changes nothing without --yes, and names the group", async () => {
    const { groups, client } = await start("groups-yes");
    await client.update({ userGroupId: "acme", name: "\u202e" });
    const named = `group 1, "acme", named "\\u202e", at ${url}. Nothing was changed. To do it: ug groups`;
    await groups("delete", "1");
    expect(await groups("purge", "1")).toEqual({
      status: 1,
      stdout: "",
      stderr: `This would purge ${named} purge 1 --yes`,
    });
    const confirmed = ["purge", "1", "--confirm"];
    expect((await groups(...confirmed, "acme-2")).stderr).toContain(`This would purge ${named} purge 1 --yes`);
    expect((await groups("restore", "1", "--yes")).status).toBe(0);
    await groups("delete", "acme", "--yes");
    expect((await groups(...confirmed, "acme")).stdout).toContain("Purged group 1");
  });

  it("lists groups by state and prefix, up to a limit", async () => {
    const { groups, client } = await start("groups-list");
    await client.suspend({ userGroupId: "acme-2" });
    await client.ensure({ userGroupId: "gone" });
    await client.removeByNumber({ teamId: 3 });
    const idsOf = async (...args: string[]) =>
      JSON.parse((await groups("list", "--json", ...args)).stdout).user_groups.map(
        ({ provided_id: id }: { provided_id: string }) => id,
      );

    expect(await idsOf()).toEqual(["acme", "acme-2"]);
    expect(await idsOf("--state", "active")).toEqual(["acme"]);
    expect(await idsOf("--state", "suspended", "--prefix", "acme")).toEqual(["acme-2"]);
    expect(await idsOf("--state", "deleted")).toEqual(["gone"]);
    expect((await groups("list", "--state", "deleted")).stdout).toMatch(
      /^team_id +provided_id +name +state +created_at +updated_at +last_viewed_on +deleted_at +purge_at\n3 +gone +gone +deleted .*Z$/,
    );
    const limited = await groups("list", "--limit", "1");
    expect(limited.stdout.split("\n")).toHaveLength(2);
    expect(limited.stderr).toBe("These are the first 1 groups. Give a higher --limit, or use export.");
    expect((await groups("list", "--limit", "2")).stderr).toBe("");
  });

  it("shows a group as a list does, its contents, and a deleted one", async () => {
    const { groups, client } = await start("groups-show");
    const { stdout } = await groups("show", "--id", "acme");
    expect(stdout).toMatch(/\n\nmapping +null\nproperties +\{"region":"eu"\}$/);
    const shown = JSON.parse((await groups("show", "1", "--json")).stdout);
    expect(JSON.parse((await groups("show", "acme", "--json")).stdout)).toEqual(shown);
    expect([shown.user_group]).toEqual(JSON.parse((await groups("list", "--limit", "1", "--json")).stdout).user_groups);
    expect(JSON.parse((await groups("export")).stdout.split("\n")[0] ?? "")).toEqual(shown.user_group);
    expect((await groups("show", "--id", "Acme")).status).toBe(1);

    await client.removeByNumber({ teamId: 1 });
    expect((await groups("show", "1")).stdout).toMatch(/ deleted /);
    expect((await groups("show", "--id", "acme")).stdout).toMatch(/ deleted /);
    await client.ensure({ userGroupId: "acme" });
    await client.removeByNumber({ teamId: 3 });
    expect((await groups("show", "--id", "acme")).stderr).toBe(
      "Several deleted groups had this id. Name one by its number: 1, 3.",
    );
  });

  it("names the scope that the key lacks", async () => {
    const { groups } = await start("groups-scopes", ["groups:read", "groups:write"]);
    expect((await groups("suspend", "1")).status).toBe(0);
    const { status, stderr } = await groups("delete", "1");
    expect([status, stderr.split("\n").length]).toEqual([1, 1]);
    expect(stderr).toContain("The required scope is groups:delete.");
  });
});

describe("as an operator", () => {
  it("acts in the environment that the options name, within the role", async () => {
    const { as, client } = await start("groups-operator");
    const [support, admin] = await Promise.all([operatorKey("support"), operatorKey("admin")]);
    const undo = "ug groups resume 1 --workspace groups-operator --environment Testing";
    expect((await as(support, "suspend", "--id", "acme")).stdout).toContain(`To undo it: ${undo}`);
    expect((await as(support, "list", "--state", "suspended")).stdout.split("\n")).toHaveLength(2);
    expect((await as(support, "delete", "1")).stderr).toContain("The required role is admin.");
    expect((await as(admin, "delete", "1")).stdout).toContain("restore 1 --workspace groups-operator");
    expect((await as(support, "restore", "1")).stdout).toMatch(/\n1 +acme +Acme +suspended /);
    expect((await as(admin, "delete", "1")).status).toBe(0);
    expect((await as(admin, "purge", "1", "--yes")).status).toBe(0);

    const events = await Array.fromAsync(client.events({ userGroupId: "acme" }));
    expect(events.map(({ type, actor }) => [type, actor.name]).slice(1)).toEqual([
      ["user_group.suspended", "groups support"],
      ["user_group.deleted", "groups admin"],
      ["user_group.restored", "groups support"],
      ["user_group.deleted", "groups admin"],
      ["user_group.purged", "groups admin"],
    ]);
  });

  it("exports, and does not import", async () => {
    const { as } = await start("groups-operator-export");
    const exported = await as(operatorToken, "export");
    expect(exported.stdout.split("\n").map((line) => JSON.parse(line).provided_id)).toEqual(["acme", "acme-2"]);
    const { status, stderr } = await runGroups(["import", "-"], { UG_WORKSPACE: "x", OPERATOR_KEY: "ugo_x" });
    expect([status, stderr.includes("Set API_KEY in the environment")]).toEqual([1, true]);
  });
});

describe("update", () => {
  it("changes the given fields alone", async () => {
    const { groups } = await start("groups-update");
    const updated = await groups("update", "--id", "acme", "--name", "Acme Inc.", "--mapping", '{"s":"d"}', "--json");
    expect(JSON.parse(updated.stdout).user_group).toMatchObject({
      name: "Acme Inc.",
      mapping: { s: "d" },
      properties: { region: "eu" },
    });
    const cleared = await groups("update", "1", "--properties", "null", "--new-id", "acme-inc", "--json");
    expect(JSON.parse(cleared.stdout).user_group).toMatchObject({ provided_id: "acme-inc", properties: null });
    expect((await groups("update", "1", "--new-id", "acme-2")).stderr).toContain("Another group has this id.");
  });

  it.for([
    ["nothing to change", ["1"], "Give what to change"],
    ["a text that is no JSON", ["1", "--properties", "region=eu"], "Give --properties as a JSON object"],
    ["a list", ["1", "--mapping", "[]"], "Give --mapping as a JSON object"],
    ["a number that cannot be kept", ["1", "--properties", '{"n":12345678901234567890}'], "cannot be kept exactly"],
  ] as const)("refuses %s", async ([, args, sentence]) => {
    const { status, stderr } = await runGroups(["update", ...args], { API_KEY: "ugk_unused" });
    expect([status, stderr.includes(sentence)]).toEqual([2, true]);
  });
});

describe("rotate", () => {
  const progress = () => join(newFolder(), "progress.json");

  it("replaces the token of one group with --yes, and keeps the old one for the grace", async () => {
    const { groups, viewer } = await start("groups-rotate");
    const asked = await groups("rotate", "1", "--grace", "10m");
    expect(asked.status).toBe(1);
    expect(asked.stderr).toContain("To do it: ug groups rotate 1 --grace 600s --yes");
    expect((await groups("rotate", "1", "--grace", "10m", "--yes")).stdout).toContain("Group 1 has a new token.");
    expect((await viewer.view()).group.userGroupId).toBe("acme");
    await groups("rotate", "1", "--yes");
    await expect(viewer.view()).rejects.toMatchObject({ code: "credential_revoked" });
  });

  it("replaces the tokens of all groups once, however often the run is interrupted", async () => {
    const { client, groups } = await start("groups-rotate-all");
    for (let n = 0; n < 30; n += 1) await client.ensure({ userGroupId: `group-${n}` });
    const file = progress();
    const asked = await groups("rotate", "--all", "--progress", file);
    expect([asked.status, asked.stderr]).toEqual([
      1,
      `This would replace the tokens of 32 groups of groups-rotate-all/Testing, at ${url}. Nothing was changed. To do it: ug groups rotate --all --yes`,
    ]);
    // What a run leaves that was killed: some groups are done, and the record knows of none.
    const rotation = { url, workspace: "groups-rotate-all", environment: "Testing", graceSeconds: 0 };
    const record = new RotationRecord(file, rotation, { restart: false, now: new Date() });
    record.save();
    for (const teamId of [1, 2, 9])
      await client.rotateTokenByNumber({ teamId, graceSeconds: 0 }, { idempotencyKey: record.keyOf(teamId) });
    const { status, stdout, stderr } = await groups("rotate", "--all", "--progress", file, "--yes", "--json");
    expect([status, JSON.parse(stdout)]).toEqual([0, { success: 1, rotated: 32, missing: 0 }]);
    expect(stderr).toContain("Continuing the rotation that began at");
    const events = await Array.fromAsync(client.events({ type: "user_group.token_rotated" }));
    expect(events.map(({ group }) => group?.teamId).toSorted((a, b) => Number(a) - Number(b))).toEqual(
      Array.from({ length: 32 }, (_, index) => index + 1),
    );
    expect(existsSync(file)).toBe(false);
  });

  it("stops at Ctrl-C, and continues where it stopped", async () => {
    const rotated: number[] = [];
    const groupOf = (teamId: number) => ({
      ...{
        team_id: teamId,
        provided_id: `g${teamId}`,
        name: "x",
        mapping: null,
        properties: null,
        api_environment_tag: "Testing",
      },
      ...{ state: "active", created_at: "now", updated_at: "now" },
    });
    let onRotated = () => undefined as unknown;
    const { url: other } = await standIn(({ method, path }) => {
      if (path.startsWith("/api/whoami"))
        return {
          status: 200,
          body: {
            success: 1,
            caller: { kind: "api_key", id: 1, name: "k", workspace: "a", environment: "Testing", expires_at: null },
          },
        };
      if (method === "GET")
        return {
          status: 200,
          body: { success: 1, user_groups: Array.from({ length: 40 }, (_, n) => groupOf(n + 1)), next_cursor: null },
        };
      const teamId = Number(/user_groups\/(\d+)\/rotate/.exec(path)?.[1]);
      rotated.push(teamId);
      onRotated();
      return { status: 200, headers: { ETag: '"1.2"' }, body: { success: 1, user_group: groupOf(teamId) } };
    });
    const file = progress();
    const args = ["rotate", "--all", "--yes", "--concurrency", "1", "--progress", file];
    const env = { API_KEY: "key", SERVICE_URL: other };
    const child = startCommand("groups", args, env);
    onRotated = () => rotated.length === 10 && process.kill(-(child.pid ?? 0), "SIGINT");
    const { status, stderr } = await outcomeOf(child);
    expect(status).toBe(1);
    expect(stderr).toContain("Run the same command again to continue.");
    const before = rotated.length;
    expect(before).toBeLessThan(40);
    expect((await runGroups(args, env)).status).toBe(0);
    expect(rotated).toEqual(Array.from({ length: 40 }, (_, n) => n + 1));
    expect(readdirSync(join(file, ".."))).toEqual([]);
  });
});

it.for([
  ["no group", ["show"], "Name one group: by its number or its user_group_id, or with --id.", 2],
  ["a number and an id", ["show", "1", "--id", "acme"], "Name one group", 2],
  ["an id that no group has", ["delete", "acme"], 'There is no group with the id "acme"', 1],
  ["a path", ["purge", "../keys/1", "--yes"], 'There is no group with the id "../keys/1"', 1],
  ["a group for a list", ["list", "1"], "Too many arguments", 2],
  ["an unknown state", ["list", "--state", "gone"], "Allowed choices are active, suspended, deleted", 2],
  ["a search for accents alone", ["list", "--search", "\u0301"], "This search consists of accents alone", 1],
  ["a limit that is no number", ["list", "--limit", "all"], "Give --limit as a whole number from 1 to 100000.", 2],
  ["an option of another command", ["suspend", "1", "--confirm", "acme"], "Unknown option '--confirm'", 2],
  ["all groups and one", ["rotate", "1", "--all"], "Name one group, or give --all", 2],
  ["an environment without its workspace", ["list", "--environment", "Testing"], "Give --workspace", 2],
] as const)("refuses %s with one sentence and a status", async ([, args, sentence, expected]) => {
  const { key } = await bootstrap.issueKey({ workspace: "groups-arguments", environment: "Testing", name: "k" });
  const { status, stdout, stderr } = await runGroups(args, { API_KEY: key });
  expect([status, stdout, stderr.split("\n").length]).toEqual([expected, "", 1]);
  expect(stderr).toContain(sentence);
});

it("says that a group cannot be restored where nothing is kept", async () => {
  const group = {
    ...{ team_id: 4, provided_id: "a", name: "a", mapping: null, properties: null, api_environment_tag: null },
    ...{ state: "active", created_at: "now", updated_at: "now" },
  };
  const deleted = { ...group, state: "deleted", deleted_at: "now", purge_at: "now" };
  const { url: other } = await standIn(({ method }) => ({
    status: 200,
    headers: { ETag: '"4.1"' },
    body: { success: 1, user_group: method === "GET" ? group : deleted },
  }));
  const where = ["--workspace", "acme", "--environment", "Testing", "--url", other];
  const { stdout } = await runGroups(["delete", "4", ...where], { OPERATOR_TOKEN: "hunter2" });
  expect(stdout).toContain("Group 4 is deleted. It cannot be restored.");
});
