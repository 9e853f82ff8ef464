/** `npm run keys`: the operator's routes as a command. No secret is ever an argument, where other users could read it. */
import { existsSync, readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import {
  bodyOf,
  foreign,
  LOCAL_URL,
  print,
  Refusal,
  readArguments,
  runCommand,
  send,
  serviceUrl,
  unreachable,
} from "./command.ts";
import { escapeInvisible, jsonLineOf } from "./support/printable.ts";

const USAGE = `Usage: npm run --silent keys -- COMMAND --workspace SLUG --environment Customer|Testing|untagged [options]

  issue --name NAME [--access read|write] [--expires-in 90d]   make a key, and show it this once
  list                                                         list the keys, never their text
  revoke ID                                                    make a key useless at once
  roll ID [--grace 1h]                                         make a key in its place, and keep the old one good so long

  --url URL   the service; ${LOCAL_URL} by default
  --json      print the answer as JSON

A time is a number and s, m, h or d. OPERATOR_TOKEN is read from the environment, or else from .dev.vars.`;

/** The commands, and the options that are theirs alone. */
const COMMANDS: Record<string, string[]> = {
  issue: ["name", "access", "expires-in"],
  list: [],
  revoke: [],
  roll: ["grace"],
};

const UNIT_SECONDS: Record<string, number> = { s: 1, m: 60, h: 60 * 60, d: 24 * 60 * 60 };

type Answer = {
  api_key?: Record<string, string | number | null>;
  api_keys?: Record<string, string | number | null>[];
  key?: string;
};

const OPTIONS = {
  workspace: { type: "string" },
  environment: { type: "string" },
  name: { type: "string" },
  access: { type: "string" },
  "expires-in": { type: "string" },
  grace: { type: "string" },
  url: { type: "string", default: LOCAL_URL },
  json: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

function secondsOf(time: string | undefined): number | undefined {
  if (time === undefined) return undefined;
  const [, count, unit = ""] = /^(\d{1,9})([smhd])$/.exec(time) ?? [];
  if (!count) throw new Refusal("Give a time as a number and s, m, h or d, such as 90d.");
  return Number(count) * (UNIT_SECONDS[unit] ?? 0);
}

function operatorToken(): string {
  const inFile = existsSync(".dev.vars") ? parseEnv(readFileSync(".dev.vars", "utf8")).OPERATOR_TOKEN : undefined;
  const token = process.env.OPERATOR_TOKEN || inFile;
  if (!token)
    throw new Refusal("Set OPERATOR_TOKEN in the environment, or start the service once to have a .dev.vars.");
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new Refusal("OPERATOR_TOKEN cannot stand in a header: it holds other than printable ASCII characters.");
  return token;
}

async function ask(method: string, url: URL, body?: object): Promise<Answer> {
  const token = operatorToken();
  const { status, text } = await send(url, token, { method, ...(body && { body: JSON.stringify(body) }) })
    .then(async (response) => ({ status: response.status, text: await response.text() }))
    .catch((error) => {
      throw error instanceof Refusal ? error : unreachable(url);
    });
  const answer = bodyOf<Answer>(token, text);
  if (!answer) throw foreign(url, status);
  if (answer.success === 1) return answer;
  if (status === 401) throw new Refusal(`The service at ${url.origin} has another OPERATOR_TOKEN, or none.`);
  const issues = answer.error?.issues?.map(({ path, message }) => `${path.join(".")}: ${message}`) ?? [];
  throw new Refusal([answer.error?.message, ...issues].join("\n  "));
}

/** The rows as columns of text, under their names. */
function tableOf(rows: Record<string, unknown>[]): string {
  const names = ["id", "name", "access", "created_at", "expires_at", "last_used_at", "revoked_at"];
  const cells = [names, ...rows.map((row) => names.map((name) => escapeInvisible(String(row[name] ?? "-"))))];
  const widths = names.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)));
  return cells
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

async function run(): Promise<void> {
  const { values, positionals } = readArguments(OPTIONS);
  const [command = "", id = "", ...rest] = positionals;
  if (values.help) return print(USAGE);
  const taken = Object.hasOwn(COMMANDS, command) ? COMMANDS[command] : undefined;
  if (!taken) throw new Refusal("Say what to do: issue, list, revoke or roll; --help shows how.");
  if (rest.length > 0 || (id === "") !== ["issue", "list"].includes(command))
    throw new Refusal("revoke and roll take the id of one key, issue and list take none.");
  if (id !== "" && !/^[1-9]\d{0,14}$/.test(id))
    throw new Refusal("Give the id of the key as a whole number, as `list` shows it.");
  const foreignOptions = Object.values(COMMANDS)
    .flat()
    .filter((option) => option in values && !taken.includes(option));
  if (foreignOptions.length > 0)
    throw new Refusal(`${command} does not take --${foreignOptions[0]}; --help shows which it takes.`);

  const { workspace, environment, name, access } = values;
  if (!environment || !["Customer", "Testing", "untagged"].includes(environment))
    throw new Refusal("Give --environment as Customer, Testing or untagged.");
  const inEnvironment = (path: string) => {
    const url = new URL(path, serviceUrl(values.url));
    for (const [field, value] of Object.entries({ workspace, environment }))
      if (value) url.searchParams.set(field, value);
    return url;
  };
  const oneKey = `/api/keys/${id}`;

  const calls: Record<string, () => Promise<Answer>> = {
    issue: () =>
      ask("POST", new URL("/api/keys", serviceUrl(values.url)), {
        workspace,
        environment: environment === "untagged" ? null : environment,
        name,
        access,
        expires_in_seconds: secondsOf(values["expires-in"]),
      }),
    list: () => ask("GET", inEnvironment("/api/keys")),
    revoke: () => ask("DELETE", inEnvironment(oneKey)),
    roll: () => ask("POST", inEnvironment(`${oneKey}/roll`), { grace_seconds: secondsOf(values.grace) }),
  };
  const answer = (await calls[command]?.()) ?? {};
  const { api_key: made, api_keys: keys, key } = answer;
  const text = made
    ? `${tableOf([made])}\n\nThe key, shown this once:\n\n${key}`
    : keys
      ? tableOf(keys)
      : `Key ${id} is revoked.`;
  await print(values.json ? jsonLineOf(answer) : text).catch((error: Error) => {
    throw made ? new Refusal(`${error.message} Nobody has seen key ${made.id}: revoke it, and issue another.`) : error;
  });
}

await runCommand(run);
