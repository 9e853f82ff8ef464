/** A bound query in Drizzle, with PostgreSQL by `pg`. */
import type { NodePgDatabase } from "drizzle-orm/node-postgres";
import type { Pool } from "pg";
import type { UserGroupClient } from "user-group-service/client";

const ORDERS =
  "SELECT amount FROM orders WHERE customer = {{user_group_id}} [[AND region = {{value.region}}]] ORDER BY amount";

/** Runs the report for the page that presents `session`. The service refuses a session of another environment than `audience`. */
export async function orders(
  { groups, audience, db }: { groups: UserGroupClient; audience: string; db: NodePgDatabase & { $client: Pool } },
  session: string,
  values: { region?: string } = {},
) {
  const viewer = groups.asViewer({ session, audience });
  const { sql, params } = await viewer.bindQuery({ sql: ORDERS, placeholders: "$1", values });
  // Drizzle's own driver. `sql.raw` would take the text alone, and the `sql` template would number the placeholders again.
  return (await db.$client.query(sql, params)).rows;
}
