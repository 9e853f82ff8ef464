/** What the commands of `ug` that call the service share: options and output. */
import { type Command, Option } from "commander";
import { CommandError } from "../../common/command-error.ts";
import { describedTarget, namedContext, targetOf } from "./contexts/context-store.ts";
import { type About, described } from "./help.ts";
import { accessToDeployment, accessToEnvironment, type ServiceAccess, type ServiceOptions } from "./service-access.ts";
import { readTypedLine } from "./support/option-file.ts";
import { OutputError, print } from "./support/output.ts";
import { escapeInvisible, jsonLineOf } from "./support/printable.ts";

/** For commands with an undo, so that each command that changes something takes `--yes`. */
export const UNASKED = ["--yes", "not needed: this command does not ask"] as const;

const ENVIRONMENT = ["workspace", "environment"] as const;

/** Whether a command that makes an event can be undone. One that cannot be asks before. */
export type Change = "undoable" | "final";

/**
 * A command that calls the service. It may take the options that name an environment, and those of a change. A final change
 * that loses more than one thing names it in `lost`, and is not confirmed by --yes.
 */
export function serviceCommand(
  name: string,
  { inEnvironment, change, lost, ...about }: About & { inEnvironment?: true; change?: Change; lost?: string },
): Command {
  const command = described(name, about)
    .option("--url <url>", "URL of the service (default: SERVICE_URL, the context in use, or http://localhost:8787)")
    .option("--context <name>", "use the deployment and the key of this context (env: UG_CONTEXT)")
    .option("--key-file <file>", "read the credential from this file; - is standard input")
    .option("--json", "print JSON, for failures too")
    .hook("preAction", (parent, each) => {
      if (parent === each) setTarget(each);
    });
  if (inEnvironment)
    command
      .addOption(new Option("--workspace <slug>", "the workspace of the environment").env("UG_WORKSPACE"))
      .addOption(new Option("--environment <name>", "Customer, Testing or untagged").env("UG_ENVIRONMENT"));
  if (change) command.option("--reason <text>", "the reason of the change, for its event");
  if (change === "undoable") command.option(...UNASKED);
  if (change === "final")
    command
      .option("--yes", lost ? "not enough: give --confirm" : "confirm; without it, nothing is changed")
      .option(`--confirm <${lost ?? "name"}>`, "confirm by the name of what is lost");
  return command;
}

/** Sets the deployment of a command, and the environment that its context names, which variables do not replace by halves. */
function setTarget(command: Command): void {
  const options = command.opts<ServiceOptions>();
  const target = targetOf(options, process.env);
  const sources = ENVIRONMENT.map((name) => command.getOptionValueSource(name));
  const isNamed = sources.includes("cli");
  command.setOptionValue("target", target).setOptionValue("isNamed", isNamed);
  if (isNamed || (sources.includes("env") && namedContext(options, process.env) === undefined)) return;
  for (const name of ENVIRONMENT)
    if (target.context?.workspace !== undefined)
      command.setOptionValueWithSource(name, target.context[name], "context");
}

/** What a command has done: an object with the names of the wire for `--json`, and a text for people. */
export type Output = {
  body: object;
  text: string;
  /** Names the issued secret, which is lost if it cannot be printed. */
  issued?: string;
};

type Positionals = readonly unknown[];

type Run<Options, Arguments extends Positionals> = (
  options: Options & ServiceOptions,
  ...rest: Arguments
) => Promise<Output | undefined>;

/** The action of a command that prints what it has done. */
export const action = <Options extends object, Arguments extends Positionals>(run: Run<Options, Arguments>) =>
  async function (this: Command): Promise<void> {
    const options = this.opts<Options & ServiceOptions>();
    const output = await run(options, ...(this.processedArgs as unknown as Arguments));
    if (!output) return;
    const { body, text, issued } = output;
    await print(options.json ? jsonLineOf(body) : text).catch((error: unknown) => {
      if (issued && error instanceof OutputError)
        throw new CommandError(`${error.message} Nobody has seen ${issued}: revoke it, and issue another.`);
      throw error;
    });
  };

/** An action that gets, before its options, the client to which the credential of the command gives access. */
const actionWith =
  <Client>(accessOf: (options: ServiceOptions) => ServiceAccess<Client>) =>
  <Options extends object, Arguments extends Positionals>(
    run: (client: Client, ...rest: Parameters<Run<Options, Arguments>>) => ReturnType<Run<Options, Arguments>>,
  ) =>
    action<Options, Arguments>((options, ...rest) => {
      const { client, credential, explained } = accessOf(options);
      const asOperator = credential.kind === "operator";
      return run(client, { ...options, asOperator }, ...rest).catch((error: unknown) => {
        throw explained(error);
      });
    });

/** The action of a command for operators. */
export const operatorAction = actionWith(accessToDeployment);

/** The action of a command for the API key of an environment, or for operators who name one. */
export const environmentAction = actionWith(accessToEnvironment);

/** The name of what is lost for good by a change, if anything is, and what to do if it was not confirmed. */
export type Confirmation = { name?: string | undefined; todo?: string };

/**
 * Says what a change will do, and to which deployment.
 *
 * @throws CommandError unless the user has confirmed it: with --yes, with --confirm and the name, or in a terminal by an answer
 */
export function requireYes(options: ServiceOptions, what: string, confirmation: Confirmation): void {
  const { name, todo = "To do it, add --yes." } = confirmation;
  const lost = confirmation.todo === undefined ? ", which cannot be undone" : "";
  const would = `This would ${what}, at ${describedTarget(options.target)}${lost}.`;
  const isConfirmed = options.confirm === undefined ? options.yes === true : options.confirm === name;
  const isAsked = options.confirm === undefined && !options.json && process.stdin.isTTY && process.stderr.isTTY;
  if (!isConfirmed && !(isAsked && isTyped(name ?? "yes", would)))
    throw new CommandError(isAsked ? `Not confirmed. ${UNCHANGED}` : `${would} ${UNCHANGED} ${todo}`, {
      code: "not_confirmed",
    });
  announce(options, what);
}

const UNCHANGED = "Nothing was changed.";

function isTyped(text: string, sentence: string): boolean {
  process.stderr.write(`${sentence} Type ${escapeInvisible(text)} to do it: `);
  return readTypedLine() === text;
}

/** Says on standard error what a command is about to do, and to which deployment; not to a program that asks for JSON. */
export function announce({ target, json }: Pick<ServiceOptions, "target" | "json">, what: string): void {
  if (!json) console.error(`At ${describedTarget(target)}: ${what}.`);
}

/** The options that name a deployment, an environment and a credential, as a shell takes them, for a command line to copy. */
export function whereOf(options: ServiceOptions): string {
  const { context, url, keyFile, workspace, environment, asOperator } = options;
  const named = { context, url, "key-file": keyFile, ...(asOperator && { workspace, environment }) };
  return Object.entries(named)
    .map(([name, value]) => (value === undefined ? "" : ` --${name} ${inShell(value)}`))
    .join("");
}

/** A text as one word of a shell. */
export const inShell = (text: string): string =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
