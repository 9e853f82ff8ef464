import { runInDurableObject } from "cloudflare:test";
import type { GroupDirectory } from "../../src/domain/group-directory.ts";
import type { Registry } from "../../src/domain/registry.ts";

/** One execution of a statement: its plan, and the rows that it read and wrote as the platform counts and bills them. */
export type Statement = { sql: string; plan: string[]; read: number; written: number };

/** What a Durable Object did in SQL, and how often it set its alarm, which is billed as one row written. */
export class Rows {
  readonly statements: Statement[] = [];
  alarms = 0;

  get read(): number {
    return this.statements.reduce((sum, { read }) => sum + read, 0);
  }

  get written(): number {
    return this.statements.reduce((sum, { written }) => sum + written, 0);
  }

  /** The steps of all plans. */
  get plans(): string[] {
    return this.statements.flatMap(({ plan }) => plan);
  }
}

/** Counts, from now until its next eviction, what a directory or the registry does in SQL. */
export function countRows(stub: DurableObjectStub<GroupDirectory> | DurableObjectStub<Registry>): Promise<Rows> {
  return runInDurableObject(stub, (_, { storage }: DurableObjectState) => {
    const { sql } = storage;
    const rows = new Rows();
    const setAlarm = storage.setAlarm.bind(storage);
    storage.setAlarm = (time) => {
      rows.alarms += 1;
      return setAlarm(time);
    };
    const exec = sql.exec.bind(sql);
    sql.exec = <Row extends Record<string, SqlStorageValue>>(statement: string, ...values: unknown[]) => {
      const plan = [...exec(`EXPLAIN QUERY PLAN ${statement}`, ...values)].map(({ detail }) => String(detail));
      const cursor = exec<Row>(statement, ...values);
      const names = cursor.columnNames;
      const all = [...cursor.raw<SqlStorageValue[]>()];
      const objects = all.map((row) => Object.fromEntries(names.map((name, at) => [name, row[at]])));
      rows.statements.push({ sql: statement, plan, read: cursor.rowsRead, written: cursor.rowsWritten });
      // The getters of the runtime's cursor throw when they run on another object.
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
