import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";

/** What SQL a directory ran, and how many rows that read and wrote, as the platform counts and bills them. */
export type Rows = { statements: string[]; read: number; written: number };

/** Counts, from now until its next eviction, what the directory of this name does in SQL. */
export function countRows(directory: string): Promise<Rows> {
  return runInDurableObject(env.GROUP_DIRECTORY.getByName(directory), (_, { storage: { sql } }) => {
    const rows: Rows = { statements: [], read: 0, written: 0 };
    const exec = sql.exec.bind(sql);
    sql.exec = <Row extends Record<string, SqlStorageValue>>(statement: string, ...values: unknown[]) => {
      const cursor = exec<Row>(statement, ...values);
      const all = cursor.toArray();
      rows.statements.push(statement);
      rows.read += cursor.rowsRead;
      rows.written += cursor.rowsWritten;
      return Object.assign(Object.create(cursor), { toArray: () => all, one: () => all[0] });
    };
    return rows;
  });
}
