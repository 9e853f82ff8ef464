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

  /** The response stored under a key, even if it has expired. */
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

  /** Stores a response. An expired one under the same key is replaced. */
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

  /** Deletes the responses that are about a group. */
  deleteOf(teamId: number): void {
    this.#sql.exec("DELETE FROM stored_responses WHERE team_id = ?", teamId);
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
