import { PGlite } from "@electric-sql/pglite";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { UsageError } from "../../common/command-error.ts";
import { readSetup } from "../../prove/src/setup.ts";

/** What is assigned, with `!` if it outlives the transaction, and with `?` what is not of the grammar. */
const read = (sql: string) => {
  const { assignments, unknown } = readSetup(sql, "--as");
  const taken = assignments.map(({ name, value, isLocal }) => `${name} = ${value}${isLocal ? "" : " !"}`);
  return [...taken, ...unknown.map((text) => `? ${text}`)].join("; ");
};

describe("the SQL of a customer", () => {
  it.for([
    ["SET LOCAL app.customer = '1'", "app.customer = 1"],
    ["set local app.customer to 1;", "app.customer = 1"],
    ["SET LOCAL app.customer = -1.5", "app.customer = -1.5"],
    ["SET LOCAL app.customer = Acme", "app.customer = acme"],
    ['SET LOCAL app.customer = "Acme"', "app.customer = Acme"],
    [`SET LOCAL App."Customer"='o''hara; -- 1'`, "app.customer = o'hara; -- 1"],
    ["SET app.customer = '1'", "app.customer = 1 !"],
    ["SET SESSION app.customer = '1'", "app.customer = 1 !"],
    ["SET LOCAL app.team.id = '1'", "app.team.id = 1"],
    ["SET LOCAL ROLE dashboard", "role = dashboard"],
    ['SET LOCAL ROLE "My ""Role"""', 'role = My "Role"'],
    ["SET ROLE 'Dashboard'", "role = Dashboard !"],
    ["SET LOCAL role = dashboard", "role = dashboard"],
    ["SELECT set_config('app.customer', '1', true)", "app.customer = 1"],
    [`select pg_catalog . set_config ( 'app.customer' , '' , FALSE ) AS "set"`, "app.customer =  !"],
    [
      "SELECT set_config('app.a', '1', true) AS x, set_config('role', 'dashboard', true)",
      "app.a = 1; role = dashboard",
    ],
    ["/* a; b */ SET LOCAL app.a = '1' -- no; more\n; ; SET LOCAL app.b = '/* 2 */'", "app.a = 1; app.b = /* 2 */"],
    ["SET LOCAL/**/app.a--\n=/*x*/'1'", "app.a = 1"],
    [
      `SET search_path = a, "B", pg_temp; SET TIME ZONE 'UTC'; SET LOCAL statement_timeout = 5; SET LOCAL app.a = 'x'`,
      "app.a = x",
    ],
  ] as const)("is read as assignments: %s", ([sql, assigned]) => {
    expect(read(sql)).toBe(assigned);
  });

  it.for([
    "SELECT 1",
    "RESET ROLE",
    "DISCARD ALL",
    "TABLE orders",
    "SET LOCAL row_security = off",
    "SET LOCAL app.a = '1' '2'",
    "SET LOCAL app.a = '1', '2'",
    "SET LOCAL app.a = E'1'",
    "SET LOCAL customer = '1'",
    "SET LOCAL ROLE dashboard, other",
    "SET SESSION AUTHORIZATION dashboard",
    "SET LOCAL SESSION AUTHORIZATION dashboard",
    "SET TRANSACTION READ WRITE",
    "DO 'BEGIN PERFORM 1; END'",
    "DECLARE held CURSOR WITH HOLD FOR SELECT 1",
    "PREPARE p AS SELECT 1",
    "SELECT evil.set_config('app.a', '1', true)",
    "SELECT set_config('app.a', (SELECT note FROM orders), true)",
    "SELECT set_config('app.a', '1', true) FROM orders",
    "SELECT set_config('app.a', '1', true) UNION SELECT set_config('app.a', '2', true)",
    "SELECT set_config('app.a', '1', true), pg_sleep(1)",
    "SELECT set_config('app.a', '1', true), set_config('role', 'x', true) x, y",
    "SELECT set_config('row_security', 'off', true)",
    "SELECT set_config('app.a', '1', 't')",
    "WITH x AS (DELETE FROM orders RETURNING 1) SELECT set_config('app.a', '1', true)",
    "SET LOCAL app.a = '1\\' OR '; DROP TABLE orders; --'",
    "SET LOCAL app.a = '1",
    "SET LOCAL app.a = DEFAULT",
    "SET LOCAL app.a = $$1$$",
    "SET LOCAL app.a = 007",
    "/* /* */ SET LOCAL app.a = '1' */ SET LOCAL app.b = '1'",
  ])("is not of the grammar: %s", (sql) => {
    const { unknown } = readSetup(sql, "--as");
    expect(unknown).not.toEqual([]);
    expect(unknown.join(" ")).not.toMatch(/1/);
  });

  it.for(["", " ; -- nobody\n;/* */", "BEGIN; SET LOCAL app.a = '1'", "SET LOCAL app.a = '1'; commit", "SAVEPOINT x"])(
    "is refused: %s",
    (sql) => {
      expect(() => readSetup(sql, "--as")).toThrow(UsageError);
    },
  );
});

