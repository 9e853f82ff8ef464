/** `ug events`: the changes of an environment, or of the deployment. */
import type { Command } from "commander";
import type {
  ChangeEvent,
  EnvironmentClient,
  EventPage,
  EventsInput,
  FeedReader,
  HistoryPage,
  OperatorClient,
} from "../../../client/src/index.ts";
import { CommandError, UsageError } from "../../../common/command-error.ts";
import { EVENTS_MAX } from "../../../common/limits.ts";
import { environmentAction, operatorAction, serviceCommand } from "../command.ts";
import { environmentName } from "../environment-options.ts";
import { AllFeeds, type Bounds, eventsBefore, type FeedEvent, newestEvents } from "../events/all-feeds.ts";
import { onStopSignal } from "../groups/stop-signals.ts";
import { readId, timeReader, wholeNumberReader } from "../option-values.ts";
import type { ServiceOptions } from "../service-access.ts";
import { given } from "../support/given.ts";
import { print } from "../support/output.ts";
import { escapeInvisible, jsonLineOf, quoted } from "../support/printable.ts";
import { toWire } from "../wire.ts";

type Options = ServiceOptions & {
  deployment?: boolean;
  all?: boolean;
  follow?: boolean;
  type?: string;
  userGroupId?: string;
  actor?: string;
  since?: Date;
  until?: Date;
  cursor?: string;
  teamId?: number;
  newestFirst?: boolean;
  limit?: number;
};

const POLL_MS = 2_000;
const LATEST = "latest";
const LIMIT_MAX = 100_000;
/** Of the newest events of a feed, which are in memory until they are printed. */
const NEWEST_DEFAULT = 1_000;

export const command = (): Command =>
  serviceCommand("events", {
    summary: "print the changes of an environment, oldest first, and wait for more with --follow",
    examples: {
      "ug events --follow": "the environment of API_KEY, until Ctrl-C",
      "ug events --workspace acme --environment Customer --since 1h": "of the last hour, as an operator",
      "ug events --deployment --newest-first --limit 20":
        "the last changes of operators and environments, as an operator",
      "ug events --all --actor operator:3": "what one operator has changed anywhere",
      "ug events --all --newest-first --since 1h": "what has just happened anywhere",
      "ug events --all --follow --cursor latest": "all new changes in the deployment",
      "ug events --since 2026-01-31 --until 2026-02-01": "what happened on one day, in UTC",
      "ug events --type user_group.deleted --json": "one line of JSON for each event",
      "ug events --actor api_key:3 --since 2026-01-31T10:00:00+01:00": "what one key has changed since then",
      "ug events --cursor latest --follow": "only new changes",
      "ug events --team-id 7 --newest-first": "the history of group 7, even if it was deleted",
    },
    notes:
      "A line has a change's time, its type, its group or key, and who made it. At the end the command prints to standard error how to\n" +
      "continue. With --json, each event is as GET /api/events shows it.",
    inEnvironment: true,
  })
    .option("--deployment", "print the changes of operators and environments instead")
    .option("--all", "print the changes of the deployment and of every environment")
    .option("--follow", "wait for more changes, and continue after a restart of the service")
    .option("--type <type>", "only events of this type, such as user_group.deleted")
    .option("--user-group-id <id>", "only events of the group with this id")
    .option("--team-id <number>", "only events of the group with this number, which may be deleted or purged", readId)
    .option("--newest-first", `the newest event first; without --limit or --team-id, the newest ${NEWEST_DEFAULT}`)
    .option("--limit <n>", "print at most this many events", wholeNumberReader("limit", LIMIT_MAX))
    .option("--actor <actor>", "only changes by api_key:3, operator:1, operator:bootstrap or system")
    .option(
      "--since <time>",
      "begin at this time, date or age, such as 2026-01-31T09:00:00Z or 1h",
      timeReader("since"),
    )
    .option("--until <time>", "end before this time", timeReader("until"))
    .option("--cursor <cursor>", "start after this cursor; latest starts after the newest event")
    .action(async function (this: Command) {
      const isOfAll = isOfDeployment(this.opts<Options>());
      await (isOfAll ? operatorAction(printOfDeployment) : environmentAction(printOfEnvironment)).call(this);
    });

