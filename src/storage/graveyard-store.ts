import type { Tombstone } from "../records.ts";
import { Table } from "./table.ts";

/** A purged group of an environment, by the name of its directory. */
export type Buried = Tombstone & { id: number; environment: string };

/** The SQL of the purged groups of all environments. They are kept for good. */
export class GraveyardStore {
  readonly #table: Table<Buried>;

  constructor(sql: SqlStorage) {
    this.#table = new Table(sql, "tombstones", ["id", "environment", "teamId", "createdAt"]);
  }

  bury(environment: string, { teamId, createdAt }: Tombstone): void {
    this.#table.insert({ environment, teamId, createdAt }, "INSERT OR IGNORE");
  }

  /** Whether this group was purged. */
  has(environment: string, { teamId, createdAt }: Tombstone): boolean {
    return this.#table.has("environment = ? AND team_id = ? AND created_at = ?", environment, teamId, createdAt);
  }

  /** The first `count` after the id `after`. */
  page(after: number, count: number): Buried[] {
    return this.#table.list("id > ? ORDER BY id LIMIT ?", after, count);
  }
}
