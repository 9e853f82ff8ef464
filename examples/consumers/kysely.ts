/** A bound query in Kysely, with PostgreSQL. */
import { CompiledQuery, type Kysely } from "kysely";
import type { UserGroupClient } from "user-group-service/client";

const ORDERS =
  "SELECT amount FROM orders WHERE customer = {{user_group_id}} [[AND region = {{value.region}}]] ORDER BY amount";

/** Runs the report for the page that presents `session`. The service refuses a session of another environment than `audience`. */
export async function orders(
  { groups, audience, db }: { groups: UserGroupClient; audience: string; db: Kysely<unknown> },
  session: string,
  values: { region?: string } = {},
) {
  const viewer = groups.asViewer({ session, audience });
  const { sql, params } = await viewer.bindQuery({ sql: ORDERS, placeholders: "$1", values });
  // The text and the values stay apart. `sql.raw` would take the text alone.
  return (await db.executeQuery(CompiledQuery.raw(sql, params))).rows;
}
