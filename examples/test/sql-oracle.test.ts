import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { PGlite } from "@electric-sql/pglite";
import fc from "fast-check";
import type { Connection } from "mysql2/promise";
import mysql from "mysql2/promise";
import pgPromise from "pg-promise";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { bindTemplate } from "../../src/domain/sql/template.ts";
import type { PlaceholderStyle } from "../../src/domain/sql/tokens.ts";
import { hasMariadb, type Mariadb, startMariadb } from "./mariadb.ts";

/**
 * Bound templates in real databases: with parameters, and as drivers run them that write the values into the SQL text. A
 * template whose filter is `customer = {{user_group_id}}` must select no row of another customer, for any values.
 */

type Row = Record<"customer" | "region" | "plan" | "n" | "u", unknown>;

const HOSTILE = [
  " OR true --",
  "' OR true --",
  "\\' OR true --",
  "\\'' OR true --",
  "0 OR true --",
  "*/ OR true --",
  "\n OR true --",
  '" OR true --',
  "$$ OR true --",
  "$1",
  "?",
  "\\",
  "'",
  "^",
];
const SCHEMA = "CREATE TABLE orders (customer text, region text, plan text, n int, u int)";
const rows = ["acme", "other", ...HOSTILE].flatMap((customer) =>
  [-5, 0, 7].map((n) => ({ customer, region: n < 0 ? "us" : "eu", plan: n === 0 ? customer : "pro", n, u: 8 })),
);
const quote = (value: unknown) => `'${String(value).replaceAll("'", "''")}'`;
const INSERT = `INSERT INTO orders VALUES ${rows.map((row) => `(${Object.values(row).map(quote).join()})`).join()}`;

const postgres = new PGlite();
await postgres.exec(`${SCHEMA}; ${INSERT}`);
const sqlite = new DatabaseSync(":memory:");
sqlite.exec(`${SCHEMA}; ${INSERT}`);

afterAll(async () => {
  await postgres.close();
  sqlite.close();
});

/** A value in the SQL text, as older drivers write it: without parentheses around a negative number. */
const literal = (value: unknown) => (typeof value === "string" ? quote(value) : String(value));
/** A value as libpq's PQescapeLiteral writes it, and pg-format: with a backslash it is an E string. */
const escaped = (value: unknown) => {
  const text = literal(value);
  return text.includes("\\") ? `E${text.replaceAll("\\", "\\\\")}` : text;
};
const writeInto = (sql: string, params: unknown[], write: (value: unknown) => string) =>
  sql.replace(/\$(\d+)/g, (_, digits) => write(params[Number(digits) - 1]));

const runOnPostgres = async (sql: string, params: unknown[] = []) => (await postgres.query<Row>(sql, params)).rows;
const runOnSqlite = async (sql: string, params: unknown[] = []) =>
  sqlite
    .prepare(sql)
    .all(...params.map((value) => (typeof value === "boolean" ? Number(value) : value) as SQLInputValue));

/** SQL as Python's drivers read it: `%s` is a placeholder wherever it stands, and two percent signs are one. */
const inPython = (sql: string, write: (index: number) => string) => {
  let next = 0;
  return sql.replace(/%(.)/gs, (_, after) => {
    if (after === "%") return "%";
    if (after !== "s") throw new SyntaxError(`%${after} is no placeholder.`);
    return write(next++);
  });
};

let mariadb: Mariadb | undefined;
let connection: Connection;
beforeAll(async () => {
  if (!hasMariadb) return;
  mariadb = await startMariadb();
  connection = await mariadb.connect();
  await connection.query("CREATE DATABASE orders CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin");
  await connection.query("USE orders");
  await connection.query(SCHEMA);
  for (const row of rows) await connection.query("INSERT INTO orders VALUES (?, ?, ?, ?, ?)", Object.values(row));
});
afterAll(async () => {
  await connection?.end();
  await mariadb?.stop();
});

/** Without PIPES_AS_CONCAT, `||` would be OR. The other modes are those of the SQL standard. */
const MARIADB_MODE = "PIPES_AS_CONCAT";
const STANDARD_MODE = "PIPES_AS_CONCAT,ANSI_QUOTES,NO_BACKSLASH_ESCAPES";
const inMariadb =
  (mode: string, run: (sql: string, params: unknown[]) => Promise<[unknown, unknown]>) =>
  async (sql: string, params: unknown[]) => {
    await connection.query("SET sql_mode = ?", [mode]);
    const [found] = await run(sql, params);
    return Array.isArray(found) ? found : [];
  };
const executeInMariadb = (sql: string, params: unknown[]) => connection.execute(sql, params as string[]);
const queryMariadb = (sql: string, params: unknown[]) => connection.query(sql, params);

