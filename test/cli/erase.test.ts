import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { OperatorClient, UserGroupClient } from "../../client/src/index.ts";
import { runCommand } from "../support/node/commands.ts";
import { newFolder } from "../support/node/new-folder.ts";
import { startPlainService } from "../support/node/plain-workerd.ts";
import { waitUntil } from "../support/node/service.ts";

const GROUPS = 300;
const ACME = { workspace: "acme", environment: "Testing" } as const;
/** What no file may hold after the erasing: it stands in ids, names, properties and reasons. */
const MARK = "zebra-crossing";

/** The files below a folder that hold a text. */
const filesWith = (folder: string, text: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => readFileSync(file).includes(text));

async function fill(client: UserGroupClient): Promise<void> {
  const groups = Array.from({ length: GROUPS }, (_, n) => ({
    userGroupId: `${MARK}-${n}`,
    name: `The ${MARK}`,
    properties: { secret: MARK.repeat(20) },
    mapping: { [MARK]: "x" },
  }));
  for (const group of groups) await client.ensure(group);
  await client.removeByNumber({ teamId: 1, reason: MARK });
  await client.removeByNumber({ teamId: 2 });
  await client.purge({ teamId: 2 });
}

describe("an environment that was erased", () => {
  it("leaves no id, name or property in any file of one box, not even before the next restart", async () => {
    const state = newFolder();
    const service = await startPlainService({ state });
    onTestFinished(service.stop);
    const client = new UserGroupClient({ url: service.url, apiKey: service.key });
    await fill(client);
    expect(filesWith(state, MARK)).not.toEqual([]);
    const operator = new OperatorClient({ url: service.url, operatorKey: service.operatorToken });
    await operator.eraseEnvironment({ ...ACME, confirm: "acme/Testing" });
    expect(filesWith(state, MARK)).toEqual([]);
    await expect(client.get({ teamId: 3 })).rejects.toMatchObject({ status: 401 });
  });

  it("is erased to the end, wherever the process is killed", async () => {
    const state = newFolder();
    let service = await startPlainService({ state });
    const { secrets, operatorToken: operatorKey } = service;
    for (let delayMs = 0; delayMs < 24; delayMs += 4) {
      const { url, pid } = service;
      const operator = new OperatorClient({ url, operatorKey, retries: 0 });
      const { key: apiKey } = await operator.issueKey({ ...ACME, name: "backend" });
      await fill(new UserGroupClient({ url, apiKey }));
      const erased = operator.eraseEnvironment({ ...ACME, confirm: "acme/Testing" }).then(
        () => true,
        () => false,
      );
      await new Promise((done) => setTimeout(done, delayMs));
      process.kill(pid, "SIGKILL");
      const isAcknowledged = await erased;
      await service.stop();

      service = await startPlainService({ state, secrets, isBare: true });
      const again = new OperatorClient({ url: service.url, operatorKey });
      const repeated = await again.eraseEnvironment({ ...ACME, confirm: "acme/Testing" }).catch((error) => error.code);
      expect([undefined, "environment_not_found"]).toContain(repeated);
      if (isAcknowledged) expect(repeated).toBe("environment_not_found");
      await waitUntil(() => filesWith(state, MARK).length === 0, "no file had the mark");
      expect(await Array.fromAsync(again.environments())).toEqual([]);
    }
    await service.stop();
  });
});

describe("ug erase", () => {
  const { url, operatorToken } = inject("service");

  it("says what it would do, and erases with the name once more", async () => {
    const operator = new OperatorClient({ url, operatorKey: operatorToken });
    await operator.issueKey({ workspace: "erase-command", environment: "Testing", name: "x" });
    const named = ["--workspace", "erase-command", "--environment", "Testing"];
    for (const wrong of [[], ["--confirm", "erase-command/testing"]]) {
      const refused = await runCommand("erase", [...named, ...wrong]);
      expect(refused.status).toBe(1);
      expect(refused.stderr).toContain("Nothing was changed.");
    }
    const done = await runCommand("erase", [...named, "--confirm", "erase-command/Testing", "--reason", "a typo"]);
    expect([done.status, done.stdout]).toEqual([0, "Erased erase-command/Testing."]);
    const event = (await Array.fromAsync(operator.events({ type: "environment.erased" }))).at(-1);
    expect(event).toMatchObject({ reason: "a typo", environment: { workspace: "erase-command" } });
  });
});
