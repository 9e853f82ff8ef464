/** Backups of a whole deployment: a folder for each, with a file for the registry and one for each environment. */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { CommandError, UsageError } from "../../../common/command-error.ts";
import { explainErrors } from "../support/errors.ts";
import { FOLDER, nameAt, namesBefore } from "./newest-backup.ts";
import { type Place, placeNamed } from "./service-pages.ts";

const REGISTRY_FILE = "registry.ndjson";

/** No workspace has a dot in its name. */
export const fileOf = (place: Place, isEncrypted: boolean): string =>
  (place ? `${place.workspace}.${place.environment}.ndjson` : REGISTRY_FILE) + (isEncrypted ? ".age" : "");

/** Creates a partial folder, and deletes those of earlier runs. `finish` gives the complete folder its name. */
export function beginFolder(folder: string, time: Date) {
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
    abandon: () => rmSync(partial, { recursive: true, force: true }),
  };
}

/** Runs `work` on files of a folder. @throws CommandError for an error of the file system, such as EACCES. */
const inFolder = <Value>(folder: string, work: () => Value): Value =>
  explainErrors(work, (code) => new CommandError(`The folder ${folder} cannot be used: ${code}.`));

/**
 * Deletes all backups but the newest `keep`. `made`, the folder of this run, always stays and counts. Folders without a backup stay, and do not
 * count; the same holds for folders whose time is later than this run's, because one of the two clocks was wrong.
 */
export const prune = (folder: string, keep: number, made: string): { deleted: number; later: string[] } =>
  inFolder(folder, () => {
    const present = basename(made);
    const { backups, later } = backupsIn(folder, present);
    const old = backups.slice(0, -keep);
    for (const name of old) rmSync(join(folder, name), { recursive: true, force: true });
    return { deleted: old.length, later };
  });

const backupsIn = (folder: string, now: string): ReturnType<typeof namesBefore> =>
  namesBefore(
    readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && FOLDER.test(entry.name) && hasBackup(join(folder, entry.name)))
      .map(({ name }) => name),
    now,
  );

/** The files of environments in the complete folders, the newest first: each with its place. */
export function* environmentFilesIn(folder: string): Generator<{ file: string; place: NonNullable<Place> }> {
  const names = inFolder(folder, () => readdirSync(folder)).filter((name) => FOLDER.test(name));
  for (const name of names.toSorted().toReversed())
    for (const file of inFolder(folder, () => readdirSync(join(folder, name)))) {
      const [, workspace, environment] = /^([^.]+)\.([^.]+)\.ndjson(?:\.age)?$/.exec(file) ?? [];
      const place = placeNamed(workspace, environment);
      if (place) yield { file: join(folder, name, file), place };
    }
}

/** Whether `ug backup --all` has made the folder: each of its folders has the registry. */
const hasBackup = (folder: string): boolean => readdirSync(folder).some((name) => name.startsWith(REGISTRY_FILE));

/**
 * The files of the backup at a path: the path of a file, of a folder of `--all`, or of the parent of such folders, whose newest is taken.
 * `folder` is the folder of the files, unless the path is a file. Says on standard error which folder was taken, and which was not: one
 * with a time in the future, which a wrong clock has made.
 *
 * @throws UsageError if there is none.
 */
export function backupAt(path: string): { files: string[]; folder?: string } {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats) throw new UsageError(`There is no file or folder ${JSON.stringify(path)}.`);
  if (!stats.isDirectory()) return { files: [path] };
  const { backups, later } = inFolder(path, () => backupsIn(path, nameAt(new Date())));
  const newest = backups.at(-1);
  const folder = newest === undefined ? path : join(path, newest);
  const files = filesIn(folder);
  if (files.length === 0) throw new UsageError(`The folder ${path} has no backup.`);
  if (folder !== path) console.error(`The newest backup is ${folder}.`);
  if (later.length > 0)
    console.error(`Later than now, so left out: ${later.join(", ")}. The clock is wrong now, or was wrong then.`);
  return { files, folder };
}

/** The backups in a folder. That of the registry is the first: the service needs its record of purged groups for the others. */
function filesIn(folder: string): string[] {
  const names = inFolder(folder, () => readdirSync(folder)).filter((name) => /\.ndjson(\.age)?$/.test(name));
  const isRegistry = (name: string) => name.startsWith(REGISTRY_FILE);
  return [...names.filter(isRegistry), ...names.filter((name) => !isRegistry(name)).toSorted()].map((name) =>
    join(folder, name),
  );
}
