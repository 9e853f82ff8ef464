/** `npm run keys`: the operator's calls as a command. No secret is an argument, because other users can read arguments. */
import { existsSync, readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { type ApiKey, type Environment, type IssuedKey, OperatorClient } from "../src/client/index.ts";
import { CommandError, print, readArguments, runCommand, serviceUrl, URL_USAGE } from "./command.ts";
import { commandErrorOf } from "./support/client-error.ts";
import { RESPONSE_MS_MAX } from "./support/http.ts";
import { jsonLineOf } from "./support/printable.ts";
import { tableOf } from "./support/table.ts";

const USAGE = `Usage: npm run --silent keys -- COMMAND --workspace SLUG --environment Customer|Testing|untagged [options]

  issue --name NAME [--access read|write] [--expires-in 90d]   issue a key, and show it this once
  list                                                         list the keys, never their text
  revoke ID                                                    revoke a key at once
  roll ID [--grace 1h]                                         issue a key to replace one, which stays valid for the grace

${URL_USAGE}
  --json      print the response as JSON

A time is a number and s, m, h or d. OPERATOR_TOKEN is read from the environment, or else from .dev.vars.`;

const OPTIONS = {
  workspace: { type: "string" },
  environment: { type: "string" },
  name: { type: "string" },
  access: { type: "string" },
  "expires-in": { type: "string" },
  grace: { type: "string" },
  json: { type: "boolean", default: false },
} as const;

type Arguments = ReturnType<typeof readArguments<typeof OPTIONS>>["values"];

/** The result of a command: an object of the wire's form for `--json`, and a text for people. */
type Output = { body: object; text: string; issued?: ApiKey };

type Command = {
  /** The options that only some commands take. */
  options: readonly (keyof Arguments)[];
  takesId: boolean;
  run: (operator: OperatorClient, environment: Environment, values: Arguments & { id: number }) => Promise<Output>;
};

const COMMANDS: Record<string, Command> = {
  issue: {
    options: ["name", "access", "expires-in"],
    takesId: false,
    run: async (operator, environment, values) => {
      const { name, access } = values;
      if (name === undefined) throw new CommandError("Give --name, by which lists show the key.");
      if (access !== undefined && access !== "read" && access !== "write")
        throw new CommandError("Give --access as read or write.");
      const expiresInSeconds = secondsOf(values["expires-in"]);
      return issuedOutput(await operator.issueKey({ ...environment, name, access, expiresInSeconds }));
    },
  },
  list: {
    options: [],
    takesId: false,
    run: async (operator, environment) => {
      const keys = (await operator.listKeys(environment)).map(toWire);
      return { body: { success: 1, api_keys: keys }, text: tableOfKeys(keys) };
    },
  },
  revoke: {
    options: [],
    takesId: true,
    run: async (operator, environment, { id }) => {
      await operator.revokeKey({ ...environment, id });
      return { body: { success: 1 }, text: `Key ${id} is revoked.` };
    },
  },
  roll: {
    options: ["grace"],
    takesId: true,
    run: async (operator, environment, { id, grace }) =>
      issuedOutput(await operator.rollKey({ ...environment, id, graceSeconds: secondsOf(grace) })),
  },
};

const UNIT_SECONDS: Record<string, number> = { s: 1, m: 60, h: 60 * 60, d: 24 * 60 * 60 };

function secondsOf(time: string | undefined): number | undefined {
  if (time === undefined) return undefined;
  const [, count, unit = ""] = /^(\d{1,9})([smhd])$/.exec(time) ?? [];
  if (!count) throw new CommandError("Give a time as a number and s, m, h or d, such as 90d.");
  return Number(count) * (UNIT_SECONDS[unit] ?? 0);
}

/** The id of a key, which becomes a part of a path; 0 for a command without one. */
function idOf(text: string | undefined): number {
  if (text === undefined) return 0;
  if (!/^[1-9]\d{0,14}$/.test(text))
    throw new CommandError("Give the id of the key as a positive whole number, as `list` shows it.");
  return Number(text);
}

function environmentOf({ workspace, environment }: Arguments): Environment {
  if (workspace === undefined) throw new CommandError("Give --workspace as the slug of the workspace.");
  if (environment === "untagged") return { workspace, environment: null };
  if (environment === "Customer" || environment === "Testing") return { workspace, environment };
  throw new CommandError("Give --environment as Customer, Testing or untagged.");
}

function operatorToken(): string {
  const inFile = existsSync(".dev.vars") ? parseEnv(readFileSync(".dev.vars", "utf8")).OPERATOR_TOKEN : undefined;
  const token = process.env.OPERATOR_TOKEN || inFile;
  if (!token)
    throw new CommandError("Set OPERATOR_TOKEN in the environment, or start the service once to have a .dev.vars.");
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new CommandError("OPERATOR_TOKEN cannot be in a header: it holds characters other than printable ASCII.");
  return token;
}

/** A key with the names of the wire. */
const toWire = (key: ApiKey): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(key).map(([name, value]) => [
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  );

function tableOfKeys(keys: readonly Record<string, unknown>[]): string {
  const names = ["id", "name", "access", "created_at", "expires_at", "last_used_at", "revoked_at"];
  return tableOf([names, ...keys.map((key) => names.map((name) => String(key[name] ?? "-")))]);
}

const issuedOutput = ({ apiKey, key }: IssuedKey): Output => ({
  body: { success: 1, api_key: toWire(apiKey), key },
  text: `${tableOfKeys([toWire(apiKey)])}\n\nThe key, shown this once:\n\n${key}`,
  issued: apiKey,
});

const operatorTokenRefused = (url: URL, code: string): CommandError =>
  new CommandError(
    `The service at ${url.origin} refused OPERATOR_TOKEN (${code}). This command takes the operator's token of that service, from the environment or from .dev.vars.`,
  );

function checkOptions(name: string, { options }: Command, values: Arguments): void {
  const foreign = Object.values(COMMANDS)
    .flatMap((command) => command.options)
    .find((option) => values[option] !== undefined && !options.includes(option));
  if (foreign) throw new CommandError(`${name} does not take --${foreign}; --help shows which options it takes.`);
}

async function run(): Promise<void> {
  const { values, positionals } = readArguments(OPTIONS);
  if (values.help) return print(USAGE);
  const [name = "", idText, ...rest] = positionals;
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!command) throw new CommandError("Name a command: issue, list, revoke or roll; --help shows how.");
  if (rest.length > 0 || command.takesId !== (idText !== undefined))
    throw new CommandError("revoke and roll take the id of one key, issue and list take none.");
  checkOptions(name, command, values);

  const id = idOf(idText);
  const environment = environmentOf(values);
  const url = serviceUrl(values.url, process.env);
  const operator = new OperatorClient({ url, operatorToken: operatorToken(), timeoutMs: RESPONSE_MS_MAX });
  const { body, text, issued } = await command.run(operator, environment, { ...values, id }).catch((error) => {
    throw commandErrorOf(error, url, (code) => operatorTokenRefused(url, code));
  });
  await print(values.json ? jsonLineOf(body) : text).catch((error: Error) => {
    throw issued
      ? new CommandError(`${error.message} Nobody has seen key ${issued.id}: revoke it, and issue another.`)
      : error;
  });
}

await runCommand(run);
