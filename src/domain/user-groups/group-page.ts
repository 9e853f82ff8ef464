import { LIST_BYTES_MAX, LIST_ITEMS_MAX, TEXT_UNITS_MAX } from "../../../common/limits.ts";
import type { GroupState, ListedGroup } from "../../records.ts";
import type { GroupStore, ListRange } from "../../storage/group-store.ts";
import type { EventPage, NewestPage } from "../feed/event.ts";
import type { Read } from "../turns.ts";
import { bytesOf, toListedGroup } from "./user-group.ts";

/** Where a page of a list begins: with a number in the order of numbers, or with an id in the order of ids. */
export type PageStart = number | string;

/**
 * Asks for the group with the id `providedId` if one is given, or else for at most `limit` groups from `start` on, of those whose
 * id begins with `prefix` if one is given; and only for groups that have the `state` if one is given. Deleted groups are listed only
 * if the query asks for them.
 */
export type PageQuery = {
  start: PageStart | undefined;
  providedId?: string | undefined;
  prefix: string | undefined;
  state: GroupState | undefined;
  limit: number;
};

/** Some groups, and the start of the next page; `null` after the last one. */
export type GroupPage = { groups: ListedGroup[]; next: PageStart | null };

/**
 * Reads one page. It ends at its limit, before its groups exceed what one answer may hold, or where it has examined as many
 * groups as one page may. Without a prefix the order is
 * that of the numbers, which are never reused, so whatever changes between two pages, no group that stays is missed or
 * repeated. With a prefix it is that of the ids, and a group that is renamed between two pages may be.
 */
export function readPage(store: GroupStore, query: PageQuery): Read<GroupPage> {
  const { state, limit, providedId } = query;
  const isFiltered = state === "active" || state === "suspended";
  const filter = isFiltered ? state : "all";
  if (providedId !== undefined)
    return { page: { groups: store.page(exactly(providedId), filter, 1), next: null }, share: 1 / LIST_ITEMS_MAX };

  const range = rangeOf(query);
  const examinedMax = isFiltered ? LIST_ITEMS_MAX : limit;
  const sizes = store.sizes(range, examinedMax + 1);

  let count = 0;
  let bytes = 0;
  const end = sizes.slice(0, examinedMax).findIndex((size) => {
    if (isFiltered && (size.suspendedAt === null) !== (state === "active")) return false;
    bytes += size.bytes;
    if (count === limit || bytes > LIST_BYTES_MAX) return true;
    count += 1;
    return false;
  });
  const next = sizes[end === -1 ? examinedMax : end];
  const page = {
    groups: store.page(range, filter, count),
    next: next ? (range.order === "ids" ? next.providedId : next.teamId) : null,
  };
  return { page, share: Math.min(1, Math.max(sizes.length / LIST_ITEMS_MAX, bytes / LIST_BYTES_MAX)) };
}

/** The range of one id. No id has control characters, so each longer one that begins with it is after the end. */
const exactly = (providedId: string): ListRange => ({ order: "ids", start: providedId, end: `${providedId}\u0001` });

/** The groups that a query can find, without those that its filters leave out. */
export function rangeOf({ start, prefix, state }: Pick<PageQuery, "start" | "prefix" | "state">): ListRange {
  if (prefix === undefined)
    return { order: state === "deleted" ? "deleted" : "numbers", start: typeof start === "number" ? start : 0 };
  return { order: "ids", start: typeof start === "string" ? start : prefix, end: afterPrefix(prefix) };
}

const LAST_CODE_POINT = "\u{10ffff}";

/**
 * The least text that is greater than all texts with this prefix. SQLite compares ids by their UTF-8 bytes, whose order is
 * that of the code points.
 */
function afterPrefix(prefix: string): string {
  const points = [...prefix];
  const at = points.findLastIndex((point) => point !== LAST_CODE_POINT);
  // No id has more code points than an id may have, so a longer run of the last one is greater than all of them.
  if (at === -1) return LAST_CODE_POINT.repeat(TEXT_UNITS_MAX);
  const next = (points[at]?.codePointAt(0) ?? 0) + 1;
  // Surrogates are no characters; the code point after them is the next one.
  return points.slice(0, at).join("") + String.fromCodePoint(next === 0xd800 ? 0xe000 : next);
}

/**
 * Adds to a page of events the present state of each group that it names, once, in the order in which the events name them.
 * Deleted and purged groups are left out. The page ends before the event whose group would make it exceed what one answer may
 * hold, and has more then.
 */
export function addGroups(store: GroupStore, { page, share }: Read<EventPage>): Read<EventPage> {
  const seen = new Set<number | null>([null]);
  const groups: ListedGroup[] = [];
  let bytes = 0;
  const end = page.events.findIndex(({ teamId }) => {
    if (teamId === null || seen.has(teamId)) return false;
    seen.add(teamId);
    const group = store.findByTeamId(teamId);
    if (!group) return false;
    bytes += bytesOf(group) + (group.suspendedReason?.length ?? 0);
    if (bytes > LIST_BYTES_MAX) return true;
    groups.push(toListedGroup(group));
    return false;
  });
  const read = { page: { ...cutBefore(page, end), groups }, share };
  return { ...read, share: Math.min(1, share + Math.max(seen.size / LIST_ITEMS_MAX, bytes / LIST_BYTES_MAX)) };
}

/** Adds to a page of events the names of the groups that it names, of those that exist and of deleted ones. */
export function addNames(store: GroupStore, { page, share }: Read<NewestPage>): Read<NewestPage> {
  const teamIds = [...new Set(page.events.flatMap(({ teamId }) => teamId ?? []))];
  const named = teamIds.map((teamId) => [teamId, store.nameOf(teamId)] as const);
  const names = Object.fromEntries(named.filter((each): each is [number, string] => each[1] !== undefined));
  return { page: { ...page, names }, share: Math.min(1, share + teamIds.length / LIST_ITEMS_MAX) };
}

/** The page up to and without the event at this index; the whole page for -1. No single group exceeds the bound. */
function cutBefore(page: EventPage, index: number): EventPage {
  const last = page.events[index - 1];
  if (!last) return page;
  return { events: page.events.slice(0, index), next: { ...page.next, after: last.id }, hasMore: true };
}
