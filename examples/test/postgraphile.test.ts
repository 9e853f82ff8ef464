import { once } from "node:events";
import { serve } from "@hono/node-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sessionOf } from "../../test/support/node/environments.ts";
import { audienceOf, ordersOf, sessionsOf } from "../../test/support/node/orders-database.ts";
import { hasPostgres, type Postgres } from "../../test/support/node/postgres.ts";
import { graphqlApp } from "../consumers/postgraphile.ts";

const skipped = hasPostgres ? "" : ", skipped: Debian's PostgreSQL is missing";
const test = it.skipIf(!hasPostgres);
const { environments, recipe, startOrders } = await ordersOf("postgraphile");

describe("PostGraphile", () => {
  let postgres: Postgres;
  beforeAll(async () => {
    if (hasPostgres) postgres = await startOrders(recipe("embedding/row-level-security.sql"));
  });
  afterAll(() => postgres?.stop());

  /** Serves PostGraphile for the environment, and asks it. */
  async function ask(session: string | undefined, audience: string) {
    const graphql = await graphqlApp({ databaseUrl: postgres.url("backend"), sessions: sessionsOf(audience) });
    const server = serve({ fetch: graphql.app.fetch, hostname: "127.0.0.1", port: 0 });
    await once(server, "listening");
    const headers = { "Content-Type": "application/json", ...(session && { Authorization: `Bearer ${session}` }) };
    const body = JSON.stringify({ query: "{ allOrders { nodes { amount } } }" });
    const address = `http://127.0.0.1:${Object(server.address()).port}/graphql`;
    const response = await fetch(address, { method: "POST", headers, body });
    const nodes = Object(await response.json()).data?.allOrders.nodes;
    server.close();
    await graphql.close();
    return { status: response.status, nodes };
  }

  test(`shows a customer their rows alone${skipped}`, async () => {
    const { own, other, audience } = environments;
    expect(await ask(await sessionOf(own), audience)).toEqual({ status: 200, nodes: [{ amount: 1 }, { amount: 2 }] });
    expect(await ask(await sessionOf(other), audience)).toEqual({ status: 200, nodes: [{ amount: 4 }] });
  });

  test(`refuses sessions of other environments, and requests without one${skipped}`, async () => {
    const { audience, foreign } = environments;
    expect((await ask(undefined, audience)).status).toBe(401);
    for (const [name, customer] of Object.entries(foreign))
      for (const credential of [await sessionOf(customer), customer.token])
        expect(await ask(credential, audience), name).toEqual({ status: 401, nodes: undefined });
  });

  test(`shows sessions of other environments no row, also where it takes them${skipped}`, async () => {
    for (const [name, customer] of Object.entries(environments.foreign)) {
      const session = await sessionOf(customer);
      expect(await ask(session, audienceOf(session)), name).toEqual({ status: 200, nodes: [] });
    }
  });
});
