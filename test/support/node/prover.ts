import { PGlite } from "@electric-sql/pglite";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CommandError } from "../../../common/command-error.ts";
import { type Database, rowsOf, withDatabase } from "../../../prove/src/database.ts";
import { type Connect, type Proof, prove } from "../../../prove/src/prove.ts";
import { readSetup } from "../../../prove/src/setup.ts";
import { asCustomer, CORRECT, CORRECT_SCHEMAS, RESET, SECRET, SHARED } from "./correct-schemas.ts";
import { asOneOfTwo, PEOPLE_CORRECT, PLANTS, type Plant } from "./plants.ts";
import { hasPostgres, startPostgres } from "./postgres.ts";
import { foreignIn, readEverything, rowsIn } from "./readable.ts";

/** A database whose only login is `backend`. */
export type Engine = { run: (sql: string) => Promise<unknown>; connect: Connect; stop: () => Promise<void> };

/** What a new login of `backend` in this database begins with, the most specific last. */
const LOGIN_SETTINGS = `SELECT unnest(setconfig) AS setting FROM pg_db_role_setting
  WHERE setrole IN (0, 'backend'::regrole) AND setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
  ORDER BY setrole <> 0, setdatabase <> 0`;

/** Lets a superuser's connection be one of `backend` for each proof: a login for each would take half of the time. */
const asBackend =
  (superuser: Database): Connect =>
  async (use) => {
    const settings = await rowsOf<{ setting: string }>(superuser, LOGIN_SETTINGS);
    await superuser.query("SET SESSION AUTHORIZATION backend");
    try {
      for (const { setting } of settings)
        await superuser.query("SELECT set_config(split_part($1, '=', 1), split_part($1, '=', 2), false)", [setting]);
      return await use(superuser);
    } finally {
      // PGlite cannot RESET the authorization.
      for (const statement of ["ROLLBACK", "SET SESSION AUTHORIZATION postgres", "RESET ROLE", "RESET ALL"])
        await superuser.query(statement);
    }
  };

async function startPglite(): Promise<Engine> {
  const database = new PGlite();
  await database.waitReady;
  return { run: (sql) => database.exec(sql), connect: asBackend(database), stop: () => database.close() };
}

async function startSession(): Promise<Engine> {
  const { run, url, stop } = await startPostgres();
  const superuser = new pg.Client({ connectionString: url("postgres") });
  // The end of the server.
  superuser.on("error", () => undefined);
  await superuser.connect();
  return { run, connect: asBackend(superuser), stop };
}

/** A server into which `backend` logs in for each proof. */
export async function startServer(): Promise<Engine> {
  const { run, url, stop } = await startPostgres();
  return { run, stop, connect: (use) => withDatabase(url("backend"), use) };
}

const PGLITE = { name: "PGlite", isThere: true, lacks: /EXTENSION/, start: startPglite };
const SERVER = { name: "Debian's PostgreSQL", isThere: hasPostgres, lacks: /^$/, start: startSession };

/** `npm test` uses the first, and `npm run test:all` the second. */
export const ENGINES = hasPostgres ? ([SERVER, PGLITE] as const) : ([PGLITE, SERVER] as const);

export type As = (number: number) => string;
export type Checked = { accept?: readonly string[]; anyEnvironment?: boolean | undefined };

/** What `ug prove` says; undefined if it could not tell. */
export async function proofOf(engine: Engine, as: As, checked: Checked = {}): Promise<Proof | undefined> {
  const { accept = SHARED, anyEnvironment = true } = checked;
  const setups = [readSetup(as(1), "the first --as"), readSetup(as(2), "the second --as")] as const;
  try {
    return await prove(engine.connect, { setups, accept, anyEnvironment });
  } catch (error) {
    if (error instanceof CommandError && error.message.startsWith("Could not tell")) return undefined;
    throw error;
  }
}

const namesIn = ({ mistakes, notJudged }: Proof) => [
  ...mistakes.map(({ code, object }) => `${object} [${code}]`),
  ...notJudged.map(({ object }) => object),
];

/** Pastes all fixes until there are none, but not for ever: a fix may uncover what it hid. */
export async function pasted(
  engine: Engine,
  first: Proof | undefined,
  prove: () => Promise<Proof | undefined>,
  rounds: number,
) {
  let last = first;
  const statements: string[] = [];
  for (let round = 0; round < rounds && last && last.outcome !== "proven"; round += 1) {
    const fixes = [...last.mistakes, ...last.notJudged].map(({ fix }) => fix).filter((fix) => !fix.startsWith("--"));
    // What only a person can change remains.
    if (fixes.length === 0) break;
    for (const fix of fixes) await engine.run(fix);
    statements.push(...fixes);
    last = await prove();
  }
  return { proof: last, statements };
}

const read = (engine: Engine, sql: string) => engine.connect((database) => readEverything(database, sql));

