/** `ug events`: the changes of an environment, or of the deployment. */

import type { Command } from "commander";
import type { ChangeEvent, EventPage, EventsInput, FeedReader, HistoryPage } from "../../../client/src/index.ts";
import { CommandError, UsageError } from "../../../common/command-error.ts";
import { EVENTS_MAX, LIST_ITEMS_MAX } from "../../../common/limits.ts";
import { type Access, accessToDeployment, accessToEnvironment } from "../access.ts";
import {
  connectionOf,
  type EnvironmentOptions,
  readId,
  type ServiceOptions,
  serviceCommand,
  tagOf,
  withEnvironment,
} from "../command.ts";
import { hasCode } from "../groups/service-errors.ts";
import { onStopSignal } from "../groups/stop-signals.ts";
import { given } from "../support/given.ts";
import { print } from "../support/output.ts";
import { escapeInvisible, jsonLineOf, quoted } from "../support/printable.ts";
import { toWire } from "../wire.ts";

type Options = ServiceOptions &
  EnvironmentOptions & {
    deployment?: boolean;
    all?: boolean;
    follow?: boolean;
    type?: string;
    userGroupId?: string;
    actor?: string;
    since?: Date;
    cursor?: string;
    teamId?: number;
    newestFirst?: boolean;
  };

const FEED_WIDTH = "deployment".length;
const POLL_MS = 2_000;
/** The longest type of event that there is. */
const TYPE_WIDTH = "user_group.token_rotated".length;

export const eventsCommand = (): Command =>
  withEnvironment(
    serviceCommand("events", {
      summary: "print the changes of an environment, oldest first, or wait for them",
      examples: [
        ["ug events --follow", "the environment of API_KEY, until Ctrl-C"],
        ["ug events --workspace acme --environment Customer", "as an operator"],
        ["ug events --deployment", "operators and environments, as an operator"],
        ["ug events --all --actor operator:3", "what one operator has changed anywhere"],
        ["ug events --type user_group.deleted --json", "one line of JSON for each event"],
        ["ug events --actor api_key:3 --since 2026-01-31T09:00:00Z", "what one key has changed since then"],
        ["ug events --cursor latest --follow", "only what comes from now on"],
        ["ug events --team-id 7 --newest-first", "what has happened to group 7, also if it was deleted"],
      ],
      notes:
        "A line has a change's time, its type, its group or key, and who made it. At the end the command prints to standard error the\n" +
        "cursor from which to continue. With --json, each event is as GET /api/events shows it.",
    }),
  )
    .option("--deployment", "the changes of operators and environments instead")
    .option("--all", "the changes of the deployment, and then those of every environment")
    .option("--follow", "wait for more changes, also while the service restarts")
    .option("--type <type>", "only events of this type, such as user_group.deleted")
    .option("--user-group-id <id>", "only events of the group with this id")
    .option("--team-id <number>", "with --newest-first: only events of the group with this number", readId)
    .option("--newest-first", "with --team-id: the newest event first, back to the creation of the group")
    .option("--actor <actor>", "only changes by api_key:3, operator:1, operator:bootstrap or system")
    .option("--since <time>", "begin at this time, such as 2026-01-31T09:00:00Z", readTime)
    .option("--cursor <cursor>", "start after this cursor; latest starts after the newest event")
    .action(async function (this: Command) {
      const options = this.opts<Options>();
      if (options.teamId !== undefined || options.newestFirst) return printHistory(this, options);
      await (options.all ? printAllFeeds(this, options) : printEvents(options, feedOf(this)));
    });

/** The feed that the options name, read with the credential that it takes. */
function feedOf(command: Command): Access<FeedReader> {
  const connection = connectionOf(command);
  if (!command.opts<Options>().deployment) return accessToEnvironment(connection);
  if (connection.isNamed) throw new UsageError("Give --deployment, or --workspace and --environment, not both.");
  return accessToDeployment(connection);
}

/**
 * Prints the feed of the deployment, and that of each environment. Each line begins with the name of its feed.
 * @throws CommandError at the end, with the environments that are being restored and thus have no feed yet.
 */
