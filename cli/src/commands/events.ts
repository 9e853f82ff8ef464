/** `ug events`: the changes of an environment, or of the deployment. */
import type { Command } from "commander";
import type { ChangeEvent, EventPage, EventsInput, FeedReader, HistoryPage } from "../../../client/src/index.ts";
import { CommandError, UsageError } from "../../../common/command-error.ts";
import { EVENTS_MAX } from "../../../common/limits.ts";
import { action, serviceCommand } from "../command.ts";
import { environmentName } from "../environment-options.ts";
import { AllFeeds, eventsBefore } from "../events/all-feeds.ts";
import { onStopSignal } from "../groups/stop-signals.ts";
import { reader, readId } from "../option-values.ts";
import { accessToDeployment, accessToEnvironment, type ServiceAccess, type ServiceOptions } from "../service-access.ts";
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
};

const POLL_MS = 2_000;
const LATEST = "latest";

export const command = (): Command =>
  serviceCommand("events", {
    summary: "print the changes of an environment, oldest first, and wait for more with --follow",
    examples: {
      "ug events --follow": "the environment of API_KEY, until Ctrl-C",
      "ug events --workspace acme --environment Customer": "as an operator",
      "ug events --deployment": "operators and environments, as an operator",
      "ug events --all --actor operator:3": "what one operator has changed anywhere",
      "ug events --all --follow --cursor latest": "all new changes in the deployment",
      "ug events --since 2026-01-31T00:00:00Z --until 2026-02-01T00:00:00Z": "what happened on one day",
      "ug events --type user_group.deleted --json": "one line of JSON for each event",
      "ug events --actor api_key:3 --since 2026-01-31T09:00:00Z": "what one key has changed since then",
      "ug events --cursor latest --follow": "only new changes",
      "ug events --team-id 7 --newest-first": "the history of group 7, even if it was deleted",
    },
    notes:
      "A line has a change's time, its type, its group or key, and who made it. At the end the command prints to standard error the\n" +
      "cursor from which to continue. With --json, each event is as GET /api/events shows it.",
    inEnvironment: true,
  })
    .option("--deployment", "print the changes of operators and environments instead")
    .option("--all", "print the changes of the deployment and of every environment")
    .option("--follow", "wait for more changes, and continue after a restart of the service")
    .option("--type <type>", "only events of this type, such as user_group.deleted")
    .option("--user-group-id <id>", "only events of the group with this id")
    .option("--team-id <number>", "with --newest-first: only events of the group with this number", readId)
    .option("--newest-first", "with --team-id: the newest event first, back to the creation of the group")
    .option("--actor <actor>", "only changes by api_key:3, operator:1, operator:bootstrap or system")
    .option("--since <time>", "begin at this time, such as 2026-01-31T09:00:00Z", timeReader("since"))
    .option("--until <time>", "end before this time", timeReader("until"))
    .option("--cursor <cursor>", "start after this cursor; latest starts after the newest event")
    .action(action(printChosen));

async function printChosen(options: Options): Promise<undefined> {
  const { all, follow, cursor, since, until, teamId, newestFirst } = options;
  if (teamId !== undefined || newestFirst) return printHistory(options);
  if (follow && until) throw new UsageError("Give --follow or --until, not both.");
  if (cursor !== undefined && since !== undefined) throw new UsageError("Give --cursor or --since, not both.");
  return all ? printAllFeeds(options) : printEvents(options, feedOf(options));
}

/** The feed that the options name, read with the credential that it takes. */
function feedOf(options: Options): ServiceAccess<FeedReader> {
  if (!options.deployment) return accessToEnvironment(options);
  if (options.isNamed) throw new UsageError("Give --deployment, or --workspace and --environment, not both.");
  return accessToDeployment(options);
}

