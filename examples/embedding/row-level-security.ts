/** Queries PostgreSQL as the customer of a viewer session: row-level-security.sql shows each customer their own rows. */
import { type JWTVerifyGetKey, jwtVerify } from "jose";

/** The part that is used of a connection to PostgreSQL, such as a client of `pg`, or PGlite. */
export type Database = { query(sql: string, params?: unknown[]): Promise<{ rows: unknown[] }> };

/**
 * Whose sessions are accepted. `audience` is the environment, such as `acme/Customer`. `origin` is the header `Origin` of the
 * request that presents the session: browsers send it, and it must be one of the session's `origins`, if it has any.
 */
export type Verification = { keys: JWTVerifyGetKey; issuer: string; audience: string; origin: string | undefined };

/**
 * Runs your own SQL. It must not be text that viewers write: SQL can change the setting in which the claims are. The
 * connection must be in no other use until the promise settles, so take one from a pool.
 */
export async function queryAs(
  database: Database,
  session: string,
  { keys, issuer, audience, origin }: Verification,
  query: { sql: string; params?: unknown[] },
): Promise<unknown[]> {
  const { payload } = await jwtVerify(session, keys, {
    algorithms: ["ES256"],
    typ: "JWT",
    issuer,
    audience,
    requiredClaims: ["team_id", "exp"],
  });
  const { origins } = payload;
  if (origin !== undefined && Array.isArray(origins) && !origins.includes(origin))
    throw new Error("The session is for pages of other origins.");
  await database.query("BEGIN");
  try {
    // Both end with the transaction.
    await database.query("SELECT set_config('viewer_session.claims', $1, true)", [JSON.stringify(payload)]);
    await database.query("SET LOCAL ROLE dashboard");
    const { rows } = await database.query(query.sql, query.params);
    await database.query("COMMIT");
    return rows;
  } catch (error) {
    await database.query("ROLLBACK");
    throw error;
  }
}
