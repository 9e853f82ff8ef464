import { inject, it } from "vitest";
import { OperatorClient } from "../../client/src/index.ts";
import { runCommand } from "../support/node/commands.ts";
import { standIn } from "../support/node/stand-in.ts";

const { url, operatorToken } = inject("service");

const environments = (args: readonly string[], env: NodeJS.ProcessEnv = {}) => runCommand("environments", args, env);

it("lists each environment with the location of its first key", async ({ expect }) => {
  const issue = async (...args: string[]) =>
    (await runCommand("keys", ["issue", "--workspace", "environments-command", "--create", "--name", "k", ...args]))
      .status;
  expect(await issue("--environment", "untagged", "--location", "weur")).toBe(0);
  expect(await issue("--environment", "Testing")).toBe(0);

  const { stdout, status } = await environments(["list", "--json"]);
  expect(status).toBe(0);
  const listed = JSON.parse(stdout).environments.filter(
    ({ workspace }: { workspace: string }) => workspace === "environments-command",
  );
  expect(listed).toHaveLength(2);
  expect(listed).toEqual(
    expect.arrayContaining(
      [
        { ...listed[0], workspace: "environments-command", environment: null, location: "weur" },
        { ...listed[0], workspace: "environments-command", environment: "Testing", location: null },
      ].map((one) => ({ ...one, created_at: expect.stringMatching(/Z$/) })),
    ),
  );
  const table = (await environments(["list"])).stdout;
  expect(table).toMatch(/^workspace +environment +location +created_at\n/);
  expect(table).toMatch(/^environments-command +untagged +weur +\S+Z$/m);
  expect(table).toMatch(/^environments-command +Testing +- +\S+Z$/m);
});

it("may be listed by an operator who may only read", async ({ expect }) => {
  const { key } = await new OperatorClient({ url, operatorKey: operatorToken }).issueOperator({
    name: "reader",
    role: "viewer",
  });
  expect((await environments(["list"], { OPERATOR_KEY: key })).status).toBe(0);
});

it("lists all pages", async ({ expect }) => {
  const one = { workspace: "acme", environment: null, location: null, created_at: "now" };
  const { url: other } = await standIn(({ path }) => ({
    status: 200,
    body: {
      success: 1,
      environments: [path.includes("cursor=") ? { ...one, environment: "Testing" } : one],
      next_cursor: path.includes("cursor=") ? null : "second",
    },
  }));
  const { stdout } = await environments(["list", "--json", "--url", other]);
  expect(JSON.parse(stdout)).toEqual({
    success: 1,
    environments: [one, { ...one, environment: "Testing" }],
    next_cursor: null,
  });
});

it.for([
  ["an argument", ["list", "acme"], "Too many arguments"],
  ["an unknown option", ["list", "--workspace", "acme"], "Unknown option '--workspace'"],
] as const)("refuses %s with one sentence and a status", async ([, args, sentence], { expect }) => {
  const { status, stdout, stderr } = await environments(args);
  expect([status, stdout, stderr.split("\n").length]).toEqual([2, "", 1]);
  expect(stderr).toContain(sentence);
});
