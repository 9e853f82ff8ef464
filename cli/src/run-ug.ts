import { styleText } from "node:util";
import { type Command, CommanderError } from "commander";
import { CommandError, isUnreachable, UsageError } from "../../common/command-error.ts";
import { ugCommand } from "./grammar.ts";
import { OutputError, print } from "./support/output.ts";
import { capitalized, escapeInvisible, jsonLineOf } from "./support/printable.ts";

/** The exit codes. */
export const EXIT = { done: 0, refused: 1, wrongUsage: 2, unreachable: 3 } as const;

/**
 * The names of the commands that change nothing. No other is suggested in place of an unknown one: who types what was suggested
 * must lose nothing by it.
 */
const SUGGESTED = new Set([
  ...["groups", "keys", "operators", "sessions", "backup", "environments", "context"],
  ...["list", "show", "export", "events", "log", "whoami", "why", "doctor", "prove", "completion"],
]);

/** The options that make a command do more than without them. None of them is suggested. */
const UNSUGGESTED = new Set([
  ...["--yes", "--force", "--confirm", "--all", "--update", "--restart", "--create", "--unsigned", "--replace"],
  ...["--rotate-tokens", "--rotate-token", "--revoke-keys", "--deployment", "--accept", "--allow", "--keep", "--none"],
]);

/** Credentials of this service, sessions, and the address of a database, which has its password in it. None belongs in arguments. */
const CREDENTIAL = /\bug[kot]_[\w-]{20}|\beyJ[\w-]+\.[\w-]+\.|\bpostgres(?:ql)?:\/\//;

/**
 * Runs a command line, without the names of the program and its script. Returns the exit code, and never throws for a failure
 * that its user can fix.
 */
export async function runUg(typed: readonly string[]): Promise<number> {
  const args = asOptions(typed);
  const isJson = args.includes("--json");
  try {
    if (args.some((arg) => CREDENTIAL.test(arg)))
      throw new UsageError(
        "An argument looks like a credential, and other users of this machine can read arguments. Set API_KEY, OPERATOR_KEY or\n" +
          "DATABASE_URL in the environment, or put a key in a file and give --key-file.",
      );
    const program = await ugCommand(args);
    if (args.length === 0) program.help();
    refuseOptionsAsValues(program, args);
    await program.parseAsync(namesCommand(program, args) ? args : args.filter(isNoHelp), { from: "user" });
    return Number(process.exitCode ?? EXIT.done);
  } catch (error) {
    return args[0] === "serve" ? failToServe(error, args) : fail(error, isJson);
  }
}

/** `ug help groups list` and `ug version` as the options that they stand for. */
function asOptions(args: readonly string[]): readonly string[] {
  const [first, ...rest] = args;
  if (first === "help") return [...rest, "--help"];
  return first === "version" ? ["--version", ...rest] : args;
}

const isNoHelp = (arg: string): boolean => arg !== "--help" && arg !== "-h";

/** Whether the words before the options name a command. If not, --help would only show the help of the words that do. */
function namesCommand({ commands, registeredArguments }: Command, [word = "-", ...rest]: readonly string[]): boolean {
  const named = commands.find((each) => each.name() === word);
  if (named) return namesCommand(named, rest);
  return word.startsWith("-") || commands.length === 0 || registeredArguments.length > 0;
}

/** Reports at once why the service has ended. If it has not started, its socket then refuses calls for some seconds. */
async function failToServe(error: unknown, args: readonly string[]): Promise<number> {
  const { refuseCalls, ServiceEnded } = await import("./serve/failed-start.ts");
  const isExplained = error instanceof CommandError || error instanceof CommanderError;
  if (!isExplained) console.error(error);
  const exitCode = isExplained ? await fail(error, false) : EXIT.refused;
  if (exitCode === EXIT.done || error instanceof ServiceEnded) return exitCode;
  return (await refuseCalls(args)) ? EXIT.done : exitCode;
}

/** Otherwise `--name --json` would take the next option for the name. */
export function refuseOptionsAsValues(program: Command, args: readonly string[]): void {
  const named = args.reduce((command, arg) => command.commands.find((each) => each.name() === arg) ?? command, program);
  for (const [index, arg] of args.entries()) {
    const takesValue = named.options.some(({ long, required }) => long === arg && required);
    if (takesValue && /^-./.test(args[index + 1] ?? ""))
      throw new UsageError(`${arg} lacks its value; write one that begins with - as ${arg}=VALUE.`);
  }
}

async function fail(error: unknown, isJson: boolean): Promise<number> {
  if (error instanceof CommanderError && error.exitCode === 0) return EXIT.done;
  // The name of a group of commands alone: commander has printed its help.
  if (error instanceof CommanderError && error.code === "commander.help" && !isJson) return EXIT.wrongUsage;
  const failure = error instanceof CommanderError ? new UsageError(sentenceOf(error)) : error;
  if (!(failure instanceof CommandError)) throw failure;
  // The reader has what it wanted, as with `ug groups list | head`.
  if (failure instanceof OutputError && failure.isClosed) return EXIT.done;
  const { code, message, requestId } = failure;
  if (isJson) {
    const body = { success: 0, error: { code, message }, ...(requestId !== undefined && { request_id: requestId }) };
    await print(jsonLineOf(body)).catch(() => undefined);
  } else {
    const id = requestId === undefined ? "" : ` (request ${escapeInvisible(requestId)})`;
    console.error(`${styleText("red", "error:", { stream: process.stderr })} ${message}${id}`);
  }
  if (failure instanceof UsageError) return EXIT.wrongUsage;
  return isUnreachable(failure) ? EXIT.unreachable : EXIT.refused;
}

/** Commander's sentence without the values that were typed, each of which may be a secret. */
export function sentenceOf({ message }: CommanderError): string {
  const sentence = message
    .replace(/^error: /, "")
    .replace(/\n\(Did you mean (?:one of )?([-a-z, ]+)\?\)$/, (suggestion, names: string) =>
      names.split(", ").every(isHarmless) ? suggestion : "",
    )
    .replaceAll("\n", " ")
    .replace(/ but got (\d+): .*$/s, " but got $1")
    .replace(/ (argument|value) '.*' (from env '\w+' )?is invalid\./s, " has an invalid value.")
    .replace(/\.$/, "");
  const quotedTexts = [...sentence.matchAll(/'([^']*)'/g)].map(([, text = ""]) => text);
  // Letters alone: a secret that was typed as a command or an option has digits, too.
  const isSafe = quotedTexts.every((text) => /^[-a-z<>. ,]{0,60}$/i.test(text));
  return `${isSafe ? capitalized(sentence) : "A command or an option is unknown"}; --help shows how.`;
}

const isHarmless = (name: string): boolean => (name.startsWith("-") ? !UNSUGGESTED.has(name) : SUGGESTED.has(name));
