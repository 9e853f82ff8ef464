/** `npm run groups`: many user groups at once, in and out, as lines of JSON. The API key is never an argument. */
import { createReadStream, fstatSync, openSync } from "node:fs";
import { Socket } from "node:net";
import { resolve } from "node:path";
import {
  apiKeyOf,
  LOCAL_URL,
  print,
  Refusal,
  readArguments,
  runCommand,
  serviceUrl,
  systemErrorOf,
} from "./command.ts";
import { exportGroups } from "./groups/export.ts";
import { importGroups } from "./groups/import.ts";

const USAGE = `Usage: npm run --silent groups -- COMMAND [options]

  import FILE.ndjson   get or create the group of each line; - is standard input
    --concurrency N    calls at a time, 1 to 64; 16 by default
    --from-line N      leave out the lines before this one, as an import says that was stopped
  export               write all groups to standard output, a line for each, without their tokens
    --prefix P         only those whose user_group_id starts with it

  --url URL   the service; ${LOCAL_URL} by default

A line is an object with user_group_id and optional name, mapping and properties; the lines of an export will do as they
are. A group that is there already is counted as found and not changed, whatever its line says: change it with
PUT /api/user. So an import that was stopped can be run again. The API key is read from the environment variable API_KEY.`;

const CONCURRENCY_MAX = 64;
const OPTIONS = {
  concurrency: { type: "string" },
  "from-line": { type: "string" },
  prefix: { type: "string" },
  url: { type: "string", default: LOCAL_URL },
  help: { type: "boolean", default: false },
} as const;

function wholeNumber(text: string, name: string, most: number): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > most) throw new Refusal(`Give --${name} as a whole number from 1 to ${most}.`);
  return value;
}

/** The stream to import, and its length where that is known. npm leaves the folder in which the file was named. */
function openFile(file: string) {
  const path = resolve((process.env.npm_lifecycle_event === "groups" && process.env.INIT_CWD) || "", file);
  try {
    const fd = file === "-" ? process.stdin.fd : openSync(path, "r");
    const stats = fstatSync(fd);
    if (stats.isDirectory()) throw new Refusal("The file to import is a folder.");
    if (file === "-") return { input: process.stdin, total: 0 };
    // A file stream would read a pipe in a thread, and this process could not end before that had something to read.
    return stats.isFIFO()
      ? { input: new Socket({ fd, readable: true, writable: false }), total: 0 }
      : { input: createReadStream(path, { fd }), total: stats.size };
  } catch (error) {
    const code = systemErrorOf(error);
    throw code ? new Refusal(`The file to import cannot be read: ${code}.`) : error;
  }
}

async function run(): Promise<void> {
  const { values, positionals } = readArguments(OPTIONS);
  const [command = "", file, ...rest] = positionals;
  const { url, help, concurrency, "from-line": fromLine, prefix } = values;
  if (help) return console.info(USAGE);
  if (!["import", "export"].includes(command)) throw new Refusal("Say what to do: import or export; --help shows how.");
  const isImport = command === "import";
  if (rest.length > 0 || isImport !== (file !== undefined))
    throw new Refusal("import takes one file, export none: it writes to standard output.");
  const foreign = isImport ? [prefix] : [concurrency, fromLine];
  if (foreign.some((value) => value !== undefined))
    throw new Refusal(`${command} does not take that option; --help shows which it takes.`);

  const apiKey = apiKeyOf(process.env);
  const service = serviceUrl(url);
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
