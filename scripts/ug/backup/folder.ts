/** Backups of a whole deployment: a folder for each, with a file for the registry and one for each environment. */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { CommandError } from "../errors.ts";
import type { Place } from "./service-pages.ts";

const REGISTRY_FILE = "registry.ndjson";
/** A folder is named after the time when it was begun, so that their order is that of their names. */
const FOLDER = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ$/;

/** No workspace has a dot in its name. */
export const fileOf = (place: Place, isEncrypted: boolean): string =>
  (place ? `${place.workspace}.${place.environment}.ndjson` : REGISTRY_FILE) + (isEncrypted ? ".age" : "");

const nameAt = (time: Date): string => `${time.toISOString().slice(0, 19).replaceAll(":", "-")}Z`;

/** Begins a folder, which gets its name when it is complete. */
export function beginFolder(folder: string, time: Date): { partial: string; finish: () => string } {
  const name = nameAt(time);
  const partial = join(folder, `.${name}.partial`);
  const complete = join(folder, name);
  if (existsSync(complete)) throw new CommandError(`${complete} is there already. Wait a second.`);
  for (const left of existsSync(folder) ? readdirSync(folder) : [])
    if (left.startsWith(".") && left.endsWith("Z.partial"))
      rmSync(join(folder, left), { recursive: true, force: true });
  mkdirSync(partial, { recursive: true, mode: 0o700 });
  return {
    partial,
    finish: () => {
      renameSync(partial, complete);
      return complete;
    },
  };
}

/** Deletes all but the newest `keep` folders. Returns how many. */
export function prune(folder: string, keep: number): number {
  const old = readdirSync(folder)
    .filter((name) => FOLDER.test(name))
    .toSorted()
    .slice(0, -keep);
  for (const name of old) rmSync(join(folder, name), { recursive: true, force: true });
  return old.length;
}

/** The files of a folder, the registry first: it knows which groups were purged. */
export function filesIn(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => /\.ndjson(\.age)?$/.test(name));
  const isRegistry = (name: string) => name.startsWith(REGISTRY_FILE);
  return [...names.filter(isRegistry), ...names.filter((name) => !isRegistry(name)).toSorted()].map((name) =>
    join(folder, name),
  );
}
