import type { Tombstone } from "../records.ts";

/** The SQL of the purged groups that a directory has not handed to the registry yet, and of groups that a restore has skipped. */
export class TombstoneStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  put({ teamId, createdAt }: Tombstone): void {
    this.#sql.exec("INSERT OR REPLACE INTO tombstones (team_id, created_at) VALUES (?, ?)", teamId, createdAt);
  }

  /** The first `count` of them. */
  first(count: number): Tombstone[] {
    return this.#sql
      .exec<Tombstone>(
        "SELECT team_id AS teamId, created_at AS createdAt FROM tombstones WHERE team_id > 0 ORDER BY team_id LIMIT ?",
        count,
      )
      .toArray();
  }

  delete({ teamId }: Tombstone): void {
    this.#sql.exec("DELETE FROM tombstones WHERE team_id = ?", teamId);
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
