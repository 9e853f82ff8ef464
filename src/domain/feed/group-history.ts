import { HISTORY_ROWS_MAX, HISTORY_STEP_ROWS, SCAN_SECONDS_MAX, SCAN_TURN_SHARE } from "../../../common/limits.ts";
import { fail, ok, type Result } from "../../../common/result.ts";
import type { StoredEvent } from "../../records.ts";
import type { EventStore } from "../../storage/event-store.ts";
import type { FailureOf } from "../failure.ts";
import type { Step } from "../turns.ts";

/** A place in a feed that is read from the newest event on: before the event with this id, of the database with this incarnation. */
export type HistoryPosition = { incarnation: string; before: number };

/** Asks for at most `limit` events of a group, newest first: those before a position, or the newest ones. */
export type HistoryQuery = { from: HistoryPosition | undefined; limit: number };

/**
 * Some events, newest first, and the position before the last one that was examined; `null` after the group's creation, and after the
 * oldest event that is kept.
 * `searchedBackTo` is the time of the oldest event that was examined, if any was.
 */
export type HistoryPage = { events: StoredEvent[]; next: HistoryPosition | null; searchedBackTo: number | null };

export type HistoryFailure = FailureOf<"user_group_not_found" | "cursor_expired">;

/**
 * One call for the events of a group, which reads the feed in steps, because no index knows their groups. No event of a group is older
 * than that of its creation.
 */
export class GroupHistory {
  readonly #teamId: number;
  readonly #query: HistoryQuery;
  readonly #endsAt: number;
  readonly #events: StoredEvent[] = [];
  #before: number;
  #examined = 0;
  #searchedBackTo: number | null = null;

  constructor(teamId: number, query: HistoryQuery) {
    this.#teamId = teamId;
    this.#query = query;
    this.#before = query.from?.before ?? Number.MAX_SAFE_INTEGER;
    this.#endsAt = Date.now() + SCAN_SECONDS_MAX * 1000;
  }

  /** Takes a turn: examines one step of events. Refuses a position of another database. */
  turn(store: EventStore): Result<Step<HistoryPage>, HistoryFailure> {
    const incarnation = store.incarnation();
    const { from, limit } = this.#query;
    if (from && from.incarnation !== incarnation) return fail({ code: "cursor_expired" });
    const newest = store.newestIdBelow(this.#before);
    if (newest !== undefined) this.#examine(store, newest);
    const isOver = this.#events.length === limit || this.#examined >= HISTORY_ROWS_MAX || Date.now() >= this.#endsAt;
    const hasMore =
      this.#events.at(-1)?.type !== "user_group.created" && store.newestIdBelow(this.#before) !== undefined;
    if (hasMore && !isOver) return ok({ page: undefined, share: SCAN_TURN_SHARE });
    const next = hasMore ? { incarnation, before: this.#before } : null;
    return ok({ page: { events: this.#events, next, searchedBackTo: this.#searchedBackTo }, share: SCAN_TURN_SHARE });
  }

  /** Examines the step of events that ends with the event `newest`, which can be before a gap in the numbers. */
  #examine(store: EventStore, newest: number): void {
    const range = { from: Math.max(1, newest + 1 - HISTORY_STEP_ROWS), before: newest + 1 };
    const missing = this.#query.limit - this.#events.length;
    const ids = store.idsOfGroup(this.#teamId, range);
    const [oldestWanted] = ids.slice(-missing);
    if (oldestWanted !== undefined)
      this.#events.push(...store.ofGroup(this.#teamId, { ...range, from: oldestWanted }).toReversed());
    const isPageFull = oldestWanted !== undefined && ids.length >= missing;
    const oldest = store.firstFrom(isPageFull ? oldestWanted : range.from);
    this.#examined += HISTORY_STEP_ROWS;
    this.#before = oldest?.id ?? range.from;
    this.#searchedBackTo = oldest?.at ?? this.#searchedBackTo;
  }
}