/** What customers can read of each other, and what anybody can read without a customer. */
async function leaksIn(engine: Engine, as: As): Promise<string[]> {
  const [one, other, nobody] = [await read(engine, as(1)), await read(engine, as(2)), await read(engine, "")];
  const isShared = (row: string) => SHARED.some((name) => row.startsWith(`${name} `));
  const rows = new Set(rowsIn(other));
  return [
    ...foreignIn(one, "1"),
    ...foreignIn(other, as === asOneOfTwo ? "1" : "2"),
    ...[...rowsIn(one).filter((each) => rows.has(each)), ...rowsIn(nobody)].filter((each) => !isShared(each)),
  ];
}

/** Whether a name in the output is that of a plant. Rows that were seen stand for a policy of their table, too. */
const isNamed = (name: string, { object, code }: Plant) => {
  const found = name.replace(/^(large object) \d+$/, "$1");
  if (code) return found === `${object} [${code}]`;
  return found === object || `${object}.`.startsWith(`${found.replace(/ \[.*/, "")}.`);
};

/** Starts an engine for the tests of a `describe`. */
function prepared({ name, isThere, lacks, start }: (typeof ENGINES)[number]) {
  let engine: Engine;
  beforeAll(async () => {
    if (isThere) engine = await start();
  });
  afterAll(() => engine?.stop());
  return {
    skipped: isThere ? "" : `, skipped: ${name} is missing`,
    engine: () => engine,
    plant: async (...sql: string[]) => {
      for (const each of [RESET, ...sql]) await engine.run(each);
    },
    possible: <Case extends { name: string; sql: string }>(cases: readonly Case[]) =>
      cases.filter(({ sql }) => !lacks.test(sql)).map((each) => [each.name, each] as const),
  };
}

/** The tests of what the prover finds, on one engine. */
export const describeProver = (on: (typeof ENGINES)[number]) =>
  describe(`ug prove on ${on.name}`, () => {
    const { isThere } = on;
    const { skipped, plant, possible, engine } = prepared(on);

    it.skipIf(!isThere)(`proves a correct set-up as it is${skipped}`, async () => {
      await plant(CORRECT);
      expect(await proofOf(engine(), asCustomer)).toMatchObject({
        outcome: "proven",
        arePeople: false,
        compared: [{ table: "public.orders", rows: [2, 2] }],
        roles: { login: "backend", customers: ["dashboard", "dashboard"] },
      });
    });

    it.skipIf(!isThere)(`proves two people of one customer${skipped}`, async () => {
      await plant(CORRECT, PEOPLE_CORRECT);
      expect(await proofOf(engine(), asOneOfTwo)).toMatchObject({ outcome: "proven", arePeople: true });
    });

    it.skipIf(!isThere).for(possible(CORRECT_SCHEMAS))(
      `proves %s after its fixes are pasted once, which hide no row${skipped}`,
      async ([, { sql, as, accept }]) => {
        await plant(sql);
        const prove = () => proofOf(engine(), as, { accept, anyEnvironment: !sql.includes("'aud'") });
        const before = [rowsIn(await read(engine(), as(1))), rowsIn(await read(engine(), as(2)))];
        const { proof, statements } = await pasted(engine(), await prove(), prove, 1);
        expect(proof && namesIn(proof)).toEqual([]);
        expect(statements.length).toBeLessThanOrEqual(8);
        expect([rowsIn(await read(engine(), as(1))), rowsIn(await read(engine(), as(2)))]).toEqual(before);
        expect(foreignIn(await read(engine(), as(1)), "1")).toEqual([]);
      },
    );

    it.skipIf(!isThere).for(possible(PLANTS))(
      `names %s${skipped}`,
      async ([, { sql, as = asCustomer, anyEnvironment, ...rest }]) => {
        await plant(CORRECT, sql);
        const proof = await proofOf(engine(), as, { anyEnvironment });
        expect(proof?.outcome).not.toBe("proven");
        const names = proof ? namesIn(proof) : [];
        expect(
          names.some((each) => isNamed(each, { sql, ...rest })),
          names.join("\n"),
        ).toBe(true);
        expect(JSON.stringify(proof)).not.toContain(SECRET);
      },
    );
  });

/** The tests of what the prover says after its fixes are pasted, on one engine: most of them take several proofs. */
export const describeFixes = (on: (typeof ENGINES)[number]) =>
  describe(`the fixes of ug prove on ${on.name}`, () => {
    const { skipped, plant, possible, engine } = prepared(on);
    it.skipIf(!on.isThere).for(possible(PLANTS))(
      `prove nothing of %s while somebody reads foreign rows${skipped}`,
      async ([, { sql, as = asCustomer, anyEnvironment, remains }]) => {
        await plant(CORRECT, sql);
        const prove = () => proofOf(engine(), as, { anyEnvironment });
        const { proof } = await pasted(engine(), await prove(), prove, 4);
        expect(proof?.outcome === "proven", proof && namesIn(proof).join("\n")).toBe(remains !== true);
        if (proof?.outcome === "proven") expect(await leaksIn(engine(), as)).toEqual([]);
      },
    );
  });
