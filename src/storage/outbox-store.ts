import type { OutboxEntry } from "./records.ts";

/** The SQL of the outbox: which tokens the index has yet to be told of. */
export class OutboxStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Queues a token, or notes that one that is queued has changed again. It keeps the time since which it waits. */
  queue(nonce: ArrayBuffer, teamId: number, queuedAt: number): void {
    this.#sql.exec(
      `INSERT INTO outbox (nonce, team_id, version, queued_at) VALUES (?, ?, 1, ?)
        ON CONFLICT (nonce) DO UPDATE SET version = version + 1`,
      nonce,
      teamId,
      queuedAt,
    );
  }

  /** The entries that come behind `after` in the order of their nonces, at most `limit`. */
  page(after: ArrayBuffer, limit: number): OutboxEntry[] {
    return this.#sql
      .exec<OutboxEntry>(
        `SELECT nonce, team_id AS teamId, version, queued_at AS queuedAt FROM outbox WHERE nonce > ? ORDER BY nonce LIMIT ?`,
        after,
        limit,
      )
      .toArray();
  }

  /** Takes an entry out, unless it was queued again since it was read. Answers whether it is out. */
  settle({ nonce, version }: OutboxEntry): boolean {
    return this.#sql.exec("DELETE FROM outbox WHERE nonce = ? AND version = ?", nonce, version).rowsWritten > 0;
  }
}
