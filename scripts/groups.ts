/** `npm run groups`: the user groups of an environment. No secret is an argument, because other users can read arguments. */
import { createReadStream, fstatSync, openSync } from "node:fs";
import { Socket } from "node:net";
import { resolve } from "node:path";
import {
  apiKeyFrom,
  CommandError,
  print,
  refuseForeign,
  runCommand,
  serviceUrl,
  systemErrorCode,
  URL_USAGE,
  type ValuesOf,
} from "./command.ts";
import { exportGroups } from "./groups/export.ts";
import { importGroups } from "./groups/import.ts";
import { MANAGE, MANAGE_OPTIONS } from "./groups/manage.ts";
import { commandErrorOf } from "./support/client-error.ts";
import { ENVIRONMENT_OPTIONS } from "./support/environment.ts";
import { environmentAccess, namesEnvironment } from "./support/environment-access.ts";
import { JSON_USAGE } from "./support/operator-command.ts";
import { OPERATOR_CREDENTIAL_USAGE } from "./support/operator-credential.ts";
import { jsonLineOf } from "./support/printable.ts";
import { wholeNumber } from "./support/whole-number.ts";

const USAGE = `Usage: npm run --silent groups -- COMMAND [options]

  list                 list the groups
    --prefix P         only those whose user_group_id starts with it
    --state STATE      only those that are active, suspended or deleted
    --limit N          at most so many, 1 to 100000; 1000 by default
  show GROUP           show a group; also a deleted one, if no other has its id
  suspend GROUP        refuse the viewers of a group until it is resumed
  resume GROUP         end the suspension of a group
  delete GROUP --yes   delete a group; the output says until when it can be restored
  restore GROUP        restore a deleted group, with its token
    --new-id ID        under another user_group_id
    --rotate-token     with a new token
  purge GROUP --yes    erase a deleted group for good, before its time

  import FILE.ndjson   get or create the group of each line; - is standard input
    --concurrency N    calls at a time, 1 to 64; 16 by default
    --from-line N      skip the lines before this one; an import that was stopped prints its number
    --update           change the groups that exist to what their lines say
  export               write all groups that exist to standard output, one per line, without their tokens
    --prefix P         only those whose user_group_id starts with it

${URL_USAGE}
${JSON_USAGE}, except for import and export

GROUP is the number of a group (team_id), or --id with its user_group_id. delete and purge without --yes change nothing: they
name the group that they would delete. No command shows a token.

A line is an object with user_group_id and optional name, mapping, properties and state; the lines of an export can be imported
as they are. A group that exists is counted as found. If it differs from its line it is counted, and changed only with --update,
as PUT /api/user would. So an import that was stopped can be run again.

The API key is read from the environment variable API_KEY. An operator gives --workspace SLUG and --environment
Customer|Testing|untagged instead, except for import and export.
${OPERATOR_CREDENTIAL_USAGE}`;

const CONCURRENCY_MAX = 64;
const OPTIONS = {
  ...ENVIRONMENT_OPTIONS,
  ...MANAGE_OPTIONS,
  json: { type: "boolean" },
  concurrency: { type: "string" },
  "from-line": { type: "string" },
  update: { type: "boolean" },
} as const;

type Values = ValuesOf<typeof OPTIONS>;

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

/** Refuses the options that the command does not take. */
const refuseOthers = (command: string, values: Values, taken: readonly string[]): void =>
  refuseForeign(command, values, (option) => Object.hasOwn(OPTIONS, option) && !taken.includes(option));

async function runImport(file: string | undefined, values: Values): Promise<void> {
  if (file === undefined) throw new CommandError("import takes one file, or - for standard input.");
  refuseOthers("import", values, ["concurrency", "from-line", "update"]);
  const { concurrency, "from-line": fromLine, update } = values;
  const summary = await importGroups({
    apiKey: apiKeyFrom(process.env),
    url: serviceUrl(values.url, process.env),
    concurrency: wholeNumber(concurrency ?? "16", "concurrency", CONCURRENCY_MAX),
    fromLine: wholeNumber(fromLine ?? "1", "from-line", Number.MAX_SAFE_INTEGER),
    update: update === true,
    ...openFile(file),
  });
  await print(summary);
}

async function runExport(file: string | undefined, values: Values): Promise<void> {
  if (file !== undefined) throw new CommandError("export takes no file: it writes to standard output.");
  refuseOthers("export", values, ["prefix"]);
  const { prefix } = values;
  const filters = prefix === undefined ? {} : { user_group_id_prefix: prefix };
  await exportGroups(serviceUrl(values.url, process.env), apiKeyFrom(process.env), filters);
}

/** Runs one of the commands that list, show or change groups. */
async function runManage(command: string, number: string | undefined, values: Values): Promise<void> {
  const chosen = Object.hasOwn(MANAGE, command) ? MANAGE[command] : undefined;
  if (!chosen)
    throw new CommandError(`Name a command: ${Object.keys(MANAGE).join(", ")}, import or export; --help shows how.`);
  if (!chosen.takesGroup && number !== undefined)
    throw new CommandError(`${command} takes options alone; --help shows how.`);
  refuseOthers(command, values, ["workspace", "environment", "json", ...chosen.options]);

  const url = serviceUrl(values.url, process.env);
  const { client, refused } = environmentAccess(values, url);
  const where = namesEnvironment(values) ? ` --workspace ${values.workspace} --environment ${values.environment}` : "";
  const { body, text } = await chosen.run({ client, values, number, where }).catch((error) => {
    throw commandErrorOf(error, url, refused);
  });
  await print(values.json ? jsonLineOf(body) : text);
}

async function run(values: Values, [command = "", operand, ...rest]: string[]): Promise<void> {
  if (rest.length > 0)
    throw new CommandError("Too many arguments: import takes one file, other commands one group or none.");
  if (command === "import") return runImport(operand, values);
  if (command === "export") return runExport(operand, values);
  return runManage(command, operand, values);
}

await runCommand({ usage: USAGE, options: OPTIONS, run });
