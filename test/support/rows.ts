import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";

/**
 * What SQL a directory ran and by which plans, how many rows that read and wrote as the platform counts and bills them, and
 * how often it set its alarm, which is billed as one row more.
 */
export type Rows = { statements: string[]; plans: string[]; read: number; written: number; alarms: number };

/** Counts, from now until its next eviction, what the directory of this name does in SQL. */
export function countRows(directory: string): Promise<Rows> {
  return runInDurableObject(env.GROUP_DIRECTORY.getByName(directory), (_, { storage }) => {
    const { sql } = storage;
    const rows: Rows = { statements: [], plans: [], read: 0, written: 0, alarms: 0 };
    const setAlarm = storage.setAlarm.bind(storage);
    storage.setAlarm = (time) => {
      rows.alarms += 1;
      return setAlarm(time);
    };
    const exec = sql.exec.bind(sql);
    sql.exec = <Row extends Record<string, SqlStorageValue>>(statement: string, ...values: unknown[]) => {
      const cursor = exec<Row>(statement, ...values);
      const names = cursor.columnNames;
      const all = [...cursor.raw<SqlStorageValue[]>()];
      const objects = all.map((row) => Object.fromEntries(names.map((name, at) => [name, row[at]])));
      rows.statements.push(statement);
      for (const { detail } of exec(`EXPLAIN QUERY PLAN ${statement}`, ...values)) rows.plans.push(String(detail));
      rows.read += cursor.rowsRead;
      rows.written += cursor.rowsWritten;
      // Of the runtime's own object, a getter does not run on another one.
      const counts = { rowsWritten: { value: cursor.rowsWritten }, rowsRead: { value: cursor.rowsRead } };
      return Object.assign(Object.create(cursor, counts), {
        toArray: () => objects,
        one: () => objects[0],
        raw: () => all.values(),
      });
    };
    return rows;
  });
}
