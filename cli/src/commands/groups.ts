/** `ug groups`: the user groups of an environment. */
import { createReadStream, fstatSync, openSync } from "node:fs";
import { Socket } from "node:net";
import { type Command, Option } from "commander";
import {
  type Environment,
  type EnvironmentClient,
  type GroupState,
  UserGroupClient,
} from "../../../client/src/index.ts";
import { CommandError, UsageError } from "../../../common/command-error.ts";
import { CONTENT, GROUP_FIELDS } from "../../../common/content.ts";
import { type Access, accessToEnvironment } from "../access.ts";
import {
  commandGroup,
  connectionOf,
  type EnvironmentOptions,
  type Examples,
  environmentAction,
  environmentOf,
  type Output,
  printOutput,
  readId,
  type ServiceOptions,
  serviceCommand,
  withEnvironment,
  withReason,
} from "../command.ts";
import { readDays, readSeconds } from "../duration.ts";
import { JSON_OPTIONS, withContent } from "../groups/content-options.ts";
import { exportGroups } from "../groups/export.ts";
import { importGroups } from "../groups/import.ts";
import { list, purge, remove, restore, resume, rotate, show, suspend, update } from "../groups/manage.ts";
import { groupNumbers, rotateAll } from "../groups/rotate-all.ts";
import { defaultRecordFile, RotationRecord } from "../groups/rotation-record.ts";
import { commandLine, type Task } from "../groups/task.ts";
import { RESPONSE_MS_MAX } from "../support/http.ts";
import { systemErrorCode } from "../support/output.ts";
import { wholeNumberReader } from "../whole-number.ts";

const CONCURRENCY_MAX = 64;
const CONCURRENCY_DEFAULT = 16;
const LIMIT_DEFAULT = 1_000;
const LIMIT_MAX = 100_000;
const STATES = Object.keys({ active: 1, suspended: 1, deleted: 1 } satisfies Record<GroupState, 1>);

/** What a line of an import may give. */
const FIELDS = GROUP_FIELDS.map((field) => CONTENT[field].column).join(", ");

const WHOSE =
  "The API key in API_KEY decides the environment. An operator names it with --workspace and --environment, and has the key in\nOPERATOR_KEY.";

/** `ug groups` and the commands below it. */
export const groupsCommand = (): Command =>
  commandGroup(
    "groups",
    {
      summary: "list, change, rotate, delete, export and import user groups",
      examples: [
        ["ug groups list --prefix acme-", "the groups of the API key in API_KEY"],
        ["ug groups suspend --id acme --workspace demo --environment Customer", "as an operator"],
        ["ug groups export > groups.ndjson", "all groups, without their tokens"],
        ["ug groups import groups.ndjson --update", "make the groups what the file says"],
      ],
      notes: `A group is named by its number (team_id), or by --id with its user_group_id. No command shows a token.\n${WHOSE}`,
    },
    [
      listCommand(),
      showCommand(),
      updateCommand(),
      rotateCommand(),
      ...SIMPLE.map(simpleCommand),
      restoreCommand(),
      purgeCommand(),
      exportCommand(),
      importCommand(),
    ],
  );

/** A command on the groups of an environment. */
const groupsOf = (name: string, summary: string, examples: Examples): Command =>
  withEnvironment(serviceCommand(name, { summary, examples, notes: WHOSE }));

/** A command on one group. */
const groupOf = (name: string, summary: string, examples: Examples): Command =>
  groupsOf(name, summary, examples)
    .argument("[number]", "the number of the group (team_id)", readId)
    .option("--id <id>", "the user_group_id of the group, in place of its number");

/** A command that changes one group. */
const changeOf = (...about: Parameters<typeof groupOf>): Command => withReason(groupOf(...about));

/** The action of a command that lists, shows or changes groups. */
const managed = <Values extends object>(run: (task: Task<Values>) => Promise<Output>) =>
  environmentAction((client: EnvironmentClient, options: Values & EnvironmentOptions, number?: number) =>
    run({ client, values: options, number, where: whereOf(options) }),
  );

/** The options that name the environment, if an operator calls. */
const whereOf = ({ workspace, environment, asOperator }: EnvironmentOptions & ServiceOptions): string =>
  asOperator ? ` --workspace ${workspace} --environment ${environment}` : "";

const listCommand = () =>
  groupsOf("list", "list the groups", [
    ["ug groups list", "those that exist"],
    ["ug groups list --state deleted", "those that can be restored"],
    ["ug groups list --prefix shop- --json", "as JSON"],
    ["ug groups list --search zurich", "those whose name or id contains it"],
    ["ug groups list --not-viewed-for 30d", "those that nobody has viewed for 30 days"],
  ])
    .option("--prefix <text>", "only those whose user_group_id begins with it")
    .option("--search <text>", "only those whose name or id contains it, without regard to case and accents")
    .option("--not-viewed-for <time>", "only those that were not viewed for so long, in whole days", readDays)
    .addOption(new Option("--state <state>", "only those in this state").choices(STATES))
    .option("--limit <n>", "at most so many", wholeNumberReader("limit", LIMIT_MAX), LIMIT_DEFAULT)
    .action(managed(list));

