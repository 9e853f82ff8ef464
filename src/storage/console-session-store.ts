import type { StoredConsoleSession } from "../records.ts";

const COLUMNS = `id, hash, operator_id AS operatorId, bootstrap_mac AS bootstrapMac, created_at AS createdAt,
  last_used_at AS lastUsedAt, form_ids AS formIds, browser, address`;

/** The SQL of console sessions. Those of the bootstrap token have no operator's id. */
export class ConsoleSessionStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  findByHash(hash: ArrayBuffer): StoredConsoleSession | undefined {
    return this.#sql
      .exec<StoredConsoleSession>(`SELECT ${COLUMNS} FROM console_sessions WHERE hash = ?`, hash)
      .toArray()[0];
  }

  /** The sessions of an operator, the newest first. */
  ofOperator(operatorId: number | null): StoredConsoleSession[] {
    return this.#sql
      .exec<StoredConsoleSession>(
        `SELECT ${COLUMNS} FROM console_sessions WHERE operator_id IS ? ORDER BY id DESC`,
        operatorId,
      )
      .toArray();
  }

  /** Adds a session. A repeated call adds it once. */
  insert(session: Omit<StoredConsoleSession, "id" | "lastUsedAt" | "formIds">) {
    const { hash, operatorId, bootstrapMac, createdAt, browser, address } = session;
    this.#sql.exec(
      `INSERT OR IGNORE INTO console_sessions
        (hash, operator_id, bootstrap_mac, created_at, last_used_at, form_ids, browser, address)
        VALUES (?, ?, ?, ?, ?, '', ?, ?)`,
      ...[hash, operatorId, bootstrapMac, createdAt, createdAt, browser, address],
    );
  }

  setLastUsedAt(id: number, lastUsedAt: number): void {
    this.#sql.exec("UPDATE console_sessions SET last_used_at = ? WHERE id = ?", lastUsedAt, id);
  }

  setFormIds(id: number, formIds: string): void {
    this.#sql.exec("UPDATE console_sessions SET form_ids = ? WHERE id = ?", formIds, id);
  }

  delete(id: number): void {
    this.#sql.exec("DELETE FROM console_sessions WHERE id = ?", id);
  }

  /** Deletes the sessions that were created up to a time, or used last up to another. */
  deleteEnded({ createdUpTo, usedUpTo }: { createdUpTo: number; usedUpTo: number }): void {
    this.#sql.exec("DELETE FROM console_sessions WHERE created_at <= ? OR last_used_at <= ?", createdUpTo, usedUpTo);
  }
}
