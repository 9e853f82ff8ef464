import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, it } from "vitest";
import { OperatorClient, UserGroupClient, ViewerClient } from "../../client/src/index.ts";
import { CREDENTIAL_PATTERN } from "../support/credential-pattern.ts";
import { outcomeOf, runCommand, startCommand } from "../support/node/commands.ts";
import { newFolder } from "../support/node/new-folder.ts";
import { standIn } from "../support/node/stand-in.ts";

const { url, operatorToken } = inject("service");
const bootstrap = new OperatorClient({ url, operatorKey: operatorToken });

/** A workspace with the group acme, and the command for an operator with this text on standard input. */
async function start(workspace: string) {
  const { key: apiKey } = await bootstrap.issueKey({ workspace, environment: "Testing", name: "backend" });
  const client = new UserGroupClient({ url, apiKey });
  const { group } = await client.ensure({ userGroupId: "acme", name: "Acme" });
  const { key } = await bootstrap.issueOperator({ name: `ada of ${workspace}`, role: "viewer" });
  const why = async (input: string, ...args: string[]) => {
    const child = startCommand("why", args, { OPERATOR_KEY: key });
    child.stdin?.end(input);
    return outcomeOf(child);
  };
  return { apiKey, client, group, why, operatorKey: key };
}

it("explains the credential on standard input, and never prints it", async () => {
  const { client, group, why } = await start("why-credential");
  const { token: session } = await client.mintSession({ userGroupId: "acme", origins: ["https://app.example.com"] });
  expect(await why(`${session}\n`)).toEqual({
    status: 0,
    stdout: `Viewer session of group ${group.teamId} in why-credential/Testing: valid. Nothing refuses it.`,
    stderr: "",
  });
  await client.suspend({ userGroupId: "acme" });
  const refused = await why(`Authorization: Bearer ${session}`, "--origin", "https://evil.example");
  expect([refused.status, refused.stderr]).toEqual([1, ""]);
  expect(refused.stdout).toMatch(
    /^Viewer session of group \d+ in why-credential\/Testing: refused\.\n\norigin_not_allowed\n {2}The session.*\n\nuser_group_suspended, since 20\S+Z, by api_key \d+, "backend"\n {2}The group is suspended/,
  );
  const asJson = await why(group.token ?? "", "--json", "--audience", "acme/Customer");
  expect(JSON.parse(asJson.stdout).credential).toMatchObject({
    kind: "user_group_token",
    valid: false,
    reasons: [{ code: "user_group_suspended", by: { name: "backend" } }, { code: "audience_mismatch" }],
  });
  for (const { stdout, stderr } of [refused, asJson]) expect(stdout + stderr).not.toMatch(CREDENTIAL_PATTERN);
});

it("waits until a slow program, such as a password manager, has written the credential to standard input", async () => {
  const { operatorKey } = await start("why-slow");
  const slowly = async (...[name, ...args]: [string, ...string[]]) => {
    const child = startCommand(name, args, { OPERATOR_KEY: operatorKey });
    // A writer as slow as a person: ug has long tried to read by then.
    setTimeout(() => child.stdin?.end(operatorKey), 1_000);
    return (await outcomeOf(child)).stdout;
  };
  expect(await Promise.all([slowly("why"), slowly("whoami", "--key-file", "-")])).toEqual([
    expect.stringMatching(/^Operator \d+: valid/),
    expect.stringContaining("ada of why-slow"),
  ]);
});

it("says of a text that is no credential of the service that it is unknown", async () => {
  const { why } = await start("why-unknown");
  const { status, stdout } = await why("\u2028hunter2\u202e\n");
  expect([status, stdout.split("\n")[0]]).toEqual([1, "Unknown credential: refused."]);
  expect(stdout).not.toContain("hunter2");
});

it("explains the state of a group by its number or its id", async () => {
  const { client, group, apiKey } = await start("why-group");
  const why = (...args: string[]) => runCommand("why", args, { API_KEY: apiKey });
  const title = `Group ${group.teamId}, "acme", named "Acme"`;
  expect(await why("acme")).toMatchObject({ status: 0, stdout: `${title}: active.\nIt was never viewed.` });
  await new ViewerClient({ url, token: group.token }).view();
  const today = new Date().toISOString().slice(0, 10);
  expect((await why("acme")).stdout).toBe(`${title}: active.\nIt was last viewed on ${today}.`);
  await client.suspendByNumber({ teamId: group.teamId, reason: "un\u202epaid" });
  const suspended = await why(String(group.teamId));
  expect(suspended.status).toBe(1);
  expect(suspended.stdout).toMatch(
    /: suspended\.\nSuspended, since 20\S+Z, by api_key \d+, "backend", because of "un\\u202epaid": its viewers are refused\.\n/,
  );
  await client.removeByNumber({ teamId: group.teamId });
  expect((await why("--id", "acme")).stdout).toMatch(/: deleted\.\nDeleted, since .* by api_key .* restored until 20/);
  const { user_group } = JSON.parse((await why("acme", "--json")).stdout);
  expect(user_group).toMatchObject({ team_id: group.teamId, state: "deleted" });
});

it("refuses what it cannot explain, and says what to do", async () => {
  const { why, apiKey, operatorKey } = await start("why-refused");
  const file = join(newFolder(), "key.txt");
  writeFileSync(file, apiKey);
  for (const [line, input, status, sentence] of [
    [["acme", "--origin", "https://a.example"], "", 2, /--audience and --origin are about a credential/],
    [["--key-file", "-"], operatorKey, 2, /Standard input has the credential to explain/],
    [[], " \n", 2, /Give the credential on standard input/],
    [["--audience", "nowhere"], "x", 1, /does not fit this call|workspace/],
    [["--key-file", file], "x", 1, /This command takes the key of an operator/],
    [[apiKey], "", 2, /An argument looks like a credential/],
    [
      ["nobody", "--workspace", "why-refused", "--environment", "Testing"],
      "",
      1,
      /There is no group with the id "nobody"/,
    ],
    [["--url", "http://127.0.0.1:1"], "x", 3, /cannot be reached|127\.0\.0\.1:1/],
  ] as const) {
    const outcome = await why(input, ...line);
    expect([line, outcome.status]).toEqual([line, status]);
    expect(outcome.stderr).toMatch(sentence);
  }
});

it("escapes what a hostile service answers", async () => {
  const reason = {
    code: "x\u001b[2J",
    message: "m\u202e",
    since: "s\u0007",
    by: { kind: "k\u001b", id: 1, name: "n\u009b" },
  };
  const credential = { kind: "new\u001b", number: 1, audience: "a\u2028", valid: false, reasons: [reason] };
  const other = await standIn(() => ({ status: 200, body: { success: 1, credential } }));
  const { why } = await start("why-hostile");
  const { stdout, status } = await why("x", "--url", other.url);
  expect(status).toBe(1);
  expect(stdout.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}]/u);
});
