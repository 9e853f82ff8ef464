/** `npm run groups`: imports and exports many user groups as lines of JSON. The API key is never an argument. */
import { createReadStream, fstatSync, openSync } from "node:fs";
import { Socket } from "node:net";
import { resolve } from "node:path";
import {
  apiKeyFrom,
  CommandError,
  print,
  readArguments,
  runCommand,
  serviceUrl,
  systemErrorCode,
  URL_USAGE,
} from "./command.ts";
import { exportGroups } from "./groups/export.ts";
import { importGroups } from "./groups/import.ts";

const USAGE = `Usage: npm run --silent groups -- COMMAND [options]

  import FILE.ndjson   get or create the group of each line; - is standard input
    --concurrency N    calls at a time, 1 to 64; 16 by default
    --from-line N      skip the lines before this one; an import that was stopped prints its number
  export               write all groups to standard output, one per line, without their tokens
    --prefix P         only those whose user_group_id starts with it

${URL_USAGE}

A line is an object with user_group_id and optional name, mapping and properties; the lines of an export can be imported as
they are. A group that exists is counted as found and is not changed, whatever its line contains: change it with PUT /api/user.
So an import that was stopped can be run again. The API key is read from the environment variable API_KEY.`;

const CONCURRENCY_MAX = 64;
const OPTIONS = {
  concurrency: { type: "string" },
  "from-line": { type: "string" },
  prefix: { type: "string" },
} as const;

function wholeNumber(text: string, name: string, most: number): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > most) throw new CommandError(`Give --${name} as a whole number from 1 to ${most}.`);
  return value;
}

/** Opens the file to import. npm changes the working folder, so a relative path starts at the folder where npm was called. */
function openFile(file: string) {
  const path = resolve((process.env.npm_lifecycle_event === "groups" && process.env.INIT_CWD) || "", file);
  try {
    const fd = file === "-" ? process.stdin.fd : openSync(path, "r");
    const stats = fstatSync(fd);
    if (stats.isDirectory()) throw new CommandError("The file to import is a folder.");
    if (file === "-") return { input: process.stdin, total: 0 };
    // A file stream reads a pipe in a thread, and this process could not end while that thread waits for data.
    return stats.isFIFO()
      ? { input: new Socket({ fd, readable: true, writable: false }), total: 0 }
      : { input: createReadStream(path, { fd }), total: stats.size };
  } catch (error) {
    const code = systemErrorCode(error);
    throw code ? new CommandError(`The file to import cannot be read: ${code}.`) : error;
  }
}

async function run(): Promise<void> {
  const { values, positionals } = readArguments(OPTIONS);
  const [command = "", file, ...rest] = positionals;
  const { url, help, concurrency, "from-line": fromLine, prefix } = values;
  if (help) return console.info(USAGE);
  if (!["import", "export"].includes(command))
    throw new CommandError("Name a command: import or export; --help shows how.");
  const isImport = command === "import";
  if (rest.length > 0 || isImport !== (file !== undefined))
    throw new CommandError("import takes one file, export none: it writes to standard output.");
  const unusable = isImport ? [prefix] : [concurrency, fromLine];
  if (unusable.some((value) => value !== undefined))
    throw new CommandError(`${command} does not take that option; --help shows which it takes.`);

  const apiKey = apiKeyFrom(process.env);
  const service = serviceUrl(url, process.env);
  if (file === undefined)
    return exportGroups(service, apiKey, prefix === undefined ? {} : { user_group_id_prefix: prefix });
  const summary = await importGroups({
    concurrency: wholeNumber(concurrency ?? "16", "concurrency", CONCURRENCY_MAX),
    fromLine: wholeNumber(fromLine ?? "1", "from-line", Number.MAX_SAFE_INTEGER),
    ...openFile(file),
    url: service,
    apiKey,
  });
  await print(summary);
}

await runCommand(run);
