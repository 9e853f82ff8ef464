import type { Tombstone } from "../records.ts";
import { Table } from "./table.ts";

/** The SQL of the purged groups that a directory has not handed to the registry yet, and of groups that a restore has skipped. */
export class TombstoneStore {
  readonly #sql: SqlStorage;
  readonly #tombstones: Table<Tombstone>;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    this.#tombstones = new Table(sql, "tombstones", ["teamId", "createdAt"]);
  }

  put({ teamId, createdAt }: Tombstone): void {
    this.#tombstones.insert({ teamId, createdAt }, "INSERT OR REPLACE");
  }

  /** The first `count` of them. */
  first(count: number): Tombstone[] {
    return this.#tombstones.list("team_id > 0 ORDER BY team_id LIMIT ?", count);
  }

  delete({ teamId }: Tombstone): void {
    this.#tombstones.delete("team_id = ?", teamId);
  }

  /** Notes a group of a backup that stays purged. */
  noteSkipped(teamId: number): void {
    this.#sql.exec("INSERT OR IGNORE INTO skipped_groups (team_id) VALUES (?)", teamId);
  }

  /** Deletes the note of such a group, because it was purged in the backup too. */
  deleteSkipped(teamId: number): void {
    this.#sql.exec("DELETE FROM skipped_groups WHERE team_id = ?", teamId);
  }

  /** How many groups were skipped, and the highest number among them. */
  skipped(): { count: number; highest: number } {
    return this.#sql
      .exec<{ count: number; highest: number }>(
        "SELECT count(*) AS count, coalesce(max(team_id), 0) AS highest FROM skipped_groups",
      )
      .one();
  }

  deleteAllSkipped(): void {
    this.#sql.exec("DELETE FROM skipped_groups");
  }
}

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
