import { EVENTS_EXAMINED_MAX, EVENTS_MAX } from "../../../common/limits.ts";
import type { StoredEvent } from "../../records.ts";
import type { EventStore } from "../../storage/event-store.ts";
import type { Read } from "../turns.ts";
import { type EventFilter, firstSince, isFiltered, matches } from "./event.ts";

/**
 * Asks for at most `limit` events, newest first: those with a number below `before`, and none from before the time `since`, in
 * milliseconds since 1970.
 */
export type NewestQuery = EventFilter & { before?: number | undefined; since?: number | undefined; limit: number };

/** Some events, newest first, and the `before` of the next page; `null` after the oldest event. */
export type NewestPage = { events: StoredEvent[]; next: number | null };

/** The page of a feed whose database has no tables yet. */
export const NO_NEWEST: Read<NewestPage> = { page: { events: [], next: null }, share: 0 };

/** Reads one page of a feed, newest first. Filters examine a bounded number of events, so a page may be empty and have more after it. */
export function readNewest(store: EventStore, { before, since, limit, ...filter }: NewestQuery): Read<NewestPage> {
  const oldest = store.oldest(1)[0]?.id ?? 1;
  const newest = store.newestId();
  const first = since === undefined ? oldest : firstSince(store, since, { oldest, newest });
  const start = Math.min(before ?? newest + 1, newest + 1);
  const examined = store.pageBefore({ before: start, from: first }, isFiltered(filter) ? EVENTS_EXAMINED_MAX : limit);
  const matching = examined.filter((event) => matches(event, filter));
  const events = matching.slice(0, limit);
  const last = (matching.length > limit ? events.at(-1) : examined.at(-1))?.id ?? first;
  return { page: { events, next: last > first ? last : null }, share: examined.length / EVENTS_MAX };
}
