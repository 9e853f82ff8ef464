import { styleText } from "node:util";
import { Command, CommanderError } from "commander";
import { CommandError, isUnreachable, UsageError } from "../../common/command-error.ts";
import project from "../../package.json" with { type: "json" };
import { helpOf } from "./command.ts";
import { RELEASE, TRY } from "./release.ts";
import { OutputError, print } from "./support/output.ts";
import { escapeInvisible, jsonLineOf } from "./support/printable.ts";

/** The exit codes. */
export const EXIT = { done: 0, refused: 1, wrongUsage: 2, unreachable: 3 } as const;

/**
 * The names of the commands that change nothing. No other is suggested in place of an unknown one: who types what was suggested
 * must lose nothing by it.
 */
const SUGGESTED = new Set([
  ...["groups", "keys", "operators", "sessions", "backup"],
  ...["list", "show", "export", "events", "environments", "whoami", "doctor", "prove"],
]);

type Entry = { summary: string; load: () => Promise<Command> };

/** Each command is loaded when it runs, so that the others cost no time. */
const COMMANDS: Record<string, Entry> = {
  serve: {
    summary: "run the service on this machine",
    load: async () => (await import("./commands/serve.ts")).serveCommand(),
  },
  keys: {
    summary: "issue, list, roll and revoke the API keys of an environment",
    load: async () => (await import("./commands/keys.ts")).keysCommand(),
  },
  operators: {
    summary: "issue, list, roll and revoke the keys of operators",
    load: async () => (await import("./commands/operators.ts")).operatorsCommand(),
  },
  environments: {
    summary: "list the environments of the deployment",
    load: async () => (await import("./commands/environments.ts")).environmentsCommand(),
  },
  groups: {
    summary: "list, change, rotate, delete, export and import user groups",
    load: async () => (await import("./commands/groups.ts")).groupsCommand(),
  },
  sessions: {
    summary: "end viewer sessions before their time",
    load: async () => (await import("./commands/sessions.ts")).sessionsCommand(),
  },
  events: {
    summary: "print the changes of an environment, or wait for them",
    load: async () => (await import("./commands/events.ts")).eventsCommand(),
  },
  backup: {
    summary: "back up environments and the registry, and prove backups",
    load: async () => (await import("./commands/backup.ts")).backupCommand(),
  },
  restore: {
    summary: "restore a backup into the environment that it is of, which must be empty",
    load: async () => (await import("./commands/restore.ts")).restoreCommand(),
  },
  erase: {
    summary: "delete all groups, keys and events of an environment for good",
    load: async () => (await import("./commands/erase.ts")).eraseCommand(),
  },
  whoami: {
    summary: "show the rights of a credential",
    load: async () => (await import("./commands/whoami.ts")).whoamiCommand(),
  },
  prove: {
    summary: "prove that your database shows no customer the rows of another",
    load: async () => (await import("./commands/prove.ts")).proveCommand(),
  },
  doctor: {
    summary: "find what is wrong with a deployment",
    load: async () => (await import("./commands/doctor.ts")).doctorCommand(),
  },
};

const HELP = helpOf({
  examples: [
    [TRY, "try the service on this machine"],
    ["ug serve --persist-to /var/lib/user-groups", "run it for good"],
    ["ug keys issue --workspace acme --environment Testing --name backend --create", "an API key, and its environment"],
    ["ug groups list --prefix acme-", "the groups of the API key in API_KEY"],
    ["ug doctor --url https://groups.example.com", "find what is wrong"],
    ["ug prove --as-file one.sql --as-file two.sql", "find out whether your database keeps two customers apart"],
  ],
  notes: `Credentials come from the environment, or from --key-file, and never from arguments, which other users can read:
  API_KEY          an API key (ugk_…), for the environment that it belongs to
  OPERATOR_KEY     the key of an operator (ugo_…)
  OPERATOR_TOKEN   the bootstrap token. For a service on this machine, it is also read from .dev.vars
  DATABASE_URL     the database that ug prove examines

Other variables: SERVICE_URL for --url, UG_WORKSPACE and UG_ENVIRONMENT for --workspace and --environment, NO_COLOR.
${RELEASE ? "" : "In the folder of the project, run it as npx ug. "}Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 3 the service cannot
be reached. ug backup verify and ug prove have their own, which their help names. With --json, failures are JSON too, with a
code and a request id.`,
});

/** Credentials of this service, sessions, and the address of a database, which has its password in it. None belongs in arguments. */
const CREDENTIAL = /\bug[kot]_[\w-]{20}|\beyJ[\w-]+\.[\w-]+\.|\bpostgres(?:ql)?:\/\//;

/**
 * Runs a command line, without the names of the program and its script. Returns the exit code, and never throws for a failure
 * that its user can fix.
 */
export async function runUg(args: readonly string[]): Promise<number> {
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
    await program.parseAsync(args, { from: "user" });
    return Number(process.exitCode ?? EXIT.done);
  } catch (error) {
    return fail(error, isJson);
  }
}

/** The grammar of the command line, of which only the command that `args` name has its options. Without `args`, all have. */
export async function ugCommand(args?: readonly string[]): Promise<Command> {
  const program = new Command("ug")
    .description("User groups, and the tokens that decide who sees whose dashboards: run the service, and manage it.")
    .usage("<command> [options]")
    .version(project.version, "-V, --version", "print the version")
    .helpCommand(false)
    // An option after the name of a command belongs to that command.
    .enablePositionalOptions()
    .addHelpText("after", HELP);
  for (const [name, { summary, load }] of Object.entries(COMMANDS)) {
    const command = args === undefined || name === args[0] ? await load() : new Command(name);
    program.addCommand(command.summary(summary));
  }
  return configured(program);
}

/** Makes a command and those below it throw instead of ending the process, and print no text that was typed. */
function configured(command: Command): Command {
  command
    .exitOverride()
    .helpCommand(false)
    .allowExcessArguments(false)
    .helpOption("-h, --help", "show this help")
    .configureHelp({
      styleTitle: (title) => styleText("bold", title, { stream: process.stdout }),
      subcommandTerm: (each) =>
        `${each.name()} ${each.usage().replace("[options] ", "").replace("[options]", "")}`.trim(),
    })
    .configureOutput({ writeOut: (text) => process.stdout.write(text), outputError: () => undefined });
  for (const each of command.commands) configured(each);
  return command;
}

/** Otherwise `--name --json` would take the next option for the name. */
function refuseOptionsAsValues(program: Command, args: readonly string[]): void {
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
function sentenceOf({ message }: CommanderError): string {
  const sentence = message
    .replace(/^error: /, "")
    .replace(/\n\(Did you mean (?:one of )?([a-z, ]+)\?\)$/, (suggestion, names: string) =>
      names.split(", ").every((name) => SUGGESTED.has(name)) ? suggestion : "",
    )
    .replaceAll("\n", " ")
    .replace(/ but got (\d+): .*$/s, " but got $1")
    .replace(/ (argument|value) '.*' (from env '\w+' )?is invalid\./s, " has an invalid value.")
    .replace(/\.$/, "");
  const quotedTexts = [...sentence.matchAll(/'([^']*)'/g)].map(([, text = ""]) => text);
  // Letters alone: a secret that was typed as a command or an option has digits, too.
  const isSafe = quotedTexts.every((text) => /^[-a-z<>. ,]{0,60}$/i.test(text));
  return `${isSafe ? upper(sentence) : "A command or an option is unknown"}; --help shows how.`;
}

const upper = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
