/** Reads tables as each customer, and as nobody. No value of a row leaves PostgreSQL. */
import type { Relation } from "./catalogue.ts";
import { codeOf, type Database, identifier, reasonOf, rowsOf, withSavepoint } from "./database.ts";

/** How many rows of one table are compared at most. */
export const ROWS_MAX = 10_000;

/** What a role sees of a table. Rows are known by their place on the disk, or by a hash of their primary key. */
export type Seen =
  | { kind: "rows"; ids: string[] }
  /** Without the right to read a row's place or key. */
  | { kind: "some" }
  | { kind: "none" }
  /** PostgreSQL refuses the query, which shows no row either. */
  | { kind: "refused" }
  /** The read failed. */
  | { kind: "unknown"; reason: string };

/** Errors of the machine, and not of the role's rights or settings. */
const isFailure = (code: string): boolean => /^(?:57|55|53|58|XX|08|unknown)/.test(code);

/** The SQL that identifies a row for the present role: with `ctid`, if it may read all columns. */
async function keyOf(database: Database, { oid, columns, keyColumns }: Relation): Promise<string | undefined> {
  const [right] = await rowsOf<{ whole: boolean; key: boolean }>(
    database,
    `SELECT pg_catalog.has_table_privilege($1::pg_catalog.oid, 'SELECT') AS whole,
       (SELECT pg_catalog.bool_and(pg_catalog.has_column_privilege($1::pg_catalog.oid, k, 'SELECT')) FROM pg_catalog.unnest($2::pg_catalog.text[]) k) AS key`,
    [oid, keyColumns],
  );
  if (right?.whole) return "pg_catalog.concat(tableoid::pg_catalog.text, ctid::pg_catalog.text)";
  if (!right?.key || columns.length === 0) return undefined;
  return `pg_catalog.md5(ROW(${keyColumns.map(identifier).join(", ")})::pg_catalog.text)`;
}

/** Whether the present role sees any row of a table. */
export const probeTable = (database: Database, relation: Relation): Promise<Seen> =>
  refusable(database, () => findAny(database, relation));

/** What the present role sees of a table. `among`, the ids of rows that another customer has seen, limits it to those rows. */
export const readTable = (database: Database, relation: Relation, among?: readonly string[]): Promise<Seen> =>
  refusable(database, async () => {
    const key = await keyOf(database, relation);
    if (key === undefined) return findAny(database, relation);
    const places = among?.map((id) => id.slice(id.indexOf("("))).filter((place) => place.startsWith("("));
    const only = places && places.length > 0 ? " WHERE ctid OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.tid[])" : "";
    const rows = await rowsOf<{ id: string }>(
      database,
      `SELECT ${key} AS id FROM ${relation.object}${only} LIMIT ${ROWS_MAX}`,
      only === "" ? [] : [places],
    );
    return rows.length === 0 ? { kind: "none" } : { kind: "rows", ids: rows.map(({ id }) => id) };
  });

/** Reads. An error of the role's rights or settings counts as refused, any other as unknown. */
async function refusable(database: Database, read: () => Promise<Seen>): Promise<Seen> {
  try {
    return await withSavepoint(database, read);
  } catch (error) {
    // A policy that casts a missing setting fails, and shows no row. That is safe.
    return isFailure(codeOf(error)) ? { kind: "unknown", reason: reasonOf(error) } : { kind: "refused" };
  }
}

async function findAny(database: Database, relation: Relation): Promise<Seen> {
  const rows = await rowsOf(database, `SELECT 1 FROM ${relation.object} LIMIT 1`);
  return { kind: rows.length > 0 ? "some" : "none" };
}

/** Whether somebody sees any row. */
export const seesRows = ({ kind }: Seen): boolean => kind === "rows" || kind === "some";

/** The login's own path, on which functions of policies may depend. */
export const OWN_PATH = "SET LOCAL search_path TO DEFAULT";

/** Runs `work` as a role, if the login may become it. Resolves to `undefined` if it may not. */
export const asRole = <T>(database: Database, role: string, work: () => Promise<T>): Promise<T | undefined> =>
  withSavepoint(database, async () => {
    try {
      await database.query(OWN_PATH);
      await database.query(`SET LOCAL ROLE ${identifier(role)}`);
    } catch {
      return undefined;
    }
    return work();
  });
