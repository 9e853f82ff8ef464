import type { RotatedGroup, StoredResponse } from "../records.ts";

type Rotated = Pick<RotatedGroup, "providedId" | "name" | "nonce" | "revision"> & { signingId: string };
type Row = { request: ArrayBuffer; expiresAt: number; keyId: number | null; teamId: number; listed: string | null } & (
  | Rotated
  | { [Column in keyof Rotated]: null }
);

/** A stored response that can be deleted, and how much it holds in UTF-8. */
type Deletable = { id: number; bytes: number };
// octet_length reads the length from the row's header, and not the value from its overflow pages.
const DELETABLE = "id, coalesce(octet_length(listed), 0) AS bytes";

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
          signing_id AS signingId, listed FROM stored_responses WHERE key = ?`,
        key,
      )
      .toArray()[0];
    if (!row) return undefined;
    const { request, expiresAt, keyId, teamId } = row;
    return { key, request, expiresAt, keyId, teamId, response: responseOf(row) };
  }

  /** Stores a response. One under the same key is replaced. */
  insert({ key, request, expiresAt, keyId, teamId, response }: StoredResponse): void {
    const rotated = response.kind === "rotated" ? response.group : undefined;
    const listed = response.kind === "listed" ? response.group : undefined;
    this.#sql.exec(
      `INSERT OR REPLACE INTO stored_responses
        (key, request, expires_at, key_id, team_id, provided_id, name, nonce, revision, signing_id, listed)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
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
      listed ? JSON.stringify(listed) : null,
    );
  }

  /** Whether responses about a group are stored. */
  has(teamId: number): boolean {
    return this.#sql.exec("SELECT 1 FROM stored_responses WHERE team_id = ? LIMIT 1", teamId).toArray().length > 0;
  }

  addPurgedGroup(teamId: number): void {
    this.#sql.exec("INSERT INTO purged_groups (team_id) VALUES (?)", teamId);
  }

  /** A purged group about which responses may be stored. */
  firstPurgedGroup(): number | undefined {
    return this.#sql
      .exec<{ teamId: number }>("SELECT team_id AS teamId FROM purged_groups WHERE team_id > 0 LIMIT 1")
      .toArray()[0]?.teamId;
  }

  removePurgedGroup(teamId: number): void {
    this.#sql.exec("DELETE FROM purged_groups WHERE team_id = ?", teamId);
  }

  /** The oldest responses about a group, at most `limit`. */
  oldestOf(teamId: number, limit: number): Deletable[] {
    return this.#sql
      .exec<Deletable>(`SELECT ${DELETABLE} FROM stored_responses WHERE team_id = ? ORDER BY id LIMIT ?`, teamId, limit)
      .toArray();
  }

  /** Deletes this response about a group, and all older ones. */
  deleteOfUpTo(teamId: number, id: number): void {
    this.#sql.exec("DELETE FROM stored_responses WHERE team_id = ? AND id <= ?", teamId, id);
  }

  /** The oldest responses, at most `limit`. */
  oldest(limit: number): (Deletable & { expiresAt: number })[] {
    return this.#sql
      .exec<Deletable & { expiresAt: number }>(
        `SELECT ${DELETABLE}, expires_at AS expiresAt FROM stored_responses WHERE id > 0 ORDER BY id LIMIT ?`,
        limit,
      )
      .toArray();
  }

  /** Deletes this response and all older ones. */
  deleteUpTo(id: number): void {
    this.#sql.exec("DELETE FROM stored_responses WHERE id <= ?", id);
  }
}

function responseOf(row: Row): StoredResponse["response"] {
  const { teamId, providedId, name, nonce, revision, signingId, listed } = row;
  if (listed !== null) return { kind: "listed", group: JSON.parse(listed) };
  return nonce === null
    ? { kind: "removed", teamId }
    : { kind: "rotated", group: { teamId, providedId, name, nonce, revision, signingId } };
}
