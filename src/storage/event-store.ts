import type { ChangeEvent, StoredEvent } from "../records.ts";

const COLUMNS = `id, at, type, actor, request_id AS requestId, team_id AS teamId, provided_id AS providedId, details`;

type Row = Omit<StoredEvent, "actor" | "details"> & { actor: string; details: string };

/** The SQL of events. Ids rise by one, and the newest event is never deleted, so no id is used twice. */
export class EventStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  append({ at, type, actor, requestId, teamId, providedId, details }: ChangeEvent): void {
    this.#sql.exec(
      "INSERT INTO events (at, type, actor, request_id, team_id, provided_id, details) VALUES (?, ?, ?, ?, ?, ?, ?)",
      at,
      type,
      JSON.stringify(actor),
      requestId,
      teamId,
      providedId,
      JSON.stringify(details),
    );
  }

  /** The first `count` events after the id `after`. */
  page(after: number, count: number): StoredEvent[] {
    return this.#sql
      .exec<Row>(`SELECT ${COLUMNS} FROM events WHERE id > ? ORDER BY id LIMIT ?`, after, count)
      .toArray()
      .map((row) => ({ ...row, actor: JSON.parse(row.actor), details: JSON.parse(row.details) }));
  }

  /** The ids and times of the oldest events, at most `count`. */
  oldest(count: number): { id: number; at: number }[] {
    return this.#sql
      .exec<{ id: number; at: number }>("SELECT id, at FROM events WHERE id > 0 ORDER BY id LIMIT ?", count)
      .toArray();
  }

  /** When an event was made. */
  timeOf(id: number): number | undefined {
    return this.#sql.exec<{ at: number }>("SELECT at FROM events WHERE id = ?", id).toArray()[0]?.at;
  }

  /** The id of the newest event; 0 if there is none. */
  newestId(): number {
    return this.#sql.exec<{ newest: number }>("SELECT coalesce(max(id), 0) AS newest FROM events").one().newest;
  }

  /** Deletes this event and all older ones. */
  deleteUpTo(id: number): void {
    this.#sql.exec("DELETE FROM events WHERE id <= ?", id);
  }

  /** A random id made with the database, by which cursors name their feed. */
  incarnation(): string {
    return this.#sql.exec<{ incarnation: string }>("SELECT incarnation FROM feed WHERE id = 1").one().incarnation;
  }
}
