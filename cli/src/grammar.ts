/** The grammar of the command line: its commands, and its help. */
import { styleText } from "node:util";
import { Command } from "commander";
import { CommandError } from "../../common/command-error.ts";
import project from "../../package.json" with { type: "json" };
import { type About, described } from "./help.ts";
import { IS_CLONE, isAbsent, SECRETS_OF_MACHINE, TRY } from "./release.ts";

/** A command: its module, and what the help of `ug` says of it. */
type Entry = readonly [load: () => Promise<{ command: () => Command }>, summary: string];

/** Each command is loaded when it runs, so that the others cost no time. The help shows them in these groups. */
const COMMANDS: Record<string, Record<string, Entry>> = {
  "User groups": {
    groups: [() => import("./commands/groups/groups.ts"), "manage user groups: list, change, delete, export, import"],
    sessions: [() => import("./commands/sessions.ts"), "mint viewer sessions, and end them before they expire"],
    events: [() => import("./commands/events.ts"), "print the changes of an environment, and wait for more"],
  },
  "Who may call": {
    keys: [() => import("./commands/keys.ts"), "issue, list, roll and revoke the API keys of an environment"],
    operators: [() => import("./commands/operators.ts"), "issue, list, roll and revoke the keys of operators"],
    why: [() => import("./commands/why.ts"), "explain why a credential is refused, or a group shows nothing"],
    whoami: [() => import("./commands/whoami.ts"), "show whose credential this is, and its rights"],
  },
  "Run the service": {
    serve: [() => import("./commands/serve.ts"), "run the service on this machine"],
    log: [
      () => import("./commands/log.ts"),
      "search the log of the service by environment, key, group, operator and time",
    ],
    doctor: [() => import("./commands/doctor.ts"), "check a deployment, and say how to fix it"],
    environments: [() => import("./commands/environments.ts"), "list the environments of the deployment"],
    backup: [() => import("./commands/backup/backup.ts"), "back up environments and the registry, and verify backups"],
    restore: [() => import("./commands/restore.ts"), "restore a backup into an empty environment, or one group of it"],
    erase: [() => import("./commands/erase.ts"), "permanently delete all groups, keys and events of an environment"],
  },
  "Your database": {
    prove: [() => import("./commands/prove.ts"), "prove that no customer sees rows of another in your database"],
  },
  "This command": {
    context: [() => import("./commands/context.ts"), "store deployments with their keys, and choose one"],
    completion: [() => import("./commands/completion.ts"), "print a completion script for bash, zsh or fish"],
  },
};

const ABOUT: About = {
  summary: "run and manage the user group service, which decides whose data a dashboard shows",
  examples: {
    ...(!isAbsent("serve") && {
      [TRY]: "try the service on this machine",
      "ug serve --persist-to /var/lib/user-groups": "run it in production",
    }),
    "ug context add prod --url https://groups.example.com --key-file key.txt": "store a deployment and a key for it",
    "ug keys issue --workspace acme --environment Testing --name backend --create":
      "create an environment, and issue an API key",
    "ug groups list --prefix acme-": "list groups with the API key in API_KEY",
    "ug groups import customers.csv --dry-run": "show what an import would do",
    "ug why < session.jwt": "find out why a viewer sees nothing",
    "ug doctor --url https://groups.example.com": "check a deployment",
    "ug prove --as-file one.sql --as-file two.sql": "check that your database separates two customers",
  },
  notes: `Credentials:
  Give them in a context, a variable or --key-file, never as arguments, which other users can read.
  API_KEY          an API key (ugk_…), which acts in its environment
  OPERATOR_KEY     the key of an operator (ugo_…)
  OPERATOR_TOKEN   the bootstrap token; for a service on this machine, ${SECRETS_OF_MACHINE} has it
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
  ug help <command> shows the options and examples of a command, and ug version the version.${IS_CLONE ? " In a clone of the project, run it as cli/ug.mjs." : ""}
  /docs/ug of each service explains contexts, completion and daily work, and /docs/bulk import and export.`,
};

/** The grammar of the command line. With `args`, only the command that they name is loaded with its options; without them, all are. */
export async function ugCommand(args?: readonly string[]): Promise<Command> {
  const program = described("ug", ABOUT)
    .usage("<command> [<subcommand>] [options]")
    .version(project.version, "-V, --version", "print the version")
    // An option after the name of a command belongs to that command.
    .enablePositionalOptions();
  for (const [heading, commands] of Object.entries(COMMANDS))
    for (const [name, [load, summary]] of Object.entries(commands)) {
      if (isAbsent(name)) {
        program.addCommand(absent(name), { hidden: true });
        continue;
      }
      const isLoaded = args === undefined || name === args[0];
      const command = isLoaded ? (await load()).command() : new Command(name).description(summary);
      program.addCommand(command.summary(summary).helpGroup(`${heading}:`));
    }
  // What the script of `ug completion` calls.
  if (args?.[0] === "complete")
    program.addCommand((await import("./commands/completion.ts")).completeCommand(ugCommand), { hidden: true });
  return configured(program);
}

/** In place of a command that this `ug` lacks. */
function absent(name: string): Command {
  const sentence = `ug ${name} runs on the machine of the service, from its release. This ug is of the npm package, for those who call the service.`;
  return new Command(name)
    .description(sentence)
    .argument("[arguments...]")
    .allowUnknownOption()
    .action(() => {
      throw new CommandError(sentence);
    });
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
