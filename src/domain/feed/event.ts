import { CHANGED_PROPERTIES_MAX, EVENTS_EXAMINED_MAX, EVENTS_MAX } from "../../../common/limits.ts";
import { fail, ok, type Result } from "../../../common/result.ts";
import type { Actor, EventDetails, EventType, ListedGroup, StoredEvent, UserGroup } from "../../records.ts";
import type { EventStore } from "../../storage/event-store.ts";
import type { FailureOf } from "../failure.ts";
import type { Read } from "../turns.ts";
import { changedFields } from "../user-groups/user-group.ts";

/** An event without its id and time, as a change describes it. */
export type ChangeDescription = {
  type: EventType;
  group?: Pick<UserGroup, "teamId" | "providedId">;
  details?: EventDetails;
};

/** The event of an update: with the names of the changed fields, if there are any, and the previous id of a renamed group. */
export function describeUpdate(before: UserGroup, after: UserGroup): ChangeDescription {
  const changed = [...changedFields(before, after), ...changedProperties(before, after)];
  return {
    type: updateType(before, after),
    group: after,
    details: { ...(changed.length > 0 && { changed }), ...previousId(before, after) },
  };
}

const PROPERTIES = "properties.";
/** A name that fits into a line. Signs that join an emoji or turn the direction of a text are shown as such. */
const SHORT_NAME = /^[^\p{Cc}\p{Zl}\p{Zp}]{1,64}$/u;

/**
 * The first properties whose values differ, as `properties.seats`. They stand among the changed fields, because release 1.1 restores
 * backups with them there.
 */
function changedProperties(before: UserGroup, after: UserGroup): string[] {
  if (before.properties === after.properties) return [];
  const [old, now] = [before, after].map(({ properties }) => JSON.parse(properties ?? "{}"));
  const names = new Set([...Object.keys(old), ...Object.keys(now)]);
  const changed = [...names].filter((name) => JSON.stringify(old[name]) !== JSON.stringify(now[name]));
  const short = changed.filter((name) => SHORT_NAME.test(name)).slice(0, CHANGED_PROPERTIES_MAX);
  return short.map((name) => PROPERTIES + name);
}

/** The changed fields of an event, and apart the names of the changed properties that it has. */
export function changedIn({ changed = [] }: EventDetails): { fields: string[]; properties: string[] } {
  const properties = changed.filter((name) => name.startsWith(PROPERTIES));
  return {
    fields: changed.filter((name) => !name.startsWith(PROPERTIES)),
    properties: properties.map((name) => name.slice(PROPERTIES.length)),
  };
}

/** Suspension decides the type, even if other fields change too. */
function updateType(before: UserGroup, after: UserGroup): EventType {
  if (before.suspendedAt === after.suspendedAt) return "user_group.updated";
  return after.suspendedAt === null ? "user_group.resumed" : "user_group.suspended";
}

/** The previous id of a group that has another one now. */
export const previousId = (before: UserGroup, after: UserGroup): EventDetails =>
  before.providedId === after.providedId ? {} : { previous_provided_id: before.providedId };

/** A place in a feed: after the event with the id `after`, of the database with this incarnation. */
export type FeedPosition = { incarnation: string; after: number };

/**
 * Asks for at most `limit` events: after a position, from a time on in milliseconds since 1970, or for the position after the
 * newest event.
 */
export type EventQuery = EventFilter & {
  from: FeedPosition | { since: number } | "latest" | undefined;
  limit: number;
  /** Whether to add the present state of the groups that the page names. */
  withGroups?: boolean | undefined;
};

/** Which events to return. A group is named by its id, also its previous one, or by its number. */
type EventFilter = {
  type?: EventType | undefined;
  providedId?: string | undefined;
  teamId?: number | undefined;
  actor?: ActorFilter | undefined;
};

/** Who has made the changes: a key, an operator or the service itself. The bootstrap token has no id. */
export type ActorFilter = Pick<Actor, "kind" | "id">;

/** The incarnation in a position of a feed whose database has no tables yet. The position is the start of the feed. */
const NO_FEED = "";

/** Reads the page of a feed whose database has no tables yet. */
export const readNoEvents = ({ from }: EventQuery): Result<Read<EventPage>, FailureOf<"cursor_expired">> =>
  from === undefined || from === "latest" || "since" in from || from.incarnation === NO_FEED
    ? ok({ page: { events: [], next: { incarnation: NO_FEED, after: 0 }, hasMore: false }, share: 0 })
    : fail({ code: "cursor_expired" });

