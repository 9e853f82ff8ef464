import { readFileSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { createLocalJWKSet, createRemoteJWKSet, type JSONWebKeySet, jwtVerify } from "jose";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { type Pool, withSession } from "../../../client/src/postgres.ts";
import { requireSession } from "../../../client/src/server.ts";
import { queryAs } from "../../../examples/embedding/row-level-security.ts";
import { poolOf } from "../../../examples/product/pool.ts";
import { outcomeOf } from "../../support/node/commands.ts";
import { type Customer, sessionOf } from "../../support/node/environments.ts";
import { integratorProject } from "../../support/node/integrator-project.ts";
import { adapted, audienceOf, ORIGIN, ordersOf, sessionsOf } from "../../support/node/orders-database.ts";
import { hasPostgres, type Postgres } from "../../support/node/postgres.ts";
import { runIn } from "../../support/node/service.ts";
import { succeeds } from "../../support/node/verify-session.ts";

/** Programs that decide by the claims of a session, with a real PostgreSQL. None of them takes a session of another environment. */

const { url } = inject("service");
const skipped = hasPostgres ? "" : ", skipped: Debian's PostgreSQL is missing";
const test = it.skipIf(!hasPostgres);

const { environments, recipe, rows, startOrders } = await ordersOf("claims-consumers");

/** A session of a person who may see all rows of the customer. */
const ownerOf = async ({ groups, userGroupId }: Customer) =>
  (await groups.mintSession({ userGroupId, viewerProperties: { store: "*" } })).token;

const amountsOf = (rowsSeen: unknown[]) => rowsSeen.map((row) => Object(row).amount);

describe("row-level security", () => {
  let postgres: Postgres;
  let pool: pg.Pool;
  let product: PGlite;
  let project: ReturnType<typeof integratorProject>;
  beforeAll(async () => {
    if (!hasPostgres) return;
    postgres = await startOrders(recipe("embedding/row-level-security.sql"), "ALTER TABLE orders ADD store int;");
    pool = new pg.Pool({ connectionString: postgres.url("backend") });
    product = await PGlite.create();
    await product.exec(`${recipe("product/schema.sql")}
      INSERT INTO sales (customer, store, product, month, orders, amount)
        SELECT customer, '7', 'tea', '2026-11-01', 1, amount FROM (VALUES ${rows}) AS row (customer, amount)`);
    project = integratorProject("examples/embedding");
    symlinkSync(resolve("node_modules/pg"), join(project.project, "node_modules/pg"));
  });
  afterAll(async () => {
    await pool?.end();
    await Promise.all([postgres?.stop(), product?.close()]);
    project?.remove();
  });

  /** The rows that `requireSession` and `withSession` show to a session. */
  async function askKit(database: Pool, session: string, sql: string) {
    const audience = audienceOf(session);
    const request = new Request(ORIGIN, { headers: { Authorization: `Bearer ${session}` } });
    const checked = await requireSession(sessionsOf(audience))(request);
    if (checked instanceof Response) throw new Error(await checked.text());
    return (await withSession(database, checked, (client) => client.query(sql), { audience })).rows;
  }

  async function runProgram(program: string, file: string, session: string): Promise<unknown[]> {
    const env = {
      SERVICE_URL: url,
      AUDIENCE: audienceOf(session),
      DATABASE_URL: postgres.url("backend"),
      PYTHONPATH: "python",
    };
    const child = runIn(".", [program, file], env);
    child.stdin?.end(session);
    return JSON.parse((await outcomeOf(child)).stdout);
  }

  const orders = "SELECT amount FROM orders ORDER BY amount";
  type Program = { program: string; needs?: string; isThere?: boolean; ask: (session: string) => Promise<unknown[]> };
  /** Each takes sessions of every environment, as if its settings were wrong: the policies alone decide. */
  const PROGRAMS: Program[] = [
    { program: "withSession", ask: (session) => askKit(pool, session, orders) },
    {
      program: "queryAs",
      ask: (session) => {
        const keys = createRemoteJWKSet(new URL("/.well-known/jwks.json", url));
        const verification = { keys, issuer: url, audience: audienceOf(session), origin: undefined };
        return queryAs(pool, session, verification, { sql: orders });
      },
    },
    {
      program: "orders.ts",
      ask: (session) => runProgram(process.execPath, join(project.project, "embedding/orders.ts"), session),
    },
    {
      program: "orders.py",
      needs: "PyJWT, psycopg or Debian's PostgreSQL",
      isThere: hasPostgres && succeeds("python3", "-c", "import jwt, cryptography, psycopg"),
      ask: (session) => runProgram("python3", "examples/embedding/orders.py", session),
    },
    {
      program: "the product's schema",
      ask: async (session) => askKit(poolOf(product), session, "SELECT amount FROM sales ORDER BY amount"),
    },
  ];

  for (const { program, needs = "Debian's PostgreSQL", isThere = hasPostgres, ask } of PROGRAMS)
    it.skipIf(!isThere)(
      `shows no row to sessions of other environments through ${program}${isThere ? "" : `, skipped: ${needs} is missing`}`,
      async () => {
        expect(amountsOf(await ask(await ownerOf(environments.own)))).toEqual([1, 2]);
        for (const [name, customer] of Object.entries(environments.foreign))
          expect(await ask(await ownerOf(customer)), name).toEqual([]);
      },
    );

  test(`binds the environment in a policy of 1.1 with the statement of verifying.md${skipped}`, async () => {
    const [statement = ""] =
      /^ALTER POLICY own_orders[^;]*;/m.exec(readFileSync("docs/integrators/verifying.md", "utf8")) ?? [];
    await postgres.run("ALTER POLICY own_orders ON orders USING (customer = session_claim('team_id')::bigint)");
    const [foreign = environments.other] = Object.values(environments.foreign);
    const seen = async (customer: Customer) => amountsOf(await askKit(pool, await sessionOf(customer), orders));
    expect(await seen(foreign)).toEqual([1, 2]);
    await postgres.run(adapted(statement, environments.audience));
    expect([await seen(foreign), await seen(environments.own)]).toEqual([[], [1, 2]]);
  });
});

/** How PostgREST is configured, as far as the replay below needs it. */
type Configuration = { keys: JSONWebKeySet; audience?: string; preRequest?: string };

/**
 * Does what PostgREST does with a request for `orders`: https://docs.postgrest.org/en/stable/references/auth.html (a key with the `kid`
 * of the token, `aud`, 30 seconds of skew, the role of the claim `role`, no anonymous role) and .../transactions.html (the settings of
 * the transaction, the function before the request).
 */
async function postgrest(postgres: Postgres, { keys, audience, preRequest }: Configuration, session: string) {
  const { payload } = await jwtVerify(session, createLocalJWKSet(keys), {
    ...(audience !== undefined && { audience }),
    clockTolerance: 30,
  });
  if (typeof payload.role !== "string") throw new Error("PGRST302: anonymous access is disabled");
  const client = new pg.Client({ connectionString: postgres.url("authenticator") });
  await client.connect();
  try {
    await client.query("BEGIN");
    await client.query("SELECT set_config('role', $1, true), set_config('request.jwt.claims', $2, true)", [
      payload.role,
      JSON.stringify(payload),
    ]);
    if (preRequest) await client.query(`SELECT ${preRequest}()`);
    return (await client.query("SELECT amount FROM public.orders ORDER BY amount")).rows.map(({ amount }) => amount);
  } finally {
    await client.end();
  }
}

const publishedKeys = async () => (await (await fetch(`${url}/.well-known/jwks.json`)).json()) as JSONWebKeySet;

describe("PostgREST", () => {
  let postgres: Postgres;
  let configuration: Configuration;
  beforeAll(async () => {
    if (!hasPostgres) return;
    postgres = await startOrders(recipe("embedding/row-level-security.sql"), recipe("consumers/postgrest.sql"));
    const [, audience] = /^jwt-aud = "(.+)"$/m.exec(recipe("consumers/postgrest.conf")) ?? [];
    configuration = { keys: await publishedKeys(), ...(audience !== undefined && { audience }) };
  });
  afterAll(() => postgres?.stop());

  const ask = async (customer: Customer, role = "dashboard") =>
    postgrest(postgres, configuration, await sessionOf(customer, { role }));

  test(`shows a customer their rows alone${skipped}`, async () => {
    expect(await ask(environments.own)).toEqual([1, 2]);
    expect(await ask(environments.other)).toEqual([4]);
  });

  test(`refuses sessions of other environments, and those without a role${skipped}`, async () => {
    for (const [name, customer] of Object.entries(environments.foreign))
      await expect(ask(customer), name).rejects.toMatchObject({ code: "ERR_JWT_CLAIM_VALIDATION_FAILED" });
    await expect(postgrest(postgres, configuration, await sessionOf(environments.own))).rejects.toThrow("PGRST302");
  });

  test(`shows sessions of other environments no row, also where it takes them${skipped}`, async () => {
    const { keys } = configuration;
    for (const [name, customer] of Object.entries(environments.foreign)) {
      const session = await sessionOf(customer, { role: "dashboard" });
      expect(await postgrest(postgres, { keys, audience: audienceOf(session) }, session), name).toEqual([]);
    }
  });

  test(`lets a session become no other role${skipped}`, async () => {
    for (const role of ["postgres", "backend", "pg_read_all_data"])
      await expect(ask(environments.own, role)).rejects.toThrow(`permission denied to set role "${role}"`);
  });
});

/** What a project of Supabase has before the recipe: https://supabase.com/docs/guides/database/postgres/roles, and `auth.jwt()`. */
const SUPABASE = `
  CREATE ROLE anon NOLOGIN; CREATE ROLE authenticated NOLOGIN; CREATE ROLE service_role NOLOGIN BYPASSRLS;
  CREATE ROLE authenticator LOGIN NOINHERIT; GRANT anon, authenticated, service_role TO authenticator;
  CREATE SCHEMA auth; GRANT USAGE ON SCHEMA auth TO anon, authenticated, service_role;
  CREATE FUNCTION auth.jwt() RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT nullif(current_setting('request.jwt.claims', true), '')::jsonb $$;
  CREATE TABLE orders (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer bigint NOT NULL, amount int NOT NULL);
  GRANT ALL ON orders TO anon, authenticated, service_role;`;

describe("Supabase", () => {
  let postgres: Postgres;
  let configuration: Configuration;
  beforeAll(async () => {
    if (!hasPostgres) return;
    postgres = await startOrders(SUPABASE, recipe("consumers/supabase.sql"));
    configuration = { keys: await publishedKeys(), preRequest: "public.check_session" };
  });
  afterAll(() => postgres?.stop());

  const ask = async (customer: Customer, role: string, { preRequest = "public.check_session" } = {}) =>
    postgrest(postgres, { ...configuration, preRequest }, await sessionOf(customer, { role }));

  test(`shows a customer their rows alone${skipped}`, async () => {
    expect(await ask(environments.own, "authenticated")).toEqual([1, 2]);
    expect(await ask(environments.other, "authenticated")).toEqual([4]);
  });

  test(`refuses sessions of other environments before each request of the Data API${skipped}`, async () => {
    for (const customer of [environments.own, ...Object.values(environments.foreign)])
      for (const role of ["authenticated", "anon", "service_role"])
        if (customer !== environments.own || role !== "authenticated")
          await expect(ask(customer, role)).rejects.toThrow("This session is for another environment or role.");
  });

  test(`shows sessions of other environments no row where only the policies judge${skipped}`, async () => {
    for (const [name, customer] of Object.entries(environments.foreign)) {
      expect(await ask(customer, "authenticated", { preRequest: "" }), name).toEqual([]);
      // The reason for the warning of the page: no policy binds this role.
      expect(await ask(customer, "service_role", { preRequest: "" }), name).toEqual([1, 2, 4]);
    }
  });
});

/** What Hasura reads of a session: https://hasura.io/docs/2.0/auth/authentication/jwt/ */
describe("Hasura", () => {
  const NAMESPACE = "https://hasura.io/jwt/claims";

  /** Verifies as the documents say that Hasura does: keys of `jwk_url`, `aud`, `iss`; the roles must be there, all other values strings. */
  async function sessionVariables(session: string): Promise<Record<string, string>> {
    const { jwk_url, audience, issuer } = JSON.parse(recipe("consumers/hasura.json"));
    const { payload } = await jwtVerify(session, createRemoteJWKSet(new URL(jwk_url)), { audience, issuer });
    const { "x-hasura-allowed-roles": allowed, ...others } = payload[NAMESPACE] as Record<string, string & string[]>;
    if (!Array.isArray(allowed) || !allowed.includes(others["x-hasura-default-role"] ?? ""))
      throw new Error("The default role is not allowed.");
    const wrong = Object.entries(others).find(
      ([name, value]) => !name.startsWith("x-hasura-") || typeof value !== "string",
    );
    if (wrong) throw new Error(`${wrong[0]} is not a string`);
    return others;
  }

  it("reads the role and the customer of a session as strings", async () => {
    const { teamId, groups } = environments.other;
    const { team_id, claims } = JSON.parse(recipe("consumers/hasura-mint.json").replaceAll("12", String(teamId)));
    const { token } = await groups.mintSession({ teamId: team_id, claims });
    expect(await sessionVariables(token)).toEqual({
      "x-hasura-default-role": "viewer",
      "x-hasura-team-id": String(teamId),
    });
  });

  it("refuses sessions of other environments, whatever role they name", async () => {
    const admin = { "x-hasura-allowed-roles": ["admin"], "x-hasura-default-role": "admin", "x-hasura-team-id": "1" };
    for (const [name, customer] of Object.entries(environments.foreign)) {
      const session = await sessionOf(customer, { [NAMESPACE]: admin });
      await expect(sessionVariables(session), name).rejects.toMatchObject({ claim: "aud" });
    }
  });

  it("finds keys that it may refresh, since they say for how long they are valid", async () => {
    const response = await fetch(JSON.parse(recipe("consumers/hasura.json")).jwk_url);
    expect(response.headers.get("Cache-Control")).toMatch(/max-age=\d+/);
  });
});
