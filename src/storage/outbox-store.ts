import type { OutboxEntry } from "./records.ts";

const ENTRY = "SELECT nonce, team_id AS teamId, version FROM outbox";

/** The SQL of the outbox: which tokens the index has yet to be told of. */
export class OutboxStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /**
   * Queues a token, or notes that one that is queued has changed again. Answers whether it was not there before. The time
   * `now` is for version 0.2.4 and older ones, in case one is rolled back to.
   */
  queue(nonce: ArrayBuffer, teamId: number, now: number): boolean {
    const { version } = this.#sql
      .exec<{ version: number }>(
        `INSERT INTO outbox (nonce, team_id, version, queued_at) VALUES (?, ?, 1, ?)
          ON CONFLICT (nonce) DO UPDATE SET version = version + 1 RETURNING version`,
        nonce,
        teamId,
        now,
      )
      .one();
    return version === 1;
  }

  find(nonce: ArrayBuffer): OutboxEntry | undefined {
    return this.#sql.exec<OutboxEntry>(`${ENTRY} WHERE nonce = ?`, nonce).toArray()[0];
  }

  /** The entries that come behind `after` in the order of their nonces, at most `limit`. */
  page(after: ArrayBuffer, limit: number): OutboxEntry[] {
    return this.#sql.exec<OutboxEntry>(`${ENTRY} WHERE nonce > ? ORDER BY nonce LIMIT ?`, after, limit).toArray();
  }

  /** Takes an entry out, unless it was queued again since it was read. Answers whether it is out. */
  settle({ nonce, version }: OutboxEntry): boolean {
    return this.#sql.exec("DELETE FROM outbox WHERE nonce = ? AND version = ?", nonce, version).rowsWritten > 0;
  }
}
