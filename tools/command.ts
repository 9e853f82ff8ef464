/** How the commands for maintainers run. commander parses them, as it parses those of `ug`. */
import { type Command, CommanderError } from "commander";
import { configured } from "../cli/src/grammar.ts";
import { refuseOptionsAsValues, sentenceOf } from "../cli/src/run-ug.ts";
import { LOCAL_URL } from "../cli/src/support/service.ts";
import { CommandError } from "../common/command-error.ts";

/** The option that names the service. */
export const URL_OPTION = ["--url <url>", `the service; by default SERVICE_URL, or else ${LOCAL_URL}`] as const;

/** npm sets `prefix` in each of its scripts, whatever was typed. */
const SET_WITHOUT_TYPING = "prefix";

/** Without `--`, npm reads the options of a script as its own, and passes on their names as variables of the environment. */
function refuseOptionsTakenByNpm({ options }: Command, args: readonly string[], env: NodeJS.ProcessEnv): void {
  const script = env.npm_lifecycle_event;
  if (script === undefined || args.some((arg) => arg.startsWith("--"))) return;
  const taken = options
    .map((option) => option.name())
    .find((name) => name !== SET_WITHOUT_TYPING && env[`npm_config_${name.replaceAll("-", "_")}`] !== undefined);
  if (taken)
    throw new CommandError(
      `npm read --${taken} as an option of its own. Put -- before the arguments: npm run ${script} -- …`,
    );
}

/** Runs a command with the arguments of this process. If it fails, it prints a message that repeats no argument, and the status is 1. */
export async function runTool(command: Command): Promise<void> {
  const args = process.argv.slice(2);
  try {
    refuseOptionsTakenByNpm(command, args, process.env);
    refuseOptionsAsValues(command, args);
    await configured(command).parseAsync(args, { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return;
    const failure = error instanceof CommanderError ? new CommandError(sentenceOf(error)) : error;
    if (!(failure instanceof CommandError)) throw failure;
    console.error(failure.message);
    process.exitCode = 1;
  }
}