/** DuckDB is not among the packages of the project, because it has 71 MB. `npm install --no-save @duckdb/node-api` brings it. */
type DuckDb = { runAndReadAll: (sql: string, params?: unknown[]) => Promise<{ getRowObjectsJson: () => object[] }> };
const DUCKDB = "@duckdb/node-api";
const duckDb: DuckDb | undefined = await import(DUCKDB).then(
  async ({ DuckDBInstance }) => (await DuckDBInstance.create(":memory:")).connect(),
  () => undefined,
);
await duckDb?.runAndReadAll(SCHEMA);
await duckDb?.runAndReadAll(INSERT);
const runOnDuckDb = async (sql: string, params: unknown[] = []) =>
  (await duckDb?.runAndReadAll(sql, params))?.getRowObjectsJson() ?? [];

const writeQuestionMarks = (sql: string, params: unknown[], write: (value: unknown) => string) => {
  let next = 0;
  return sql.replace(/\?/g, () => write(params[next++]));
};

/** The ways in which a database runs a bound query: first with parameters, then with the values in the text. */
type Ways = {
  style: PlaceholderStyle;
  runs: ((sql: string, params: unknown[]) => Promise<object[]>)[];
  without?: string;
};
const missing = (is: boolean, what: string) => (is ? {} : { without: what });
const DATABASES: Record<string, Ways> = {
  PostgreSQL: {
    style: "$1",
    runs: [
      runOnPostgres,
      (sql, params) => runOnPostgres(pgPromise.as.format(sql, params)),
      (sql, params) => runOnPostgres(writeInto(sql, params, literal)),
      (sql, params) => runOnPostgres(writeInto(sql, params, escaped)),
    ],
  },
  SQLite: {
    style: "?",
    runs: [runOnSqlite, (sql, params) => runOnSqlite(writeQuestionMarks(sql, params, literal))],
  },
  // psycopg, which numbers the placeholders; then psycopg2, which writes values.
  "PostgreSQL with Python's placeholders": {
    style: "%s",
    runs: [
      async (sql, params) =>
        runOnPostgres(
          inPython(sql, (index) => `$${index + 1}`),
          params,
        ),
      async (sql, params) => runOnPostgres(inPython(sql, (index) => literal(params[index]))),
      async (sql, params) => runOnPostgres(inPython(sql, (index) => ` ${escaped(params[index])}`)),
    ],
  },
  MariaDB: {
    style: "?",
    runs: [inMariadb(MARIADB_MODE, executeInMariadb), inMariadb(MARIADB_MODE, queryMariadb)],
    ...missing(hasMariadb, "Debian's mariadb-server"),
  },
  "MariaDB in a mode of the SQL standard": {
    style: "?",
    runs: [inMariadb(STANDARD_MODE, executeInMariadb)],
    ...missing(hasMariadb, "Debian's mariadb-server"),
  },
  // PyMySQL writes values.
  "MariaDB with Python's placeholders": {
    style: "%s",
    runs: [
      inMariadb(MARIADB_MODE, async (sql, params) =>
        connection.query(inPython(sql, (index) => mysql.escape(params[index] as string))),
      ),
    ],
    ...missing(hasMariadb, "Debian's mariadb-server"),
  },
  DuckDB: { style: "?", runs: [runOnDuckDb], ...missing(duckDb !== undefined, DUCKDB) },
  "DuckDB with numbers": { style: "$1", runs: [runOnDuckDb], ...missing(duckDb !== undefined, DUCKDB) },
};

/** Binds a template for PostgreSQL. */
function bindNumbered(template: string, variables: ReadonlyMap<string, unknown>): { sql: string; params: unknown[] } {
  const bound = bindTemplate(template, variables, "$1");
  if (!bound.ok) throw new Error(bound.failure.code);
  return { sql: bound.value.sql, params: Object.values(bound.value.params) };
}

const customersIn = (found: object[]) => [...new Set(found.map((row) => (row as Row).customer))];

describe("a driver that writes values into the SQL text", () => {
  const ORDERS = "SELECT * FROM orders WHERE";

  it.for([
    ["a number in a string", `${ORDERS} plan <> 'US$1' AND customer = {{user_group_id}}`, " OR true --", 1],
    ["a raw value", `${ORDERS} customer = {{user_group_id}} AND n < {{user_group.v}}^2`, "acme", "0 OR true --"],
    [
      "a continued string",
      `${ORDERS} plan <> E'a'\n{{user_group_id}} AND customer = {{user_group_id}}`,
      "\\' OR true --",
      1,
    ],
    [
      "a joined string",
      `${ORDERS} plan <> E'a'{{user_group_id}} AND customer = {{user_group_id}}`,
      "\\' OR true --",
      1,
    ],
  ] as const)("would show all rows because of %s, so that is refused", async ([, template, id, value]) => {
    const params = template.includes("v}}") ? [id, value] : [id];
    const unsafe = template.replaceAll("{{user_group_id}}", "$1").replaceAll("{{user_group.v}}", "$2");
    expect(customersIn(await runOnPostgres(pgPromise.as.format(unsafe, params)))).toContain("other");

    const variables = new Map<string, unknown>([
      ["user_group_id", id],
      ["user_group.v", value],
    ]);
    expect(bindTemplate(template, variables, "$1")).toMatchObject({ failure: { code: "invalid_template" } });
  });
});

