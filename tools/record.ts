/**
 * `npm run record`: records this release for the tests of later ones, in `test/releases/<version>`: the calls of a walk with their
 * answers, the databases and the backup at its end, the credentials that must go on, the built Worker, and all promises of stability.md.
 * Run it once for each minor release: a test compares the folder with its hash from then on. Another release promises nothing new.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { adminOf, pagesOf } from "../cli/src/backup/service-pages.ts";
import { bundleOf, SCRIPT, SETTINGS } from "../cli/src/serve/bundle.ts";
import { CommandError } from "../common/command-error.ts";
import project from "../package.json" with { type: "json" };
import { startPlainService } from "../test/support/node/plain-workerd.ts";
import { promises } from "../test/support/node/promises.ts";
import { HASHES, hashOfFolder } from "../test/support/node/releases.ts";
import { walk } from "../test/support/node/walk.ts";
import { runTool } from "./command.ts";

const RELEASES = "test/releases";

async function record(): Promise<void> {
  const folder = join(RELEASES, project.version);
  if (existsSync(folder) || Object.hasOwn(HASHES, project.version))
    throw new CommandError(`${project.version} is recorded. A release is recorded once: raise the version first.`);
  if (!project.version.endsWith(".0"))
    throw new CommandError(
      `${project.version} only corrects a recorded release, whose promises its tests compare it with.`,
    );
  const state = mkdtempSync(join(tmpdir(), "user-group-service-"));
  const service = await startPlainService({ state, isBare: true });
  const { steps, credentials } = await walk(service, { erase: false });
  const backups = {
    "registry.ndjson": undefined,
    "acme-Testing.ndjson": { workspace: "acme", environment: "Testing" },
  };
  const admin = adminOf(new URL(service.url), service.operatorToken);
  mkdirSync(join(folder, "backup"), { recursive: true });
  for (const [name, place] of Object.entries(backups))
    writeFileSync(join(folder, "backup", name), (await Array.fromAsync(pagesOf(admin, place))).join(""));
  await service.stop();

  const json = (value: unknown) => `${JSON.stringify(value, null, 1)}\n`;
  writeFileSync(join(folder, "promises.txt"), `${(await promises()).join("\n")}\n`);
  writeFileSync(join(folder, "calls.json"), json(steps));
  writeFileSync(join(folder, "secrets.json"), json({ secrets: service.secrets, credentials }));
  cpSync(state, join(folder, "state"), { recursive: true, filter: (name) => !/capnp$|lock$/.test(name) });
  mkdirSync(join(folder, "worker"));
  const bundle = bundleOf({ isNew: () => undefined });
  for (const name of [SCRIPT, SETTINGS]) cpSync(join(bundle.folder, name), join(folder, "worker", name));
  rmSync(state, { recursive: true });
  console.info(`Recorded ${folder}. Add it to HASHES in test/support/node/releases.ts:`);
  console.info(`  "${project.version}": "${hashOfFolder(folder)}",`);
}

await runTool(new Command("npm run record").action(record));
