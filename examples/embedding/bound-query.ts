/** The backend of dashboards: it runs a report for the page that presents a viewer session, bound to the variables of their group. */
import { Hono } from "hono";
import { cors } from "hono/cors";
import { type Fetch, UserGroupServiceError, ViewerClient } from "user-group-service/client";

/** The part that is used of a connection to PostgreSQL, such as a pool of `pg`, or PGlite. */
export type Database = { query(sql: string, params: unknown[]): Promise<{ rows: unknown[] }> };

const REPORTS = new Map([
  [
    "orders",
    `SELECT region, sum(amount)::int AS amount FROM orders
     WHERE customer = {{user_group_id}} [[AND region IN ({{user_group.regions}})]] [[AND region = {{value.region}}]]
     GROUP BY region ORDER BY region`,
  ],
]);

/** Calls the service for a page: with its `Origin`, which the service compares with the session's `origins`. */
const fetchFor =
  (origin: string | undefined): Fetch =>
  (url, init) => {
    const headers = new Headers(init.headers);
    if (origin !== undefined) headers.set("Origin", origin);
    return fetch(url, { ...init, headers });
  };

/** Where the service is, whose sessions are taken, as in `acme/Customer`, and the database with the orders of that environment. */
export type Reports = { serviceUrl: string; audience: string; database: Database };

/** What the page filters by, such as `?region=eu`. It chooses freely among the rows that its session may see. */
const valuesIn = (region: string | undefined) => (region === undefined ? {} : { region });

/** Serves `GET /reports/{name}` to pages that present a viewer session, as they do to the service. */
export const reports = ({ serviceUrl, audience, database }: Reports) =>
  // Any page may ask: it needs a session, and no cookie takes part.
  new Hono().use(cors({ origin: "*", allowHeaders: ["Authorization"] })).get("/reports/:name", async (c) => {
    const template = REPORTS.get(c.req.param("name"));
    const [, session] = /^Bearer (\S+)$/.exec(c.req.header("Authorization") ?? "") ?? [];
    if (template === undefined) return c.json({ error: "There is no such report." }, 404);
    if (session === undefined) return c.json({ error: "Present a viewer session." }, 401);
    try {
      const fetch = fetchFor(c.req.header("Origin"));
      // In another environment, the same id is another customer.
      const viewer = new ViewerClient({ url: serviceUrl, token: session, audience, fetch });
      const { sql, params } = await viewer.bindQuery({
        sql: template,
        placeholders: "$1",
        values: valuesIn(c.req.query("region")),
      });
      return c.json({ rows: (await database.query(sql, params)).rows });
    } catch (error) {
      if (!(error instanceof UserGroupServiceError)) throw error;
      const status = error.status === 401 || error.status === 403 ? error.status : 502;
      return c.json({ error: error.message }, status);
    }
  });
