/**
 * PostgreSQL's row-level security with viewer sessions, `user-group-service/postgres`. It uses the pool that you give, and depends on no
 * package.
 */

/** The part of a pooled connection that is used, such as that of `pg`. */
export type PoolClient = {
  query(sql: string, values?: unknown[]): Promise<{ rows: unknown[]; command?: string }>;
  /** With `true`, the pool destroys the connection. */
  release(destroy?: boolean): void;
  on?(event: "error", listener: (error: Error) => void): unknown;
  removeListener?(event: "error", listener: (error: Error) => void): unknown;
};

/** The part of a pool that is used, such as `Pool` of `pg`. */
export type Pool<Client extends PoolClient = PoolClient> = { connect(): Promise<Client> };

/** The used part of the session that `requireSession` returns: its verified claims. */
export type VerifiedClaims = { claims: Readonly<Record<string, unknown>> };

/** How a transaction gets a session. */
export type SessionTransaction = {
  /** The environment, as `<workspace>/Customer`, `/Testing` or `/untagged`: in another one, the same number is another customer. */
  audience: string;
  /** The role that policies bind, which the pool's user can become; `dashboard` by default. */
  role?: string | undefined;
  /** The setting from which policies read the claims as JSON; `viewer_session.claims` by default. PostgREST's is `request.jwt.claims`. */
  setting?: string | undefined;
};

const ROLE = /^[A-Za-z_][\w$]{0,62}$/;
const SETTING = /^[A-Za-z_][\w$]*(?:\.[A-Za-z_][\w$]*)+$/;

/**
 * Runs `work` in one transaction, as the role that policies bind and with the claims of a verified session, which row-level security
 * reads. Commits if `work` resolves, and rolls back if it rejects. Role and claims end with the transaction, and the connection that
 * `work` got can then no longer be used.
 *
 * The SQL must be yours: SQL that viewers write could set other claims. A call within `work` takes a connection of its own.
 *
 * @example
 * import pg from "pg";
 * import { requireSession } from "user-group-service/server";
 * import { withSession } from "user-group-service/postgres";
 *
 * const audience = "demo/Testing";
 * const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
 * const check = requireSession({
 *   jwks: "http://localhost:8787/.well-known/jwks.json",
 *   audience,
 *   origins: ["https://app.example.com"],
 * });
 *
 * const orders = async (request: Request) => {
 *   const session = await check(request);
 *   if (session instanceof Response) return session;
 *   const { rows } = await withSession(pool, session, (client) => client.query("SELECT * FROM orders"), { audience });
 *   return Response.json(rows);
 * };
 * console.info((await orders(new Request("https://api.example.com/orders"))).status);
 * // 401
 */
export async function withSession<Client extends PoolClient, Result>(
  pool: Pool<Client>,
  session: VerifiedClaims,
  work: (client: Client) => Promise<Result> | Result,
  { audience, role = "dashboard", setting = "viewer_session.claims" }: SessionTransaction,
): Promise<Result> {
  if (!ROLE.test(role) || role.toLowerCase() === "none")
    throw new TypeError(`role must be the name of a role, such as "dashboard", and not ${JSON.stringify(role)}.`);
  if (!SETTING.test(setting))
    throw new TypeError(
      `setting must be the name of a setting with a dot, such as "viewer_session.claims", and not ${JSON.stringify(setting)}.`,
    );
  const claims = textOf(session.claims, audience);

  const client = await pool.connect();
  // Without a listener, a connection that is lost would end the process. The query that waits, or the next one, rejects.
  const ignore = () => undefined;
  client.on?.("error", ignore);
  const guard = guarded(client);
  let isClean = false;
  try {
    await client.query("BEGIN");
    // Both end with the transaction.
    await client.query("SELECT set_config($1, $2, true), set_config('role', $3, true)", [setting, claims, role]);
    const result = await work(guard.client);
    guard.end();
    const { command } = await client.query("COMMIT");
    isClean = true;
    if (command === "ROLLBACK")
      throw new Error("PostgreSQL rolled the transaction back, because a statement in it had failed.");
    return result;
  } catch (error) {
    guard.end();
    isClean = isClean || (await isRolledBack(client));
    throw error;
  } finally {
    client.removeListener?.("error", ignore);
    // A connection whose transaction may still be open must not serve the next customer.
    if (isClean) client.release();
    else client.release(true);
  }
}

/** The claims as JSON that PostgreSQL accepts. @throws Error for a session of another environment. */
function textOf(claims: VerifiedClaims["claims"], audience: string): string {
  if (typeof audience !== "string" || claims.aud !== audience)
    throw new Error(
      `This session is of the environment ${JSON.stringify(claims.aud)}, and this database has the customers of ${JSON.stringify(audience)}.`,
    );
  return JSON.stringify(claims, (name, value: unknown) => {
    if ([name, value].some((text) => typeof text === "string" && /[\0\p{Surrogate}]/u.test(text)))
      throw new Error(
        `The claim ${JSON.stringify(name)} contains U+0000 or half a character, which PostgreSQL refuses. Mint sessions without it.`,
      );
    return value;
  });
}

const isRolledBack = (client: PoolClient): Promise<boolean> =>
  client.query("ROLLBACK").then(
    () => true,
    () => false,
  );

/** A connection until the transaction ends: later work would run as the next customer who has the connection. */
function guarded<Client extends PoolClient>(client: Client): { client: Client; end: () => void } {
  let isEnded = false;
  const get = (target: Client, name: string | symbol): unknown => {
    const value: unknown = Reflect.get(target, name, target);
    if (typeof value !== "function") return value;
    return (...args: unknown[]): unknown => {
      if (name === "release") throw new Error("withSession releases the connection itself.");
      if (isEnded) throw new Error("The transaction of this session has ended.");
      return Reflect.apply(value, target, args);
    };
  };
  return { client: new Proxy(client, { get }), end: () => (isEnded = true) };
}
