import type { CallOptions, Connection, Query } from "../transport/connection.ts";
import { milliseconds, OPTION_MS_MAX } from "../transport/retries.ts";
import { UserGroupServiceError } from "../transport/user-group-service-error.ts";
import { pause } from "../transport/with-timeout.ts";
import { type ChangeEvent, type EventPage, type EventType, toEventPage } from "./event.ts";

/** Selects events; all of them by default. */
export type EventsInput = {
  /** Starts after the page that had this `nextCursor`; without it, at the oldest event that is kept. */
  cursor?: string | undefined;
  /** Only events of this type. */
  type?: EventType | undefined;
  /** Only events of the group with this id, also those of its renames from and to this id. Not for the deployment's feed. */
  userGroupId?: string | undefined;
  /** The `limit` of one page, 1 to 1000; 100 by default. */
  pageSize?: number | undefined;
};

/** Selects the events to follow, and how often to look for them. */
export type FollowInput = EventsInput & {
  /** The wait before the next look after the newest event; 5 seconds by default. A credential has 600 pages a minute. */
  pollMs?: number | undefined;
  /** Is called with each temporary failure that `follow` survives, for a log. */
  onFailure?: ((error: UserGroupServiceError) => void) | undefined;
};

const POLL_MS = 5_000;
/** Half of the longest wait after the first failure, if `pollMs` is shorter. */
const BACKOFF_MS = 100;
/** The longest wait after failures, unless `pollMs` or the service's `Retry-After` is longer. */
const BACKOFF_MS_MAX = 60_000;
/** Too many calls, and a service or a proxy that is not available for now. */
const TEMPORARY_STATUSES = [429, 502, 503, 504];

const isTemporary = (error: unknown): error is UserGroupServiceError =>
  error instanceof UserGroupServiceError &&
  (error.code === "network_error" || error.code === "timeout" || TEMPORARY_STATUSES.includes(error.status ?? 0));

/** Reads one feed of events, page by page or event by event. */
export class FeedReader {
  readonly #connection: Connection;
  readonly #query: Query;

  /** `query` names the feed, where the credential does not. */
  constructor(connection: Connection, query: Query = {}) {
    this.#connection = connection;
    this.#query = query;
  }

  /** Gets one page of events, oldest first. Keep `nextCursor`: later it leads to the events after it. */
  async eventPage(input: EventsInput = {}, { signal }: CallOptions = {}): Promise<EventPage> {
    const { cursor, type, userGroupId, pageSize } = input;
    const query = { ...this.#query, cursor, type, user_group_id: userGroupId, limit: pageSize?.toString() };
    const call = { method: "GET", path: "/api/events", query, retryable: true } as const;
    const { body, unexpected } = await this.#connection.send(call, signal);
    const page = toEventPage(body);
    if (page.hasMore && page.nextCursor === cursor) throw unexpected("leads to the same page again");
    return page;
  }

  /** Gets the cursor after the newest event. */
  async latestEventCursor(options: CallOptions = {}): Promise<string> {
    return (await this.eventPage({ cursor: "latest" }, options)).nextCursor;
  }

  /** Yields the events, oldest first, and ends after the newest. It requests pages as they are needed. */
  events(input: EventsInput = {}, options: CallOptions = {}): AsyncGenerator<ChangeEvent, void, undefined> {
    return eventsOf(this.#pages(input, options), options);
  }

  /**
   * Yields the events, and waits for more after the newest, until its signal is aborted or the loop is left. Each event is
   * yielded once and in order, also if the service restarts: temporary failures (a lost connection, a timeout, a 429, 502,
   * 503 or 504) are tried again with a growing wait. Other failures end it, such as `cursor_expired`.
   */
  follow(input: FollowInput = {}, options: CallOptions = {}): AsyncGenerator<ChangeEvent, void, undefined> {
    return eventsOf(this.followPages(input, options), options);
  }

  /**
   * Yields pages as `follow` yields events. To continue after a restart of your own process, store `nextCursor` once you
   * have handled the page. A page may be empty.
   */
  async *followPages(
    { pollMs = POLL_MS, onFailure, ...input }: FollowInput = {},
    options: CallOptions = {},
  ): AsyncGenerator<EventPage, void, undefined> {
    milliseconds("pollMs", pollMs);
    let { cursor } = input;
    for (let failures = 0; ; ) {
      const page = await this.eventPage({ ...input, cursor }, options).catch(async (error: unknown) => {
        if (!isTemporary(error)) throw error;
        onFailure?.(error);
        failures += 1;
        await pause(waitMsAfter(failures, pollMs, error.retryAfterMs), options.signal);
      });
      if (!page) continue;
      failures = 0;
      // The cursor moves on only after a page was received.
      cursor = page.nextCursor;
      yield page;
      options.signal?.throwIfAborted();
      if (!page.hasMore) await pause(pollMs, options.signal);
    }
  }

  /** Yields each page up to the newest event. */
  async *#pages(input: EventsInput, options: CallOptions): AsyncGenerator<EventPage, void, undefined> {
    for (let { cursor } = input; ; ) {
      const page = await this.eventPage({ ...input, cursor }, options);
      yield page;
      if (!page.hasMore) return;
      cursor = page.nextCursor;
    }
  }
}

/** The events of these pages, one after the other. */
async function* eventsOf(
  pages: AsyncIterable<EventPage>,
  { signal }: CallOptions,
): AsyncGenerator<ChangeEvent, void, undefined> {
  for await (const { events } of pages)
    for (const event of events) {
      yield event;
      signal?.throwIfAborted();
    }
}

/** A wait that doubles with each failure, with a random part, and is never shorter than what the service asks for. */
function waitMsAfter(failures: number, pollMs: number, retryAfterMs = 0): number {
  const longest = Math.max(pollMs, BACKOFF_MS_MAX);
  const backoffMs = Math.min(longest, Math.max(pollMs, BACKOFF_MS) * 2 ** failures) * (0.5 + Math.random() / 2);
  return Math.min(OPTION_MS_MAX, Math.max(retryAfterMs, backoffMs));
}
