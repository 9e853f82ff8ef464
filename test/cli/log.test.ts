import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, it } from "vitest";
import { OperatorClient, UserGroupClient } from "../../client/src/index.ts";
import { outcomeOf, runCommand, startCommand } from "../support/node/commands.ts";
import { newFolder } from "../support/node/new-folder.ts";
import { waitUntil } from "../support/node/service.ts";

const { url, operatorToken, logFile } = inject("service");

const log = (...args: string[]) => runCommand("log", args);
const linesOf = ({ stdout }: { stdout: string }) => stdout.split("\n").filter((line) => line !== "");

function fileOf(...lines: (object | string)[]): string {
  const file = join(newFolder(), "service.log");
  writeFileSync(file, lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n"));
  return file;
}

it("answers for one of ten environments whose keys and groups have the same numbers", async () => {
  const operator = new OperatorClient({ url, operatorKey: operatorToken });
  const { key, operator: issued } = await operator.issueOperator({ name: "log", role: "admin" });
  const own = new OperatorClient({ url, operatorKey: key });
  const places = ["a", "b", "c", "d", "e"].flatMap((name) =>
    (["Customer", null] as const).map((environment) => ({ workspace: `log-${name}`, environment })),
  );
  for (const place of places) {
    const client = new UserGroupClient({ url, apiKey: (await own.issueKey({ ...place, name: "k" })).key });
    await client.ensure({ userGroupId: "acme" });
    await client.asViewer({ session: (await client.mintSession({ userGroupId: "acme" })).token }).view();
  }
  const fields = ["--fields", "workspace,environment,path,status"];
  const where = ["--workspace", "log-c", "--environment", "untagged", "--since", "1h", ...fields];
  const line = (path: string, status: number) => `log-c  -  ${path}  ${status}`;
  await waitUntil(
    async () => (await log(logFile, ...where, "--where", "path=/api/viewer")).stdout !== "",
    "the view is in the log",
  );
  const [issue, ensure, mint, view] = [
    line("/api/keys", 201),
    line("/api/user", 200),
    line("/api/viewer_sessions", 201),
    line("/api/viewer", 200),
  ];
  expect(linesOf(await log(logFile, ...where, "--key", "1"))).toEqual([issue, ensure, mint]);
  expect(linesOf(await log(logFile, ...where, "--group", "1"))).toEqual([ensure, mint, view]);
  expect(linesOf(await log(logFile, ...where, "--where", "path=/api/viewer*"))).toEqual([mint, view]);
  const ofOperator = await log(logFile, "--operator", String(issued.id), "--where", "path=/api/keys", ...fields);
  expect(linesOf(ofOperator)).toHaveLength(places.length);
  expect(linesOf(await log(logFile, ...where, "--key", "1", "--until", "1h"))).toEqual([]);
  const env = { UG_WORKSPACE: "log-c", UG_ENVIRONMENT: "untagged" };
  const byVariables = await runCommand("log", [logFile, "--key", "1", ...fields], env);
  expect(linesOf(byVariables)).toEqual([issue, ensure, mint]);
  const everywhere = await runCommand(
    "log",
    [logFile, "--all", "--operator", String(issued.id), "--where", "path=/api/keys", ...fields],
    env,
  );
  expect(linesOf(everywhere)).toHaveLength(places.length);
});

const ENTRY = { time: "2026-01-31T09:00:00.000Z", level: "info", status: 200, path: "/api/user", method: "GET" };

it("prints who called what of which environment, and with --json the line as it was", async () => {
  const entry = {
    ...ENTRY,
    status: 403,
    failure: "insufficient_access",
    key_id: 3,
    team_id: 7,
    workspace: "acme",
    environment: null,
  };
  const file = fileOf(entry, { ...ENTRY, operator: "bootstrap" }, { ...ENTRY, operator: "bootstrap", operator_id: 2 });
  const [first, second] = linesOf(await log(file));
  expect(first).toBe(
    "2026-01-31T09:00:00.000Z  403  GET  /api/user  level=info  failure=insufficient_access  key_id=3  team_id=7  workspace=acme  environment=-",
  );
  expect(second).toContain("operator=bootstrap");
  expect((await log(file, "--where", "status=4*", "--json")).stdout).toBe(JSON.stringify(entry));
  expect(linesOf(await log(file, "--operator", "bootstrap", "--fields", "operator_id"))).toEqual(["-"]);
});

it("goes on past lines that are no lines of the log, and counts them", async () => {
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  const file = fileOf(
    "The user group service is ready",
    '{"time":',
    "null",
    "",
    "x".repeat(2_000_000),
    `2026-01-31T09:00:00Z box ug[7]: ${JSON.stringify({ ...ENTRY, client: "a\u2028b\u009b31m" })}`,
    JSON.stringify({ ...ENTRY, problem: 1 }).replace("1}", `${deep}}`),
    { ...ENTRY, time: "soon", client: { a: 1 } },
  );
  const { stdout, stderr, status } = await log(file, "--fields", "client");
  expect([status, stdout.split("\n")]).toEqual([0, ["a\\u2028b\\u009b31m", "-", "-"]]);
  expect(stderr).toBe("Left out: 4 lines that are not of the service's log.");
  const json = await log(file, "--json", "--since", "2026-01-01");
  expect(linesOf(json)).toHaveLength(2);
  expect(linesOf(json)[0]).toBe(JSON.stringify({ ...ENTRY, client: "a_b_31m" }).replace("a_b_", "a\\u2028b\\u009b"));
});

it("reads a pipe as it is written", async () => {
  const child = startCommand("log", ["--where", "status=200", "--fields", "path"]);
  const first = new Promise((resolve) => child.stdout?.once("data", (data) => resolve(String(data))));
  child.stdin?.write(`${JSON.stringify(ENTRY)}\n`);
  expect(await first).toBe("/api/user\n");
  const ended = outcomeOf(child);
  child.stdin?.end();
  expect((await ended).status).toBe(0);
});

it.for([
  ["a key without its environment", ["--key", "3"], "give --workspace and --environment, too."],
  ["a group of a workspace", ["--group", "3", "--workspace", "acme"], "give --workspace and --environment, too."],
  ["a key of all environments", ["--key", "3", "--all"], "give --workspace and --environment, too."],
  ["an environment without its workspace", ["--environment", "Testing"], "Give --workspace as the slug"],
  ["an id of a group", ["--group", "acme"], "ug groups show ID shows the number."],
  ["a condition without a value", ["--where", "status"], "Give --where as FIELD=VALUE"],
  ["a time of no zone", ["--since", "2026-01-31T09:00"], "Give --since as a time with its zone"],
  ["a time after the end", ["--since", "1h", "--until", "2h"], "Give --since as a time before"],
] as const)("refuses %s with status 2", async ([, args, sentence]) => {
  const { status, stdout, stderr } = await log(fileOf(ENTRY), ...args);
  expect([status, stdout, stderr]).toEqual([2, "", expect.stringContaining(sentence)]);
});

it("refuses a file that it cannot read", async () => {
  expect((await log(join(newFolder(), "missing"))).stderr).toContain("The log cannot be read: ENOENT.");
  expect((await log(newFolder())).stderr).toContain("The log is a folder.");
});
