import { Table } from "./table.ts";

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

type Row = Omit<RestoreState, "counts" | Flag> & { id: number; counts: string } & Record<Flag, number>;
type Flag = "isDone" | "rotatedTokens" | "revokedKeys";

const FIELDS = ["id", "page", "sha256", "counts", "isDone", "rotatedTokens", "revokedKeys"] as const;

/** The SQL of a restore's state. */
export class RestoreStore {
  readonly #table: Table<Row>;

  constructor(sql: SqlStorage) {
    this.#table = new Table(sql, "restore", FIELDS);
  }

  get(): RestoreState | undefined {
    const row = this.#table.find("id = 1");
    if (!row) return undefined;
    const { page, sha256, counts, isDone, rotatedTokens, revokedKeys } = row;
    const flags = { isDone: isDone === 1, rotatedTokens: rotatedTokens === 1, revokedKeys: revokedKeys === 1 };
    return { page, sha256, counts: JSON.parse(counts), ...flags };
  }

  set({ page, sha256, counts, isDone, rotatedTokens, revokedKeys }: RestoreState): void {
    const flags = { isDone: Number(isDone), rotatedTokens: Number(rotatedTokens), revokedKeys: Number(revokedKeys) };
    this.#table.insert({ id: 1, page, sha256, counts: JSON.stringify(counts), ...flags }, "INSERT OR REPLACE");
  }
}
