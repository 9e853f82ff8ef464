/** The product's database: PostgreSQL, in which row-level security shows each customer, and each manager, their own rows. */
import { readFileSync } from "node:fs";
import { PGlite } from "@electric-sql/pglite";
import { withSession } from "user-group-service/postgres";
import type { VerifiedSession } from "user-group-service/server";
import type { CUSTOMERS } from "./people.ts";
import { poolOf } from "./pool.ts";

const MONTHS = 12;

/** One line of a chart. */
export type Amount = { label: string; amount: number };
export type Report = { orders: number; months: Amount[]; stores: Amount[]; products: Amount[] };

/** A customer, and the number of the group that the service has for them. */
export type Customer = (typeof CUSTOMERS)[number] & { teamId: number };

/** No query names a customer or a store: the policies of schema.sql do, by the session of the transaction. */
const QUERIES = {
  months: `SELECT to_char(month, 'YYYY-MM') AS label, sum(amount)::int AS amount FROM sales WHERE month >= $1
           GROUP BY month ORDER BY month`,
  stores:
    "SELECT store AS label, sum(amount)::int AS amount FROM sales WHERE month >= $1 GROUP BY store ORDER BY 2 DESC",
  products: `SELECT product AS label, sum(amount)::int AS amount FROM sales WHERE month >= $1
             GROUP BY product ORDER BY 2 DESC`,
};

/** The first day of the month that was so many months ago. */
function monthBefore(count: number, now = new Date()): string {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - count, 1)).toISOString().slice(0, 10);
}

/** Makes the database, in memory, with a year of sales for each customer of an environment such as `acme/Customer`. */
export async function openSales(customers: readonly Customer[], audience: string) {
  const database = await PGlite.create();
  const schema = readFileSync(new URL("schema.sql", import.meta.url), "utf8");
  await database.exec(schema.replaceAll("'acme/Customer'", () => `'${audience.replaceAll("'", "''")}'`));
  const rows = customers.flatMap(salesOf);
  await database.query(
    `INSERT INTO sales (customer, store, product, month, orders, amount)
     SELECT * FROM json_to_recordset($1) AS row(customer bigint, store text, product text, month date, orders int, amount int)`,
    [JSON.stringify(rows)],
  );
  const pool = poolOf(database);

  return {
    /** Sums up the last months, as the viewer of the session sees them: the connection's own role would see all rows. */
    report: (session: VerifiedSession, months: number): Promise<Report> =>
      withSession(
        pool,
        session,
        async (client) => {
          const from = [monthBefore(months - 1)];
          const orders = await client.query<{ orders: number }>(
            "SELECT coalesce(sum(orders), 0)::int AS orders FROM sales WHERE month >= $1",
            from,
          );
          return {
            orders: orders.rows[0]?.orders ?? 0,
            months: (await client.query<Amount>(QUERIES.months, from)).rows,
            stores: (await client.query<Amount>(QUERIES.stores, from)).rows,
            products: (await client.query<Amount>(QUERIES.products, from)).rows,
          };
        },
        { audience },
      ),
    close: () => database.close(),
  };
}

/** Invented rows that look like a shop's: better in summer and in December, and the same at each start. */
function salesOf({ teamId, stores, products, scale }: Customer) {
  return stores.flatMap((store, which) =>
    products.flatMap((product, place) =>
      Array.from({ length: MONTHS }, (_, ago) => {
        const month = monthBefore(ago);
        const season =
          1 + 0.25 * Math.sin((Number(month.slice(5, 7)) - 4) / 1.9) + (month.slice(5, 7) === "12" ? 0.4 : 0);
        const orders = Math.round((90 + 37 * ((which * 5 + place * 3 + ago) % 4)) * (season / (1 + 0.35 * place)));
        return { customer: teamId, store, product, month, orders, amount: orders * scale * (9 + 2 * place + which) };
      }),
    ),
  );
}