describe("compared with PostgreSQL", () => {
  let database: PGlite;
  beforeAll(async () => {
    database = new PGlite();
    await database.exec('CREATE ROLE dashboard; CREATE ROLE "A;b"');
  });
  afterAll(() => database.close());

  const NAMES = ["app.a", "App.B", 'app."a"', '"app".b', "ROLE", "role", "search_path", "timezone", "TIME ZONE", "a"];
  const VALUES = [
    "'1'",
    "dashboard",
    '"A;b"',
    "'A;b'",
    "NONE",
    "2",
    "-3.5",
    "''",
    "'o''x'",
    "'--'",
    "'/*'",
    "'1', '2'",
    "E'\\''",
    "true",
    "DEFAULT",
    "$$1$$",
    "007",
  ];
  const pieces = fc.oneof(
    fc
      .tuple(
        fc.constantFrom("SET LOCAL", "SET", "set session", "SET  local"),
        fc.constantFrom(...NAMES),
        fc.constantFrom(" = ", " TO ", " ", "="),
        fc.constantFrom(...VALUES),
      )
      .map((parts) => `${parts[0]} ${parts[1]}${parts[2]}${parts[3]}`),
    fc
      .tuple(
        fc.constantFrom("app.a", "app.B", "role", "search_path", "row_security"),
        fc.constantFrom(...VALUES),
        fc.constantFrom("true", "FALSE", "'t'"),
        fc.constantFrom("", " AS x", ", set_config('app.c', '3', true)", ", 1", " FROM pg_class"),
      )
      .map(([name, value, local, end]) => `SELECT set_config('${name}', ${value}, ${local})${end}`),
    fc.constantFrom("-- ;", "/* ; */", "--\n", "/*", "*/", ";", "SELECT 1", "'", '"', "RESET ROLE"),
  );

  it("assigns the same wherever nothing is unknown", async () => {
    const names = ["app.a", "app.b", "app.c", "role"];
    const tally = { same: 0, refused: 0, unknown: 0 };
    await fc.assert(
      fc.asyncProperty(fc.array(pieces, { minLength: 1, maxLength: 4 }), async (statements) => {
        const sql = statements.join(";\n");
        const { assignments, unknown } = (() => {
          try {
            return readSetup(sql, "--as");
          } catch {
            return { assignments: [], unknown: ["nothing"] };
          }
        })();
        if (unknown.length > 0) {
          tally.unknown += 1;
          return;
        }
        const valuesOf = async (run: () => Promise<unknown>) => {
          await database.exec("BEGIN");
          try {
            await run();
            const { rows } = await database.query(
              "SELECT coalesce(current_setting(n, true), '') AS value FROM unnest($1::text[]) n",
              [names],
            );
            return rows;
          } finally {
            await database.exec("ROLLBACK");
          }
        };
        const own = await valuesOf(() => database.exec(sql)).catch(() => undefined);
        if (own === undefined) {
          tally.refused += 1;
          return;
        }
        tally.same += 1;
        const assigned = await valuesOf(async () => {
          for (const { name, value, isLocal } of assignments)
            await database.query("SELECT set_config($1, $2, $3)", [name, value, isLocal]);
        });
        expect(assigned, sql).toEqual(own);
      }),
      { numRuns: 1000 },
    );
    expect(tally.same).toBeGreaterThan(20);
    expect(tally.unknown).toBeGreaterThan(20);
  });
});