describe("a variable that occurs twice in PostgreSQL", () => {
  const variables = new Map<string, unknown>([["user_group.unit", "month"]]);

  it.for([
    "SELECT date_trunc({{user_group.unit}}, at) AS day, count(*)::int AS n FROM (VALUES (timestamp '2026-01-02')) AS t(at) GROUP BY date_trunc({{user_group.unit}}, at)",
    "SELECT DISTINCT date_trunc({{user_group.unit}}, at) AS day, 1 AS n FROM (VALUES (timestamp '2026-01-02')) AS t(at) ORDER BY date_trunc({{user_group.unit}}, at)",
    "SELECT DISTINCT ON (date_trunc({{user_group.unit}}, at)) date_trunc({{user_group.unit}}, at) AS day, 1 AS n FROM (VALUES (timestamp '2026-01-02')) AS t(at) ORDER BY date_trunc({{user_group.unit}}, at)",
  ])("is one expression: %s", async (template) => {
    const { sql, params } = bindNumbered(template, variables);
    const { rows } = await postgres.query(sql, params);
    expect(rows).toEqual([{ day: new Date(2026, 0, 1), n: 1 }]);
  });
});

describe("a list in PostgreSQL", () => {
  const variables = new Map([["user_group.regions", ["eu", "us"]]]);
  const query = (condition: string) => `SELECT DISTINCT region FROM orders WHERE region ${condition} ORDER BY region`;

  it.for(["= ANY", "<> ALL", "= SOME"])("does not parse in %s, so it is refused", async (operator) => {
    await expect(runOnPostgres(query(`${operator}($1, $2)`), ["eu", "us"])).rejects.toThrow(/syntax error/);
    expect(bindTemplate(query(`${operator}({{user_group.regions}})`), variables, "$1")).toMatchObject({
      failure: { code: "invalid_template" },
    });
  });

  it("selects its rows in IN, as the refusal advises", async () => {
    const { sql, params } = bindNumbered(query("IN ({{user_group.regions}})"), variables);
    expect(await runOnPostgres(sql, params)).toEqual([{ region: "eu" }, { region: "us" }]);
  });
});

