/** What the commands of `ug` share: options, help and output. */
import { Command, Option } from "commander";
import type { Environment, EnvironmentClient, OperatorClient } from "../../client/src/index.ts";
import { CommandError, UsageError } from "../../common/command-error.ts";
import { type Access, accessToDeployment, accessToEnvironment, type Connection } from "./access.ts";
import { OutputError, print } from "./support/output.ts";
import { jsonLineOf, quoted } from "./support/printable.ts";
import { itemNumber } from "./whole-number.ts";

/** Command lines, each with what it does. */
export type Examples = readonly (readonly [line: string, meaning: string])[];

/** The text below a command's options. */
export function helpOf({ examples, notes }: { examples: Examples; notes?: string }): string {
  const lines = examples.map(([line, meaning]) => `  # ${meaning}\n  $ ${line}`);
  return `\nExamples:\n${lines.join("\n")}${notes === undefined ? "" : `\n\n${notes}`}`;
}

/** What a command is, besides its options. */
export type About = { summary: string; examples: Examples; notes?: string };

const sentenceOf = (summary: string) => `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`;

/** A command that only holds others. */
export function commandGroup(name: string, { summary, ...help }: About, commands: readonly Command[]): Command {
  const group = new Command(name)
    .description(sentenceOf(summary))
    .usage("<command> [options]")
    .addHelpText("after", helpOf(help));
  for (const command of commands) group.addCommand(command);
  return group;
}

/** Options of each command that calls the service. */
export type ServiceOptions = {
  url?: string;
  keyFile?: string;
  json?: boolean;
  /** Not an option: whether the credential that was found is an operator's. */
  asOperator?: boolean;
};

/** Options that name an environment. */
export type EnvironmentOptions = { workspace?: string; environment?: string };

/** A command that calls the service. */
export const serviceCommand = (usage: string, { summary, ...help }: About): Command =>
  new Command(usage.split(" ")[0])
    .description(sentenceOf(summary))
    .summary(summary)
    .option("--url <url>", "the service; by default SERVICE_URL, or else http://localhost:8787")
    .option("--key-file <file>", "the file that holds the credential")
    .option("--json", "print JSON, also for a failure")
    .addHelpText("after", helpOf(help));

/** Why a command is given. */
export type ReasonOptions = { reason?: string };

/** Adds the option for the reason of a change. */
export const withReason = (command: Command): Command =>
  command.option("--reason <text>", "why, for the people who read the events");

/** Adds the options that name an environment. */
export const withEnvironment = (command: Command): Command =>
  command
    .addOption(new Option("--workspace <slug>", "the workspace of the environment").env("UG_WORKSPACE"))
    .addOption(new Option("--environment <name>", "Customer, Testing or untagged").env("UG_ENVIRONMENT"));

/** Shorter than any credential. */
const GIVEN_UNITS_MAX = 40;

/** The environment that the options name. @throws UsageError if they name none. */
export function environmentOf({ workspace, environment }: EnvironmentOptions): Environment {
  if (workspace === undefined) throw new UsageError("Give --workspace as the slug of the workspace.");
  if (environment === "untagged") return { workspace, environment: null };
  if (environment === "Customer" || environment === "Testing") return { workspace, environment };
  // A longer text may be a credential that was pasted in the wrong place.
  const given = environment !== undefined && environment.length <= GIVEN_UNITS_MAX ? quoted(environment) : undefined;
  throw new UsageError(`Give --environment as Customer, Testing or untagged${given ? `, not ${given}` : ""}.`);
}

/** The name of an environment, as the options take it. */
export const tagOf = ({ environment }: Environment): string => environment ?? "untagged";

/** @throws UsageError unless the text is the number of a key, an operator or a group. */
export function readId(text: string): number {
  const id = itemNumber(text);
  if (id === undefined) throw new UsageError("Give the number as a positive whole number, as list shows it.");
  return id;
}

/** What a command has done: an object with the names of the wire for `--json`, and a text for people. */
export type Output = {
  body: object;
  text: string;
  /** Names the issued secret, which is lost if it cannot be printed. */
  issued?: string;
};

/** Prints what a command has done. */
export async function printOutput({ body, text, issued }: Output, { json }: ServiceOptions): Promise<void> {
  await print(json ? jsonLineOf(body) : text).catch((error: unknown) => {
    if (issued && error instanceof OutputError)
      throw new CommandError(`${error.message} Nobody has seen ${issued}: revoke it, and issue another.`);
    throw error;
  });
}

/** The service and the environment that the options of a command name. */
export function connectionOf(command: Command): Connection {
  const options = command.opts<ServiceOptions & EnvironmentOptions>();
  return {
    options,
    isNamed: ["workspace", "environment"].some((name) => command.getOptionValueSource(name) === "cli"),
    environment: () => environmentOf(options),
  };
}

type Positionals = readonly unknown[];
/** What a command does with its credential, its options and its arguments. */
type Run<Client, Options, Arguments extends Positionals> = (
  client: Client,
  options: Options & ServiceOptions,
  ...rest: Arguments
) => Promise<Output | undefined>;

/** The action of a command for operators. */
export const operatorAction = <Options extends object, Arguments extends Positionals>(
  run: Run<OperatorClient, Options, Arguments>,
): ((this: Command) => Promise<void>) => actionOf(accessToDeployment, run);

/** The action of a command for the API key of an environment, or for operators who name one. */
export const environmentAction = <Options extends object, Arguments extends Positionals>(
  run: Run<EnvironmentClient, Options, Arguments>,
): ((this: Command) => Promise<void>) => actionOf(accessToEnvironment, run);

const actionOf = <Client, Options extends object, Arguments extends Positionals>(
  accessOf: (connection: Connection) => Access<Client>,
  run: Run<Client, Options, Arguments>,
) =>
  async function (this: Command): Promise<void> {
    const options = this.opts<Options & ServiceOptions & EnvironmentOptions>();
    const { client, credential, explained } = accessOf(connectionOf(this));
    const asOperator = credential.kind === "operator";
    const output = await run(client, { ...options, asOperator }, ...(this.processedArgs as unknown as Arguments)).catch(
      (error: unknown) => {
        throw explained(error);
      },
    );
    if (output) await printOutput(output, options);
  };

/** @throws CommandError unless the user has confirmed, with --yes, a change that has no undo. */
export function requireYes({ yes }: { yes?: boolean }, what: string): void {
  if (!yes)
    throw new CommandError(`This would ${what}, which cannot be undone. Nothing was changed. To do it, add --yes.`, {
      code: "not_confirmed",
    });
}
