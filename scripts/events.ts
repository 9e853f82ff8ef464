/** `npm run events`: prints the changes in an environment or the deployment, and waits for more. No secret is an argument. */
import type { ChangeEvent, EventPage, EventsInput, FeedReader } from "../src/client/index.ts";
import { CommandError, print, runCommand, serviceUrl, stopWithNpm, URL_USAGE, type ValuesOf } from "./command.ts";
import { commandErrorOf } from "./support/client-error.ts";
import { ENVIRONMENT_OPTIONS, tagOf } from "./support/environment.ts";
import { environmentAccess, namesEnvironment, PATIENT } from "./support/environment-access.ts";
import { OPERATOR_CREDENTIAL_USAGE, operatorAccess } from "./support/operator-credential.ts";
import { escapeInvisible, jsonLineOf, quoted } from "./support/printable.ts";
import { toWire } from "./support/wire.ts";

const USAGE = `Usage: npm run --silent events -- [options]

Prints a line for each change in an environment, oldest first: its time, its type, its group or API key, and who made it. At
the end it prints to standard error the cursor from which to continue.

  --workspace SLUG      as an operator: the environment whose changes to print, with --environment
  --environment NAME    Customer, Testing or untagged
  --deployment          as an operator: print the changes of operators and environments instead
  --follow              wait for more changes, until Ctrl-C; also while the service restarts
  --json                print each event as a line of JSON, as GET /api/events shows it
  --type TYPE           only events of this type, such as user_group.deleted
  --user-group-id ID    only events of the group with this id
  --cursor CURSOR       start after this cursor; latest starts after the newest event
${URL_USAGE.replace("--url URL   ", "--url URL             ")}

Without --workspace and --deployment it prints the environment of the API key in the environment variable API_KEY; read access
is enough.
${OPERATOR_CREDENTIAL_USAGE}`;

const OPTIONS = {
  ...ENVIRONMENT_OPTIONS,
  deployment: { type: "boolean", default: false },
  follow: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
  type: { type: "string" },
  "user-group-id": { type: "string" },
  cursor: { type: "string" },
} as const;

type Values = ValuesOf<typeof OPTIONS>;

const EVENTS_PER_PAGE = 1000;
const POLL_MS = 2_000;
/** The longest type of event that there is. */
const TYPE_WIDTH = "user_group.token_rotated".length;

/** An event with the names of the wire. */
const toWireEvent = ({ group, previousUserGroupId, ...event }: ChangeEvent) => ({
  ...toWire(event),
  ...(group && { user_group: { team_id: group.teamId, provided_id: group.userGroupId } }),
  ...(previousUserGroupId !== undefined && { previous_provided_id: previousUserGroupId }),
});

function subjectOf({ group, previousUserGroupId, apiKey, operator, environment, successorId }: ChangeEvent): string {
  const kind = apiKey ? "key" : "operator";
  const named = apiKey ?? operator;
  if (named) {
    const successor = successorId === undefined ? "" : ` -> ${kind} ${successorId}`;
    return `${kind} ${named.id} ${quoted(named.name)}${successor}`;
  }
  if (environment) return `environment ${escapeInvisible(environment.workspace)}/${tagOf(environment)}`;
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

/** The pages to print. The first call fails if there is no such service; later failures are waited for. */
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

/** A signal that is aborted by Ctrl-C, and when npm ends. */
function stopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"]) process.once(name, () => controller.abort());
  stopWithNpm(() => controller.abort());
  return controller.signal;
}

/** A feed, and the error to show when its credential is refused. */
type Feed = { reader: FeedReader; refused: (code: string) => CommandError };

/** The feed that the options name, read with the credential that it takes. */
function feedOf({ deployment, ...named }: Values, url: URL): Feed {
  if (!deployment) {
    const { client, refused } = environmentAccess(named, url);
    return { reader: client, refused };
  }
  if (namesEnvironment(named)) throw new CommandError("Give --deployment, or --workspace and --environment, not both.");
  const { operator, refused } = operatorAccess(url, PATIENT);
  return { reader: operator, refused };
}

async function run(values: Values, positionals: string[]): Promise<void> {
  if (positionals.length > 0) throw new CommandError("This command takes options alone; --help shows them.");

  const url = serviceUrl(values.url, process.env);
  const { reader, refused } = feedOf(values, url);
  const { cursor, type, "user-group-id": userGroupId } = values;
  const stop = values.follow ? stopSignal() : undefined;
  const lineOf = values.json ? (event: ChangeEvent) => jsonLineOf(toWireEvent(event)) : textLineOf;
  let printedUpTo: string | undefined;
  try {
    for await (const page of pagesOf(reader, { cursor, type, userGroupId, pageSize: EVENTS_PER_PAGE }, stop)) {
      if (page.events.length > 0) await print(page.events.map(lineOf).join("\n"));
      printedUpTo = page.nextCursor;
    }
  } catch (error) {
    if (!stop?.aborted) throw commandErrorOf(error, url, refused);
  } finally {
    if (printedUpTo !== undefined) console.error(`To continue after these: --cursor ${escapeInvisible(printedUpTo)}`);
  }
}

await runCommand({ usage: USAGE, options: OPTIONS, run });
