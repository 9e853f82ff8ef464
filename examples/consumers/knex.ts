/** A bound query in Knex, with PostgreSQL. */
import type { Knex } from "knex";
import type { UserGroupClient } from "user-group-service/client";

const ORDERS =
  "SELECT amount FROM orders WHERE customer = {{user_group_id}} [[AND region = {{value.region}}]] ORDER BY amount";

/** Runs the report for the page that presents `session`. The service refuses a session of another environment than `audience`. */
export async function orders(
  { groups, audience, db }: { groups: UserGroupClient; audience: string; db: Knex },
  session: string,
  values: { region?: string } = {},
) {
  const viewer = groups.asViewer({ session, audience });
  // Knex writes the placeholders of its database itself, and reads question marks. With "?", the service refuses all others in the template.
  const { sql, params } = await viewer.bindQuery({ sql: ORDERS, placeholders: "?", values });
  return (await db.raw(sql, params as Knex.RawBinding[])).rows;
}
