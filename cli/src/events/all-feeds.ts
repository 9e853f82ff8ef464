/** The feed of the deployment, and that of each environment, read by turns. */
import { setTimeout as delay } from "node:timers/promises";
import type { ChangeEvent, EventsInput, FeedReader, OperatorClient } from "../../../client/src/index.ts";
import { isTemporary, waitMsAfter } from "../../../client/src/resources/event.ts";
import { LIST_ITEMS_MAX } from "../../../common/limits.ts";
import { environmentName } from "../environment-options.ts";
import { hasCode } from "../service-access.ts";

/** The name of the deployment's own feed. */
const DEPLOYMENT = "deployment";
/** Between two rounds. */
const POLL_MS = 2_000;
/** Between two calls of a later round: a credential may get 600 pages a minute. */
const GAP_MS = 150;

/** Events of one feed, oldest first. */
export type FeedPage = { feed: string; events: ChangeEvent[] };

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
  async *pages(stop?: AbortSignal): AsyncGenerator<FeedPage, void, undefined> {
    this.restoring = [];
    this.damaged = [];
    yield* this.#pagesOf(DEPLOYMENT, this.#client, stop);
    for await (const environment of this.#client.environments({ pageSize: LIST_ITEMS_MAX }, { signal: stop })) {
      const feed = environmentName(environment);
      try {
        yield* this.#pagesOf(feed, this.#client.inEnvironment(environment), stop);
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

/** The events before a time, and whether there is one at that time or later. A feed is in the order of time. */
export function eventsBefore(
  until: Date | undefined,
  events: ChangeEvent[],
): { events: ChangeEvent[]; isEnd: boolean } {
  const end = until ? events.findIndex(({ at }) => Date.parse(at) >= until.getTime()) : -1;
  return end === -1 ? { events, isEnd: false } : { events: events.slice(0, end), isEnd: true };
}
