import type { StoredEnvironment } from "../records.ts";

const COLUMNS = "id, name, location, created_at AS createdAt";

/** The SQL of environments. */
export class EnvironmentStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  findByName(name: string): StoredEnvironment | undefined {
    return this.#sql.exec<StoredEnvironment>(`SELECT ${COLUMNS} FROM environments WHERE name = ?`, name).toArray()[0];
  }

  insert({ name, location, createdAt }: Omit<StoredEnvironment, "id">): void {
    this.#sql.exec("INSERT INTO environments (name, location, created_at) VALUES (?, ?, ?)", name, location, createdAt);
  }

  /** The first `count` environments from the id `start` on, oldest first. */
  page(start: number, count: number): StoredEnvironment[] {
    return this.#sql
      .exec<StoredEnvironment>(`SELECT ${COLUMNS} FROM environments WHERE id >= ? ORDER BY id LIMIT ?`, start, count)
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
