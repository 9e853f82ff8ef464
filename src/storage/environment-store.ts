import type { StoredEnvironment } from "../records.ts";

const COLUMNS = "id, name, location, created_at AS createdAt";

/** The SQL of environments. One that is marked as erased is found by its name, and is in no page. */
export class EnvironmentStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  findByName(name: string): (StoredEnvironment & { erasedAt: number | null }) | undefined {
    return this.#sql
      .exec<StoredEnvironment & { erasedAt: number | null }>(
        `SELECT ${COLUMNS}, erased_at AS erasedAt FROM environments WHERE name = ?`,
        name,
      )
      .toArray()[0];
  }

  markErased(name: string, now: number): void {
    this.#sql.exec("UPDATE environments SET erased_at = ? WHERE name = ?", now, name);
  }

  /** The names of those that are marked as erased. */
  erased(): string[] {
    return this.#sql
      .exec<{ name: string }>("SELECT name FROM environments WHERE erased_at IS NOT NULL ORDER BY erased_at")
      .toArray()
      .map(({ name }) => name);
  }

  /** The earliest mark, in milliseconds since 1970. */
  firstErasedAt(): number | undefined {
    const { first } = this.#sql
      .exec<{ first: number | null }>("SELECT min(erased_at) AS first FROM environments WHERE erased_at IS NOT NULL")
      .one();
    return first ?? undefined;
  }

  /** Deletes an environment that is marked as erased. */
  delete(name: string): void {
    this.#sql.exec("DELETE FROM environments WHERE name = ? AND erased_at IS NOT NULL", name);
  }

  insert({ name, location, createdAt }: Omit<StoredEnvironment, "id">): void {
    this.#sql.exec("INSERT INTO environments (name, location, created_at) VALUES (?, ?, ?)", name, location, createdAt);
  }

  /** The first `count` environments from the id `start` on, oldest first. */
  page(start: number, count: number): StoredEnvironment[] {
    return this.#sql
      .exec<StoredEnvironment>(
        `SELECT ${COLUMNS} FROM environments WHERE id >= ? AND erased_at IS NULL ORDER BY id LIMIT ?`,
        start,
        count,
      )
      .toArray();
  }

  /** The first `count` environments from the id `start` on with `text` in their names, among the next `examined`. */
  search(text: string, { start, count, examined }: { start: number; count: number; examined: number }) {
    const next = "SELECT * FROM environments WHERE id >= ? ORDER BY id LIMIT ?";
    return this.#sql
      .exec<StoredEnvironment>(
        `SELECT ${COLUMNS} FROM (${next}) WHERE instr(name, ?) > 0 ORDER BY id LIMIT ?`,
        start,
        examined,
        text,
        count,
      )
      .toArray();
  }

  /** The id of the environment that comes `count` after the first one from the id `start` on, if there are so many. */
  idAfter(start: number, count: number): number | undefined {
    return this.#sql
      .exec<{ id: number }>("SELECT id FROM environments WHERE id >= ? ORDER BY id LIMIT 1 OFFSET ?", start, count)
      .toArray()[0]?.id;
  }
}
