import { PGlite } from "@electric-sql/pglite";
import { afterAll, beforeAll, describe, it } from "vitest";
import { withDatabase } from "../../../prove/src/database.ts";
import { type Connect, prove } from "../../../prove/src/prove.ts";
import { statementsOf } from "../../../prove/src/sql/customer-sql.ts";
import { asCustomer, CORRECT, CORRECT_TOO, PLANTED, RESET, SECRET } from "./planted-mistakes.ts";
import { hasPostgres, startPostgres } from "./postgres.ts";

/** A database whose only login is `backend`. */
type Engine = { run: (sql: string) => Promise<unknown>; connect: Connect; stop: () => Promise<void> };

async function startPglite(): Promise<Engine> {
  const database = new PGlite();
  await database.waitReady;
  return {
    run: (sql) => database.exec(sql),
    connect: async (use) => {
      const {
        rows: [login],
      } = await database.query<{ setting: string[] | null }>(
        "SELECT (SELECT setconfig FROM pg_db_role_setting WHERE setrole = 'backend'::regrole) AS setting",
      );
      await database.exec("SET SESSION AUTHORIZATION backend");
      for (const setting of login?.setting ?? [])
        await database.query("SELECT set_config(split_part($1, '=', 1), split_part($1, '=', 2), false)", [setting]);
      try {
        return await use({ query: (sql, params) => database.query(sql, params) });
      } finally {
        // PGlite cannot RESET it.
        await database.exec("ROLLBACK; SET SESSION AUTHORIZATION postgres; RESET ROLE; RESET ALL");
      }
    },
    stop: () => database.close(),
  };
}

async function startServer(): Promise<Engine> {
  const { run, url, stop } = await startPostgres();
  return { run, stop, connect: (use) => withDatabase(url("backend"), use) };
}

const PGLITE = { name: "PGlite", isThere: true, start: startPglite };
const SERVER = { name: "Debian's PostgreSQL", isThere: hasPostgres, start: startServer };

/** `npm test` uses the first, and `npm run test:all` the second. */
export const ENGINES = hasPostgres ? ([SERVER, PGLITE] as const) : ([PGLITE, SERVER] as const);

const setupsFor = (as: (number: number) => string) =>
  [
    { option: "the first --as", statements: statementsOf(as(1), "--as") },
    { option: "the second --as", statements: statementsOf(as(2), "--as") },
  ] as const;

/** The tests of what the prover finds, on one engine. */
export const describeProver = ({ name, isThere, start }: (typeof ENGINES)[number]) =>
  describe(`ug prove on ${name}`, () => {
    const skipped = isThere ? "" : `, skipped: ${name} is missing`;
    let engine: Engine;
    beforeAll(async () => {
      if (isThere) engine = await start();
    });
    afterAll(() => engine?.stop());

    const proofOf = async (sql: string, as = asCustomer, allow = ["public.countries"], accept: string[] = []) => {
      for (const each of [RESET, CORRECT, sql]) await engine.run(each);
      return prove(engine.connect, { setups: setupsFor(as), allow, accept });
    };

    it.skipIf(!isThere)(`finds nothing in a correct set-up${skipped}`, async ({ expect }) => {
      const { mistakes, compared, roles } = await proofOf("");
      expect(mistakes).toEqual([]);
      expect(compared).toEqual([{ table: "public.orders", rows: [2, 2] }]);
      expect(roles).toEqual({ login: "backend", customers: ["dashboard", "dashboard"] });
    });

    it.skipIf(!isThere).for(CORRECT_TOO)(`finds nothing in $name${skipped}`, async ({ sql, as, only }, { expect }) => {
      const { mistakes, notJudged, compared } = await proofOf(sql, as, only ? [] : undefined);
      expect([mistakes, notJudged]).toEqual([[], []]);
      expect(compared).not.toEqual([]);
    });

    it.skipIf(!isThere)(`names what it cannot judge${skipped}`, async ({ expect }) => {
      const sql = `
      CREATE RULE also AS ON INSERT TO orders DO ALSO SELECT 1;
      CREATE FUNCTION copy() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN RETURN NEW; END';
      CREATE TRIGGER copies AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION copy();
      CREATE SEQUENCE numbers; GRANT SELECT ON numbers TO dashboard;
      CREATE FUNCTION mine(bigint) RETURNS boolean STABLE LANGUAGE plpgsql AS 'BEGIN PERFORM 1; RETURN $1 = customer(); END';
      ALTER POLICY own ON orders USING (mine(customer));
      CREATE TABLE bare (customer bigint); ALTER TABLE bare ENABLE ROW LEVEL SECURITY; ALTER TABLE bare FORCE ROW LEVEL SECURITY;
      CREATE POLICY own ON bare FOR SELECT TO dashboard USING (customer = customer()); GRANT SELECT ON bare TO dashboard`;
      const { outcome, mistakes, notJudged, limits } = await proofOf(sql);
      expect([outcome, mistakes]).toEqual(["not_judged", []]);
      expect(notJudged.map(({ object }) => object).toSorted()).toEqual([
        "public.orders.also",
        "public.orders.copies",
        "public.orders.own",
      ]);
      expect(limits).toEqual(
        expect.arrayContaining([
          "The sequence public.numbers can be read: it counts the rows of all customers.",
          "customer 1 and customer 2 see no row of public.bare, so no rows were compared.",
          "public.countries was not checked, because of --allow.",
        ]),
      );
      const names = notJudged.map(({ object }) => object);
      expect(await proofOf(sql, asCustomer, ["public.countries"], names)).toMatchObject({ outcome: "proven" });
    });

    it.skipIf(!isThere).for(PLANTED)(
      `finds $name${skipped}`,
      async ({ sql, as, code, object, also = [] }, { expect }) => {
        const { mistakes } = await proofOf(sql, as);
        const found = mistakes.find((mistake) => mistake.code === code && mistake.object === object);
        expect(found, JSON.stringify(mistakes)).toBeDefined();
        expect(found?.fix).toMatch(/[A-Z]{3,}/);
        expect(mistakes.map((mistake) => mistake.code).filter((each) => ![code, ...also].includes(each))).toEqual([]);
        expect(JSON.stringify(mistakes)).not.toContain(SECRET);
      },
    );
  });
