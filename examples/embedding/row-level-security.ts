/** Queries PostgreSQL as the customer of a viewer session: row-level-security.sql shows each customer their own rows. */
import { type JWTVerifyGetKey, jwtVerify } from "jose";

/** The part that is used of a connection to PostgreSQL, such as a client of `pg`, or PGlite. */
export type Database = { query(sql: string, params?: unknown[]): Promise<{ rows: unknown[] }> };

/** Whose sessions are accepted. `audience` is the environment, such as `acme/Customer`. */
export type Verification = { keys: JWTVerifyGetKey; issuer: string; audience: string };

/**
 * Runs your own SQL. It must not be text that viewers write: SQL can change the setting in which the claims are. The
 * connection must be in no other use until the promise settles, so take one from a pool.
 */
export async function queryAs(
  database: Database,
  session: string,
  { keys, issuer, audience }: Verification,
  query: { sql: string; params?: unknown[] },
): Promise<unknown[]> {
  const { payload } = await jwtVerify(session, keys, {
    algorithms: ["ES256"],
    typ: "JWT",
    issuer,
    audience,
    requiredClaims: ["sub", "exp"],
  });
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
