import { once } from "node:events";
import { readFileSync } from "node:fs";
import { serve } from "@hono/node-server";
import { createLocalJWKSet, createRemoteJWKSet, type JSONWebKeySet, jwtVerify } from "jose";
import pg from "pg";
import { afterAll, beforeAll, describe, inject, it } from "vitest";
import { graphqlApp } from "../../examples/consumers/postgraphile.ts";
import { type Customer, environmentsOf, sessionOf } from "../support/node/environments.ts";
import { hasPostgres, type Postgres, startPostgres } from "../support/node/postgres.ts";

/** Programs that decide by the claims of a session, with a real PostgreSQL. None of them takes a session of another environment. */

const { url } = inject("service");
const skipped = hasPostgres ? "" : ", skipped: Debian's PostgreSQL is missing";
const test = it.skipIf(!hasPostgres);

let environments: Awaited<ReturnType<typeof environmentsOf>>;
beforeAll(async () => {
  environments = await environmentsOf("claims-consumers");
});

/** A recipe, for this service and the environment of these tests. */
const recipe = (file: string) =>
  readFileSync(`examples/${file}`, "utf8")
    .replaceAll("https://groups.example.com", url)
    .replaceAll("acme/Customer", environments.audience);

/** Starts a PostgreSQL with these schemas and the orders of both customers. */
async function startOrders(...schemas: string[]): Promise<Postgres> {
  const postgres = await startPostgres();
  const { own, other } = environments;
  await postgres.run(`${schemas.join("\n")}
    INSERT INTO orders (customer, amount) VALUES (${own.teamId}, 1), (${own.teamId}, 2), (${other.teamId}, 4)`);
  return postgres;
}

describe("PostGraphile", () => {
  let postgres: Postgres;
  let graphql: Awaited<ReturnType<typeof graphqlApp>>;
  let server: ReturnType<typeof serve>;
  beforeAll(async () => {
    if (!hasPostgres) return;
    postgres = await startOrders(recipe("embedding/row-level-security.sql"));
    const { audience } = environments;
    const sessions = { jwks: `${url}/.well-known/jwks.json`, audience, origins: ["https://app.example.com"] };
    graphql = await graphqlApp({ databaseUrl: postgres.url("backend"), sessions });
    server = serve({ fetch: graphql.app.fetch, hostname: "127.0.0.1", port: 0 });
    await once(server, "listening");
  });
  afterAll(async () => {
    server?.close();
    await graphql?.close();
    await postgres?.stop();
  });

  const QUERY = { query: "{ allOrders { nodes { amount } } }" };
  const ask = async (session?: string) => {
    const headers = { "Content-Type": "application/json", ...(session && { Authorization: `Bearer ${session}` }) };
    const address = `http://127.0.0.1:${Object(server.address()).port}/graphql`;
    const response = await fetch(address, { method: "POST", headers, body: JSON.stringify(QUERY) });
    return { status: response.status, nodes: Object(await response.json()).data?.allOrders.nodes };
  };

  test(`shows a customer their rows alone${skipped}`, async ({ expect }) => {
    const { own, other } = environments;
    expect(await ask(await sessionOf(own))).toEqual({ status: 200, nodes: [{ amount: 1 }, { amount: 2 }] });
    expect(await ask(await sessionOf(other))).toEqual({ status: 200, nodes: [{ amount: 4 }] });
  });

  test(`refuses sessions of other environments, and requests without one${skipped}`, async ({ expect }) => {
    expect((await ask()).status).toBe(401);
    for (const [name, customer] of Object.entries(environments.foreign))
      for (const credential of [await sessionOf(customer), customer.token])
        expect(await ask(credential), name).toEqual({ status: 401, nodes: undefined });
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

  test(`shows a customer their rows alone${skipped}`, async ({ expect }) => {
    expect(await ask(environments.own)).toEqual([1, 2]);
    expect(await ask(environments.other)).toEqual([4]);
  });

  test(`refuses sessions of other environments, and those without a role${skipped}`, async ({ expect }) => {
    for (const [name, customer] of Object.entries(environments.foreign))
      await expect(ask(customer), name).rejects.toMatchObject({ code: "ERR_JWT_CLAIM_VALIDATION_FAILED" });
    await expect(postgrest(postgres, configuration, await sessionOf(environments.own))).rejects.toThrow("PGRST302");
  });

  test(`lets a session become no other role${skipped}`, async ({ expect }) => {
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

  test(`shows a customer their rows alone${skipped}`, async ({ expect }) => {
    expect(await ask(environments.own, "authenticated")).toEqual([1, 2]);
    expect(await ask(environments.other, "authenticated")).toEqual([4]);
  });

  test(`refuses sessions of other environments before each request of the Data API${skipped}`, async ({ expect }) => {
    for (const customer of [environments.own, ...Object.values(environments.foreign)])
      for (const role of ["authenticated", "anon", "service_role"])
        if (customer !== environments.own || role !== "authenticated")
          await expect(ask(customer, role)).rejects.toThrow("This session is for another environment or role.");
  });

  test(`shows sessions of other environments no row where only the policies judge${skipped}`, async ({ expect }) => {
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

  it("reads the role and the customer of a session as strings", async ({ expect }) => {
    const { teamId, groups } = environments.other;
    const { team_id, claims } = JSON.parse(recipe("consumers/hasura-mint.json").replaceAll("12", String(teamId)));
    const { token } = await groups.mintSession({ teamId: team_id, claims });
    expect(await sessionVariables(token)).toEqual({
      "x-hasura-default-role": "viewer",
      "x-hasura-team-id": String(teamId),
    });
  });

  it("refuses sessions of other environments, whatever role they name", async ({ expect }) => {
    const admin = { "x-hasura-allowed-roles": ["admin"], "x-hasura-default-role": "admin", "x-hasura-team-id": "1" };
    for (const [name, customer] of Object.entries(environments.foreign)) {
      const session = await sessionOf(customer, { [NAMESPACE]: admin });
      await expect(sessionVariables(session), name).rejects.toMatchObject({ claim: "aud" });
    }
  });

  it("finds keys that it may refresh, since they say for how long they are valid", async ({ expect }) => {
    const response = await fetch(JSON.parse(recipe("consumers/hasura.json")).jwk_url);
    expect(response.headers.get("Cache-Control")).toMatch(/max-age=\d+/);
  });
});
