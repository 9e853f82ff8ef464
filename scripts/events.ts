/** `npm run events`: prints the changes in an environment, and waits for more. The API key is never an argument. */
import { type ChangeEvent, type EventPage, type EventsInput, UserGroupClient } from "../src/client/index.ts";
import {
  apiKeyFrom,
  apiKeyRefused,
  CommandError,
  print,
  readArguments,
  runCommand,
  serviceUrl,
  stopWithNpm,
  URL_USAGE,
} from "./command.ts";
import { commandErrorOf } from "./support/client-error.ts";
import { RESPONSE_MS_MAX } from "./support/http.ts";
import { escapeInvisible, jsonLineOf } from "./support/printable.ts";

const USAGE = `Usage: npm run --silent events -- [options]

Prints a line for each change in the environment of the API key, oldest first: its time, its type, its group or API key, and
who made it. At the end it prints to standard error the cursor from which to continue.

  --follow              wait for more changes, until Ctrl-C; also while the service restarts
  --json                print each event as a line of JSON, as GET /api/events shows it
  --type TYPE           only events of this type, such as user_group.deleted
  --user-group-id ID    only events of the group with this id
  --cursor CURSOR       start after this cursor; latest starts after the newest event
${URL_USAGE.replace("--url URL   ", "--url URL             ")}

The API key is read from the environment variable API_KEY; read access is enough.`;

const OPTIONS = {
  follow: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
  type: { type: "string" },
  "user-group-id": { type: "string" },
  cursor: { type: "string" },
} as const;

const EVENTS_PER_PAGE = 1000;
const POLL_MS = 2_000;
const RETRIES = 5;
/** The longest type of event that there is. */
const TYPE_WIDTH = "user_group.token_rotated".length;

/** A text of a user in quotation marks, so that it cannot be taken for another part of the line. */
const quoted = (text: string): string => escapeInvisible(JSON.stringify(text));

/** An event with the names of the wire. */
const toWire = ({ requestId, group, previousUserGroupId, apiKey, successorId, ...same }: ChangeEvent) => ({
  ...same,
  request_id: requestId,
  ...(group && { user_group: { team_id: group.teamId, provided_id: group.userGroupId } }),
  ...(previousUserGroupId !== undefined && { previous_provided_id: previousUserGroupId }),
  ...(apiKey && { api_key: apiKey }),
  ...(successorId !== undefined && { successor_id: successorId }),
});

function subjectOf({ group, previousUserGroupId, apiKey, successorId }: ChangeEvent): string {
  if (apiKey)
    return `key ${apiKey.id} ${quoted(apiKey.name)}${successorId === undefined ? "" : ` -> key ${successorId}`}`;
  if (!group) return "-";
  const before = previousUserGroupId === undefined ? "" : `${quoted(previousUserGroupId)} -> `;
  return `${before}${quoted(group.userGroupId)}`;
}

function textLineOf(event: ChangeEvent): string {
  const { at, type, actor, changed } = event;
  const subject = subjectOf(event) + (changed ? ` (${escapeInvisible(changed.join(", "))})` : "");
  const kind = escapeInvisible(actor.kind) + (actor.id === null ? "" : ` ${actor.id}`);
  return [
    escapeInvisible(at),
    escapeInvisible(type).padEnd(TYPE_WIDTH),
    subject,
    `by ${kind} ${quoted(actor.name)}`,
  ].join("  ");
}

/** The pages to print. The first call fails if there is no such service; later calls are retried. */
async function* pagesOf(client: UserGroupClient, input: EventsInput, stop: AbortSignal | undefined) {
  let page: EventPage = await client.eventPage(input, { signal: stop });
  yield page;
  const rest = { ...input, cursor: page.nextCursor };
  if (stop)
    return yield* client.followPages(
      {
        ...rest,
        pollMs: POLL_MS,
        onFailure: ({ message }) => console.error(`Waiting for the service: ${escapeInvisible(message)}`),
      },
      { signal: stop },
    );
  while (page.hasMore) {
    page = await client.eventPage({ ...input, cursor: page.nextCursor });
    yield page;
  }
}

/** A signal that is aborted by Ctrl-C, and when npm ends. */
function stopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"]) process.once(name, () => controller.abort());
  stopWithNpm(() => controller.abort());
  return controller.signal;
}

async function run(): Promise<void> {
  const { values, positionals } = readArguments(OPTIONS);
  if (values.help) return print(USAGE);
  if (positionals.length > 0) throw new CommandError("This command takes options alone; --help shows them.");

  const apiKey = apiKeyFrom(process.env);
  const url = serviceUrl(values.url, process.env);
  const client = new UserGroupClient({ url, apiKey, retries: RETRIES, timeoutMs: RESPONSE_MS_MAX });
  const { cursor, type, "user-group-id": userGroupId } = values;
  const stop = values.follow ? stopSignal() : undefined;
  const lineOf = values.json ? (event: ChangeEvent) => jsonLineOf(toWire(event)) : textLineOf;
  let printedUpTo: string | undefined;
  try {
    for await (const page of pagesOf(client, { cursor, type, userGroupId, pageSize: EVENTS_PER_PAGE }, stop)) {
      if (page.events.length > 0) await print(page.events.map(lineOf).join("\n"));
      printedUpTo = page.nextCursor;
    }
  } catch (error) {
    if (!stop?.aborted) throw commandErrorOf(error, url, (code) => apiKeyRefused(url, code));
  } finally {
    if (printedUpTo !== undefined) console.error(`To continue after these: --cursor ${escapeInvisible(printedUpTo)}`);
  }
}

await runCommand(run);
