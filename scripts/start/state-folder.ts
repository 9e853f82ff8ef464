/** The folder in which the local runtime stores the service's databases. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Refusal } from "../command.ts";
import type { Options } from "./options.ts";
import { makePrivateFolder } from "./private-files.ts";

/** The folder that the local runtime makes in the state folder. */
const DATABASES = "v3";

/** Makes the state folder private. Returns whether it already holds databases. */
export function openStateFolder({ stateFolder }: Options): { holdsDatabases: boolean } {
  refuseForeignFolder(stateFolder);
  makePrivateFolder(stateFolder);
  return { holdsDatabases: existsSync(join(stateFolder, DATABASES)) };
}

/** Stops a mistake such as `--persist-to /tmp`, which would take that folder from all other users. */
function refuseForeignFolder(folder: string): void {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  if (names.length > 0 && !names.includes(DATABASES))
    throw new Refusal(`The folder ${folder} holds other files. Give --persist-to a folder that is new or empty.`);
}
