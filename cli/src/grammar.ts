/** The grammar of the command line: its commands, and its help. */
import { styleText } from "node:util";
import { Command } from "commander";
import project from "../../package.json" with { type: "json" };
import { helpOf } from "./help.ts";
import { RELEASE, TRY } from "./release.ts";

type Entry = { summary: string; load: () => Promise<Command>; isHidden?: boolean };

/** Each command is loaded when it runs, so that the others cost no time. The help shows them in these groups. */
const COMMANDS: Record<string, Record<string, Entry>> = {
  "User groups": {
    groups: {
      summary: "manage user groups: list, change, delete, export, import",
      load: async () => (await import("./commands/groups/groups.ts")).groupsCommand(),
    },
    sessions: {
      summary: "mint viewer sessions, and end them before they expire",
      load: async () => (await import("./commands/sessions.ts")).sessionsCommand(),
    },
    events: {
      summary: "print the changes of an environment, and wait for more",
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
      summary: "show whose credential this is, and its rights",
      load: async () => (await import("./commands/whoami.ts")).whoamiCommand(),
    },
  },
  "Run the service": {
    serve: {
      summary: "run the service on this machine",
      load: async () => (await import("./commands/serve.ts")).serveCommand(),
    },
    doctor: {
      summary: "check a deployment, and say how to fix it",
      load: async () => (await import("./commands/doctor.ts")).doctorCommand(),
    },
    environments: {
      summary: "list the environments of the deployment",
      load: async () => (await import("./commands/environments.ts")).environmentsCommand(),
    },
    backup: {
      summary: "back up environments and the registry, and verify backups",
      load: async () => (await import("./commands/backup.ts")).backupCommand(),
    },
    restore: {
      summary: "restore a backup into its environment, which must be empty",
      load: async () => (await import("./commands/restore.ts")).restoreCommand(),
    },
    erase: {
      summary: "permanently delete all groups, keys and events of an environment",
      load: async () => (await import("./commands/erase.ts")).eraseCommand(),
    },
  },
  "Your database": {
    prove: {
      summary: "prove that no customer sees rows of another in your database",
      load: async () => (await import("./commands/prove.ts")).proveCommand(),
    },
  },
  "This command": {
    context: {
      summary: "store deployments with their keys, and choose one",
      load: async () => (await import("./commands/context.ts")).contextCommand(),
    },
    completion: {
      summary: "print a completion script for bash, zsh or fish",
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
    ["ug serve --persist-to /var/lib/user-groups", "run it in production"],
    ["ug context add prod --url https://groups.example.com --key-file key.txt", "store a deployment and a key for it"],
    [
      "ug keys issue --workspace acme --environment Testing --name backend --create",
      "create an environment, and issue an API key",
    ],
    ["ug groups list --prefix acme-", "list groups with the API key in API_KEY"],
    ["ug groups import customers.csv --dry-run", "show what an import would do"],
    ["ug why < session.jwt", "find out why a viewer sees nothing"],
    ["ug doctor --url https://groups.example.com", "check a deployment"],
    ["ug prove --as-file one.sql --as-file two.sql", "check that your database separates two customers"],
  ],
  notes: `Credentials:
  Give them in a context, a variable or --key-file, never as arguments, which other users can read.
  API_KEY          an API key (ugk_…), which acts in its environment
  OPERATOR_KEY     the key of an operator (ugo_…)
  OPERATOR_TOKEN   the bootstrap token; for a service on this machine, .dev.vars has it
  DATABASE_URL     the database that ug prove checks

Other variables:
  SERVICE_URL      for --url
  UG_CONTEXT       for --context
  UG_WORKSPACE, UG_ENVIRONMENT   for --workspace and --environment
  NO_COLOR         no colours

Exit codes:
  0 done, 1 refused or failed, 2 wrong usage, 3 the service cannot be reached. The help of ug backup verify and ug prove has
  their own codes.

Learn more:
  ug <command> --help shows the options and examples of a command.${RELEASE ? "" : " In a clone of the project, run it as cli/ug.mjs."}
  docs/reference/ug.md explains contexts, completion and daily work, and docs/integrators/bulk.md import and export.`,
});

/** The grammar of the command line. With `args`, only the command that they name is loaded with its options; without them, all are. */
export async function ugCommand(args?: readonly string[]): Promise<Command> {
  const program = new Command("ug")
    .description("Run and manage the user group service, which decides whose data a dashboard shows.")
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