/** Some events, the position after the last one that was examined, and the groups that they name, if the query asks for them. */
export type EventPage = { events: StoredEvent[]; next: FeedPosition; hasMore: boolean; groups?: ListedGroup[] };

/**
 * Reads one page of a feed, oldest first. Filters examine a bounded number of events, so a page may be empty and have more
 * after it. Refuses a position that this feed cannot continue: of another incarnation, before the oldest event, or after
 * the newest.
 */
export function readEvents(
  store: EventStore,
  { from, limit, ...filter }: EventQuery,
): Result<Read<EventPage>, FailureOf<"cursor_expired">> {
  const incarnation = store.incarnation();
  const newest = store.newestId();
  if (from === "latest")
    return ok({ page: { events: [], next: { incarnation, after: newest }, hasMore: false }, share: 0 });

  const oldest = store.oldest(1)[0]?.id ?? 1;
  const isPosition = from !== undefined && "after" in from;
  const start = from !== undefined && "since" in from ? firstSince(store, from.since, { oldest, newest }) : oldest;
  const after = isPosition ? from.after : start - 1;
  const isOfThisFeed = !isPosition || [incarnation, NO_FEED].includes(from.incarnation);
  if (!isOfThisFeed || after < oldest - 1 || after > newest) return fail({ code: "cursor_expired" });

  const examined = store.page(after, isFiltered(filter) ? EVENTS_EXAMINED_MAX : limit);
  const matching = examined.filter((event) => matches(event, filter));
  const events = matching.slice(0, limit);
  const last = matching.length > limit ? events.at(-1) : examined.at(-1);
  const next = last?.id ?? after;
  const page = { events, next: { incarnation, after: next }, hasMore: next < newest };
  return ok({ page, share: examined.length / EVENTS_MAX });
}

/** Whether the filter names anything. */
const isFiltered = ({ type, providedId, teamId, actor }: EventFilter): boolean =>
  [type, providedId, teamId, actor].some((each) => each !== undefined);

/** Whether a filter lets an event pass. */
const matches = (event: StoredEvent, { type, providedId, teamId, actor }: EventFilter): boolean =>
  (type === undefined || event.type === type) &&
  (providedId === undefined || isAbout(event, providedId)) &&
  (teamId === undefined || event.teamId === teamId) &&
  (actor === undefined ||
    (event.actor.kind === actor.kind && (actor.kind === "system" || event.actor.id === actor.id)));

/** Whether the event is about the group with this id, also under its previous id. */
const isAbout = ({ providedId, details }: StoredEvent, id: string): boolean =>
  providedId === id || details.previous_provided_id === id;

/**
 * The id of the first event at a time or later; one above the newest if there is none. It reads one event for each halving of
 * the ids, so 40 for a feed of 10^12. Times never fall from event to event.
 */
export function firstSince(
  store: EventStore,
  since: number,
  { oldest, newest }: { oldest: number; newest: number },
): number {
  let [low, high] = [oldest, newest + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const event = store.firstFrom(middle);
    if (event && event.at < since) low = event.id + 1;
    else high = middle;
  }
  return low;
}

/**
 * Asks for at most `limit` events, newest first: those with a number below `before`, none from before the time `since`, and none from
 * `until` on. Both are milliseconds since 1970. A directory of 1.0 ignores `until`.
 */
export type NewestQuery = EventFilter & {
  before?: number | undefined;
  since?: number | undefined;
  until?: number | undefined;
  limit: number;
  /** Whether to add the names of the groups. A directory of 1.1 does not. */
  withNames?: boolean | undefined;
};

/**
 * Some events, newest first, and the `before` of the next page; `null` after the oldest event. `searchedBackTo` is the time of the
 * oldest event that was examined, if any was. `names` has the names of groups by their numbers, without those that were purged.
 */
export type NewestPage = {
  events: StoredEvent[];
  next: number | null;
  searchedBackTo?: number | undefined;
  names?: Record<number, string>;
};

/** The page of a feed whose database has no tables yet. */
export const NO_NEWEST: Read<NewestPage> = { page: { events: [], next: null }, share: 0 };

/** Reads one page of a feed, newest first. Filters examine a bounded number of events, so a page may be empty and have more after it. */
export function readNewest(store: EventStore, query: NewestQuery): Read<NewestPage> {
  const { before, since, until, limit, withNames, ...filter } = query;
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
