/** Runs SQL in the customer's own database, which the group's `mapping` chooses among those of the backend. */
import type { SQLInputValue } from "node:sqlite";
import type { ViewerClient } from "user-group-service/client";

/** The part that is used of a `DatabaseSync` of node:sqlite. The drivers of MySQL and MariaDB take `?` too. */
export type Database = { prepare(sql: string): { all(...params: SQLInputValue[]): unknown[] } };

/** The backend's databases by name. A mapping can name no other: it contains no address, file or password. */
export type Databases = ReadonlyMap<string, Database>;

/** A report and the id of the schema that it reads, which is a key of the customer's mapping. */
export type Report = { schema: string; sql: string };

/** Runs a report for the page that presents the viewer's session. */
export async function runReport(viewer: ViewerClient, databases: Databases, report: Report): Promise<unknown[]> {
  const { group } = await viewer.view();
  const database = databases.get(group.mapping?.[report.schema] ?? "");
  if (database === undefined) throw new Error(`The customer has no database for ${report.schema}.`);
  const { sql, params } = await viewer.bindQuery({ sql: report.sql, placeholders: "?" });
  // SQLite has no booleans.
  const values = params.map((value) => (typeof value === "boolean" ? Number(value) : value) as SQLInputValue);
  return database.prepare(sql).all(...values);
}
