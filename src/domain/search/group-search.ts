import { LIST_BYTES_MAX, SCAN_SECONDS_MAX, SEARCH_ROWS_MAX } from "../../../common/limits.ts";
import type { ListedGroup } from "../../records.ts";
import type { GroupStore, ListRange, ScannedGroup } from "../../storage/group-store.ts";
import type { Step } from "../turns.ts";
import { type GroupPage, type PageQuery, type PageStart, rangeOf } from "../user-groups/group-page.ts";
import { fold } from "./folding.ts";
import { RowSize, ScanTurn } from "./scan-turn.ts";

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
  readonly #rowSize = new RowSize();
  readonly #groups: ListedGroup[] = [];
  #range: ListRange;
  #examined = 0;
  #bytesLeft = LIST_BYTES_MAX;

  constructor(query: SearchQuery) {
    this.#limit = query.limit;
    this.#passes = conditionOf(query);
    // Without an index on the ids of deleted groups, they are read in the order of numbers.
    this.#range = rangeOf(query.state === "deleted" ? { ...query, prefix: undefined } : query);
    this.#endsAt = Date.now() + SCAN_SECONDS_MAX * 1000;
  }

  /** Takes a turn: examines some groups. The page is there after the last turn. */
  turn(store: GroupStore): Step<GroupPage> {
    const turn = new ScanTurn(this.#rowSize);
    const end = (next: PageStart | null) => ({ page: { groups: this.#groups, next }, share: turn.share });
    while (!turn.isOver) {
      const count = this.#isFull ? 1 : turn.rowsOfStep;
      const rows = store.scan(this.#range, count);
      const stoppedAt = this.#examine(store, rows, turn);
      if (stoppedAt && this.#isFull) return end(this.#startAt(stoppedAt));
      if (!stoppedAt && rows.length < count) return end(null);
    }
    return Date.now() < this.#endsAt ? { page: undefined, share: turn.share } : end(this.#range.start);
  }

  /** Examines groups until the turn is over or the page is full. Returns the first group that it has not examined. */
  #examine(store: GroupStore, rows: ScannedGroup[], turn: ScanTurn): ScannedGroup | undefined {
    turn.countStep({ rows: rows.length, bytes: rows.reduce((sum, { bytes }) => sum + bytes, 0) });
    for (const row of rows) {
      if (turn.areTextsOver || this.#isFull) return row;
      if (this.#passes(row) && !this.#add(store, row, turn)) return row;
      turn.countTexts(row);
      this.#examined += 1;
      this.#range = after(this.#range, row);
    }
    return undefined;
  }

  /** Adds a group to the page, unless the page would exceed what one answer may hold: then it is full. No single group exceeds that. */
  #add(store: GroupStore, { teamId, bytes }: ScannedGroup, turn: ScanTurn): boolean {
    this.#bytesLeft -= bytes;
    if (this.#bytesLeft < 0) return false;
    this.#groups.push(store.listed(this.#range.order === "deleted" ? "deleted" : "existing", teamId));
    turn.countFound(bytes);
    return true;
  }

  get #isFull(): boolean {
    return this.#groups.length === this.#limit || this.#examined === SEARCH_ROWS_MAX || this.#bytesLeft < 0;
  }

  #startAt = ({ teamId, providedId }: ScannedGroup): PageStart => (this.#range.order === "ids" ? providedId : teamId);
}

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
