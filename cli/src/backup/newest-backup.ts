/** The newest of the folders that `ug backup --all` has made. Their names are the times at which the backups began. */
import { readdirSync } from "node:fs";
import { attempt } from "../../../common/attempt.ts";

/** The name of a folder, so that names sort by age. */
export const FOLDER = /^(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)Z$/;

/** The names of folders with a backup, the oldest first, split at `now`: a later one was made with a wrong clock. */
export function namesBefore(names: readonly string[], now: string): { backups: string[]; later: string[] } {
  const backups = names.filter((name) => FOLDER.test(name)).toSorted();
  return { backups: backups.filter((name) => name <= now), later: backups.filter((name) => name > now) };
}

/** The name of a folder whose backup begins at this time. */
export const nameAt = (time: Date): string => `${time.toISOString().slice(0, 19).replaceAll(":", "-")}Z`;

/** When the newest backup in a folder began; `undefined` if there is none, or the folder cannot be listed. Only names are read. */
export function newestBackupAt(folder: string, now: Date): Date | undefined {
  const names = attempt(() => readdirSync(folder)) ?? [];
  const newest = namesBefore(names, nameAt(now)).backups.at(-1);
  return newest === undefined ? undefined : new Date(newest.replace(FOLDER, "$1T$2:$3:$4Z"));
}
