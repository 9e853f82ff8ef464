/** The folder in which workerd stores the service's databases. Only one service at a time may use it. */
import { accessSync, constants, existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { CommandError } from "../../../common/command-error.ts";
import { explainErrors, messageOf } from "../support/errors.ts";
import { causeOf, denialOf } from "../support/file-causes.ts";
import { commandOf, type ServeOptions } from "./options.ts";
import { makePrivateFolder } from "./private-files.ts";
import { CONFIG_FILE } from "./workerd-config.ts";

const LOCK_FILE = "ug-serve.lock";
/** The processes of a service that was just stopped may take this long to end. */
const LOCK_WAIT_MS = 2_000;
const SQLITE_BUSY = 5;
const SQLITE_FULL = 13;
/** Where wrangler's development server has its state, and what it makes there. */
const STATE_OF_WRANGLER = ".wrangler/state/v3/do";

const ADVICE = " Run the service as the user who owns its state, or give --persist-to another folder.";
const isDenied = (code: string): boolean => code === "EACCES" || code === "EPERM";

export type State = { holdsDatabases: boolean };

/**
 * Makes the state folder private, and locks it until this process ends. Returns whether it already holds databases.
 *
 * @throws CommandError if another service uses the folder, or this user may not.
 */
export function openStateFolder(options: ServeOptions): State {
  const failureOf = (code: string, path = options.persistTo) =>
    new CommandError(
      `The state in ${options.persistTo} cannot be used: ${causeOf(code, path)}.${isDenied(code) ? ADVICE : ""}`,
    );
  return explainErrors(() => open(options), failureOf);
}

function open({ persistTo: folder, port, demo }: ServeOptions): State {
  refuseForeignFolder(folder);
  explainErrors(() => makePrivateFolder(folder), unwritable(folder));
  const advice = `${commandOf({ demo })} --port ${port === 0 ? 0 : port + 1} --persist-to DIR`;
  const lock = lockDatabase(join(folder, LOCK_FILE));
  if (!lock)
    throw new CommandError(
      `The state in ${folder} is in use by another ug serve. Stop that one, or give this one a folder of its own: ${advice}`,
    );
  // The reference keeps the lock from being collected as garbage. If this process is killed, the operating system releases it.
  process.once("exit", () => lock.close());
  for (const file of databasesIn(folder).filter((name) => name.endsWith("metadata.sqlite"))) {
    // workerd keeps these databases open for as long as it runs, and SQLite lets no other process lock them then.
    const database = lockDatabase(file);
    if (!database)
      throw new CommandError(
        `The state in ${folder} is in use by a process named workerd whose ug serve was killed. ` +
          `End it, or give this service a folder of its own: ${advice}`,
      );
    database.close();
  }
  const holdsDatabases = databasesIn(folder).length > 0;
  if (!holdsDatabases && existsSync(STATE_OF_WRANGLER))
    console.info("The state of wrangler's development server, in .wrangler/state, is not used: this one begins empty.");
  return { holdsDatabases };
}

/** The databases in the folder. Unlike `globSync`, this fails where something in it may not be read, or a database not be written. */
function databasesIn(folder: string): string[] {
  const folders = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const files = folders.flatMap(({ name }) => readdirSync(join(folder, name)).map((file) => join(folder, name, file)));
  const config = join(folder, CONFIG_FILE);
  const written = files.filter((file) => /\.sqlite(?:-wal|-shm)?$/.test(file));
  for (const file of existsSync(config) ? [...written, config] : written)
    accessSync(file, constants.R_OK | constants.W_OK);
  for (const { name } of folders) accessSync(join(folder, name), constants.W_OK | constants.X_OK);
  return files.filter((file) => file.endsWith(".sqlite"));
}

const unwritable = (folder: string) => (code: string) =>
  new CommandError(
    `The folder ${folder} cannot be written (${causeOf(code, folder)}). Give --persist-to a folder of the user who runs the service.`,
  );

/** Refuses a mistake such as `--persist-to /tmp`, which would close that folder to all other users. */
function refuseForeignFolder(folder: string): void {
  if (existsSync(folder) && !statSync(folder).isDirectory())
    throw new CommandError(`${folder} is no folder. Give --persist-to a folder that is new or empty.`);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  if (names.length > 0 && !names.includes(LOCK_FILE))
    throw new CommandError(`The folder ${folder} holds other files. Give --persist-to a folder that is new or empty.`);
}

/** Opens a database, and locks it until it is closed; `undefined` if another process has it open. */
function lockDatabase(file: string): DatabaseSync | undefined {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { timeout: LOCK_WAIT_MS });
    // A write shows at once that the folder is read-only or full.
    database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; PRAGMA user_version = 1");
    return database;
  } catch (error) {
    database?.close();
    if (sqliteCodeOf(error) === SQLITE_BUSY) return undefined;
    throw new CommandError(
      `${file} cannot be written (${causeIn(error, file)}). Make the folder writable, or give another.`,
    );
  }
}

/** SQLite's number of an error, which has no path. */
const sqliteCodeOf = (error: unknown): unknown =>
  error instanceof Error && "errcode" in error ? error.errcode : undefined;

/** Why SQLite cannot write a database, whose journal or log may be what it cannot write. */
function causeIn(error: unknown, file: string): string {
  if (sqliteCodeOf(error) === SQLITE_FULL) return causeOf("ENOSPC", file);
  const files = ["", "-journal", "-wal", "-shm"].map((suffix) => file + suffix);
  return files.map((each) => denialOf(each)).find((denial) => denial !== undefined) ?? messageOf(error);
}
