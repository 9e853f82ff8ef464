import type { Tombstone } from "../records.ts";

/** A purged group of an environment, by the name of its directory. */
export type Buried = Tombstone & { id: number; environment: string };

/** The SQL of the purged groups of all environments. They are kept for good. */
export class GraveyardStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  bury(environment: string, { teamId, createdAt }: Tombstone): void {
    this.#sql.exec(
      "INSERT OR IGNORE INTO tombstones (environment, team_id, created_at) VALUES (?, ?, ?)",
      environment,
      teamId,
      createdAt,
    );
  }

  /** Whether this group was purged. */
  has(environment: string, { teamId, createdAt }: Tombstone): boolean {
    return (
      this.#sql
        .exec(
          "SELECT 1 FROM tombstones WHERE environment = ? AND team_id = ? AND created_at = ?",
          environment,
          teamId,
          createdAt,
        )
        .toArray().length > 0
    );
  }

  /** The first `count` after the id `after`. */
  page(after: number, count: number): Buried[] {
    return this.#sql
      .exec<Buried>(
        "SELECT id, environment, team_id AS teamId, created_at AS createdAt FROM tombstones WHERE id > ? ORDER BY id LIMIT ?",
        after,
        count,
      )
      .toArray();
  }

  count(): number {
    return this.#sql.exec<{ count: number }>("SELECT count(*) AS count FROM tombstones").one().count;
  }
}
