/** The grammar of the command line: its commands, and its help. */
import { styleText } from "node:util";
import { Command } from "commander";
import project from "../../package.json" with { type: "json" };
import { helpOf } from "./command.ts";
import { RELEASE, TRY } from "./release.ts";

type Entry = { summary: string; load: () => Promise<Command>; isHidden?: boolean };

/** Each command is loaded when it runs, so that the others cost no time. The help shows them in these groups. */
const COMMANDS: Record<string, Record<string, Entry>> = {
  "User groups": {
    groups: {
      summary: "list, change, rotate, delete, export and import user groups",
      load: async () => (await import("./commands/groups/groups.ts")).groupsCommand(),
    },
    sessions: {
      summary: "mint viewer sessions, and end them before their time",
      load: async () => (await import("./commands/sessions.ts")).sessionsCommand(),
    },
    events: {
      summary: "print the changes of an environment, or wait for them",
      load: async () => (await import("./commands/events.ts")).eventsCommand(),
    },
  },
  "Who may call": {
    keys: {
      summary: "issue, list, roll and revoke the API keys of an environment",
      load: async () => (await import("./commands/keys.ts")).keysCommand(),
    },
    operators: {
      summary: "issue, list, roll and revoke the keys of operators",
      load: async () => (await import("./commands/operators.ts")).operatorsCommand(),
    },
    why: {
      summary: "explain why a credential is refused, or a group shows nothing",
      load: async () => (await import("./commands/why.ts")).whyCommand(),
    },
    whoami: {
      summary: "show the rights of a credential",
      load: async () => (await import("./commands/whoami.ts")).whoamiCommand(),
    },
  },
  "Run the service": {
    serve: {
      summary: "run the service on this machine",
      load: async () => (await import("./commands/serve.ts")).serveCommand(),
    },
    doctor: {
      summary: "find what is wrong with a deployment",
      load: async () => (await import("./commands/doctor.ts")).doctorCommand(),
    },
    environments: {
      summary: "list the environments of the deployment",
      load: async () => (await import("./commands/environments.ts")).environmentsCommand(),
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
  },
  "Your database": {
    prove: {
      summary: "prove that your database shows no customer the rows of another",
      load: async () => (await import("./commands/prove.ts")).proveCommand(),
    },
  },
  "This command": {
    context: {
      summary: "store deployments with their keys, and choose one",
      load: async () => (await import("./commands/context.ts")).contextCommand(),
    },
    completion: {
      summary: "print the script with which a shell completes ug",
      load: async () => (await import("./commands/completion.ts")).completionCommand(),
    },
    complete: {
      summary: "what that script calls",
      load: async () => (await import("./commands/completion.ts")).completeCommand(ugCommand),
      isHidden: true,
    },
  },
};

const HELP = helpOf({
  examples: [
    [TRY, "try the service on this machine"],
    ["ug serve --persist-to /var/lib/user-groups", "run it for good"],
    ["ug context add prod --url https://groups.example.com --key-file key.txt", "a deployment and a key for it"],
    ["ug keys issue --workspace acme --environment Testing --name backend --create", "an API key, and its environment"],
    ["ug groups list --prefix acme-", "the groups of the API key in API_KEY"],
    ["ug groups import customers.csv --dry-run", "what an import would do"],
    ["ug why < session.jwt", "why a viewer sees nothing"],
    ["ug doctor --url https://groups.example.com", "find what is wrong"],
    ["ug prove --as-file one.sql --as-file two.sql", "find out whether your database keeps two customers apart"],
  ],
  notes: `Credentials:
  They come from a context, the environment or --key-file, and never from arguments, which other users can read.
  API_KEY          an API key (ugk_…), for the environment that it belongs to
  OPERATOR_KEY     the key of an operator (ugo_…)
  OPERATOR_TOKEN   the bootstrap token. For a service on this machine, it is also read from .dev.vars
  DATABASE_URL     the database that ug prove examines

Other variables:
  SERVICE_URL      the service, for --url
  UG_CONTEXT       for --context
  UG_WORKSPACE, UG_ENVIRONMENT   for --workspace and --environment
  NO_COLOR         no colours

Exit codes:
  0 done, 1 refused or failed, 2 wrong usage, 3 the service cannot be reached. ug backup verify and ug prove have their own,
  which their help names. With --json, failures are JSON too, with a code and a request id.

Learn more:
  ug <command> --help shows the options and examples of a command.${RELEASE ? "" : " In the folder of the project, run it as npx ug."}
  docs/reference/ug.md has contexts, completion and the work of a day, and docs/integrators/bulk.md import and export.`,
});

/** The grammar of the command line, of which only the command that `args` name has its options. Without `args`, all have. */
export async function ugCommand(args?: readonly string[]): Promise<Command> {
  const program = new Command("ug")
    .description("User groups, and the tokens that decide who sees whose dashboards: run the service, and manage it.")
    .usage("<command> [<subcommand>] [options]")
    .version(project.version, "-V, --version", "print the version")
    .helpCommand(false)
    // An option after the name of a command belongs to that command.
    .enablePositionalOptions()
    .addHelpText("after", HELP);
  for (const [heading, commands] of Object.entries(COMMANDS))
    for (const [name, { summary, load, isHidden = false }] of Object.entries(commands)) {
      if (isHidden && name !== args?.[0]) continue;
      const command = args === undefined || name === args[0] ? await load() : new Command(name).description(summary);
      program.addCommand(command.summary(summary).helpGroup(`${heading}:`), { hidden: isHidden });
    }
  return configured(program);
}

/** Makes a command and those below it throw instead of ending the process, and print no text that was typed. */
export function configured(command: Command): Command {
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
