import {
  DECOMPOSED_UNIT_WEIGHT,
  LIST_BYTES_MAX,
  SCAN_SECONDS_MAX,
  SCAN_TURN_SHARE,
  SEARCH_ROWS_MAX,
  SEARCH_STEP_ROWS,
  SEARCH_TURN_ROWS_MAX,
  SEARCH_TURN_UNITS_MAX,
} from "../../../common/limits.ts";
import type { ListedGroup } from "../../records.ts";
import type { GroupStore, ListRange, ScannedGroup } from "../../storage/group-store.ts";
import type { Step } from "../turns.ts";
import { type GroupPage, type PageQuery, type PageStart, rangeOf } from "../user-groups/group-page.ts";
import { fold, isAscii } from "./folding.ts";

/**
 * Asks for at most `limit` groups from `start` on: of those whose name or id contains `search` without regard to case and accents, that
 * were not viewed since the day `lastViewedBefore` (in UTC as YYYY-MM-DD; one that never was counts from its creation), whose id begins
 * with `prefix`, and that have the `state`. What is `undefined` is no condition, but deleted groups are found only by their state.
 */
export type SearchQuery = Omit<PageQuery, "providedId"> & {
  search?: string | undefined;
  lastViewedBefore?: string | undefined;
};

/** Whether a query needs a search: indexes answer it otherwise. */
export const isSearch = ({ search, lastViewedBefore, prefix, state }: SearchQuery): boolean =>
  search !== undefined || lastViewedBefore !== undefined || (prefix !== undefined && state === "deleted");

/**
 * One call of a search, which reads the groups in steps and turns: without a prefix, and of deleted groups, in the order of numbers, so
 * that no group that stays is missed or repeated, whatever changes between two turns.
 */
export class GroupSearch {
  readonly #limit: number;
  readonly #passes: (group: ScannedGroup) => boolean;
  readonly #endsAt: number;
  #range: ListRange;
  #examined = 0;
  #bytes = 0;
  readonly #groups: ListedGroup[] = [];

  constructor(query: SearchQuery) {
    this.#limit = query.limit;
    this.#passes = conditionOf(query);
    // Without an index on the ids of deleted groups, they are read in the order of numbers.
    this.#range = rangeOf(query.state === "deleted" ? { ...query, prefix: undefined } : query);
    this.#endsAt = Date.now() + SCAN_SECONDS_MAX * 1000;
  }

  /** Takes a turn: examines some groups. The page is there after the last turn. */
  turn(store: GroupStore): Step<GroupPage> {
    const turn = { rows: 0, units: 0 };
    while (!isOver(turn)) {
      const count = this.#isFull ? 1 : SEARCH_STEP_ROWS;
      const rows = store.scan(this.#range, count);
      const next = this.#examine(store, rows, turn);
      if (next) return this.#end(turn, this.#startAt(next));
      if (rows.length < count && !isOver(turn)) return this.#end(turn, null);
    }
    return Date.now() < this.#endsAt ? { page: undefined, share: shareOf(turn) } : this.#end(turn, this.#range.start);
  }

  /** Examines groups until the turn is over. Returns the group with which the next page begins, once this one is complete. */
  #examine(store: GroupStore, rows: ScannedGroup[], turn: Turn): ScannedGroup | undefined {
    for (const row of rows) {
      if (this.#isFull) return row;
      if (isOver(turn)) return undefined;
      const hit = this.#passes(row) ? store.listed(this.#which, row.teamId) : undefined;
      if (hit && !this.#add(hit)) return row;
      this.#examined += 1;
      turn.rows += 1;
      turn.units += weightOf(row.providedId) + weightOf(row.name) + (hit?.bytes ?? 0);
      this.#range = after(this.#range, row);
    }
    return undefined;
  }

  /** Adds a group to the page, unless the page would exceed what one answer may hold. No single group does. */
  #add({ group, bytes }: { group: ListedGroup; bytes: number }): boolean {
    if (this.#bytes + bytes > LIST_BYTES_MAX) return false;
    this.#bytes += bytes;
    this.#groups.push(group);
    return true;
  }

  get #isFull(): boolean {
    return this.#groups.length === this.#limit || this.#examined === SEARCH_ROWS_MAX;
  }

  get #which(): "existing" | "deleted" {
    return this.#range.order === "deleted" ? "deleted" : "existing";
  }

  #startAt = ({ teamId, providedId }: ScannedGroup): PageStart => (this.#range.order === "ids" ? providedId : teamId);

  #end(turn: Turn, next: PageStart | null): Step<GroupPage> {
    return { page: { groups: this.#groups, next }, share: shareOf(turn) };
  }
}

/** How much a turn has examined. */
type Turn = { rows: number; units: number };

const isOver = ({ rows, units }: Turn): boolean => rows >= SEARCH_TURN_ROWS_MAX || units >= SEARCH_TURN_UNITS_MAX;

const shareOf = ({ rows, units }: Turn): number =>
  SCAN_TURN_SHARE * Math.min(1, Math.max(rows / SEARCH_TURN_ROWS_MAX, units / SEARCH_TURN_UNITS_MAX));

const weightOf = (text: string): number => (isAscii(text) ? 1 : DECOMPOSED_UNIT_WEIGHT) * text.length;

/** The rest of a range after a group. No id has control characters, so none is between an id and the same with one after it. */
const after = (range: ListRange, { teamId, providedId }: ScannedGroup): ListRange =>
  range.order === "ids" ? { ...range, start: `${providedId}\u0001` } : { ...range, start: teamId + 1 };

/** Whether a group passes the conditions of a query. */
function conditionOf({ search, lastViewedBefore, prefix = "", state }: SearchQuery): (group: ScannedGroup) => boolean {
  const folded = fold(search ?? "");
  const viewedBefore = lastViewedBefore === undefined ? undefined : Date.parse(lastViewedBefore);
  return (group) =>
    (state !== "active" || group.suspendedAt === null) &&
    (state !== "suspended" || group.suspendedAt !== null) &&
    (viewedBefore === undefined || viewedAt(group) < viewedBefore) &&
    group.providedId.startsWith(prefix) &&
    (folded === "" || fold(group.name).includes(folded) || fold(group.providedId).includes(folded));
}

const viewedAt = ({ lastViewedOn, createdAt }: ScannedGroup): number =>
  lastViewedOn === null ? createdAt : Date.parse(lastViewedOn);
