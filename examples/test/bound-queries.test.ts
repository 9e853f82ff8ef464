import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { drizzle } from "drizzle-orm/node-postgres";
import knex from "knex";
import { Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import pgPromise from "pg-promise";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { environmentsOf, sessionOf } from "../../test/support/node/environments.ts";
import { hasPostgres, type Postgres, startPostgres } from "../../test/support/node/postgres.ts";
import { withKit } from "../../test/support/node/python.ts";
import { succeeds } from "../../test/support/node/verify-session.ts";
import * as withDrizzle from "../consumers/drizzle.ts";
import * as withKnex from "../consumers/knex.ts";
import * as withKysely from "../consumers/kysely.ts";

/** Query builders that run what the service has bound, in a real PostgreSQL. */

const { url } = inject("service");
let postgres: Postgres;
let pool: pg.Pool;
let environments: Awaited<ReturnType<typeof environmentsOf>>;

/** An id and a region that are SQL if anything reads them as SQL. */
const HOSTILE = `' OR true -- $1 %s :region ?`;

/** How the clients report 403 `audience_mismatch`. */
const REFUSED = /audience_mismatch|another environment/;

beforeAll(async () => {
  environments = await environmentsOf("bound-queries");
  await environments.own.groups.ensure({ userGroupId: HOSTILE });
  if (!hasPostgres) return;
  postgres = await startPostgres();
  await postgres.run(`
    CREATE ROLE backend LOGIN;
    CREATE TABLE orders (customer text, region text, amount int);
    INSERT INTO orders VALUES ('acme', 'eu', 1), ('acme', 'us', 2), ('hooli', 'eu', 4);
    INSERT INTO orders VALUES ($$${HOSTILE}$$, $$${HOSTILE}$$, 8);
    GRANT SELECT ON orders TO backend`);
  pool = new pg.Pool({ connectionString: postgres.url("backend") });
});
afterAll(async () => {
  await pool?.end();
  await postgres?.stop();
});

const RUN_WITH_SQLALCHEMY = `
import json, os, sys
from sqlalchemy import create_engine
from user_group_service import Client

client = Client(os.environ["SERVICE_URL"], os.environ["API_KEY"])
sql = "SELECT amount FROM orders WHERE customer = {{user_group_id}} [[AND region = {{value.region}}]] ORDER BY amount"
bound = client.bind_query(sys.stdin.read(), sql, audience=os.environ["AUDIENCE"], values=json.loads(os.environ["VALUES"]))
with create_engine(os.environ["DATABASE_URL"]).connect() as connection:
    print(json.dumps([amount for (amount,) in connection.exec_driver_sql(bound.sql, tuple(bound.params))]))`;

type Report = (session: string, values?: { region?: string }) => Promise<unknown>;
const amounts = (rows: unknown[]) => rows.map((row) => Object(row).amount);

const CONSUMERS: { name: string; isThere: boolean; needs: string; report: Report }[] = [
  {
    name: "Kysely",
    isThere: true,
    needs: "kysely",
    report: async (session, values) => {
      const db = new Kysely({ dialect: new PostgresDialect({ pool }) });
      const { audience, own } = environments;
      return amounts(await withKysely.orders({ groups: own.groups, audience, db }, session, values));
    },
  },
  {
    name: "Drizzle",
    isThere: true,
    needs: "drizzle-orm",
    report: async (session, values) => {
      const { audience, own } = environments;
      const backend = { groups: own.groups, audience, db: drizzle(pool) };
      return amounts(await withDrizzle.orders(backend, session, values));
    },
  },
  {
    name: "Knex",
    isThere: true,
    needs: "knex",
    report: async (session, values) => {
      const db = knex({ client: "pg", connection: postgres.url("backend") });
      const { audience, own } = environments;
      try {
        return amounts(await withKnex.orders({ groups: own.groups, audience, db }, session, values));
      } finally {
        await db.destroy();
      }
    },
  },
  {
    name: "SQLAlchemy",
    isThere: succeeds("python3", "-c", "import sqlalchemy, psycopg, jwt"),
    needs: "SQLAlchemy with psycopg",
    report: async (session, values = {}) => {
      const DATABASE_URL = postgres.url("backend").replace("postgresql:", "postgresql+psycopg:");
      const env = {
        SERVICE_URL: url,
        API_KEY: "ugk_testing_any",
        AUDIENCE: environments.audience,
        DATABASE_URL,
        VALUES: JSON.stringify(values),
      };
      const program = spawn("python3", ["-c", RUN_WITH_SQLALCHEMY], { env: withKit(env) });
      program.stdin.end(session);
      const [stdout, stderr] = await Promise.all([text(program.stdout), text(program.stderr), once(program, "close")]);
      if (stderr) throw new Error(stderr);
      return JSON.parse(stdout);
    },
  },
];

describe.for(CONSUMERS)("$name", ({ isThere, needs, report }) => {
  const missing = [...(isThere ? [] : [needs]), ...(hasPostgres ? [] : ["Debian's PostgreSQL"])].join(" and ");
  const skipped = missing && `, skipped: ${missing} is missing`;

  const reports = (...calls: Parameters<Report>[]) => Promise.all(calls.map((call) => report(...call)));

  it.skipIf(missing)(`shows a customer their rows, filtered by the page${skipped}`, async () => {
    const { own, other } = environments;
    const [session, others] = [await sessionOf(own), await sessionOf(other)];
    expect(await reports([own.token], [session, { region: "eu" }], [others])).toEqual([[1, 2], [1], [4]]);
  });

  it.skipIf(missing)(`keeps hostile values apart from the SQL${skipped}`, async () => {
    const hostile = await sessionOf({ ...environments.own, userGroupId: HOSTILE });
    const own = await sessionOf(environments.own);
    const region = { region: HOSTILE };
    expect(await reports([hostile, region], [own, region])).toEqual([[8], []]);
  });

  it.skipIf(missing)(`shows nothing to sessions and tokens of other environments${skipped}`, async () => {
    const foreign = Object.values(environments.foreign);
    const sessions = await Promise.all(foreign.map((customer) => sessionOf(customer)));
    const credentials = [...sessions, foreign[0]?.token ?? ""];
    for (const shown of await Promise.allSettled(credentials.map((credential) => report(credential))))
      expect(shown).toMatchObject({ status: "rejected", reason: { message: expect.stringMatching(REFUSED) } });
  });
});

type Sql = { sql: string; params: unknown[] };

const RUN_WITH_PSYCOPG = `
import json, os, sys, psycopg
with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
    print(json.dumps(connection.execute(*json.load(sys.stdin)).fetchone()[0]))`;

const valueIn = (rows: object[]) => Object.values(rows[0] ?? {})[0];

/** A driver of PostgreSQL, and the value that a query with one column and one row has in it. */
type Driver = { name: string; style: "$1" | "%s"; without?: string; run: (query: Sql) => Promise<unknown> };
const PG: Driver = {
  name: "pg",
  style: "$1",
  run: async ({ sql, params }) => valueIn((await pool.query(sql, params)).rows),
};
const DRIVERS: Driver[] = [
  PG,
  {
    name: "pg-promise",
    style: "$1",
    run: async ({ sql, params }) => valueIn((await pool.query(pgPromise.as.format(sql, params))).rows),
  },
  {
    name: "psycopg",
    style: "%s",
    ...(succeeds("python3", "-c", "import psycopg") ? {} : { without: "psycopg" }),
    run: async ({ sql, params }) => {
      const program = spawn("python3", ["-c", RUN_WITH_PSYCOPG], {
        env: { ...process.env, DATABASE_URL: postgres.url("backend") },
      });
      program.stdin.end(JSON.stringify([sql, params]));
      const [stdout, stderr] = await Promise.all([text(program.stdout), text(program.stderr), once(program, "close")]);
      if (stderr) throw new Error(stderr);
      return JSON.parse(stdout);
    },
  },
];

/** Runs what the service binds for a session of `acme`. */
const runWith =
  ({ style, run }: Driver) =>
  async (sql: string, values: Record<string, string | number | string[]> = {}) => {
    const { own, audience } = environments;
    const viewer = own.groups.asViewer({ session: await sessionOf(own), audience });
    return run(await viewer.bindQuery({ sql, values, placeholders: style }));
  };

describe.for(DRIVERS)("SQL of PostgreSQL in $name", (driver) => {
  const missing = [driver.without ?? [], hasPostgres ? [] : "Debian's PostgreSQL"].flat().join(" and ");
  const skipped = missing && `, skipped: ${missing} is missing`;
  const value = runWith(driver);

  it.skipIf(missing).for([
    ["(ARRAY[1,2,3])[2:3]", [2, 3]],
    ["(ARRAY[1,2,3])[:2]", [1, 2]],
    ["(ARRAY[1,2,3])[i:j]", [2, 3]],
    ["(ARRAY[1,2,3])[1 : 2]", [1, 2]],
    ["(ARRAY[1,2,3])[ : j]", [1, 2, 3]],
    ["(ARRAY[1,2,3])[2:{{value.two}} + 1]", [2, 3]],
    ["(ARRAY[1,2,3])[{{value.two}} : 3]", [2, 3]],
    [`'{"k":1}'::jsonb ? {{value.key}}`, true],
    [`'{"k":1}'::jsonb ?| ARRAY[{{value.keys}}]`, true],
    [`'{"k":1}'::jsonb ?& ARRAY[{{value.keys}}]`, false],
    [`jsonb_exists('{"k":1}', {{value.key}})`, true],
    [`jsonb_exists_any('{"k":1}', ARRAY[{{value.keys}}])`, true],
    [`jsonb_exists_all('{"k":1}', ARRAY[{{value.keys}}])`, false],
  ] as const)(`runs %s${skipped}`, async ([expression, result]) => {
    const sql = `SELECT ${expression} AS value FROM (VALUES (2, 3)) AS t (i, j) WHERE {{user_group_id}} = 'acme'`;
    expect(await value(sql, { two: 2, key: "k", keys: ["k", "l"] })).toEqual(result);
  });
});

describe("a value of which PostgreSQL cannot derive the type", () => {
  const skipped = hasPostgres ? "" : ", skipped: Debian's PostgreSQL is missing";
  const value = runWith(PG);

  it.skipIf(!hasPostgres).for([
    ["concat({{value.x}}, '!')", "a!"],
    ["jsonb_build_object('k', {{value.x}})", { k: "a" }],
  ] as const)(`needs a cast in %s${skipped}`, async ([expression, result]) => {
    const query = (variable: string) => `SELECT ${expression.replace("{{value.x}}", variable)} AS value`;
    await expect(value(query("{{value.x}}"), { x: "a" })).rejects.toMatchObject({ code: "42P18" });
    expect(await value(query("{{value.x}}::text"), { x: "a" })).toEqual(result);
    expect(await value(query("CAST({{value.x}} AS text)"), { x: "a" })).toEqual(result);
  });
});

describe("a column that a page chooses", () => {
  const skipped = hasPostgres ? "" : ", skipped: Debian's PostgreSQL is missing";
  const value = runWith(PG);
  const sorted = (order: string, sort: string) =>
    value(
      `SELECT array_agg(id) AS value FROM (SELECT id FROM (VALUES (1, 30, 'b'), (2, 10, 'c'), (3, 20, 'a')) AS t (id, amount, name) ORDER BY ${order}) AS s`,
      { sort },
    );

  it.skipIf(!hasPostgres)(`sorts in the CASE of the documents, and not as a variable${skipped}`, async () => {
    const page = await readFile("docs/integrators/dashboards.md", "utf8");
    const [, order = ""] = /```sql\nORDER BY ([^`]*)```/.exec(page) ?? [];
    expect(await sorted("{{value.sort}}", "amount")).toEqual([1, 2, 3]);
    expect(await sorted(order, "amount")).toEqual([2, 3, 1]);
    expect(await sorted(order, "-amount")).toEqual([1, 3, 2]);
    expect(await sorted(order, "name")).toEqual([3, 1, 2]);
  });
});
