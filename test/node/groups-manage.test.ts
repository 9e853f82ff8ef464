import { describe, inject, it } from "vitest";
import { OperatorClient, type Role, type Scope, UserGroupClient, ViewerClient } from "../../src/client/index.ts";
import { CREDENTIAL_PATTERN } from "../support/credential-pattern.ts";
import { type Outcome, runCommand } from "./support/commands.ts";
import { standIn } from "./support/stand-in.ts";

const { url, operatorToken } = inject("service");
const bootstrap = new OperatorClient({ url, operatorKey: operatorToken });
const DAY_MS = 24 * 60 * 60 * 1000;

/** Runs the command, which must print no credential. */
async function runGroups(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Outcome> {
  const outcome = await runCommand("groups", args, env);
  if (CREDENTIAL_PATTERN.test(outcome.stdout + outcome.stderr))
    throw new Error("The command has printed a credential.");
  return outcome;
}

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
  it("suspends and resumes a group, and names the undo", async ({ expect }) => {
    const { groups, viewer, teamId } = await start("groups-suspend");
    const suspended = await groups("suspend", "--id", "acme");
    expect(suspended.stdout).toMatch(/^team_id +provided_id +name +state .*\n\d+ +acme +Acme +suspended /);
    expect(suspended.stdout).toMatch(/Group 1 is suspended\. To undo it: npm run groups -- resume 1$/);
    await expect(viewer.view()).rejects.toMatchObject({ code: "user_group_suspended" });

    const resumed = await groups("resume", String(teamId), "--json");
    expect(JSON.parse(resumed.stdout)).toMatchObject({ success: 1, user_group: { team_id: 1, state: "active" } });
    expect((await viewer.view()).group.userGroupId).toBe("acme");
  });

  it("deletes a group, and restores it with the command that it names", async ({ expect }) => {
    const { groups, viewer, client } = await start("groups-restore");
    const before = (await groups("export")).stdout;
    const deleted = await groups("delete", "1", "--yes");
    const [, until = "", undo = ""] =
      /Group 1 is deleted\. To undo it, until (\S+): npm run groups -- (.*)$/.exec(deleted.stdout) ?? [];
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

  it("restores under another id, and with a new token", async ({ expect }) => {
    const { groups, client, viewer } = await start("groups-restore-taken");
    await groups("delete", "--id", "acme", "--yes");
    await client.ensure({ userGroupId: "acme" });
    expect(await groups("restore", "1")).toEqual({
      status: 1,
      stdout: "",
      stderr: "Another group has this id now. Give the restored one an id of its own with --new-id.",
    });
    const { stdout } = await groups("restore", "--id", "acme", "--new-id", "acme-old", "--rotate-token");
    expect(stdout).toMatch(/\n1 +acme-old +Acme +active /);
    expect(stdout).toContain("Group 1 is restored with a new token. To undo it: npm run groups -- delete 1");
    await expect(viewer.view()).rejects.toMatchObject({ code: "credential_revoked" });
  });

  it("erases a deleted group for good, and no other", async ({ expect }) => {
    const { groups } = await start("groups-purge");
    expect((await groups("purge", "1", "--yes")).stderr).toBe(
      "Group 1 is not deleted. Delete it first: npm run groups -- delete 1",
    );
    await groups("delete", "1", "--yes");
    expect(await groups("purge", "--id", "acme", "--yes")).toEqual({
      status: 0,
      stdout: "Group 1 is purged. This cannot be undone.",
      stderr: "",
    });
    expect((await groups("list", "--state", "deleted", "--json")).stdout).toBe('{"success":1,"user_groups":[]}');
    expect((await groups("restore", "1")).stderr).toMatch(/^There is no group 1 in this environment/);
    expect((await groups("show", "--id", "acme")).stderr).toMatch(/^There is no group with the id "acme"/);
  });

  it("changes nothing without --yes, and names the group", async ({ expect }) => {
    const { groups, client } = await start("groups-yes");
    await client.update({ userGroupId: "acme", name: "\u202e" });
    const named = 'group 1, "acme", named "\\u202e". Nothing was changed. To do it: npm run groups --';
    const stderr = `This would delete ${named} delete 1 --yes`;
    expect(await groups("delete", "--id", "acme")).toEqual({ status: 1, stdout: "", stderr });
    expect((await groups("show", "1")).status).toBe(0);
    await groups("delete", "1", "--yes");
    expect((await groups("purge", "1")).stderr).toBe(`This would purge ${named} purge 1 --yes`);
    expect((await groups("restore", "1")).status).toBe(0);
  });

  it("lists groups by state and prefix, up to a limit", async ({ expect }) => {
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
      /^team_id +provided_id +name +state +created_at +updated_at +deleted_at +purge_at\n3 +gone +gone +deleted .*Z$/,
    );
    const limited = await groups("list", "--limit", "1");
    expect(limited.stdout.split("\n")).toHaveLength(2);
    expect(limited.stderr).toBe("These are the first 1 groups. Give a higher --limit, or use export.");
    expect((await groups("list", "--limit", "2")).stderr).toBe("");
  });

  it("shows a group as a list does, its contents, and a deleted one", async ({ expect }) => {
    const { groups, client } = await start("groups-show");
    const { stdout } = await groups("show", "--id", "acme");
    expect(stdout).toMatch(/\n\nmapping +null\nproperties +\{"region":"eu"\}$/);
    const shown = JSON.parse((await groups("show", "1", "--json")).stdout);
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

  it("names the scope that the key lacks", async ({ expect }) => {
    const { groups } = await start("groups-scopes", ["groups:read", "groups:write"]);
    expect((await groups("suspend", "1")).status).toBe(0);
    const { status, stderr } = await groups("delete", "1", "--yes");
    expect([status, stderr.split("\n").length]).toEqual([1, 1]);
    expect(stderr).toContain("The required scope is groups:delete.");
  });
});

describe("as an operator", () => {
  it("acts in the environment that the options name, within the role", async ({ expect }) => {
    const { as, client } = await start("groups-operator");
    const [support, admin] = await Promise.all([operatorKey("support"), operatorKey("admin")]);
    const undo = "npm run groups -- resume 1 --workspace groups-operator --environment Testing";
    expect((await as(support, "suspend", "--id", "acme")).stdout).toContain(`To undo it: ${undo}`);
    expect((await as(support, "list", "--state", "suspended")).stdout.split("\n")).toHaveLength(2);
    expect((await as(support, "delete", "1", "--yes")).stderr).toContain("The required role is admin.");
    expect((await as(admin, "delete", "1", "--yes")).stdout).toContain("restore 1 --workspace groups-operator");
    expect((await as(support, "restore", "1")).stdout).toMatch(/\n1 +acme +Acme +suspended /);
    expect((await as(admin, "delete", "1", "--yes")).status).toBe(0);
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

  it("does not import or export", async ({ expect }) => {
    const { as } = await start("groups-operator-export");
    const { status, stderr } = await as(operatorToken, "export");
    expect([status, stderr]).toEqual([1, "export does not take --workspace; --help shows which options it takes."]);
  });
});

it.for([
  ["no group", ["show"], "Name one group: by its number, as list shows it, or with --id."],
  ["a number and an id", ["show", "1", "--id", "acme"], "Name one group"],
  [
    "an id in place of the number",
    ["delete", "acme", "--yes"],
    "Give the number of the group as a positive whole number",
  ],
  ["a path", ["purge", "../keys/1", "--yes"], "Give the number of the group as a positive whole number"],
  ["a group for a list", ["list", "1"], "list takes options alone"],
  ["an unknown state", ["list", "--state", "gone"], "Give --state as active, suspended or deleted."],
  [
    "a prefix of deleted groups",
    ["list", "--state", "deleted", "--prefix", "a"],
    "Deleted groups are listed by number",
  ],
  ["a limit that is no number", ["list", "--limit", "all"], "Give --limit as a whole number from 1 to 100000."],
  ["an option of another command", ["suspend", "1", "--yes"], "suspend does not take --yes"],
  ["an environment without its workspace", ["list", "--environment", "Testing"], "Give --workspace"],
] as const)("refuses %s with one sentence and a status", async ([, args, sentence], { expect }) => {
  const { key } = await bootstrap.issueKey({ workspace: "groups-arguments", environment: "Testing", name: "k" });
  const { status, stdout, stderr } = await runGroups(args, { API_KEY: key });
  expect([status, stdout, stderr.split("\n").length]).toEqual([1, "", 1]);
  expect(stderr).toContain(sentence);
});

it("--help shows every command and option", async ({ expect }) => {
  const { stdout } = await runGroups(["--help"], {});
  for (const command of ["list", "show", "suspend", "resume", "delete", "restore", "purge", "import", "export"])
    expect(stdout).toMatch(new RegExp(`^  ${command} `, "m"));
  for (const option of ["id", "prefix", "state", "limit", "new-id", "rotate-token", "yes", "json", "url", "workspace"])
    expect(stdout).toContain(`--${option}`);
});

it("says that a group cannot be restored where nothing is kept", async ({ expect }) => {
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
  const { stdout } = await runGroups(["delete", "4", "--yes", ...where], { OPERATOR_TOKEN: "hunter2" });
  expect(stdout).toContain("Group 4 is deleted. It cannot be restored.");
});
