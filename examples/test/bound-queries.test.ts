import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { drizzle } from "drizzle-orm/node-postgres";
import knex from "knex";
import { Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import { afterAll, beforeAll, describe, inject, it } from "vitest";
import { environmentsOf, sessionOf } from "../../test/support/node/environments.ts";
import { hasPostgres, type Postgres, startPostgres } from "../../test/support/node/postgres.ts";
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

/** How the client and Python's urllib report 403 `audience_mismatch`. */
const REFUSED = /audience_mismatch|another environment|HTTP Error 403/;

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
    isThere: succeeds("python3", "-c", "import sqlalchemy, psycopg"),
    needs: "SQLAlchemy with psycopg",
    report: async (session, values = {}) => {
      const DATABASE_URL = postgres.url("backend").replace("postgresql:", "postgresql+psycopg:");
      const env = { SERVICE_URL: url, AUDIENCE: environments.audience, DATABASE_URL, VALUES: JSON.stringify(values) };
      const program = spawn("python3", ["examples/consumers/bound_query_sqlalchemy.py"], {
        env: { ...process.env, ...env },
      });
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

  it.skipIf(missing)(`shows a customer their rows, filtered by the page${skipped}`, async ({ expect }) => {
    const { own, other } = environments;
    const [session, others] = [await sessionOf(own), await sessionOf(other)];
    expect(await reports([own.token], [session, { region: "eu" }], [others])).toEqual([[1, 2], [1], [4]]);
  });

  it.skipIf(missing)(`keeps hostile values apart from the SQL${skipped}`, async ({ expect }) => {
    const hostile = await sessionOf({ ...environments.own, userGroupId: HOSTILE });
    const own = await sessionOf(environments.own);
    const region = { region: HOSTILE };
    expect(await reports([hostile, region], [own, region])).toEqual([[8], []]);
  });

  it.skipIf(missing)(`shows nothing to sessions and tokens of other environments${skipped}`, async ({ expect }) => {
    const foreign = Object.values(environments.foreign);
    const sessions = await Promise.all(foreign.map((customer) => sessionOf(customer)));
    const credentials = [...sessions, foreign[0]?.token ?? ""];
    for (const shown of await Promise.allSettled(credentials.map((credential) => report(credential))))
      expect(shown).toMatchObject({ status: "rejected", reason: { message: expect.stringMatching(REFUSED) } });
  });
});