describe("a template with a filter", () => {
  const texts = fc.constantFrom("eu", "pro", ...HOSTILE);
  const groups = fc.record({
    user_group_id: fc.constantFrom("acme", ...HOSTILE),
    "user_group.text": texts,
    "user_group.n": fc.oneof(fc.constantFrom<unknown>(-5, -1, 0, 2, 1.5, 1e21, "5", true, null), texts),
    "user_group.list": fc.array(texts, { minLength: 1, maxLength: 3 }),
    "value.text": texts,
  });
  const VARIABLE = ["{{user_group_id}}", "{{user_group.text}}", "{{user_group.n}}", "({{user_group.list}})"];
  const conditions = fc.constantFrom(
    "plan <> {{user_group.text}}",
    "plan <> 'US$1'",
    "plan NOT LIKE '%s' || {{user_group.text}}",
    "n % 7 <> {{user_group.n}} -- 100%s\n",
    "n %{{user_group.n}} < 9",
    "n < {{user_group.n}}%9",
    "plan <> E'\\\\' || {{user_group.text}}",
    "plan <> 'it''s' -- it's $1\n",
    "plan <> $q$ $1 ' $q$",
    "plan <> '?'",
    "plan /* $1 ? */ <> {{user_group.text}}/**/",
    "region IN ('eu', {{user_group.list}})",
    "1 = 1 [[AND plan <> {{value.text}}]] [[AND plan = {{value.gone}}]]",
    "region NOT IN ({{user_group.list}})",
    "region IN ({{user_group.text}}, 'us' [[, {{user_group.gone}}]] [[, {{user_group.text}}]])",
    "n >= {{user_group.n}}",
    "n + {{user_group.n}} < 100",
    "n - {{user_group.n}} < 100",
    "n -{{user_group.n}} < 100",
    "n < {{user_group.n}}^2 + 9",
    "n < {{user_group.n}} ^ 2 + 9",
    "n < {{user_group.n}}:raw",
    "plan <> {{user_group.text}}::text",
    "[[n < {{user_group.gone}} AND]] 1 = 1",
    "n < 99 -[[{{user_group.gone}} ]]- 1",
    "n < 9 -[[- {{user_group.n}}]]",
    "1 = 1 [[AND n > -9 -{{user_group.n}}]]",
    "1 = 1 [[AND plan <> {{user_group.text}}]]",
    '"plan" <> {{user_group.text}}',
    "n < u&{{user_group.n}}",
    "n < U& {{user_group.n}}",
    "plan <> ?",
    "plan <> E'a'\n{{user_group.text}}",
    "plan <> E'a'{{user_group.text}}",
    "plan <> {{user_group.text}}\n'\\'",
    "plan <> {{user_group.text}}'\\'",
    "plan <> '\\' AND n < 9 -- '",
    "plan <> '\\\\' # '\n",
    "`plan` <> {{user_group.text}}",
    "[plan] <> {{user_group.text}}",
    "n // 2 <> {{user_group.n}}",
    "(ARRAY[plan, region])[1:2] <> ARRAY[{{user_group.text}}]",
    "(ARRAY[plan, region])[:n] <> ARRAY[{{user_group.text}}]",
    "NOT jsonb_build_object(plan, 1) ? {{user_group.text}}",
    "NOT jsonb_build_object(plan, 1) ?| ARRAY[{{user_group.list}}]",
    "plan <> :plan",
    "plan <> ? [[AND plan <> {{user_group.text}}]]",
    'plan <> "\'"',
  );
  /** A condition made of pieces, most often not valid SQL. None of the pieces makes a filter weaker. */
  const soups = fc
    .array(
      fc.oneof(
        fc.constantFrom(...VARIABLE),
        fc.constantFrom(
          "plan",
          "'",
          "'a'",
          "E'",
          "E'a'",
          "U&",
          "\\",
          "\\'",
          "$1",
          "$$",
          "$q$",
          "?",
          "%",
          "%s",
          '"',
          "`",
          "1",
        ),
        fc.constantFrom(
          "--",
          "-- ",
          "\n",
          "/*",
          "*/",
          "/**/",
          "-",
          "^",
          "~",
          "#",
          ":",
          ":1",
          ":plan",
          "[",
          "]",
          "::text",
          "||",
          "<>",
          "[[",
          "]]",
        ),
      ),
      { minLength: 1, maxLength: 6 },
    )
    .chain((pieces) => fc.constantFrom("", " ").map((separator) => `plan <> ${pieces.join(separator)}`));
  const parts = fc.array(fc.oneof({ weight: 3, arbitrary: conditions }, soups), { maxLength: 2 });
  const templates = fc
    .tuple(parts, fc.constantFrom(" ", "\n", " -- c\n"), parts)
    .map(([before, blank, after]) =>
      ["SELECT * FROM orders WHERE 1 = 1", ...before, "customer = {{user_group_id}}", ...after].join(`${blank}AND `),
    );

  /** A fifth of the templates by default where each of them is a call of another process. */
  const runsOf = (name: string) => (name.includes("MariaDB") && inject("effort").minutes === 0 ? 2000 : 10_000);

  for (const [name, { style, runs, without }] of Object.entries(DATABASES))
    it.skipIf(without !== undefined)(
      `selects no row of another customer, and the same rows in each way, in ${name}${without ? `, skipped: ${without} is missing` : ""}`,
      async () => {
        const tally = { bound: 0, compared: 0, rows: 0 };
        await fc.assert(
          fc.asyncProperty(templates, groups, async (template, group) => {
            const bound = bindTemplate(template, new Map<string, unknown>(Object.entries(group)), style);
            if (!bound.ok) return;
            const params = Object.values(bound.value.params);
            const results: (object[] | undefined)[] = [];
            // Invalid SQL selects no rows.
            for (const run of runs) results.push(await run(bound.value.sql, params).catch(() => undefined));
            const found = results.flatMap((result) =>
              result ? [result.map((row) => JSON.stringify(row)).sort()] : [],
            );
            tally.bound++;
            if (found.length === results.length) tally.compared++;
            tally.rows += found[0]?.length ?? 0;
            for (const result of results) expect([[], [group.user_group_id]]).toContainEqual(customersIn(result ?? []));
            for (const result of found) expect(result).toEqual(found[0]);
          }),
          { numRuns: runsOf(name), seed: 1 },
        );
        // Many templates are refused or are invalid SQL. Without enough others, the test would prove nothing.
        expect(tally.compared).toBeGreaterThan(runsOf(name) / 10);
        expect(tally.rows).toBeGreaterThan(runsOf(name) / 10);
      },
    );
});