const showCommand = () =>
  groupOf("show", "show a group; also a deleted one, if no other has its id", [
    ["ug groups show 7", "by its number"],
    ["ug groups show --id acme --json", "by its id"],
  ]).action(managed(show));

const updateCommand = () =>
  withContent(
    changeOf("update", "change fields of a group; those that are not given stay", [
      ["ug groups update 7 --name 'Acme Inc.'", "another name"],
      ['ug groups update --id acme --properties \'{"region":"eu"}\'', "other properties, as a whole"],
      ["ug groups update 7 --merge --properties '{\"region\":null}'", "removes one key, and keeps the others"],
      ["ug groups update 7 --mapping null", "clears the mapping"],
    ]),
  )
    .option("--merge", `merge ${JSON_OPTIONS.join(" and ")} into what is there; null removes a key (RFC 7396)`)
    .option("--new-id <id>", "another user_group_id")
    .action(managed(update));

const SIMPLE = [
  { name: "suspend", summary: "refuse the viewers of a group until it is resumed", run: suspend },
  { name: "resume", summary: "end the suspension of a group", run: resume },
  { name: "delete", summary: "delete a group; the output says how to undo it, and until when", run: remove },
];

const simpleCommand = ({ name, summary, run }: (typeof SIMPLE)[number]): Command =>
  changeOf(name, summary, [
    [`ug groups ${name} 7`, "by its number"],
    [`ug groups ${name} --id acme --reason unpaid`, "by its id, with a reason"],
  ]).action(managed(run));

const restoreCommand = () =>
  changeOf("restore", "restore a deleted group, with its token", [
    ["ug groups restore 7", "as it was"],
    ["ug groups restore 7 --new-id acme-old --rotate-token", "beside a new group with its old id"],
  ])
    .option("--new-id <id>", "under another user_group_id")
    .option("--rotate-token", "with a new token")
    .action(managed(restore));

const purgeCommand = () =>
  changeOf("purge", "erase a deleted group for good, before its time", [
    ["ug groups purge 7", "shows which group it is, and changes nothing"],
    ["ug groups purge 7 --yes", "erases it; this has no undo"],
  ])
    .option("--yes", "confirm; without it, nothing is changed")
    .action(managed(purge));

type RotateOptions = ServiceOptions &
  EnvironmentOptions & {
    all?: boolean;
    id?: string;
    grace?: number;
    reason?: string;
    yes?: true;
    concurrency: number;
    progress?: string;
    restart?: boolean;
  };

const rotateCommand = () =>
  changeOf("rotate", "replace the token of a group, or with --all of each group", [
    ["ug groups rotate 7 --grace 10m --yes", "the old token stays valid for ten minutes"],
    ["ug groups rotate --all --grace 1h --yes", "each group; run it again to continue after an interruption"],
  ])
    .option("--grace <time>", "how long the old token stays valid; by default not at all", readSeconds)
    .option("--all", "rotate the tokens of all groups that exist")
    .option(
      "--concurrency <n>",
      "with --all: calls at a time",
      wholeNumberReader("concurrency", CONCURRENCY_MAX),
      CONCURRENCY_DEFAULT,
    )
    .option("--progress <file>", "with --all: where to record what is done; it holds no credential")
    .option("--restart", "with --all: rotate every group, whatever an earlier run has done")
    .option("--yes", "confirm; without it, nothing is changed")
    .action(async function (this: Command) {
      const options = this.opts<RotateOptions>();
      const [number] = this.processedArgs as [number | undefined];
      if (!options.all) return managed(rotate).call(this);
      if (number !== undefined || options.id !== undefined)
        throw new UsageError("Name one group, or give --all, not both.");
      const access = accessToEnvironment(connectionOf(this));
      const output = await rotateEach(access, options).catch((error: unknown) => {
        throw access.explained(error);
      });
      await printOutput(output, options);
    });

async function rotateEach(access: Access<EnvironmentClient>, options: RotateOptions): Promise<Output> {
  const { client, url } = access;
  const { workspace, environment } = await environmentOfAccess(access, options);
  const rotation = {
    url: url.origin,
    workspace,
    environment,
    graceSeconds: options.grace ?? 0,
    reason: options.reason,
  };
  const file = options.progress ?? defaultRecordFile(rotation, process.env);
  const record = new RotationRecord(file, rotation, { restart: options.restart === true, now: new Date() });
  const numbers = await groupNumbers(client);
  const asOperator = access.credential.kind === "operator";
  const where = whereOf({ ...options, asOperator });
  const grace = options.grace === undefined ? "" : ` --grace ${options.grace}s`;
  if (!options.yes)
    throw new CommandError(
      `This would replace the tokens of ${numbers.length} groups of ${workspace}/${environment ?? "untagged"}. Nothing was changed. To do it: ` +
        commandLine({ where }, `rotate --all${grace} --yes`),
      { code: "not_confirmed" },
    );
  if (record.isContinued) console.error(`Continuing the rotation that began at ${record.progress.begunAt}.`);
  const counts = await rotateAll({ client, record, numbers, concurrency: options.concurrency });
  const missing = counts.missing === 0 ? "" : ` ${counts.missing} were deleted meanwhile.`;
  return {
    body: { success: 1, ...counts },
    text: `Rotated the tokens of ${counts.rotated} groups.${missing} The integrator gets the new ones with GET /api/user.`,
  };
}

