/** Runs SQL in the customer's own database, which the group's `mapping` chooses among those of the backend. */
import type { SQLInputValue } from "node:sqlite";
import type { UserGroupClient } from "user-group-service/client";

/** The part that is used of a `DatabaseSync` of node:sqlite. The drivers of MySQL and MariaDB take `?` too. */
export type Database = { prepare(sql: string): { all(...params: SQLInputValue[]): unknown[] } };

/** The backend's databases by name. A mapping can name no other: it contains no address, file or password. */
export type Databases = ReadonlyMap<string, Database>;

/** A report and the id of the schema that it reads, which is a key of the customer's mapping. */
export type Report = { schema: string; sql: string };

/** Your client, and the environment whose customers have these databases, such as `acme/Customer`. */
export type Backend = { groups: Pick<UserGroupClient, "asViewer">; audience: string; databases: Databases };

/** Runs a report for the page that has presented `session`. One of another environment is refused: its ids are other customers. */
export async function runReport({ groups, audience, databases }: Backend, session: string, report: Report) {
  const viewer = groups.asViewer({ session, audience });
  const { group } = await viewer.view();
  const database = databases.get(group.mapping?.[report.schema] ?? "");
  if (database === undefined) throw new Error(`The customer has no database for ${report.schema}.`);
  const { sql, params } = await viewer.bindQuery({ sql: report.sql, placeholders: "?" });
  // SQLite has no booleans.
  const values = params.map((value) => (typeof value === "boolean" ? Number(value) : value) as SQLInputValue);
  return database.prepare(sql).all(...values);
}
