import type { KeptAnswer, RotatedGroup } from "./records.ts";

type Row = { request: ArrayBuffer; keptUntil: number } & (RotatedGroup | { [Column in keyof RotatedGroup]: null });

/** The SQL of answers that a repeated call gets again. Rows are made in the order in which their time ends. */
export class KeptAnswerStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** The answer kept under a key, whether or not its time is over. */
  find(key: ArrayBuffer): KeptAnswer | undefined {
    const row = this.#sql
      .exec<Row>(
        `SELECT request, kept_until AS keptUntil, team_id AS teamId, provided_id AS providedId, name, nonce, revision,
          signing_id AS signingId FROM kept_answers WHERE key = ?`,
        key,
      )
      .toArray()[0];
    if (!row) return undefined;
    const { request, keptUntil, ...rotated } = row;
    return { key, request, keptUntil, rotated: rotated.nonce === null ? null : rotated };
  }

  /** Keeps an answer, in the place of one under the same key whose time is over. */
  insert({ key, request, keptUntil, rotated }: KeptAnswer): void {
    this.#sql.exec(
      `INSERT OR REPLACE INTO kept_answers
        (key, request, kept_until, team_id, provided_id, name, nonce, revision, signing_id)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      key,
      request,
      keptUntil,
      rotated?.teamId ?? null,
      rotated?.providedId ?? null,
      rotated?.name ?? null,
      rotated?.nonce ?? null,
      rotated?.revision ?? null,
      rotated?.signingId ?? null,
    );
  }

  /** The answers that were kept first, at most `limit`. */
  oldest(limit: number): { id: number; keptUntil: number }[] {
    return this.#sql
      .exec<{ id: number; keptUntil: number }>(
        "SELECT id, kept_until AS keptUntil FROM kept_answers WHERE id > 0 ORDER BY id LIMIT ?",
        limit,
      )
      .toArray();
  }

  /** Deletes that answer, and all that were kept before it. */
  deleteUpTo(id: number): void {
    this.#sql.exec("DELETE FROM kept_answers WHERE id <= ?", id);
  }
}
