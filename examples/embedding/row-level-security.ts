/** Queries PostgreSQL as the customer of a viewer session: row-level-security.sql shows each customer their own rows. */
import { type JWTVerifyGetKey, jwtVerify } from "jose";
import { type Pool, withSession } from "user-group-service/postgres";

/**
 * Whose sessions are accepted. `audience` is the environment, such as `acme/Customer`. `origin` is the header `Origin` of the
 * request that presents the session: browsers send it, and it must be one of the session's `origins`, if it has any.
 */
export type Verification = { keys: JWTVerifyGetKey; issuer: string; audience: string; origin: string | undefined };

/** Runs your own SQL. It must not be text that viewers write: SQL can change the setting in which the claims are. */
export async function queryAs(
  pool: Pool,
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
  const { rows } = await withSession(pool, { claims: payload }, (client) => client.query(query.sql, query.params), {
    audience,
  });
  return rows;
}
