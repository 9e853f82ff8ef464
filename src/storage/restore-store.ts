/** The last page that a restore has taken, how many lines of some kinds its pages have had, and whether it was the last one. */
export type RestoreState = { page: number; sha256: string; counts: Record<string, number>; isDone: boolean };

type Row = { page: number; sha256: string; counts: string; isDone: number };

/** The SQL of a restore's state. */
export class RestoreStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  get(): RestoreState | undefined {
    const [row] = this.#sql.exec<Row>("SELECT page, sha256, counts, is_done AS isDone FROM restore").toArray();
    return row && { ...row, counts: JSON.parse(row.counts), isDone: row.isDone === 1 };
  }

  set({ page, sha256, counts, isDone }: RestoreState): void {
    this.#sql.exec(
      "INSERT OR REPLACE INTO restore (id, page, sha256, counts, is_done) VALUES (1, ?, ?, ?, ?)",
      page,
      sha256,
      JSON.stringify(counts),
      isDone ? 1 : 0,
    );
  }
}