/** Refuses options that exclude one another. Returns whether they name feeds of the deployment. */
function isOfDeployment(options: Options): boolean {
  const { all, deployment, isNamed, follow, cursor, since, until, teamId, newestFirst, limit } = options;
  const refuse = (isWrong: unknown, sentence: string) => {
    if (isWrong) throw new UsageError(sentence);
  };
  refuse(follow && (until ?? limit ?? newestFirst), "Give --follow without --until, --limit and --newest-first.");
  refuse(cursor !== undefined && since !== undefined, "Give --cursor or --since, not both.");
  refuse(since && until && since >= until, "Give --since as a time before that of --until.");
  if (teamId !== undefined) {
    const others = [deployment, all, follow, options.type, options.userGroupId, options.actor];
    const isAlone = others.every((option) => option === undefined);
    refuse(!isAlone, "Give --team-id alone, or with times, --limit, --newest-first, --cursor and the environment.");
    return false;
  }
  refuse(newestFirst && cursor !== undefined, "A cursor leads to newer events: with --newest-first, give --until.");
  refuse(all && limit && !newestFirst, "With --all, give --limit together with --newest-first.");
  refuse(all && (isNamed || deployment), "Give --all without --workspace, --environment and --deployment.");
  refuse(
    all && cursor !== undefined && !(follow && cursor === LATEST),
    "A cursor belongs to one feed. With --all, give --since, or --follow --cursor latest.",
  );
  refuse(deployment && isNamed, "Give --deployment, or --workspace and --environment, not both.");
  return Boolean(all || deployment);
}

const printOfDeployment = (client: OperatorClient, options: Options): Promise<undefined> =>
  options.all ? printAllFeeds(client, options) : printFeed(client, options);

const printOfEnvironment = (client: EnvironmentClient, { teamId, ...options }: Options): Promise<undefined> =>
  teamId === undefined ? printFeed(client, options) : printHistory(client, { ...options, teamId });

const printFeed = (client: FeedReader, options: Options): Promise<undefined> =>
  options.newestFirst
    ? printNewest(options, async (bounds) =>
        (await newestEvents(client, filterOf(options), bounds)).map((event) => ({ event })),
      )
    : printEvents(client, options);

async function printEvents(client: FeedReader, options: Options): Promise<undefined> {
  const { cursor, until, limit } = options;
  const controller = options.follow ? new AbortController() : undefined;
  if (controller) onStopSignal(() => controller.abort());
  const stop = controller?.signal;
  const query = { ...filterOf(options), ...given({ cursor }) };
  let next: string | undefined;
  try {
    for await (const page of pagesOf(client, query, { stop, limit })) {
      const { events, isEnd } = eventsBefore(until, page.events);
      await printLines(events, options);
      next = isEnd ? `--since ${until?.toISOString()}` : `--cursor ${escapeInvisible(page.nextCursor)}`;
      if (isEnd) break;
    }
  } catch (error) {
    if (!stop?.aborted) throw error;
  } finally {
    if (next !== undefined) console.error(`To continue after these: ${next}`);
  }
}

const filterOf = ({ type, userGroupId, actor, since }: Options) => given({ type, userGroupId, actor, since });

/** Prints the newest events, and says how to get those before. Several may have the time of the last one, which is then printed again. */
async function printNewest(options: Options, read: (bounds: Bounds) => Promise<FeedEvent[]>): Promise<undefined> {
  const { until, limit = NEWEST_DEFAULT } = options;
  const newest = await read({ until, limit });
  for (const { feed, event } of newest) await printLines([event], options, feed);
  const last = newest.at(-1);
  if (last === undefined || newest.length < limit) return;
  const end = new Date(Date.parse(last.event.at) + 1).toISOString();
  console.error(`These are the newest ${limit}. To continue from the last of them on: --until ${end}`);
}

/**
 * Prints the feed of the deployment, and that of each environment. Each line begins with the name of its feed.
 * @throws CommandError at the end, with the environments that are being restored and thus have no feed yet.
 */
async function printAllFeeds(client: OperatorClient, options: Options): Promise<undefined> {
  const { follow, cursor, until, newestFirst } = options;
  const query = { ...filterOf(options), ...given({ cursor }), pageSize: EVENTS_MAX };
  const feeds = new AllFeeds(client, query, until);
  await (newestFirst ? printNewest(options, (bounds) => feeds.newest(bounds)) : printRounds(feeds, options));
  if (!follow) refuseMissing(feeds);
}

async function printRounds(feeds: AllFeeds, options: Options): Promise<void> {
  const stopping = new AbortController();
  if (options.follow) onStopSignal(() => stopping.abort());
  try {
    for await (const page of options.follow ? feeds.follow(stopping.signal, noteWait) : feeds.pages())
      await printLines(page.events, options, page.feed);
  } catch (error) {
    if (!stopping.signal.aborted) throw error;
  }
}

/** @throws CommandError that names the environments whose events are not printed */
function refuseMissing({ damaged, restoring }: AllFeeds): void {
  if (damaged.length > 0)
    throw new CommandError(
      `The database of ${escapeInvisible(damaged.join(", "))} is damaged. All other changes are printed.`,
      { code: "environment_damaged" },
    );
  if (restoring.length > 0)
    throw new CommandError(
      `A backup is being restored into ${escapeInvisible(restoring.join(", "))}. All other changes are printed; run the command again after the restore.`,
      { code: "environment_restoring" },
    );
}

