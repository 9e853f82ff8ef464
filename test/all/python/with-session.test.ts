import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { outcomeOf } from "../../support/node/commands.ts";
import { ordersOf } from "../../support/node/orders-database.ts";
import { hasPostgres, type Postgres, skippedWithoutPostgres } from "../../support/node/postgres.ts";
import { KIT_MODULES, skippedWithout, withKit } from "../../support/node/python.ts";
import { runIn } from "../../support/node/service.ts";

/** `with_session` of the kit of Python in a real PostgreSQL with the recipe's policies, with each driver. */

const { url } = inject("service");
const { environments, recipe, startOrders } = await ordersOf("python-rows");

/** The driver's names of what each mistake raises: an exception of the program, of a statement, one that is hidden, an open transaction. */
const DRIVERS: { name: string; modules: string[]; autocommit: unknown }[] = [
  { name: "psycopg", modules: ["psycopg"], autocommit: "none" },
  { name: "psycopg2", modules: ["psycopg2"], autocommit: "RuntimeError" },
  { name: "SQLAlchemy with psycopg", modules: ["sqlalchemy", "psycopg"], autocommit: "RuntimeError" },
  { name: "SQLAlchemy with psycopg2", modules: ["sqlalchemy", "psycopg2"], autocommit: "RuntimeError" },
];

describe("with_session", () => {
  let postgres: Postgres;
  beforeAll(async () => {
    if (!hasPostgres) return;
    postgres = await startOrders(recipe("embedding/row-level-security.sql"));
    const { own, other } = environments;
    await postgres.run(`ALTER TABLE orders ADD store int;
      UPDATE orders SET store = amount;
      CREATE POLICY own_store ON orders AS RESTRICTIVE FOR SELECT TO dashboard
        USING (store = (session_claim('viewer_properties')::jsonb ->> 'store')::int);
      INSERT INTO orders (customer, amount, store) VALUES (${own.teamId}, 10, 1), (${other.teamId}, 20, 1)`);
  });
  afterAll(() => postgres?.stop());

  for (const { name, modules, autocommit } of DRIVERS) {
    const skipped = skippedWithoutPostgres || skippedWithout(...KIT_MODULES, ...modules);
    it.skipIf(skipped)(
      `shows each person their own rows with ${name}, and lets nothing outlive it${skipped}`,
      async () => {
        const { own, other, foreign } = environments;
        const sessionOf = async ({ groups, userGroupId }: typeof own, store: number) =>
          (await groups.mintSession({ userGroupId, viewerId: `of ${store}`, viewerProperties: { store } })).token;
        const people = [await sessionOf(own, 1), await sessionOf(own, 2), await sessionOf(other, 1)];
        const strangers = await Promise.all(Object.values(foreign).map((customer) => sessionOf(customer, 1)));

        const env = withKit({ SERVICE_URL: url, DATABASE_URL: postgres.url("backend") });
        const child = runIn(".", ["python3", "test/python/rows.py", name], env);
        child.stdin?.end(JSON.stringify([...people, ...strangers]));
        const { stdout, stderr } = await outcomeOf(child);
        expect(stderr).toBe("");
        const { rows, errors, after } = JSON.parse(stdout);
        expect(rows.slice(0, people.length + strangers.length)).toEqual([
          [1, 10],
          [2],
          [20],
          ...strangers.map(() => []),
        ]);
        expect(errors).toEqual([
          "ZeroDivisionError",
          expect.stringMatching(/DivisionByZero|DataError/),
          "RuntimeError",
          "RuntimeError",
          true,
          "TypeError",
          autocommit,
        ]);
        // A connection that commits each statement is refused, or has a transaction of its own.
        expect(rows.slice(people.length + strangers.length)).toEqual(autocommit === "none" ? [[1, 10]] : []);
        expect(after).toEqual([["backend", ""]]);
      },
    );
  }
});
