import { expect, it } from "vitest";
import { runCommand } from "../support/node/commands.ts";

const environments = (args: readonly string[], env: NodeJS.ProcessEnv = {}) => runCommand("environments", args, env);

it("lists each environment with the location of its first key", async () => {
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
