/** What the commands for maintainers share: their arguments, and how they end. */
import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { print } from "../cli/src/support/output.ts";
import { LOCAL_URL } from "../cli/src/support/service.ts";
import { CommandError } from "../common/command-error.ts";

/** The line of a command's usage for the option that each command has. */
export const URL_USAGE = `  --url URL   the service; by default the environment variable SERVICE_URL, or else ${LOCAL_URL}`;

const SHARED_OPTIONS = { url: { type: "string" }, help: { type: "boolean", default: false } } as const;

/** These may be set whatever was typed: npm sets prefix in each of its scripts, and many set yes in their .npmrc. */
const SET_WITHOUT_TYPING = ["prefix", "yes"];

/** The values of these options and of those that each command has. */
export type ValuesOf<Options extends ParseArgsOptionsConfig> = ReturnType<typeof readArguments<Options>>["values"];

/** Parses the arguments. The error names the option, and repeats nothing else that was typed: it may be a secret. */
export function readArguments<const Options extends ParseArgsOptionsConfig>(options: Options) {
  const all = { ...SHARED_OPTIONS, ...options };
  refuseOptionsTakenByNpm(Object.keys(all), process.argv.slice(2), process.env);
  try {
    return parseArgs({ allowPositionals: true, options: all });
  } catch {
    throw new CommandError(optionFault(all));
  }
}

type OptionToken = { rawName: string; value?: string | undefined; inlineValue?: boolean | undefined };

/** What is wrong with the first option that cannot be parsed. */
function optionFault(options: ParseArgsOptionsConfig): string {
  const { tokens } = parseArgs({ allowPositionals: true, options, strict: false, tokens: true });
  const faults = tokens
    .filter((token) => token.kind === "option")
    .map((token) => faultOf(token, Object.hasOwn(options, token.name) ? options[token.name]?.type : undefined));
  return `${faults.find((fault) => fault !== undefined) ?? "The options cannot be read"}; --help shows them all.`;
}

function faultOf({ rawName, value, inlineValue }: OptionToken, type: "string" | "boolean" | undefined) {
  // Letters alone: a secret that was typed as an option has digits, too.
  if (!type) return /^-+[a-z-]+$/i.test(rawName) ? `There is no option ${rawName}` : "An option is unknown";
  if (type === "boolean") return value === undefined ? undefined : `${rawName} takes no value`;
  if (value === undefined) return `${rawName} lacks its value`;
  return value.startsWith("-") && !inlineValue
    ? `${rawName} lacks its value, or write one that begins with - as ${rawName}=VALUE`
    : undefined;
}

/** Without `--`, npm reads the options of a script as its own, and passes on their names as variables of the environment. */
const isTakenByNpm = (option: string, env: NodeJS.ProcessEnv): boolean =>
  env[`npm_config_${option.replaceAll("-", "_")}`] !== undefined;

function refuseOptionsTakenByNpm(names: readonly string[], args: readonly string[], env: NodeJS.ProcessEnv): void {
  const script = env.npm_lifecycle_event;
  if (script === undefined || args.some((arg) => arg.startsWith("--"))) return;
  const taken = names.filter((name) => !SET_WITHOUT_TYPING.includes(name)).find((name) => isTakenByNpm(name, env));
  if (taken)
    throw new CommandError(
      `npm read --${taken} as an option of its own. Put -- before the arguments: npm run ${script} -- …`,
    );
}

/** A command: its usage, its own options, and what it does. */
export type Command<Options extends ParseArgsOptionsConfig> = {
  usage: string;
  options: Options;
  run: (values: ValuesOf<Options>, positionals: string[]) => Promise<void>;
};

/** Runs a command to its end, or prints its usage. A `CommandError` becomes its message and the status 1. */
export async function runCommand<const Options extends ParseArgsOptionsConfig>(
  command: Command<Options>,
): Promise<void> {
  try {
    const { values, positionals } = readArguments(command.options);
    await ("help" in values && values.help ? print(command.usage) : command.run(values, positionals));
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}
