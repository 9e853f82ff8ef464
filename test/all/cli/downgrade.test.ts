import { globSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it, onTestFinished } from "vitest";
import { UserGroupClient } from "../../../client/src/index.ts";
import { newFolder } from "../../support/node/new-folder.ts";
import { startPlainService } from "../../support/node/plain-workerd.ts";

/** As a release writes it that changes the schema so that the release two before it cannot run on it. */
const LATER = "INSERT INTO migrations (level, readable_by, ran_at) VALUES (9001, 9000, 0)";
const UNDONE = "DELETE FROM migrations WHERE level = 9001";

/** Runs a statement on each database of a service that does not run. */
function onEach(state: string, statement: string): void {
  const files = globSync("*/*.sqlite", { cwd: state }).filter((file) => !file.endsWith("metadata.sqlite"));
  for (const file of files) {
    const database = new DatabaseSync(join(state, file));
    database.exec(statement);
    database.close();
  }
}

it("a box that is two releases behind its state refuses calls, says what to run, and changes nothing", async () => {
  const state = newFolder();
  const first = await startPlainService({ state });
  const groupsOf = ({ url }: { url: string }) => new UserGroupClient({ url, apiKey: first.key, retries: 0 });
  await groupsOf(first).ensure({ userGroupId: "kept" });
  await first.stop();
  onEach(state, LATER);

  const behind = await startPlainService({ state, secrets: first.secrets, isBare: true });
  await expect(groupsOf(behind).ensure({ userGroupId: "refused" })).rejects.toMatchObject({
    status: 503,
    code: "service_not_configured",
  });
  expect(await (await fetch(`${behind.url}/ready`)).json()).toMatchObject({ error: { failed: ["schema"] } });
  expect(behind.log()).toContain("Run the release that has written it, or the one before that.");
  await behind.stop();
  onEach(state, UNDONE);

  const again = await startPlainService({ state, secrets: first.secrets, isBare: true });
  onTestFinished(() => again.stop());
  const ids = (await Array.fromAsync(groupsOf(again).list())).map(({ userGroupId }) => userGroupId);
  expect(ids).toEqual(["kept"]);
  onTestFinished(() => rmSync(state, { recursive: true, force: true }));
});
