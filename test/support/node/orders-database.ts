import { readFileSync } from "node:fs";
import { decodeJwt } from "jose";
import { inject } from "vitest";
import { environmentsOf } from "./environments.ts";
import { type Postgres, startPostgres } from "./postgres.ts";

const { url } = inject("service");
export const ORIGIN = "https://app.example.com";

/** A recipe of an environment, for this service. */
export const adapted = (text: string, audience: string): string =>
  text.replaceAll(/https:\/\/groups\.example\.com|http:\/\/localhost:8787/g, url).replaceAll("acme/Customer", audience);

/**
 * Environments whose customers have the same numbers, and databases with the orders of the first one. Each file of tests has a workspace of
 * its own.
 */
export async function ordersOf(workspace: string) {
  const environments = await environmentsOf(workspace);
  const { own, other, audience } = environments;
  const recipe = (file: string) => adapted(readFileSync(`examples/${file}`, "utf8"), audience);
  /** The number of a customer and an amount, for each row. */
  const rows = `(${own.teamId}, 1), (${own.teamId}, 2), (${other.teamId}, 4)`;
  /** Starts a PostgreSQL with these schemas and the orders of both customers. */
  const startOrders = async (...schemas: string[]): Promise<Postgres> => {
    const postgres = await startPostgres();
    await postgres.run(`${schemas.join("\n")} INSERT INTO orders (customer, amount) VALUES ${rows}`);
    return postgres;
  };
  return { environments, recipe, rows, startOrders };
}

/** The environment of a session, which a backend with the wrong settings takes for that of its database. */
export const audienceOf = (session: string): string => String(decodeJwt(session).aud);

/** The options of `requireSession` for sessions of an environment. */
export const sessionsOf = (audience: string) => ({ jwks: `${url}/.well-known/jwks.json`, audience, origins: [ORIGIN] });
