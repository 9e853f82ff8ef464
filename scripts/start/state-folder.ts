/** The folder in which the local runtime stores the service's databases. Only one service at a time may use it. */
import { existsSync, globSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { CommandError } from "../command.ts";
import type { Options } from "./options.ts";
import { makePrivateFolder } from "./private-files.ts";

/** The folder that the local runtime makes in the state folder. */
const DATABASES = "v3";
const LOCK_FILE = "npm-start.lock";
/** The processes of a service that was just stopped may take this long to end. */
const LOCK_WAIT_MS = 2_000;
const SQLITE_BUSY = 5;

/** Makes the state folder private, and locks it until this process ends. Returns whether it already holds databases. */
export function openStateFolder({ stateFolder, port }: Options): { holdsDatabases: boolean } {
  refuseForeignFolder(stateFolder);
  makePrivateFolder(stateFolder);
  const advice = `npm start -- --port ${port === 0 ? 0 : port + 1} --persist-to DIR`;
  const lock = lockDatabase(join(stateFolder, LOCK_FILE));
  if (!lock)
    throw new CommandError(
      `The state in ${stateFolder} is in use by another npm start. Stop that one, or give this one a folder of its own: ${advice}`,
    );
  // The reference keeps the lock from being collected as garbage. If this process is killed, the operating system releases it.
  process.once("exit", () => lock.close());
  for (const file of globSync(join(stateFolder, DATABASES, "*/*/metadata.sqlite"))) {
    // The local runtime keeps these databases open for as long as it runs, and SQLite lets no other process lock them then.
    const database = lockDatabase(file);
    if (!database)
      throw new CommandError(
        `The state in ${stateFolder} is in use by wrangler dev, or by a process named workerd whose npm start was killed. ` +
          `End it, or give this service a folder of its own: ${advice}`,
      );
    database.close();
  }
  return { holdsDatabases: existsSync(join(stateFolder, DATABASES)) };
}

/** Refuses a mistake such as `--persist-to /tmp`, which would close that folder to all other users. */
function refuseForeignFolder(folder: string): void {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  if (names.length > 0 && !names.includes(DATABASES) && !names.includes(LOCK_FILE))
    throw new CommandError(`The folder ${folder} holds other files. Give --persist-to a folder that is new or empty.`);
}

/** Opens a database, and locks it until it is closed; `undefined` if another process has it open. */
function lockDatabase(file: string): DatabaseSync | undefined {
  const database = new DatabaseSync(file, { timeout: LOCK_WAIT_MS });
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
    return database;
  } catch (error) {
    database.close();
    if (error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY) return undefined;
    throw new CommandError(`${file} cannot be opened: ${error instanceof Error ? error.message : error}.`);
  }
}
