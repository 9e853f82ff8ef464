import type { OutboxEntry } from "./records.ts";

// A note holds for one version of the entry, so that a change voids it, also by a release that knows of none: up to 0.2.5.
const ENTRY = `SELECT nonce, team_id AS teamId, version, iif(again_version = version, again_at, NULL) AS againAt FROM outbox`;

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

  /** Notes when an entry is to be written again, or with `null` that it is about to be; not if it was queued again since read. */
  setAgainAt({ nonce, version }: OutboxEntry, time: number | null): void {
    this.#sql.exec(
      "UPDATE outbox SET again_at = ?, again_version = version WHERE nonce = ? AND version = ?",
      time,
      nonce,
      version,
    );
  }

  /** Takes an entry out, unless it was queued again since it was read. Answers whether it is out. */
  settle({ nonce, version }: OutboxEntry): boolean {
    return this.#sql.exec("DELETE FROM outbox WHERE nonce = ? AND version = ?", nonce, version).rowsWritten > 0;
  }
}
