import type { RotatedGroup, StoredResponse } from "../records.ts";

type Rotated = Omit<RotatedGroup, "teamId">;
type Row = { request: ArrayBuffer; expiresAt: number; keyId: number | null; teamId: number } & (
  | Rotated
  | { [Column in keyof Rotated]: null }
);

/** The SQL of stored responses. Rows are inserted in the order in which they expire. */
export class ResponseStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** The response stored under a key, even if it has expired or its group was purged. */
  find(key: ArrayBuffer): StoredResponse | undefined {
    const row = this.#sql
      .exec<Row>(
        `SELECT request, expires_at AS expiresAt, key_id AS keyId, team_id AS teamId, provided_id AS providedId, name, nonce, revision,
          signing_id AS signingId FROM stored_responses WHERE key = ?`,
        key,
      )
      .toArray()[0];
    if (!row) return undefined;
    const { request, expiresAt, keyId, teamId, ...rotated } = row;
    return {
      key,
      request,
      expiresAt,
      keyId,
      teamId,
      rotated: rotated.nonce === null ? null : { teamId, ...rotated },
    };
  }

  /** Stores a response. One under the same key is replaced. */
  insert({ key, request, expiresAt, keyId, teamId, rotated }: StoredResponse): void {
    this.#sql.exec(
      `INSERT OR REPLACE INTO stored_responses
        (key, request, expires_at, key_id, team_id, provided_id, name, nonce, revision, signing_id)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      key,
      request,
      expiresAt,
      keyId,
      teamId,
      rotated?.providedId ?? null,
      rotated?.name ?? null,
      rotated?.nonce ?? null,
      rotated?.revision ?? null,
      rotated?.signingId ?? null,
    );
  }

  /** Whether responses about a group are stored. */
  has(teamId: number): boolean {
    return this.#sql.exec("SELECT 1 FROM stored_responses WHERE team_id = ? LIMIT 1", teamId).toArray().length > 0;
  }

  addPurgedGroup(teamId: number): void {
    this.#sql.exec("INSERT INTO purged_groups (team_id) VALUES (?)", teamId);
  }

  /** The purged groups about which responses are stored, at most `limit`. */
  purgedGroups(limit: number): number[] {
    return this.#sql
      .exec<{ teamId: number }>("SELECT team_id AS teamId FROM purged_groups WHERE team_id > 0 LIMIT ?", limit)
      .toArray()
      .map(({ teamId }) => teamId);
  }

  removePurgedGroup(teamId: number): void {
    this.#sql.exec("DELETE FROM purged_groups WHERE team_id = ?", teamId);
  }

  /** Deletes the oldest responses about a group, at most `limit`. Returns how many there were. */
  deleteOf(teamId: number, limit: number): number {
    const ids = this.#sql
      .exec<{ id: number }>("SELECT id FROM stored_responses WHERE team_id = ? ORDER BY id LIMIT ?", teamId, limit)
      .toArray();
    this.#sql.exec("DELETE FROM stored_responses WHERE team_id = ? AND id <= ?", teamId, ids.at(-1)?.id ?? 0);
    return ids.length;
  }

  /** The oldest responses, at most `limit`. */
  oldest(limit: number): { id: number; expiresAt: number }[] {
    return this.#sql
      .exec<{ id: number; expiresAt: number }>(
        "SELECT id, expires_at AS expiresAt FROM stored_responses WHERE id > 0 ORDER BY id LIMIT ?",
        limit,
      )
      .toArray();
  }

  /** Deletes this response and all older ones. */
  deleteUpTo(id: number): void {
    this.#sql.exec("DELETE FROM stored_responses WHERE id <= ?", id);
  }
}
