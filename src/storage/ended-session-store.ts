import type { EndedSession } from "../records.ts";
import { Table } from "./table.ts";

/** The SQL of ended sessions. The ids are those of the events that ended them, so the oldest row has the lowest one. */
export class EndedSessionStore {
  readonly #sql: SqlStorage;
  readonly #table: Table<EndedSession>;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    this.#table = new Table(sql, "ended_sessions", ["id", "name", "endedAt"]);
  }

  /** Stores the end of a session or a person, by an event. A later end takes the place of an earlier one. */
  put({ id, name, endedAt }: EndedSession): void {
    this.#sql.exec(
      `INSERT INTO ended_sessions (id, name, ended_at) VALUES (?, ?, ?)
      ON CONFLICT (name) DO UPDATE SET id = excluded.id, ended_at = excluded.ended_at`,
      id,
      name,
      endedAt,
    );
  }

  count(): number {
    return this.#table.number("count(*)");
  }

  /** The end of what has this name. */
  find(name: string): EndedSession | undefined {
    return this.#table.find("name = ?", name);
  }

  /** The first `count` rows after the id `after`, up to the id `last`. */
  page(after: number, last: number, count: number): EndedSession[] {
    return this.#table.list("id > ? AND id <= ? ORDER BY id LIMIT ?", after, last, count);
  }

  /** The oldest rows, at most `count`. */
  oldest(count: number): EndedSession[] {
    return this.#table.list("id > 0 ORDER BY id LIMIT ?", count);
  }

  /** Deletes this row and all older ones. */
  deleteUpTo(id: number): void {
    this.#table.delete("id <= ?", id);
  }
}
