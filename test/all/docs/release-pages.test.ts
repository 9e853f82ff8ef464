import { closeSync, globSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { newFolder } from "../../support/node/new-folder.ts";
import { examplesOf, expectPasted } from "../../support/node/pasted-pages.ts";
import { endGroup, runIn, waitUntil } from "../../support/node/service.ts";
import { stageRelease } from "../../support/node/staged-release.ts";

const PAGES = globSync("docs/operators/*.md").filter((page) => examplesOf(page).length > 0);

it("operators can paste each page with the file of a release alone, in an empty folder", async () => {
  const release = join(newFolder(), "release");
  stageRelease(process.cwd(), release);
  const folder = newFolder();
  // In place of this machine's own Node, which a box need not have.
  const none = newFolder();
  writeFileSync(join(none, "node"), '#!/bin/sh\necho "node: command not found" >&2\nexit 127\n', { mode: 0o755 });
  const path = `${join(release, "bin")}:${none}:/usr/sbin:/usr/bin:/sbin:/bin`;
  const logFile = join(newFolder(), "service.log");
  const log = openSync(logFile, "w");
  const child = runIn(folder, ["ug", "serve", "--demo", "--port", "0"], { PATH: path }, ["ignore", log, log]);
  onTestFinished(() => endGroup(child, "SIGINT"));
  closeSync(log);
  await waitUntil(() => readFileSync(logFile, "utf8").includes("Ctrl-C"), "the demo was ready");
  const [, shown = ""] = /ready at (\S+)/.exec(readFileSync(logFile, "utf8")) ?? [];
  expect(PAGES).toContain("docs/operators/customers.md");
  for (const { command } of PAGES.flatMap(examplesOf)) expect(command).not.toMatch(/\b(?:npm|npx)\b|\b(?:cli|tools)\//);
  for (const page of PAGES)
    await expectPasted(expect, page, { url: shown.replace("localhost", "127.0.0.1"), folder, logFile, path, env: {} });
});
