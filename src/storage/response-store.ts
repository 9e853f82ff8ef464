import type { RotatedGroup, StoredResponse } from "../records.ts";
import { Table } from "./table.ts";

type Rotated = Pick<RotatedGroup, "providedId" | "name" | "nonce" | "revision"> & { signingId: string };
type Row = Omit<StoredResponse, "response"> & { listed: string | null } & (
    | Rotated
    | { [Column in keyof Rotated]: null }
  );

const CALL = ["key", "request", "expiresAt", "keyId", "teamId"] as const;
const RESPONSE = ["providedId", "name", "nonce", "revision", "signingId", "listed"] as const;

/** A stored response that can be deleted, and how much it holds in UTF-8. */
type Deletable = { id: number; bytes: number };
// octet_length reads the length from the row's header, and not the value from its overflow pages.
const DELETABLE = "id, coalesce(octet_length(listed), 0) AS bytes";

/** The SQL of stored responses. Rows are inserted in the order in which they expire. */
export class ResponseStore {
  readonly #sql: SqlStorage;

  readonly #responses: Table<Row>;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    this.#responses = new Table(sql, "stored_responses", [...CALL, ...RESPONSE]);
  }

  /** The response stored under a key, even if it has expired or its group was purged. */
  find(key: ArrayBuffer): StoredResponse | undefined {
    const row = this.#responses.find("key = ?", key);
    if (!row) return undefined;
    const { request, expiresAt, keyId, teamId } = row;
    return { key, request, expiresAt, keyId, teamId, response: responseOf(row) };
  }

  /** Stores a response. One under the same key is replaced. */
  insert({ response, ...call }: StoredResponse): void {
    const columns =
      response.kind === "listed"
        ? { listed: JSON.stringify(response.group) }
        : response.kind === "rotated"
          ? response.group
          : {};
    this.#responses.insert({ ...columns, ...call }, "INSERT OR REPLACE");
  }

  /** Whether responses about a group are stored. */
  has(teamId: number): boolean {
    return this.#responses.has("team_id = ?", teamId);
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
    this.#responses.delete("team_id = ? AND id <= ?", teamId, id);
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
    this.#responses.delete("id <= ?", id);
  }
}

function responseOf(row: Row): StoredResponse["response"] {
  const { teamId, providedId, name, nonce, revision, signingId, listed } = row;
  if (listed !== null) return { kind: "listed", group: JSON.parse(listed) };
  return nonce === null
    ? { kind: "removed", teamId }
    : { kind: "rotated", group: { teamId, providedId, name, nonce, revision, signingId } };
}
