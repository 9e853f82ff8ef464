/**
 * PostgreSQL's row-level security with viewer sessions, `user-group-service/postgres`. It uses the pool that you give, and depends on no
 * package.
 */
export {
  type Pool,
  type PoolClient,
  type SessionTransaction,
  type VerifiedClaims,
  withSession,
} from "./postgres/with-session.ts";
