/** Reads tables as each customer, and as nobody. No value of a row leaves PostgreSQL. */
import type { Relation } from "./catalogue.ts";
import { codeOf, type Database, reasonOf, rowsOf, withSavepoint } from "./database.ts";

/** How many rows of one table are compared at most. */
export const ROWS_MAX = 10_000;

/** What a role sees of a table. Rows are known by their place on the disk, or by a hash of their primary key, if the role may read one. */
export type Seen = {
  hasRows: boolean;
  ids: string[];
  /** Why the read failed, if it did. */
  failure?: string;
};

/** Errors of the machine, and not of the role's rights or settings. */
const isFailure = (code: string): boolean => /^(?:57|55|53|58|XX|08|unknown)/.test(code);
const PERMISSION_DENIED = "42501";

/** SQL that identifies a row: for a role that may read all columns, for one that may read the primary key, and for any other one. */
const keysOf = ({ keyColumns }: Relation): string[] => [
  "pg_catalog.concat(tableoid::pg_catalog.text, ctid::pg_catalog.text)",
  ...(keyColumns.length > 0 ? [`pg_catalog.md5(ROW(${keyColumns.join(", ")})::pg_catalog.text)`] : []),
  "NULL",
];

/** What the present role sees of a table. `among`, the ids of rows that another customer has seen, limits it to those rows. */
export async function readTable(database: Database, relation: Relation, among: readonly string[] = []): Promise<Seen> {
  const places = among.map((id) => id.slice(id.indexOf("("))).filter((place) => place.startsWith("("));
  const only = places.length > 0 ? " WHERE ctid OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.tid[])" : "";
  for (const key of keysOf(relation))
    try {
      const sql = `SELECT ${key} AS id FROM ${relation.object}${only} LIMIT ${ROWS_MAX}`;
      const read = () => rowsOf<{ id: string | null }>(database, sql, only ? [places] : []);
      const rows = await withSavepoint(database, read);
      return { hasRows: rows.length > 0, ids: rows.flatMap(({ id }) => id ?? []) };
    } catch (error) {
      const code = codeOf(error);
      if (isFailure(code)) return { hasRows: false, ids: [], failure: reasonOf(error) };
      // A policy that casts a missing setting fails, and shows no row. That is safe.
      if (code !== PERMISSION_DENIED) break;
    }
  return { hasRows: false, ids: [] };
}
