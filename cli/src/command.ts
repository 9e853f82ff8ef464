/** What the commands of `ug` share: options, help and output. */
import { Command, Option } from "commander";
import type { Environment, EnvironmentClient, OperatorClient } from "../../client/src/index.ts";
import { CommandError, UsageError } from "../../common/command-error.ts";
import { directoryName, tagWord } from "../../common/environment.ts";
import { describedTarget, namedContext, type Target, type TargetOptions, targetOf } from "./contexts/context-store.ts";
import { type Examples, helpOf } from "./help.ts";
import { itemNumber } from "./option-values.ts";
import { accessToDeployment, accessToEnvironment, type Connection, type ServiceAccess } from "./service-access.ts";
import { OutputError, print } from "./support/output.ts";
import { jsonLineOf, quoted } from "./support/printable.ts";

/** What a command is, besides its options. */
export type About = { summary: string; examples: Examples; notes?: string };

const sentenceOf = (summary: string) => `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`;

/** A command that only holds others. Its help shows them under the headings. */
export function commandGroup(
  name: string,
  { summary, ...help }: About,
  commands: readonly Command[] | Record<string, readonly Command[]>,
): Command {
  const group = new Command(name)
    .description(sentenceOf(summary))
    .usage("<command> [options]")
    .addHelpText("after", helpOf(help));
  for (const [heading, each] of Object.entries(Array.isArray(commands) ? { Commands: commands } : commands))
    for (const command of each) group.addCommand(command.helpGroup(`${heading}:`));
  return group;
}

/** Options of each command that calls the service. */
export type ServiceOptions = TargetOptions & {
  keyFile?: string;
  json?: boolean;
  /** Not an option: the deployment that the options, the variables or the context in use name. */
  target: Target;
  /** Not an option: whether the credential that was found is an operator's. */
  asOperator?: boolean;
};

/** Options that name an environment. */
export type EnvironmentOptions = { workspace?: string; environment?: string };

/** A command that calls no service by its options. */
export const plainCommand = (name: string, about: About): Command =>
  described(name, about).option("--json", "print JSON, for failures too");

const described = (name: string, { summary, ...help }: About): Command =>
  new Command(name).description(sentenceOf(summary)).summary(summary).addHelpText("after", helpOf(help));

/** A command that calls the service. */
export const serviceCommand = (name: string, about: About): Command =>
  described(name, about)
    .option("--url <url>", "URL of the service (default: SERVICE_URL, the context in use, or http://localhost:8787)")
    .option("--context <name>", "use the deployment and the key of this context (env: UG_CONTEXT)")
    .option("--key-file <file>", "read the credential from this file; - is standard input")
    .option("--json", "print JSON, for failures too")
    .hook("preAction", (parent, command) => {
      if (parent === command) setTarget(command);
    });

/** Sets the deployment of a command, and the environment that its context names, which variables do not replace by halves. */
function setTarget(command: Command): void {
  const options = command.opts<TargetOptions>();
  const target = targetOf(options, process.env);
  command.setOptionValue("target", target);
  const sources = ["workspace", "environment"].map((name) => command.getOptionValueSource(name));
  const isNamed = namedContext(options, process.env) !== undefined;
  if (sources.includes("cli") || (sources.includes("env") && !isNamed)) return;
  for (const name of ["workspace", "environment"] as const)
    if (target.context?.workspace !== undefined)
      command.setOptionValueWithSource(name, target.context[name], "context");
}

/** Why a command is given. */
export type ReasonOptions = { reason?: string };

/** Adds the option for the reason of a change. */
export const withReason = (command: Command): Command =>
  command.option("--reason <text>", "the reason of the change, for its event");

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
export const tagOf = ({ environment }: Pick<Environment, "environment">): string => tagWord(environment);

/** An environment as people write it, such as `acme/Customer`. */
export const environmentName = (environment: Environment): string =>
  directoryName({ workspace: environment.workspace, tag: environment.environment });

/** The environment that the options name, as the query of a call takes it. @throws UsageError if they name none. */
export function environmentQueryOf(options: EnvironmentOptions): { workspace: string; environment: string } {
  const environment = environmentOf(options);
  return { workspace: environment.workspace, environment: tagOf(environment) };
}

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
export async function printOutput({ body, text, issued }: Output, { json }: { json?: boolean }): Promise<void> {
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
  accessOf: (connection: Connection) => ServiceAccess<Client>,
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

/**
 * Says what a change without an undo will do, and to which deployment.
 *
 * @throws CommandError unless the user has confirmed it with --yes.
 */
export function requireYes(options: ServiceOptions & { yes?: boolean }, what: string): void {
  if (!options.yes)
    throw new CommandError(
      `This would ${what}, at ${describedTarget(options.target)}, which cannot be undone. Nothing was changed. To do it, add --yes.`,
      { code: "not_confirmed" },
    );
  announce(options, what);
}

/** Says on standard error what a command is about to do, and to which deployment; not to a program that asks for JSON. */
export function announce({ target, json }: Pick<ServiceOptions, "target" | "json">, what: string): void {
  if (!json) console.error(`At ${describedTarget(target)}: ${what}.`);
}

/** When the credential that a roll replaces ends. */
export const endOf = (graceSeconds: number | undefined): string =>
  graceSeconds ? `which stays valid for ${graceSeconds} s` : "which ends at once";

/** The options that name a deployment, an environment and a credential, as a shell takes them, for a command line to copy. */
export function whereOf(options: ServiceOptions & EnvironmentOptions): string {
  const { context, url, keyFile, workspace, environment, asOperator } = options;
  const named = { context, url, "key-file": keyFile, ...(asOperator && { workspace, environment }) };
  return Object.entries(named)
    .map(([name, value]) => (value === undefined ? "" : ` --${name} ${inShell(value)}`))
    .join("");
}

/** A text as one word of a shell. */
export const inShell = (text: string): string =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
