/** The feed of the deployment, and that of each environment, read by turns. */
import { setTimeout as delay } from "node:timers/promises";
import type { ChangeEvent, EventsInput, FeedReader, OperatorClient } from "../../../client/src/index.ts";
import { isTemporary, waitMsAfter } from "../../../client/src/resources/event.ts";
import { EVENTS_MAX, LIST_ITEMS_MAX } from "../../../common/limits.ts";
import { environmentName } from "../environment-options.ts";
import { hasCode } from "../service-access.ts";

const DEPLOYMENT = "deployment";
/** Between two rounds. */
const POLL_MS = 2_000;
/** Between two calls of a later round: a credential may get 600 pages a minute. */
const GAP_MS = 150;

/** Events of one feed, oldest first. */
export type FeedPage = { feed: string; events: ChangeEvent[] };

/** An event, and the name of its feed among several. */
export type FeedEvent = { feed?: string; event: ChangeEvent };

/** The feeds of a deployment. Each round of `pages` goes on where the round before has ended. */
export class AllFeeds {
  readonly #client: OperatorClient;
  readonly #query: EventsInput;
  readonly #until: Date | undefined;
  readonly #cursors = new Map<string, string>();
  #isFirstRound = true;
  /** The environments of the last round into which a backup is being restored: they have no feed yet. */
  restoring: string[] = [];
  /** Those whose database is damaged. */
  damaged: string[] = [];

  constructor(client: OperatorClient, query: EventsInput, until: Date | undefined) {
    this.#until = until;
    this.#client = client;
    this.#query = query;
  }

  /** One round: all events that there are. */
  pages(stop?: AbortSignal): AsyncGenerator<FeedPage, void, undefined> {
    return this.#each((feed, reader) => this.#pagesOf(feed, reader, stop), stop);
  }

  /** The newest events of all feeds, newest first. */
  async newest(bounds: Bounds): Promise<FeedEvent[]> {
    const newestOf = async function* (this: AllFeeds, feed: string, reader: FeedReader) {
      yield { feed, events: await newestEvents(reader, this.#query, bounds) };
    };
    let newest: FeedEvent[] = [];
    for await (const { feed, events } of this.#each(newestOf.bind(this)))
      newest = [...newest, ...events.map((event) => ({ feed, event }))]
        .toSorted((one, other) => Date.parse(other.event.at) - Date.parse(one.event.at))
        .slice(0, bounds.limit);
    return newest;
  }

  /** Reads each feed by `read`, but for those of environments that cannot be read now. */
  async *#each(read: (feed: string, reader: FeedReader) => AsyncGenerator<FeedPage>, stop?: AbortSignal) {
    this.restoring = [];
    this.damaged = [];
    yield* read(DEPLOYMENT, this.#client);
    for await (const environment of this.#client.environments({ pageSize: LIST_ITEMS_MAX }, { signal: stop })) {
      const feed = environmentName(environment);
      try {
        yield* read(feed, this.#client.inEnvironment(environment));
      } catch (error) {
        // Erased since it was listed, or erased and made again since the last round: its new feed begins with the next round.
        if (hasCode(error, "environment_not_found") || this.#hasEnded(feed, error)) this.#cursors.delete(feed);
        else if (hasCode(error, "environment_restoring")) this.restoring.push(feed);
        else if (hasCode(error, "environment_damaged")) this.damaged.push(feed);
        else throw error;
      }
    }
    this.#isFirstRound = false;
  }

  /** Round after round, until `stop` is aborted. After the first page, temporary failures are reported and survived. */
  async *follow(stop: AbortSignal, onFailure: (error: Error) => void): AsyncGenerator<FeedPage, void, undefined> {
    for (let failures = 0; ; ) {
      try {
        yield* this.pages(stop);
        failures = 0;
        await delay(POLL_MS, undefined, { signal: stop });
      } catch (error) {
        if (stop.aborted || this.#cursors.size === 0 || !isTemporary(error)) throw error;
        onFailure(error);
        failures += 1;
        await delay(waitMsAfter(failures, POLL_MS, error.retryAfterMs), undefined, { signal: stop });
      }
    }
  }

  async *#pagesOf(feed: string, reader: FeedReader, stop: AbortSignal | undefined) {
    const { cursor: start, ...query } = this.#query;
    for (let hasMore = true; hasMore; ) {
      // A feed that begins later is read from its first event on.
      const cursor = this.#cursors.get(feed) ?? (this.#isFirstRound ? start : undefined);
      const page = await reader.eventPage({ ...query, ...(cursor !== undefined && { cursor }) }, { signal: stop });
      const { events, isEnd } = eventsBefore(this.#until, page.events);
      yield { feed, events };
      // Only after the page has been printed.
      this.#cursors.set(feed, page.nextCursor);
      hasMore = page.hasMore && !isEnd;
      if (!this.#isFirstRound) await delay(GAP_MS, undefined, stop && { signal: stop });
    }
  }

  #hasEnded = (feed: string, error: unknown): boolean => this.#cursors.has(feed) && hasCode(error, "cursor_expired");
}

/** Before which time, and how many at most. */
export type Bounds = { until: Date | undefined; limit: number };

const FIRST_WINDOW_MS = 60_000;
const WINDOW_GROWTH = 8;

/**
 * The newest events of a feed, newest first. The service returns the oldest first, so this reads the last minute, then the seven minutes before
 * it, and so on: no event twice, and never the whole feed for its last events.
 */
export async function newestEvents(
  reader: FeedReader,
  { since = new Date(0), ...filter }: EventsInput,
  { until, limit }: Bounds,
): Promise<ChangeEvent[]> {
  const newest: ChangeEvent[] = [];
  const last = until?.getTime() ?? Date.now();
  let end = until;
  for (let window = FIRST_WINDOW_MS; ; window *= WINDOW_GROWTH) {
    const start = new Date(Math.max(since.getTime(), last - window));
    const part = await lastEvents(reader, { ...filter, since: start }, { until: end, limit: limit - newest.length });
    newest.push(...part.toReversed());
    if (newest.length === limit || start.getTime() === since.getTime()) return newest;
    end = start;
  }
}

/** The last events of a feed before a time, oldest first. */
async function lastEvents(reader: FeedReader, query: EventsInput, { until, limit }: Bounds): Promise<ChangeEvent[]> {
  let last: ChangeEvent[] = [];
  for (let input = query; ; ) {
    const { events: found, nextCursor: cursor, hasMore } = await reader.eventPage({ ...input, pageSize: EVENTS_MAX });
    const { events, isEnd } = eventsBefore(until, found);
    last = [...last, ...events].slice(-limit);
    if (isEnd || !hasMore) return last;
    input = { ...query, cursor };
  }
}

/** The events before a time, and whether there is one at that time or later. A feed is in the order of time. */
export function eventsBefore(until: Date | undefined, events: ChangeEvent[]) {
  const end = until ? events.findIndex(({ at }) => Date.parse(at) >= until.getTime()) : -1;
  return end === -1 ? { events, isEnd: false } : { events: events.slice(0, end), isEnd: true };
}
