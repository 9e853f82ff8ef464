import { GROUPS_COUNTED_MAX, SEARCH_ROWS_MAX } from "../../../common/limits.ts";
import type { GroupStore } from "../../storage/group-store.ts";
import type { Step } from "../turns.ts";
import { RowSize, ScanTurn } from "./scan-turn.ts";

/**
 * How many groups exist and are deleted, up to one more than `GROUPS_COUNTED_MAX`, and how many of the first `SEARCH_ROWS_MAX` that exist
 * are suspended: `isEachCounted` says whether these are all.
 */
export type GroupCounts = { existing: number; deleted: number; suspended: number; isEachCounted: boolean };

/** One count of the groups. No index knows which are suspended, so the count reads them in turns. */
export class GroupCount {
  readonly #rowSize = new RowSize();
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
