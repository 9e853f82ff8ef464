import { EVENTS_EXAMINED_MAX, EVENTS_MAX } from "../../../common/limits.ts";
import type { StoredEvent } from "../../records.ts";
import type { EventStore } from "../../storage/event-store.ts";
import type { Read } from "../turns.ts";
import { type EventFilter, firstSince, isFiltered, matches } from "./event.ts";

/**
 * Asks for at most `limit` events, newest first: those with a number below `before`, none from before the time `since`, and none from
 * `until` on. Both are milliseconds since 1970. A directory of 1.0 ignores `until`.
 */
export type NewestQuery = EventFilter & {
  before?: number | undefined;
  since?: number | undefined;
  until?: number | undefined;
  limit: number;
};

/**
 * Some events, newest first, and the `before` of the next page; `null` after the oldest event. `searchedBackTo` is the time of the
 * oldest event that was examined, if any was.
 */
export type NewestPage = { events: StoredEvent[]; next: number | null; searchedBackTo?: number | undefined };

/** The page of a feed whose database has no tables yet. */
export const NO_NEWEST: Read<NewestPage> = { page: { events: [], next: null }, share: 0 };

/** Reads one page of a feed, newest first. Filters examine a bounded number of events, so a page may be empty and have more after it. */
export function readNewest(store: EventStore, query: NewestQuery): Read<NewestPage> {
  const { before, since, until, limit, ...filter } = query;
  const oldest = store.oldest(1)[0]?.id ?? 1;
  const newest = store.newestId();
  const first = since === undefined ? oldest : firstSince(store, since, { oldest, newest });
  const end = until === undefined ? newest + 1 : firstSince(store, until, { oldest, newest });
  const start = Math.min(before ?? end, end);
  const examined = store.pageBefore({ before: start, from: first }, isFiltered(filter) ? EVENTS_EXAMINED_MAX : limit);
  const matching = examined.filter((event) => matches(event, filter));
  const events = matching.slice(0, limit);
  const last = (matching.length > limit ? events.at(-1) : examined.at(-1))?.id ?? first;
  const searchedBackTo = examined.at(-1)?.at;
  return { page: { events, next: last > first ? last : null, searchedBackTo }, share: examined.length / EVENTS_MAX };
}