async function printAllFeeds(command: Command, options: Options): Promise<void> {
  const { type, userGroupId, actor, since, deployment, follow, cursor } = options;
  if (connectionOf(command).isNamed || deployment || follow || cursor !== undefined)
    throw new UsageError("Give --all without --workspace, --environment, --deployment, --follow and --cursor.");
  const { client, explained } = accessToDeployment(connectionOf(command));
  const query = { ...given({ type, userGroupId, actor, since }), pageSize: EVENTS_MAX };
  const restoring: string[] = [];
  const lineOf = (feed: string, event: ChangeEvent) =>
    options.json ? jsonLineOf({ feed, ...toWireEvent(event) }) : `${feed.padEnd(FEED_WIDTH)}  ${textLineOf(event)}`;
  const printFeed = async (feed: string, reader: FeedReader) => {
    for await (const { events } of pagesOf(reader, query, undefined))
      if (events.length > 0) await print(events.map((event) => lineOf(feed, event)).join("\n"));
  };
  try {
    await printFeed("deployment", client);
    for await (const environment of client.environments({ pageSize: LIST_ITEMS_MAX })) {
      const name = `${environment.workspace}/${tagOf(environment)}`;
      try {
        await printFeed(name, client.inEnvironment(environment));
      } catch (error) {
        if (!hasCode(error, "environment_restoring")) throw error;
        restoring.push(name);
      }
    }
  } catch (error) {
    throw explained(error);
  }
  if (restoring.length > 0)
    throw new CommandError(
      `A backup is being restored into ${escapeInvisible(restoring.join(", "))}. All other changes are printed; run the command again after the restore.`,
      { code: "environment_restoring" },
    );
}

/** Prints the events of one group, newest first, and how far back the service has them. */
async function printHistory(command: Command, options: Options): Promise<void> {
  const { teamId, newestFirst, deployment, all, follow, type, userGroupId, actor, since, cursor, json } = options;
  if (teamId === undefined || !newestFirst) throw new UsageError("Give --team-id and --newest-first together.");
  if ([deployment, all, follow, type, userGroupId, actor, since].some((option) => option !== undefined))
    throw new UsageError("Give --team-id and --newest-first alone, or with --cursor and the environment.");
  const { client, explained } = accessToEnvironment(connectionOf(command));
  const lineOf = json ? (event: ChangeEvent) => jsonLineOf(toWireEvent(event)) : textLineOf;
  let page: HistoryPage = { events: [], nextCursor: cursor ?? null, searchedBackTo: null };
  let searchedBackTo: string | null = null;
  try {
    do {
      const start = page.nextCursor === null ? {} : { cursor: page.nextCursor };
      page = await client.historyPage({ teamId, ...start, pageSize: EVENTS_MAX });
      if (page.events.length > 0) await print(page.events.map(lineOf).join("\n"));
      searchedBackTo = page.searchedBackTo ?? searchedBackTo;
    } while (page.nextCursor !== null);
  } catch (error) {
    throw explained(error);
  }
  if (searchedBackTo !== null) console.error(`Searched back to ${escapeInvisible(searchedBackTo)}.`);
}

async function printEvents(options: Options, { client, explained }: Access<FeedReader>): Promise<void> {
  const { cursor, type, userGroupId, actor, since } = options;
  if (cursor !== undefined && since !== undefined) throw new UsageError("Give --cursor or --since, not both.");
  const controller = options.follow ? new AbortController() : undefined;
  if (controller) onStopSignal(() => controller.abort());
  const stop = controller?.signal;
  const lineOf = options.json ? (event: ChangeEvent) => jsonLineOf(toWireEvent(event)) : textLineOf;
  const query = { ...given({ cursor, type, userGroupId, actor, since }), pageSize: EVENTS_MAX };
  let printedUpTo: string | undefined;
  try {
    for await (const page of pagesOf(client, query, stop)) {
      if (page.events.length > 0) await print(page.events.map(lineOf).join("\n"));
      printedUpTo = page.nextCursor;
    }
  } catch (error) {
    if (!stop?.aborted) throw explained(error);
  } finally {
    if (printedUpTo !== undefined) console.error(`To continue after these: --cursor ${escapeInvisible(printedUpTo)}`);
  }
}

/** The pages to print. A failure of the first call ends it; with `stop`, later temporary failures are retried. */
async function* pagesOf(reader: FeedReader, input: EventsInput, stop: AbortSignal | undefined) {
  let page: EventPage = await reader.eventPage(input, { signal: stop });
  yield page;
  const rest = { ...input, cursor: page.nextCursor };
  if (stop)
    return yield* reader.followPages(
      {
        ...rest,
        pollMs: POLL_MS,
        onFailure: ({ message }) => console.error(`Waiting for the service: ${escapeInvisible(message)}`),
      },
      { signal: stop },
    );
  while (page.hasMore) {
    page = await reader.eventPage({ ...input, cursor: page.nextCursor });
    yield page;
  }
}

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
    return `environment ${escapeInvisible(environment.workspace)}/${tagOf(environment)}${event.unsigned ? " (unsigned)" : ""}`;
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

/** @throws UsageError unless the text is a time. */
function readTime(text: string): Date {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) throw new UsageError("Give --since as a time such as 2026-01-31T09:00:00Z.");
  return time;
}