async function printEvents(options: Options, { client, explained }: ServiceAccess<FeedReader>): Promise<undefined> {
  const { cursor, type, userGroupId, actor, since, until } = options;
  const controller = options.follow ? new AbortController() : undefined;
  if (controller) onStopSignal(() => controller.abort());
  const stop = controller?.signal;
  const query = { ...given({ cursor, type, userGroupId, actor, since }), pageSize: EVENTS_MAX };
  let next: string | undefined;
  try {
    for await (const page of pagesOf(client, query, stop)) {
      const { events, isEnd } = eventsBefore(until, page.events);
      await printLines(events, options);
      next = isEnd ? `--since ${until?.toISOString()}` : `--cursor ${escapeInvisible(page.nextCursor)}`;
      if (isEnd) break;
    }
  } catch (error) {
    if (!stop?.aborted) throw explained(error);
  } finally {
    if (next !== undefined) console.error(`To continue after these: ${next}`);
  }
}

/**
 * Prints the feed of the deployment, and that of each environment. Each line begins with the name of its feed.
 * @throws CommandError at the end, with the environments that are being restored and thus have no feed yet.
 */
async function printAllFeeds(options: Options): Promise<undefined> {
  const { type, userGroupId, actor, since, deployment, follow, cursor, until, isNamed } = options;
  if (isNamed || deployment) throw new UsageError("Give --all without --workspace, --environment and --deployment.");
  if (cursor !== undefined && !(follow && cursor === LATEST))
    throw new UsageError("A cursor belongs to one feed. With --all, give --since, or --follow --cursor latest.");
  const { client, explained } = accessToDeployment(options);
  const query = { ...given({ type, userGroupId, actor, since, cursor }), pageSize: EVENTS_MAX };
  const feeds = new AllFeeds(client, query, until);
  const stopping = new AbortController();
  if (follow) onStopSignal(() => stopping.abort());
  try {
    for await (const page of follow ? feeds.follow(stopping.signal, noteWait) : feeds.pages())
      await printLines(page.events, options, page.feed);
  } catch (error) {
    if (!stopping.signal.aborted) throw explained(error);
  }
  if (!follow) refuseMissing(feeds);
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

/** Prints the events of one group, newest first, and how far back the service has them. */
async function printHistory(options: Options): Promise<undefined> {
  const { teamId, newestFirst, deployment, all, follow, type, userGroupId, actor, since, until, cursor } = options;
  if (teamId === undefined || !newestFirst) throw new UsageError("Give --team-id and --newest-first together.");
  if ([deployment, all, follow, type, userGroupId, actor, since, until].some((option) => option !== undefined))
    throw new UsageError("Give --team-id and --newest-first alone, or with --cursor and the environment.");
  const { client, explained } = accessToEnvironment(options);
  let searchedBackTo: string | null = null;
  try {
    for (let next: string | null | undefined = cursor; next !== null; ) {
      const page: HistoryPage = await client.historyPage({ teamId, cursor: next, pageSize: EVENTS_MAX });
      await printLines(page.events, options);
      searchedBackTo = page.searchedBackTo ?? searchedBackTo;
      next = page.nextCursor;
    }
  } catch (error) {
    throw explained(error);
  }
  if (searchedBackTo !== null) console.error(`Searched back to ${escapeInvisible(searchedBackTo)}.`);
}

const noteWait = ({ message }: Error) => console.error(`Waiting for the service: ${escapeInvisible(message)}`);

/** The pages to print. A failure of the first call ends it; with `stop`, later temporary failures are retried. */
async function* pagesOf(reader: FeedReader, input: EventsInput, stop: AbortSignal | undefined) {
  let page: EventPage = await reader.eventPage(input, { signal: stop });
  yield page;
  const rest = { ...input, cursor: page.nextCursor, pollMs: POLL_MS, onFailure: noteWait };
  if (stop) return yield* reader.followPages(rest, { signal: stop });
  while (page.hasMore) {
    page = await reader.eventPage({ ...input, cursor: page.nextCursor });
    yield page;
  }
}

const timeReader = (name: string) =>
  reader((text) => {
    const time = new Date(text);
    return Number.isNaN(time.getTime()) ? undefined : time;
  }, `Give --${name} as a time such as 2026-01-31T09:00:00Z.`);

/** The longest type of event that there is. */
const TYPE_WIDTH = "user_group.token_rotated".length;
const FEED_WIDTH = "deployment".length;

/** An event with the names of the wire. */
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
