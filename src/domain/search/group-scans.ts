import {
  DATABASE_PAGE_BYTES,
  DECOMPOSED_UNIT_WEIGHT,
  GROUPS_COUNTED_MAX,
  LIST_BYTES_MAX,
  SCAN_SECONDS_MAX,
  SCAN_TURN_SHARE,
  SEARCH_ROWS_MAX,
  SEARCH_STEP_ROWS,
  SEARCH_TURN_BYTES_MAX,
  SEARCH_TURN_ROWS_MAX,
  SEARCH_TURN_UNITS_MAX,
} from "../../../common/limits.ts";
import type { ListedGroup } from "../../records.ts";
import type { GroupStore, ListRange, ScannedGroup } from "../../storage/group-store.ts";
import type { Step } from "../turns.ts";
import { type GroupPage, type PageQuery, type PageStart, rangeOf } from "../user-groups/group-page.ts";
import { fold, isAscii } from "./folding.ts";

/**
 * Asks for at most `limit` groups from `start` on: of those whose name or id contains each word of `search`, without regard to case and
 * accents, that were not viewed since the day `lastViewedBefore` (in UTC as YYYY-MM-DD; one that never was counts from its creation), whose id begins
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
  readonly #rowSize = firstRowSize();
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
  const words = wordsOf(search ?? "");
  const viewedBefore = lastViewedBefore === undefined ? undefined : Date.parse(lastViewedBefore);
  return (group) =>
    (state !== "active" || group.suspendedAt === null) &&
    (state !== "suspended" || group.suspendedAt !== null) &&
    (viewedBefore === undefined || viewedAt(group) < viewedBefore) &&
    group.providedId.startsWith(prefix) &&
    (words.length === 0 || hasAll(words, fold(group.name), fold(group.providedId)));
}

/** The words of a search, folded; a text of blanks alone is a word. */
export function wordsOf(search: string): string[] {
  const folded = fold(search);
  const words = folded.split(/\s+/).filter((word) => word !== "");
  return words.length > 0 || folded === "" ? words : [folded];
}

const hasAll = (words: string[], ...texts: string[]): boolean =>
  words.every((word) => texts.some((text) => text.includes(word)));

const viewedAt = ({ lastViewedOn, createdAt }: ScannedGroup): number =>
  lastViewedOn === null ? createdAt : Date.parse(lastViewedOn);

/** What a row has besides its texts: numbers, tokens and times. */
const ROW_BYTES = 100;

/** How many bytes of each group the step before has read. The first step takes a row to fill a page. */
type RowSize = { bytes: number };
const firstRowSize = (): RowSize => ({ bytes: DATABASE_PAGE_BYTES });

/** How much one turn of a search or a count has read of the groups, and whether it has to end. */
export class ScanTurn {
  readonly #size: RowSize;
  #rows = 0;
  #bytes = 0;
  #units = 0;

  constructor(size: RowSize) {
    this.#size = size;
  }

  get isOver(): boolean {
    return this.#part >= 1;
  }

  /** Whether the turn has folded so many texts, or found so large groups, that it ends within a step. */
  get areTextsOver(): boolean {
    return this.#units >= SEARCH_TURN_UNITS_MAX;
  }

  /** How much the turn takes of the thread, as a share of a full page of a list. */
  get share(): number {
    return SCAN_TURN_SHARE * Math.min(1, this.#part);
  }

  get #part(): number {
    return Math.max(
      this.#rows / SEARCH_TURN_ROWS_MAX,
      this.#bytes / SEARCH_TURN_BYTES_MAX,
      this.#units / SEARCH_TURN_UNITS_MAX,
    );
  }

  /** How many groups the next step may read. */
  get rowsOfStep(): number {
    const rowsOfBytes = Math.ceil((SEARCH_TURN_BYTES_MAX - this.#bytes) / this.#size.bytes);
    return Math.max(1, Math.min(SEARCH_STEP_ROWS, SEARCH_TURN_ROWS_MAX - this.#rows, rowsOfBytes));
  }

  /** Counts a step that has read so many groups of so many bytes. */
  countStep({ rows, bytes }: { rows: number; bytes: number }): void {
    const read = Math.min(DATABASE_PAGE_BYTES * rows, ROW_BYTES * rows + bytes);
    if (rows > 0) this.#size.bytes = read / rows;
    this.#rows += rows;
    this.#bytes += read;
  }

  /** Counts the texts of a group, which were folded. */
  countTexts({ name, providedId }: ScannedGroup): void {
    this.#units += weightOf(name) + weightOf(providedId);
  }

  /** Counts a group of so many bytes that was found. */
  countFound(bytes: number): void {
    this.#units += bytes;
  }
}

const weightOf = (text: string): number => (isAscii(text) ? 1 : DECOMPOSED_UNIT_WEIGHT) * text.length;

/**
 * How many groups exist and are deleted, up to one more than `GROUPS_COUNTED_MAX`, and how many of the first `SEARCH_ROWS_MAX` that exist
 * are suspended: `isEachCounted` says whether these are all.
 */
export type GroupCounts = { existing: number; deleted: number; suspended: number; isEachCounted: boolean };

/** One count of the groups. No index knows which are suspended, so the count reads them in turns. */
export class GroupCount {
  readonly #rowSize = firstRowSize();
  #start = 1;
  #examined = 0;
  #suspended = 0;

  /** Takes a turn: examines some groups. The counts are there after the last turn. */
  turn(store: GroupStore): Step<GroupCounts> {
    const turn = new ScanTurn(this.#rowSize);
    while (!turn.isOver) {
      const count = turn.rowsOfStep;
      const { examined, suspended, last, bytes } = store.countSuspended(this.#start, count);
      turn.countStep({ rows: examined, bytes });
      this.#start = last + 1;
      this.#examined += examined;
      this.#suspended += suspended;
      const isEachCounted = examined < count;
      if (isEachCounted || this.#examined >= SEARCH_ROWS_MAX)
        return { page: this.#counts(store, isEachCounted), share: turn.share };
    }
    return { page: undefined, share: turn.share };
  }

  #counts(store: GroupStore, isEachCounted: boolean): GroupCounts {
    const existing = store.countUpTo("existing", GROUPS_COUNTED_MAX + 1);
    const deleted = store.countUpTo("deleted", GROUPS_COUNTED_MAX + 1);
    return { existing, deleted, suspended: this.#suspended, isEachCounted };
  }
}
