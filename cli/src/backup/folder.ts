/** Backups of a whole deployment: a folder for each, with a file for the registry and one for each environment. */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { CommandError } from "../../../common/command-error.ts";
import { systemErrorCode } from "../support/output.ts";
import type { Place } from "./service-pages.ts";

const REGISTRY_FILE = "registry.ndjson";
/** The name of a folder is the time when its backup began, so that names sort by age. */
const FOLDER = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ$/;

/** No workspace has a dot in its name. */
export const fileOf = (place: Place, isEncrypted: boolean): string =>
  (place ? `${place.workspace}.${place.environment}.ndjson` : REGISTRY_FILE) + (isEncrypted ? ".age" : "");

const nameAt = (time: Date): string => `${time.toISOString().slice(0, 19).replaceAll(":", "-")}Z`;

/** Makes a partial folder. `finish` gives it its name, when it is complete. Partial folders of earlier runs are deleted. */
export function beginFolder(folder: string, time: Date): { partial: string; finish: () => string } {
  const name = nameAt(time);
  const partial = join(folder, `.${name}.partial`);
  const complete = join(folder, name);
  if (existsSync(complete)) throw new CommandError(`${complete} is there already. Wait a second.`);
  inFolder(folder, () => {
    for (const left of existsSync(folder) ? readdirSync(folder) : [])
      if (left.startsWith(".") && left.endsWith("Z.partial"))
        rmSync(join(folder, left), { recursive: true, force: true });
    mkdirSync(partial, { recursive: true, mode: 0o700 });
  });
  return {
    partial,
    finish: () => {
      inFolder(folder, () => renameSync(partial, complete));
      return complete;
    },
  };
}

/** Runs `work` on files of a folder. @throws CommandError for an error of the file system, such as EACCES. */
function inFolder<Value>(folder: string, work: () => Value): Value {
  try {
    return work();
  } catch (error) {
    const code = systemErrorCode(error);
    throw code ? new CommandError(`The folder ${folder} cannot be used: ${code}.`) : error;
  }
}

/**
 * Deletes all backups but the newest `keep`: `made`, the folder of this run, is one of them, whatever the clock was at the others. Folders
 * without a backup stay, and do not count. So do those of later than this run, for one of the two clocks was wrong.
 */
export const prune = (folder: string, keep: number, made: string): { deleted: number; later: string[] } =>
  inFolder(folder, () => {
    const present = basename(made);
    const backups = readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && FOLDER.test(entry.name) && hasBackup(join(folder, entry.name)))
      .map(({ name }) => name)
      .toSorted();
    const old = backups.filter((name) => name <= present).slice(0, -keep);
    for (const name of old) rmSync(join(folder, name), { recursive: true, force: true });
    return { deleted: old.length, later: backups.filter((name) => name > present) };
  });

/** Whether `ug backup --all` has made the folder: the registry is in each. */
const hasBackup = (folder: string): boolean => readdirSync(folder).some((name) => name.startsWith(REGISTRY_FILE));

/** The backups in a folder. That of the registry is the first: the service needs its record of purged groups for the others. */
export function filesIn(folder: string): string[] {
  const names = inFolder(folder, () => readdirSync(folder)).filter((name) => /\.ndjson(\.age)?$/.test(name));
  const isRegistry = (name: string) => name.startsWith(REGISTRY_FILE);
  return [...names.filter(isRegistry), ...names.filter((name) => !isRegistry(name)).toSorted()].map((name) =>
    join(folder, name),
  );
}
