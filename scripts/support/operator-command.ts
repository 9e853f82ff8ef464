/** What `keys`, `operators` and `environments` share: subcommands, the operator's credential, and their output. */
import type { OperatorClient } from "../../src/client/index.ts";
import { CommandError, print, refuseForeign, serviceUrl } from "../command.ts";
import { commandErrorOf } from "./client-error.ts";
import { operatorAccess } from "./operator-credential.ts";
import { jsonLineOf } from "./printable.ts";
import { itemNumber } from "./whole-number.ts";

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

type SharedValues = { url?: string | undefined; json: boolean };

/** Runs the subcommand that the arguments name, and prints its output. */
export async function runSubcommand<Values extends SharedValues>(
  subcommands: Record<string, Subcommand<Values>>,
  values: Values,
  positionals: readonly string[],
): Promise<void> {
  const { subcommand, id } = chosenSubcommand(subcommands, values, positionals);
  const url = serviceUrl(values.url, process.env);
  const { operator, refused } = operatorAccess(url);
  const { body, text, issued } = await subcommand.run(operator, { ...values, id }).catch((error) => {
    throw commandErrorOf(error, url, refused);
  });
  await print(values.json ? jsonLineOf(body) : text).catch((error: Error) => {
    throw issued
      ? new CommandError(`${error.message} Nobody has seen ${issued}: revoke it, and issue another.`)
      : error;
  });
}

function chosenSubcommand<Values extends SharedValues>(
  subcommands: Record<string, Subcommand<Values>>,
  values: Values,
  [name = "", idText, ...rest]: readonly string[],
) {
  const subcommand = Object.hasOwn(subcommands, name) ? subcommands[name] : undefined;
  if (!subcommand) throw new CommandError(`Name a command: ${Object.keys(subcommands).join(", ")}; --help shows how.`);
  if (rest.length > 0 || subcommand.takesId !== (idText !== undefined))
    throw new CommandError(`${name} takes ${subcommand.takesId ? "one id" : "options alone"}; --help shows how.`);

  const own: readonly string[] = subcommand.options;
  const all: string[] = Object.values(subcommands).flatMap(({ options }) => options);
  refuseForeign(name, values, (option) => all.includes(option) && !own.includes(option));
  const id = idText === undefined ? 0 : itemNumber(idText);
  if (id === undefined) throw new CommandError("Give the id as a positive whole number, as `list` shows it.");
  return { subcommand, id };
}
