import { spawnSync } from "node:child_process";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runReport } from "../../../examples/embedding/customer-databases.ts";
import { bindTemplate } from "../../../src/domain/sql/template.ts";
import { hasPostgres, type Postgres, startPostgres } from "../../support/node/postgres.ts";
import { groupsOfWorkspace } from "../../support/node/workspace.ts";

/** The recipes of verifying.md in real databases, and the placeholders in real drivers of Python. */

const groups = await groupsOfWorkspace("databases", { environment: "Customer" });

const sessionOf = async (userGroupId: string) => (await groups.mintSession({ userGroupId })).token;

describe("a database for each customer", () => {
  const databaseWith = (customer: string, amount: number) => {
    const database = new DatabaseSync(":memory:");
    database.exec("CREATE TABLE sales (customer text, amount int)");
    const insert = database.prepare("INSERT INTO sales VALUES (?, ?)");
    insert.run(customer, amount);
    insert.run("other customer in this database", 1000);
    return database;
  };
  const databases = new Map([
    ["eu-1", databaseWith("hooli", 1)],
    ["us-1", databaseWith("hooli", 2)],
  ]);
  const backend = () => ({ groups, audience: "databases/Customer", databases });
  const report = { schema: "sales", sql: "SELECT amount FROM sales WHERE customer = {{user_group_id}}" };

  it("is the one that the mapping names, and moves with it", async () => {
    await groups.ensure({ userGroupId: "hooli", mapping: { sales: "eu-1" } });
    const session = await sessionOf("hooli");
    expect(await runReport(backend(), session, report)).toEqual([{ amount: 1 }]);
    await groups.update({ userGroupId: "hooli", mapping: { sales: "us-1" } });
    expect(await runReport(backend(), session, report)).toEqual([{ amount: 2 }]);
  });

  it.for([
    ["no mapping", null],
    ["a mapping of other schemas", { stock: "eu-1" }],
    ["a database that the backend does not have", { sales: "file:/etc/passwd" }],
  ] as const)("is none with %s", async ([name, mapping]) => {
    await groups.ensure({ userGroupId: name, mapping });
    await expect(runReport(backend(), await sessionOf(name), report)).rejects.toThrow(
      "The customer has no database for sales.",
    );
  });
});

const imports = (...modules: string[]) => spawnSync("python3", ["-c", `import ${modules.join()}`]).status === 0;

describe("drivers of Python", () => {
  let postgres: Postgres;
  beforeAll(async () => {
    if (!hasPostgres) return;
    postgres = await startPostgres();
    await postgres.run(`
      CREATE ROLE backend LOGIN;
      CREATE TABLE orders (customer text, region text, code text, amount int);
      INSERT INTO orders VALUES ('gavin', 'eu', '2026-1', 1), ('gavin', 'us', '2026-2', 2), ('gavin', 'eu', '2025%s', 4),
        ('100%s', 'eu', '2026-3', 8);
      GRANT SELECT ON orders TO backend`);
  });
  afterAll(() => postgres?.stop());

  const python = (args: string[], input: string) => spawnSync("python3", args, { input, encoding: "utf8" });

  const TEMPLATES = [
    "SELECT amount FROM orders WHERE customer = {{user_group_id}} AND code LIKE '2026%' ORDER BY 1",
    "SELECT amount FROM orders WHERE customer = {{user_group_id}} AND code LIKE '%\\%s' -- 100%s of them",
    "SELECT amount % 2 AS odd FROM orders WHERE customer = {{user_group_id}} AND amount %{{user_group.n}} = 1",
    "SELECT amount FROM orders WHERE region = ANY(ARRAY[{{user_group.regions}}]) AND customer = {{user_group_id}} ORDER BY 1",
    "SELECT 7 % 4",
  ];
  const queriesFor = (customer: string) =>
    TEMPLATES.map((template) => {
      const variables = { user_group_id: customer, "user_group.n": 3, "user_group.regions": ["eu", "us"] };
      const bound = bindTemplate(template, new Map<string, unknown>(Object.entries(variables)), "%s");
      if (!bound.ok) throw new Error(bound.failure.code);
      return bound.value;
    });

  for (const driver of ["psycopg", "psycopg2"]) {
    const isThere = hasPostgres && imports(driver);
    const skipped = isThere ? "" : `, skipped: ${driver} or Debian's PostgreSQL is missing`;
    it.skipIf(!isThere)(`read templates with %s as they are meant, with ${driver}${skipped}`, () => {
      const run = (customer: string) => {
        const input = { driver, url: postgres.url("backend"), queries: queriesFor(customer) };
        const { stdout, stderr } = python(["test/support/node/python-driver.py"], JSON.stringify(input));
        expect(stderr).toBe("");
        return JSON.parse(stdout);
      };
      expect(run("gavin")).toEqual([[[1], [2]], [[4]], [[1], [0]], [[1], [2], [4]], [[3]]]);
      // A value is no text of the SQL.
      expect(run("100%s")).toEqual([[[8]], [], [], [[8]], [[3]]]);
      expect(run("' OR true --")).toEqual([[], [], [], [], [[3]]]);
    });
  }

  const hasPymysql = imports("pymysql");
  it.skipIf(!hasPymysql)(
    `read templates with %s as they are meant, with PyMySQL${hasPymysql ? "" : ", skipped: pymysql is missing"}`,
    () => {
      const input = JSON.stringify({ driver: "pymysql", queries: queriesFor("o'100%s") });
      const { stdout, stderr } = python(["test/support/node/python-driver.py"], input);
      expect(stderr).toBe("");
      const written = [
        ["{{user_group_id}}", String.raw`'o\'100%s'`],
        ["{{user_group.n}}", "3"],
        ["{{user_group.regions}}", "'eu', 'us'"],
      ] as const;
      expect(JSON.parse(stdout)).toEqual(
        TEMPLATES.map((template) =>
          written.reduce((sql, [variable, value]) => sql.replace(variable, () => value), template),
        ),
      );
    },
  );
});
