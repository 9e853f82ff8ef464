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
}