/** The environment in which a credential calls. */
async function environmentOfAccess(access: Access<unknown>, options: EnvironmentOptions): Promise<Environment> {
  const { url, credential } = access;
  if (credential.kind === "operator") return environmentOf(options);
  const client = new UserGroupClient({ url, apiKey: credential.text, timeoutMs: RESPONSE_MS_MAX });
  const { workspace, environment } = await client.whoami();
  return { workspace: workspace ?? "", environment: environment ?? null };
}

const exportCommand = () =>
  groupsOf("export", "write all groups that exist to standard output, one line of JSON each, without their tokens", [
    ["ug groups export > groups.ndjson", "all of them"],
    ["ug groups export --prefix shop- | gzip > shops.ndjson.gz", "some of them"],
  ])
    .option("--prefix <text>", "only those whose user_group_id begins with it")
    .action(async function (this: Command) {
      const access = accessToEnvironment(connectionOf(this));
      const { prefix, ...named } = this.opts<EnvironmentOptions & { prefix?: string }>();
      const { workspace, environment } = access.credential.kind === "operator" ? environmentOf(named) : {};
      await exportGroups(access, {
        ...(workspace !== undefined && { workspace, environment: environment ?? "untagged" }),
        ...(prefix !== undefined && { user_group_id_prefix: prefix }),
      });
    });

type ImportCommandOptions = ServiceOptions & { concurrency: number; fromLine: number; update?: boolean };

const importCommand = () =>
  serviceCommand("import", {
    summary: "get or create the group of each line of a file",
    examples: [
      ["ug groups import groups.ndjson", "creates what is missing, and counts what differs"],
      ["ug groups import groups.ndjson --update", "also changes what differs, state included"],
      ["ug groups import groups.ndjson --from-line 4711", "continues one that was stopped"],
      ["zcat groups.ndjson.gz | ug groups import -", "reads standard input"],
    ],
    notes:
      `A line is an object with user_group_id and optional ${FIELDS} and state; the lines of an export can be imported as\n` +
      "they are. A group that somebody else changes during the import is reported as a conflict, and not overwritten. Refused lines are\n" +
      "reported with their numbers. The command takes an API key, in API_KEY.",
  })
    .argument("<file>", "a file of one JSON object on each line; - is standard input")
    .option("--update", "change the groups that exist to what their lines say")
    .option(
      "--concurrency <n>",
      "calls at a time",
      wholeNumberReader("concurrency", CONCURRENCY_MAX),
      CONCURRENCY_DEFAULT,
    )
    .option(
      "--from-line <n>",
      "skip the lines before this one",
      wholeNumberReader("from-line", Number.MAX_SAFE_INTEGER),
      1,
    )
    .action(async function (this: Command) {
      const options = this.opts<ImportCommandOptions>();
      const [file] = this.processedArgs as [string];
      const { url, credential } = accessToEnvironment(connectionOf(this));
      if (credential.kind !== "api_key")
        throw new CommandError("This command takes an API key, which begins with ugk_.");
      const { counts, summary } = await importGroups({
        url,
        credential,
        concurrency: options.concurrency,
        fromLine: options.fromLine,
        update: options.update === true,
        report: options.json ? () => undefined : console.info,
        ...openFile(file),
      });
      const isWhole = counts.differs + counts.conflicts + counts.refused === 0;
      if (!isWhole) process.exitCode = 1;
      await printOutput({ body: { success: isWhole ? 1 : 0, ...counts }, text: summary }, options);
    });

/** Opens the file to import. */
function openFile(file: string) {
  try {
    const fd = file === "-" ? process.stdin.fd : openSync(file, "r");
    const stats = fstatSync(fd);
    if (stats.isDirectory()) throw new UsageError("The file to import is a folder.");
    if (file === "-") return { input: process.stdin, total: 0 };
    // A file stream reads a pipe in a thread, and this process could not end while that thread waits for data.
    return stats.isFIFO()
      ? { input: new Socket({ fd, readable: true, writable: false }), total: 0 }
      : { input: createReadStream(file, { fd }), total: stats.size };
  } catch (error) {
    const code = systemErrorCode(error);
    throw code ? new UsageError(`The file to import cannot be read: ${code}.`) : error;
  }
}
