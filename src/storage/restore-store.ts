/**
 * The state of a restore: the number of the last page, the counts of some kinds of lines so far, whether it was the last page, and whether
 * tokens were rotated and keys revoked.
 */
export type RestoreState = {
  page: number;
  sha256: string;
  counts: Record<string, number>;
  isDone: boolean;
  rotatedTokens: boolean;
  revokedKeys: boolean;
};

type Row = { page: number; sha256: string; counts: string; isDone: number; rotatedTokens: number; revokedKeys: number };

/** The SQL of a restore's state. */
export class RestoreStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  get(): RestoreState | undefined {
    const [row] = this.#sql
      .exec<Row>(
        "SELECT page, sha256, counts, is_done AS isDone, rotated_tokens AS rotatedTokens, revoked_keys AS revokedKeys FROM restore",
      )
      .toArray();
    if (!row) return undefined;
    const { page, sha256, counts, isDone, rotatedTokens, revokedKeys } = row;
    const flags = { isDone: isDone === 1, rotatedTokens: rotatedTokens === 1, revokedKeys: revokedKeys === 1 };
    return { page, sha256, counts: JSON.parse(counts), ...flags };
  }

  set({ page, sha256, counts, isDone, rotatedTokens, revokedKeys }: RestoreState): void {
    this.#sql.exec(
      "INSERT OR REPLACE INTO restore (id, page, sha256, counts, is_done, rotated_tokens, revoked_keys) VALUES (1, ?, ?, ?, ?, ?, ?)",
      page,
      sha256,
      JSON.stringify(counts),
      Number(isDone),
      Number(rotatedTokens),
      Number(revokedKeys),
    );
  }
}
