/** The folder of the backups, which `--backups` names for the metrics. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { systemErrorCode } from "../../support/output.ts";

/** Whether two folders are on one disk. One that does not exist yet will be on that of the folder above. */
export const sharesDisk = (one: string, other: string): boolean => deviceOf(resolve(one)) === deviceOf(resolve(other));

const deviceOf = (folder: string): number => (existsSync(folder) ? statSync(folder).dev : deviceOf(dirname(folder)));

/** What is wrong with the folder, in sentences. */
export function warningsAbout(backups: string, state: string): string[] {
  const code = listingError(backups);
  return [
    ...(code === undefined || code === "ENOENT"
      ? []
      : [
          `The backups in ${backups} cannot be listed (${code}), so their age is not known. Let the service's user list the folder.`,
        ]),
    ...(sharesDisk(backups, state)
      ? [`The backups in ${backups} are on the disk of the state, and are lost with it. Copy them to another machine.`]
      : []),
  ];
}

function listingError(folder: string): string | undefined {
  try {
    readdirSync(folder);
    return undefined;
  } catch (error) {
    return systemErrorCode(error);
  }
}
