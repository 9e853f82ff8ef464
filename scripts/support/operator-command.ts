/** What `keys`, `operators` and `environments` share: subcommands, the operator's credential, and their output. */
import { OperatorClient } from "../../src/client/index.ts";
import { CommandError, print, serviceUrl } from "../command.ts";
import { commandErrorOf } from "./client-error.ts";
import { RESPONSE_MS_MAX } from "./http.ts";
import { operatorCredentialFor, operatorRefused } from "./operator-credential.ts";
import { jsonLineOf } from "./printable.ts";

/** The options that each of these commands has. */
export const OUTPUT_OPTIONS = { json: { type: "boolean", default: false } } as const;

/** The line of a command's usage for `--json`. */
export const JSON_USAGE = "  --json      print the response as JSON";

/** The result of a subcommand: an object of the wire's form for `--json`, and a text for people. */
export type Output = {
  body: object;
  text: string;
  /** Names the issued secret, which is lost if it cannot be printed. */
  issued?: string;
};

/** One thing that a command does. */
export type Subcommand<Values> = {
  /** The options that only some subcommands take. */
  options: readonly (keyof Values & string)[];
  /** Whether it takes the id of one item. */
  takesId: boolean;
  /** `id` is 0 for a subcommand that takes none. */
  run: (operator: OperatorClient, values: Values & { id: number }) => Promise<Output>;
};

type SharedValues = { url?: string | undefined; help: boolean; json: boolean };

/** A command of operators, and its arguments. */
export type OperatorCommand<Values> = {
  usage: string;
  subcommands: Record<string, Subcommand<Values>>;
  values: Values;
  positionals: readonly string[];
};

/** Runs the subcommand that the arguments name, and prints its output. */
export async function runSubcommand<Values extends SharedValues>(command: OperatorCommand<Values>): Promise<void> {
  const { usage, values } = command;
  if (values.help) return print(usage);
  const { subcommand, id } = chosenSubcommand(command);

  const url = serviceUrl(values.url, process.env);
  const credential = operatorCredentialFor(url, process.env);
  const operator = new OperatorClient({ url, operatorKey: credential.text, timeoutMs: RESPONSE_MS_MAX });
  const { body, text, issued } = await subcommand.run(operator, { ...values, id }).catch((error) => {
    throw commandErrorOf(error, url, (code) => operatorRefused(url, credential, code));
  });
  await print(values.json ? jsonLineOf(body) : text).catch((error: Error) => {
    throw issued
      ? new CommandError(`${error.message} Nobody has seen ${issued}: revoke it, and issue another.`)
      : error;
  });
}

function chosenSubcommand<Values>({ subcommands, values, positionals }: OperatorCommand<Values>) {
  const [name = "", idText, ...rest] = positionals;
  const subcommand = Object.hasOwn(subcommands, name) ? subcommands[name] : undefined;
  if (!subcommand) throw new CommandError(`Name a command: ${Object.keys(subcommands).join(", ")}; --help shows how.`);
  if (rest.length > 0 || subcommand.takesId !== (idText !== undefined))
    throw new CommandError(`${name} takes ${subcommand.takesId ? "one id" : "options alone"}; --help shows how.`);

  const foreign = Object.values(subcommands)
    .flatMap(({ options }) => options)
    .find((option) => values[option] !== undefined && !subcommand.options.includes(option));
  if (foreign) throw new CommandError(`${name} does not take --${foreign}; --help shows which options it takes.`);
  return { subcommand, id: idOf(idText) };
}

/** The id of an item, which becomes a part of a path; 0 for a subcommand without one. */
function idOf(text: string | undefined): number {
  if (text === undefined) return 0;
  if (!/^[1-9]\d{0,14}$/.test(text))
    throw new CommandError("Give the id as a positive whole number, as `list` shows it.");
  return Number(text);
}
