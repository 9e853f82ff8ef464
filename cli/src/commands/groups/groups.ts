/** `ug groups`: the user groups of an environment. */
import { type Command, Option } from "commander";
import type { EnvironmentClient, GroupState } from "../../../../client/src/index.ts";
import { UsageError } from "../../../../common/command-error.ts";
import { environmentAction, type Output, requireYes, UNASKED } from "../../command.ts";
import { environmentName, environmentOf } from "../../environment-options.ts";
import { JSON_OPTIONS, withContent } from "../../groups/content-options.ts";
import * as manage from "../../groups/manage.ts";
import { commandLine, type Options } from "../../groups/task.ts";
import { commandGroup } from "../../help.ts";
import { readDays, readSeconds, wholeNumberReader } from "../../option-values.ts";
import { withApiKey } from "../../service-access.ts";
import { exportCommand, importCommand } from "./files.ts";
import { changeOf, groupOf, groupsOf, WHOSE, withConcurrency } from "./group-command.ts";

const LIMIT_DEFAULT = 1_000;
const LIMIT_MAX = 100_000;
const STATES = Object.keys({ active: 1, suspended: 1, deleted: 1 } satisfies Record<GroupState, 1>);

export const command = (): Command =>
  commandGroup(
    "groups",
    {
      summary: "manage user groups: list, change, delete, export, import",
      examples: {
        "ug groups list --prefix acme-": "with the API key in API_KEY",
        "ug groups suspend --id acme --workspace demo --environment Customer": "as an operator",
        "ug groups export > groups.ndjson": "all groups, without their tokens",
        "ug groups import groups.ndjson --update": "change the groups to match the file",
      },
      notes: `A group is named by its number (team_id), or else by its user_group_id; one of digits alone needs --id. No command shows a token.\n${WHOSE}`,
    },
    {
      See: [listCommand(), showCommand()],
      Change: [createCommand(), renameCommand(), updateCommand(), ...SIMPLE.map(simpleCommand), restoreCommand()],
      "Change without an undo": [rotateCommand(), purgeCommand()],
      Files: [exportCommand(), importCommand()],
    },
  );

const listCommand = () =>
  groupsOf("list", "list the groups", {
    "ug groups list": "those that exist",
    "ug groups list --state deleted": "those that can be restored",
    "ug groups list --prefix shop- --json": "as JSON",
    "ug groups list --search zurich": "those whose name or id contains a text",
    "ug groups list --not-viewed-for 30d": "those that nobody has viewed for 30 days",
  })
    .option("--prefix <text>", "only groups whose user_group_id begins with this text")
    .option("--search <text>", "only groups whose name or id contains this text; ignores case and accents")
    .option("--not-viewed-for <time>", "only groups that nobody has viewed for this time, such as 30d", readDays)
    .addOption(new Option("--state <state>", "only groups in this state").choices(STATES))
    .option("--limit <n>", "list at most this many groups", wholeNumberReader("limit", LIMIT_MAX), LIMIT_DEFAULT)
    .action(environmentAction(manage.list));

const showCommand = () =>
  groupOf("show", "show a group; a deleted one too, if no other has its id", {
    "ug groups show 7": "by its number",
    "ug groups show acme --json": "by its id",
    "ug groups show --id 4711": "by an id that has only digits",
  }).action(environmentAction(manage.show));

const createCommand = () =>
  withContent(
    groupsOf("create", "create a group; one that exists is not changed", {
      "ug groups create acme --name 'Acme Inc.'": "without --name, the name is the id",
      'ug groups create acme --properties \'{"region":"eu"}\'': "with properties",
    }),
  )
    .argument("<id>", "your own id of the group (user_group_id)")
    .option(...UNASKED)
    .action(environmentAction(manage.create));

const renameCommand = () =>
  changeOf("rename", "change the name or the id of a group, and print how to undo it", {
    "ug groups rename 7 --name 'Acme Inc.'": "change the name that people see",
    "ug groups rename --id acme --new-id acme-inc": "change the user_group_id; the number and the token stay",
  })
    .option("--name <name>", "the new name that people see")
    .option("--new-id <id>", "the new user_group_id")
    .action(environmentAction(manage.rename));