/** Prints a line for each event. Among several feeds, it begins with the name of its feed. */
async function printLines(events: readonly ChangeEvent[], { json }: Options, feed?: string): Promise<void> {
  const prefix = feed === undefined ? "" : `${escapeInvisible(feed).padEnd(FEED_WIDTH)}  `;
  const lines = events.map((event) =>
    json ? jsonLineOf({ ...given({ feed }), ...toWireEvent(event) }) : prefix + textLineOf(event),
  );
  if (lines.length > 0) await print(lines.join("\n"));
}

/** Prints the events of one group, and how far back the service has them. */
async function printHistory(client: EnvironmentClient, options: Options & { teamId: number }): Promise<undefined> {
  const { newestFirst, limit } = options;
  const oldestFirst: ChangeEvent[] = [];
  let last: HistoryPage | undefined;
  for await (const page of historyPages(client, options)) {
    if (newestFirst) await printLines(page.events, options);
    else oldestFirst.unshift(...page.events.toReversed());
    last = { ...page, searchedBackTo: page.searchedBackTo ?? last?.searchedBackTo ?? null };
  }
  await printLines(oldestFirst.slice(0, limit), options);
  if (last?.nextCursor) console.error(`To continue after these: --cursor ${escapeInvisible(last.nextCursor)}`);
  if (last?.searchedBackTo) console.error(`Searched back to ${escapeInvisible(last.searchedBackTo)}.`);
}

/** The pages of a history between the times, newest first, until the limit if they are printed so. */
async function* historyPages(client: EnvironmentClient, options: Options & { teamId: number }) {
  const { teamId, cursor, since, until, limit = Number.POSITIVE_INFINITY } = options;
  const isAfter = (at: string) => until && Date.parse(at) >= until.getTime();
  let left = options.newestFirst ? limit : Number.POSITIVE_INFINITY;
  for (let next: string | null | undefined = cursor; next !== null && left > 0; ) {
    const page: HistoryPage = await client.historyPage({ teamId, cursor: next, pageSize: Math.min(left, EVENTS_MAX) });
    const events = page.events.filter(({ at }) => !(since && Date.parse(at) < since.getTime()) && !isAfter(at));
    left -= events.length;
    next = since && Date.parse(page.searchedBackTo ?? "") < since.getTime() ? null : page.nextCursor;
    yield { ...page, events, nextCursor: next };
  }
}

const noteWait = ({ message }: Error) => console.error(`Waiting for the service: ${escapeInvisible(message)}`);

type Reading = { stop: AbortSignal | undefined; limit: number | undefined };

/** The pages to print. A failure of the first call ends it; with `stop`, later temporary failures are retried. */
async function* pagesOf(reader: FeedReader, query: EventsInput, { stop, limit = Number.POSITIVE_INFINITY }: Reading) {
  let [left, cursor] = [limit, query.cursor];
  for (;;) {
    const input = { ...query, cursor, pageSize: Math.min(left, EVENTS_MAX) };
    const page: EventPage = await reader.eventPage(input, { signal: stop });
    yield page;
    cursor = page.nextCursor;
    if (stop)
      return yield* reader.followPages({ ...input, cursor, pollMs: POLL_MS, onFailure: noteWait }, { signal: stop });
    left -= page.events.length;
    if (!page.hasMore || left === 0) return;
  }
}

/** The longest type of event that there is. */
const TYPE_WIDTH = "user_group.token_rotated".length;
const FEED_WIDTH = "deployment".length;

const toWireEvent = ({ group, previousUserGroupId, ...event }: ChangeEvent) => ({
  ...toWire(event),
  ...(group && { user_group: { team_id: group.teamId, provided_id: group.userGroupId } }),
  ...(previousUserGroupId !== undefined && { previous_provided_id: previousUserGroupId }),
});

function subjectOf(event: ChangeEvent): string {
  const { group, previousUserGroupId, apiKey, operator, environment, successorId } = event;
  const kind = apiKey ? "key" : "operator";
  const named = apiKey ?? operator;
  if (named) {
    const successor = successorId === undefined ? "" : ` -> ${kind} ${successorId}`;
    return `${kind} ${named.id} ${quoted(named.name)}${successor}`;
  }
  if (environment)
    return `environment ${escapeInvisible(environmentName(environment))}${event.unsigned ? " (unsigned)" : ""}`;
  if (!group) return "-";
  const before = previousUserGroupId === undefined ? "" : `${quoted(previousUserGroupId)} -> `;
  return `${before}${quoted(group.userGroupId)}`;
}

function textLineOf(event: ChangeEvent): string {
  const { at, type, actor, changed, reason } = event;
  const subject = subjectOf(event) + (changed ? ` (${escapeInvisible(changed.join(", "))})` : "");
  const kind = escapeInvisible(actor.kind) + (actor.id === null ? "" : ` ${actor.id}`);
  return [
    escapeInvisible(at),
    escapeInvisible(type).padEnd(TYPE_WIDTH),
    subject,
    `by ${kind} ${quoted(actor.name)}`,
    ...(reason === undefined ? [] : [`because ${quoted(reason)}`]),
  ].join("  ");
}
