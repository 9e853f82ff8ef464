/** PostGraphile for the customers of one environment: each request sees the rows that row-level-security.sql shows to its session. */
import { Hono } from "hono";
import { postgraphile } from "postgraphile";
import { makePgService } from "postgraphile/adaptors/pg";
import { grafserv } from "postgraphile/grafserv/hono/v4";
import { PostGraphileAmberPreset } from "postgraphile/presets/amber";
import { type RequireSessionOptions, requireSession, type VerifiedSession } from "user-group-service/server";

/** `databaseUrl` logs in as `backend`, which may become `dashboard` and has no right of its own. `sessions` names your `audience`. */
export async function graphqlApp({ databaseUrl, sessions }: { databaseUrl: string; sessions: RequireSessionOptions }) {
  const check = requireSession(sessions);
  const app = new Hono<{ Variables: { session: VerifiedSession } }>();
  app.use(async (c, next) => {
    const session = await check(c.req.raw);
    if (session instanceof Response) return session;
    c.set("session", session);
    return next();
  });

  const database = makePgService({ connectionString: databaseUrl, schemas: ["public"], pubsub: false });
  const instance = postgraphile({
    extends: [PostGraphileAmberPreset],
    pgServices: [database],
    // WebSockets would not pass through the check above.
    grafserv: { graphqlPath: "/graphql", graphiql: false, websockets: false },
    grafast: {
      // PostgreSQL has these settings for the one transaction of the request.
      context: ({ honov4 }) => ({
        pgSettings: { role: "dashboard", "viewer_session.claims": JSON.stringify(honov4?.ctx.get("session").claims) },
      }),
    },
  });
  await instance.createServ(grafserv).addTo(app as unknown as Hono);
  const close = async () => {
    await instance.release();
    await database.release?.();
  };
  return { app, close };
}
