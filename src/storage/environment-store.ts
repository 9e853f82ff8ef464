import type { StoredEnvironment } from "../records.ts";
import { Table } from "./table.ts";

const FIELDS = ["id", "name", "location", "createdAt"] as const;

/** The SQL of environments. One that is marked as erased is found by its name, and is in no page. */
export class EnvironmentStore {
  readonly #environments: Table<StoredEnvironment>;
  readonly #marked: Table<StoredEnvironment & { erasedAt: number | null }>;
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    this.#environments = new Table(sql, "environments", FIELDS);
    this.#marked = new Table(sql, "environments", [...FIELDS, "erasedAt"]);
  }

  findByName(name: string): (StoredEnvironment & { erasedAt: number | null }) | undefined {
    return this.#marked.find("name = ?", name);
  }

  markErased(name: string, now: number): void {
    this.#sql.exec("UPDATE environments SET erased_at = ? WHERE name = ?", now, name);
  }

  /** Those that are marked as erased, the earliest mark first. */
  erased(): (StoredEnvironment & { erasedAt: number | null })[] {
    return this.#marked.list("erased_at IS NOT NULL ORDER BY erased_at");
  }

  /** Deletes an environment that is marked as erased. */
  delete(name: string): void {
    this.#environments.delete("name = ? AND erased_at IS NOT NULL", name);
  }

  insert({ name, location, createdAt }: Omit<StoredEnvironment, "id">): void {
    this.#environments.insert({ name, location, createdAt });
  }

  /** The first `count` environments from the id `start` on, oldest first. */
  page(start: number, count: number): StoredEnvironment[] {
    return this.#environments.list("id >= ? AND erased_at IS NULL ORDER BY id LIMIT ?", start, count);
  }

  /** The first `count` environments after a name, in the order of names. */
  pageByName(after: string, count: number): StoredEnvironment[] {
    return this.#environments.list("name > ? AND erased_at IS NULL ORDER BY name LIMIT ?", after, count);
  }

  /** The first `count` environments from the id `start` on with all `words` in their names, among the next `examined`. */
  search(words: string[], { start, count, examined }: { start: number; count: number; examined: number }) {
    const next = new Table<StoredEnvironment>(
      this.#sql,
      "(SELECT * FROM environments WHERE id >= ? ORDER BY id LIMIT ?)",
      FIELDS,
    );
    const hasWords = words.map(() => "instr(lower(name), ?) > 0 AND ").join("");
    return next.list(`${hasWords} TRUE ORDER BY id LIMIT ?`, start, examined, ...words, count);
  }

  /** The id of the environment that comes `count` after the first one from the id `start` on, if there are so many. */
  idAfter(start: number, count: number): number | undefined {
    return this.#environments.list("id >= ? ORDER BY id LIMIT 1 OFFSET ?", start, count)[0]?.id;
  }
}
