import { BACKUP_ROWS_MAX } from "../../../common/limits.ts";
import { fail, ok, type Result } from "../../../common/result.ts";
import type { EndedSession, StoredEnvironment, StoredEvent, StoredKey, UserGroup } from "../../records.ts";
import type { EventStore } from "../../storage/event-store.ts";
import type { Buried } from "../../storage/tombstone-store.ts";
import type { FailureOf } from "../failure.ts";

/** What a backup holds, by the `kind` of its line: of an environment the first four, of the registry the others. */
export type Records = {
  user_group: UserGroup;
  api_key: Omit<StoredKey, "email">;
  event: StoredEvent;
  ended_session: EndedSession;
  operator: StoredKey;
  environment: StoredEnvironment;
  tombstone: Buried;
};
export type RecordKind = keyof Records;

/** One line of a backup. The footer has the number of lines of each kind. */
export type BackupItem =
  | { [Kind in RecordKind]: { kind: Kind; record: Records[Kind] } }[RecordKind]
  | { kind: "header"; record: { takenAt: number; schema: number } }
  | { kind: "footer"; record: Record<string, number> };

/**
 * Where a backup goes on: in which of its tables, after which row, and how many lines of some kinds it has had. `seq` is the
 * number of the newest event when it began: a later one names what has to be corrected.
 */
export type BackupPosition = {
  incarnation: string;
  seq: number;
  table: number;
  start: number;
  counts: Record<string, number>;
};

/** One page, and the position of the next; `null` after the footer. */
export type BackupPage = { items: BackupItem[]; next: BackupPosition | null };

/** A page that is being filled, up to its bounds. */
export class OpenPage {
  readonly items: BackupItem[] = [];
  bytes = 0;

  addHeader(schema: number): void {
    this.add({ kind: "header", record: { takenAt: Date.now(), schema } }, 0);
  }

  add(item: BackupItem, bytes: number): void {
    this.items.push(item);
    this.bytes += bytes;
  }

  /** How many more lines the page may have. */
  get room(): number {
    return Math.max(0, BACKUP_ROWS_MAX - this.items.length);
  }

  /** Whether a row is in the page. Each page needs one, however large, or the next page would begin at the same row. */
  get hasRow(): boolean {
    return this.items.some(({ kind }) => kind !== "header");
  }
}

/** The position from which a backup goes on, and whether it begins there. Refuses a position of another database. */
export function positionIn(
  events: EventStore,
  position: BackupPosition | undefined,
): Result<BackupPosition, FailureOf<"cursor_expired">> {
  const incarnation = events.incarnation();
  if (!position) return ok({ incarnation, seq: events.newestId(), table: 0, start: 0, counts: {} });
  return position.incarnation === incarnation ? ok(position) : fail({ code: "cursor_expired" });
}

/** Whether the feed has lost events after `after`, so that a backup that goes on there would miss a correction. */
export const hasLostEvents = (events: EventStore, after: number): boolean => (events.oldest(1)[0]?.id ?? 1) > after + 1;

/** What an event takes in memory, nearly. */
export const bytesOfEvent = ({ details }: StoredEvent): number => 300 + JSON.stringify(details).length;

/** The counts with one more line of a kind that a footer counts by its lines. */
export const withOneMore = (counts: Record<string, number>, kind: string): Record<string, number> => ({
  ...counts,
  [kind]: (counts[kind] ?? 0) + 1,
});