const updateCommand = () =>
  withContent(
    changeOf("update", "change the given fields of a group", {
      "ug groups update 7 --name 'Acme Inc.'": "change the name",
      'ug groups update --id acme --properties \'{"region":"eu"}\'': "replace all properties",
      "ug groups update 7 --merge --properties '{\"region\":null}'": "remove one key, and keep the others",
      "ug groups update 7 --mapping null": "clear the mapping",
    }),
  )
    .option("--merge", `merge ${JSON_OPTIONS.join(" and ")} into what is there; null removes a key (RFC 7396)`)
    .option("--new-id <id>", "the new user_group_id")
    .action(environmentAction(manage.update));

const SIMPLE = [
  { name: "suspend", summary: "refuse the viewers of a group until it is resumed", run: manage.suspend },
  { name: "resume", summary: "end the suspension of a group", run: manage.resume },
  { name: "delete", summary: "delete a group, and print how to undo it, and until when", run: manage.remove },
];

const simpleCommand = ({ name, summary, run }: (typeof SIMPLE)[number]): Command =>
  changeOf(name, summary, {
    [`ug groups ${name} 7`]: "by its number",
    [`ug groups ${name} --id acme --reason unpaid`]: "by its id, with a reason",
  }).action(environmentAction(run));

const restoreCommand = () =>
  changeOf("restore", "restore a deleted group, with its token", {
    "ug groups restore 7": "as it was",
    "ug groups restore 7 --new-id acme-old --rotate-token": "if another group has its id now",
  })
    .option("--new-id <id>", "restore it under this user_group_id")
    .option("--rotate-token", "give it a new token")
    .action(environmentAction(manage.restore));

const purgeCommand = () =>
  changeOf(
    "purge",
    "permanently erase a deleted group now",
    {
      "ug groups purge 7": "show which group it is, and ask in a terminal",
      "ug groups purge 7 --yes": "erase it; this has no undo",
    },
    "final",
  ).action(environmentAction(manage.purge));

type RotateOptions = Options & {
  all?: boolean;
  grace?: number;
  concurrency: number;
  progress?: string;
  restart?: boolean;
};

const rotateCommand = () =>
  withConcurrency(
    changeOf(
      "rotate",
      "replace the token of a group, or of each group with --all",
      {
        "ug groups rotate 7 --grace 10m --yes": "the old token stays valid for ten minutes",
        "ug groups rotate --all --grace 1h --yes": "each group; run it again to continue after an interruption",
      },
      "final",
    ),
    "with --all: calls at a time",
  )
    .option("--grace <time>", "how long the old token stays valid; by default not at all", readSeconds)
    .option("--all", "rotate the tokens of all groups that exist")
    .option("--progress <file>", "with --all: the file that records the progress, without a credential")
    .option("--restart", "with --all: rotate every group again, and ignore the recorded progress")
    .action(
      environmentAction(async (client: EnvironmentClient, options: RotateOptions, named?: string) => {
        if (!options.all) return manage.rotate(client, options, named);
        if (named === undefined && options.id === undefined) return rotateEach(client, options);
        throw new UsageError("Name one group, or give --all, not both.");
      }),
    );

async function rotateEach(client: EnvironmentClient, options: RotateOptions): Promise<Output> {
  const { groupNumbers, rotateAll, defaultRecordFile, RotationRecord } = await import("../../groups/rotate-all.ts");
  const { workspace, environment } = options.asOperator ? environmentOf(options) : await withApiKey(client).whoami();
  const named = { workspace: workspace ?? "", environment: environment ?? null };
  const { grace: graceSeconds = 0, reason, target } = options;
  const rotation = { url: target.url.origin, ...named, graceSeconds, reason };
  const file = options.progress ?? defaultRecordFile(rotation, process.env);
  const record = new RotationRecord(file, rotation, { restart: options.restart === true, now: new Date() });
  const numbers = await groupNumbers(client);
  const grace = options.grace === undefined ? "" : ` --grace ${options.grace}s`;
  const what = `replace the tokens of ${numbers.length} groups of ${environmentName(named)}`;
  const todo = `To do it: ${commandLine(options, `rotate --all${grace} --yes`)}`;
  requireYes(options, what, { name: environmentName(named), todo });
  if (record.isContinued) console.error(`Continuing the rotation that began at ${record.progress.begunAt}.`);
  const counts = await rotateAll({ client, record, numbers, concurrency: options.concurrency });
  const missing = counts.missing === 0 ? "" : ` ${counts.missing} were deleted meanwhile.`;
  return {
    body: { success: 1, ...counts },
    text: `Rotated the tokens of ${counts.rotated} groups.${missing} The integrator gets the new ones with GET /api/user.`,
  };
}
