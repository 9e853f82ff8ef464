import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { readCatalogue } from "../../prove/src/catalogue.ts";
import { withDatabase, withRollback } from "../../prove/src/database.ts";
import { Forms } from "../../prove/src/expressions/forms.ts";
import { outcomeOf, runCommand } from "../support/node/commands.ts";
import { asCustomer, CORRECT, RESET, SECRET } from "../support/node/correct-schemas.ts";
import { asOneOfTwo, PEOPLE_CORRECT, PLANTS } from "../support/node/plants.ts";
import { hasPostgres, type Postgres, startPostgres } from "../support/node/postgres.ts";
import { runIn } from "../support/node/service.ts";

const skipped = hasPostgres ? "" : ", skipped: Debian's PostgreSQL is missing";

/** Nobody listens there. */
const NOWHERE = "postgres://backend:pass-4711@127.0.0.1:9/shop";
const BOTH = ["--as", asCustomer(1), "--as", asCustomer(2)];

const proveAt = (url: string | undefined, ...args: string[]) => runCommand("prove", args, { DATABASE_URL: url });

let postgres: Postgres;
beforeAll(async () => {
  if (hasPostgres) postgres = await startPostgres();
});
afterAll(() => postgres?.stop());

describe("ug prove", () => {
  it.for([
    [
      "one customer",
      ["--as", asCustomer(1)],
      "Give --as or --as-file twice, once for each of two customers, not once.",
    ],
    ["three customers", [...BOTH, "--as", "SELECT 3"], "not 3 times"],
    ["the same customer twice", ["--as", asCustomer(1), "--as", asCustomer(1)], "Give two customers."],
    ["no statement", ["--as", " -- nobody\n;", "--as", "SELECT 1"], "The SQL of the first --as is empty."],
    ["a transaction", ["--as", "SELECT 1", "--as", "/* */ BEGIN; SELECT 2"], "Leave BEGIN, COMMIT and ROLLBACK out"],
    ["the address of a database in an argument", [...BOTH, "--allow", NOWHERE], "looks like a credential"],
  ] as const)("refuses %s, with a sentence", async ([, args, sentence]) => {
    const { status, stdout, stderr } = await proveAt(NOWHERE, ...args);
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(sentence);
    expect(stderr).not.toContain("4711");
  });

  it("has a page that explains each mistake", () => {
    const page = readFileSync("docs/integrators/proving-isolation.md", "utf8");
    const codes = PLANTS.flatMap(({ code }) => code ?? []);
    expect(new Set(codes).size).toBe(9);
    expect(codes.filter((code) => !page.includes(`\`${code}\``))).toEqual([]);
  });

  it("says that it could not tell if it cannot connect, without the password", async () => {
    const { status, stdout } = await proveAt(NOWHERE, ...BOTH, "--json");
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      success: 0,
      error: { code: "could_not_tell", message: expect.stringContaining("ECONNREFUSED") },
    });
    expect(stdout).not.toContain("4711");
    const without = await proveAt(undefined, ...BOTH);
    expect(without).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("Set DATABASE_URL in the environment"),
    });
  });
});

describe("ug prove on a server", () => {
  const withTables = async (sql = "") => {
    for (const each of [RESET, CORRECT, sql]) await postgres.run(each);
    return postgres.url("backend");
  };
  const bothFrom = (one: string, two: string) => [
    "--as",
    one,
    "--as",
    two,
    "--any-environment",
    "--accept",
    "countries",
    "--allow",
    "all_countries",
  ];
  const CUSTOMERS = bothFrom(asCustomer(1), asCustomer(2));

  it.skipIf(!hasPostgres)(`proves a correct set-up, from files too, and changes nothing${skipped}`, async () => {
    const url = await withTables();
    const before = postgres.dump();
    const files = [1, 2].map((number) => join(inject("service").folder, `customer ${number}.sql`));
    for (const [index, file] of files.entries())
      writeFileSync(file, `-- a customer; not a statement\n${asCustomer(index + 1)};\n`);

    const { status, stdout, stderr } = await proveAt(
      url,
      ...files.flatMap((file) => ["--as-file", file]),
      ...CUSTOMERS.slice(4),
    );
    expect([status, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^Proven: /);
    expect(stdout).toMatch(/^public\.orders +2 +2$/m);
    expect(stdout).toContain("Never judged:\n- countries was judged by a person, because of --accept.\n");
    expect(stdout).toContain("- Pools:");
    expect(postgres.dump()).toBe(before);
  });

  it.skipIf(!hasPostgres)(`names mistakes and fixes as JSON, and prints no value of a row${skipped}`, async () => {
    const url = await withTables("ALTER POLICY own ON orders USING (true); ALTER ROLE backend BYPASSRLS");
    const before = postgres.dump();
    const { status, stdout, stderr } = await proveAt(url, ...CUSTOMERS, "--json");
    expect([status, stderr]).toEqual([1, ""]);
    const { success, outcome, mistakes } = JSON.parse(stdout);
    expect([success, outcome]).toEqual([0, "mistakes"]);
    expect(mistakes.map(({ code }: { code: string }) => code).toSorted()).toEqual([
      "bypassrls",
      "seen_by_both",
      "seen_without_setting",
    ]);
    expect(stdout).not.toContain(SECRET);
    expect(postgres.dump()).toBe(before);
    const text = await proveAt(url, ...CUSTOMERS);
    expect(text.stdout).toMatch(
      /^3 mistakes\.\n\n1\. backend \(bypassrls\)\n {3}backend, the role that logs in.*\n {3}Fix: ALTER ROLE backend NOBYPASSRLS;/,
    );
    expect(text.stdout).not.toContain(SECRET);
  });

  it.skipIf(!hasPostgres)(`runs no other SQL of a customer, and so none that writes${skipped}`, async () => {
    const url = await withTables();
    const before = postgres.dump();
    for (const write of [
      `UPDATE orders SET note = NULL WHERE note = '${SECRET}'`,
      "SELECT note::int FROM orders",
      "SET TRANSACTION READ WRITE; UPDATE orders SET note = NULL",
      "SET LOCAL transaction_read_only = off; UPDATE orders SET note = NULL",
      "SET default_transaction_read_only = off; CREATE TABLE made (id int)",
      "SET LOCAL app.customer = '1' || (SELECT note FROM orders)",
    ]) {
      const { status, stdout, stderr } = await proveAt(url, ...bothFrom(asCustomer(2), `${asCustomer(1)}; ${write}`));
      expect([status, stderr], write).toEqual([4, ""]);
      expect(stdout, write).toMatch(
        /^\d\. the second --as \(not judged\)\n {3}Its SQL has a statement that is not run: [A-Z]+ /m,
      );
      expect(stdout).not.toContain(SECRET);
    }
    expect(postgres.dump()).toBe(before);
  });

  it.skipIf(!hasPostgres)(`prints nothing of PostgreSQL's messages, which quote values${skipped}`, async () => {
    const url = await withTables(`
      CREATE TABLE numbers (id int PRIMARY KEY, customer text, note text);
      INSERT INTO numbers VALUES (1, '1', '${SECRET}'), (2, '2', '${SECRET}');
      ALTER TABLE numbers ENABLE ROW LEVEL SECURITY; GRANT SELECT ON numbers TO dashboard;
      CREATE POLICY own ON numbers FOR SELECT TO dashboard USING (customer = customer()::text AND note::int > 0)`);
    const { stdout } = await proveAt(url, ...CUSTOMERS);
    expect(stdout).toContain("customer 1 and customer 2 cannot see a row of public.numbers");
    const failed = await proveAt(url, ...bothFrom(`SET LOCAL ROLE "${SECRET}"`, asCustomer(2)));
    expect(failed).toMatchObject({
      status: 1,
      stdout: "",
      stderr: expect.stringContaining("cannot set role: 22023"),
    });
    expect(failed.stderr + stdout).not.toContain(SECRET);
  });

  it.skipIf(!hasPostgres)(
    `could not tell anything of customers without rows, or of one customer${skipped}`,
    async () => {
      const url = await withTables();
      const empty = await proveAt(url, ...bothFrom(asCustomer(1), asCustomer(99)));
      expect(empty).toMatchObject({
        status: 1,
        stdout: "",
        stderr: expect.stringContaining("Give customers who have rows"),
      });
      const same = await proveAt(url, ...bothFrom(asCustomer(1), `${asCustomer(1)} -- 2`));
      expect(same.stderr).toContain("sets the same role and the same settings");
      await postgres.run("REVOKE dashboard FROM backend");
      const denied = await proveAt(url, ...CUSTOMERS);
      expect(denied.stderr).toContain(
        "42501, permission denied. The user in DATABASE_URL must be a member of the role",
      );
      await postgres.run("GRANT dashboard TO backend; DROP POLICY own ON orders");
      const hidden = await proveAt(url, ...CUSTOMERS);
      expect(hidden.stderr).toContain("customer 1 and customer 2 cannot see a row of public.orders");
    },
  );

  it.skipIf(!hasPostgres)(
    `finds what docs/integrators/proving-isolation.md shows, whose fix works${skipped}`,
    async () => {
      const page = readFileSync("docs/integrators/proving-isolation.md", "utf8");
      const blockOf = (language: string) => page.split(`\n\`\`\`${language}\n`)[1]?.split("```\n")[0] ?? "";
      const [, command = ""] = /\n( {4}export DATABASE_URL=[\s\S]*?)\n\n/.exec(page) ?? [];
      await postgres.run(RESET);
      await postgres.run(readFileSync("examples/embedding/row-level-security.sql", "utf8"));
      await postgres.run("INSERT INTO orders (customer, amount) VALUES (1, 10), (1, 200), (2, 300)");
      await postgres.run(blockOf("sql"));
      const script = command
        .replace("postgresql://backend@localhost:5432/shop", `'${postgres.url("backend")}'`)
        .replace(/\bug(?= prove)/, `'${process.execPath}' -- cli/src/main.ts`);
      const run = () => outcomeOf(runIn(inject("service").folder, ["sh", "-c", script]));

      const found = await run();
      expect(found).toMatchObject({ status: 4, stderr: "" });
      expect(found.stdout.slice(0, blockOf("text").length)).toBe(blockOf("text"));
      for (const [, fix = ""] of found.stdout.matchAll(/Fix: (.*)/g)) await postgres.run(fix);
      const fixed = await run();
      expect(fixed.status).toBe(0);
      expect(page).toContain(fixed.stdout.split("\n")[0]);
    },
  );

  it.skipIf(!hasPostgres)(
    `proves two people with the lines of the documents, and names what is not set${skipped}`,
    async () => {
      const [policy = ""] =
        /CREATE POLICY own_store[\s\S]*?;/.exec(readFileSync("docs/integrators/verifying.md", "utf8")) ?? [];
      await postgres.run(RESET);
      await postgres.run(readFileSync("examples/embedding/row-level-security.sql", "utf8"));
      await postgres.run(`REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC; ALTER TABLE orders ADD store int; ${policy}
        INSERT INTO orders (customer, amount, store) VALUES (1, 10, 7), (1, 200, 8), (2, 300, 7)`);
      const runPage = (command: string) => {
        const script = command
          .replaceAll("postgresql://backend@localhost:5432/shop", `'${postgres.url("backend")}'`)
          .replaceAll(/\bug(?= prove)/g, `'${process.execPath}' -- cli/src/main.ts`);
        return outcomeOf(runIn(inject("service").folder, ["sh", "-c", script]));
      };
      const proven = "Proven: neither person sees a row of the other, and without a person nobody sees any.";
      const page = readFileSync("docs/integrators/proving-isolation.md", "utf8");
      const [customers = "", people = ""] = [...page.matchAll(/\n( {4}(?:export|ug prove)[\s\S]*?)\n\n/g)].map(
        ([, text]) => text,
      );
      const address = "export DATABASE_URL=postgresql://backend@localhost:5432/shop\n";

      expect(await runPage(customers)).toMatchObject({
        status: 1,
        stderr: expect.stringContaining("The policies read viewer_session.claims → viewer_properties → store"),
      });
      expect(await runPage(address + people)).toMatchObject({ status: 0, stdout: expect.stringContaining(proven) });
      expect(page).toContain(proven);
    },
  );

  it.skipIf(!hasPostgres)(`ends with 4 for what it does not know, until somebody accepts it${skipped}`, async () => {
    const url = await withTables("ALTER POLICY own ON orders USING (customer = abs(customer()))");
    const both = CUSTOMERS;
    const text = await proveAt(url, ...both);
    expect(text).toMatchObject({ status: 4, stderr: "" });
    expect(text.stdout).toMatch(
      /^Not proven: no mistake was found, and 1 object was not judged\.\n\n1\. public\.orders\.own \(not judged\)/,
    );
    const json = await proveAt(url, ...both, "--json");
    expect(JSON.parse(json.stdout)).toMatchObject({
      success: 0,
      outcome: "not_judged",
      mistakes: [],
      not_judged: [
        {
          object: "public.orders.own",
          message: "This policy is not one of the forms that are known to be exact.",
          fix: expect.stringMatching(
            /CREATE POLICY own_rows ON public\.orders AS RESTRICTIVE FOR SELECT TO dashboard USING \(customer = /,
          ),
        },
      ],
    });
    const accepted = await proveAt(url, ...both, "--accept", "public.orders.own");
    expect(accepted.status).toBe(0);
    expect(accepted.stdout).toContain("public.orders.own was judged by a person, because of --accept.");
    const unknown = await proveAt(url, ...both, "--accept", "public.orders.other");
    expect(unknown).toMatchObject({ status: 1, stderr: expect.stringContaining("names nothing that exists") });
    await postgres.run("ALTER POLICY own ON orders USING (true)");
    const mistaken = await proveAt(url, ...both, "--accept", "public.orders.own");
    expect(mistaken).toMatchObject({ status: 1, stdout: expect.stringContaining("(seen_by_both)") });
  });

  it.skipIf(!hasPostgres)(`is not misled by objects before those of PostgreSQL${skipped}`, async () => {
    const url = await withTables(`
      CREATE SCHEMA evil; GRANT USAGE ON SCHEMA evil TO PUBLIC;
      CREATE VIEW evil.pg_policy AS SELECT * FROM pg_catalog.pg_policy WHERE false;
      CREATE VIEW evil.pg_roles AS SELECT * FROM pg_catalog.pg_roles WHERE rolname <> 'backend';
      CREATE FUNCTION evil.has_table_privilege(oid, oid, text) RETURNS boolean LANGUAGE sql RETURN false;
      CREATE FUNCTION evil.same(tid, tid) RETURNS boolean LANGUAGE sql RETURN false;
      CREATE OPERATOR evil.= (FUNCTION = evil.same, LEFTARG = tid, RIGHTARG = tid);
      CREATE FUNCTION evil.same(text, text) RETURNS boolean LANGUAGE sql RETURN false;
      CREATE OPERATOR evil.= (FUNCTION = evil.same, LEFTARG = text, RIGHTARG = text);
      CREATE FUNCTION evil.current_setting(text, boolean) RETURNS text LANGUAGE sql AS 'SELECT ''1''::text';
      GRANT SELECT ON evil.pg_policy, evil.pg_roles TO PUBLIC;
      ALTER ROLE backend SET search_path = evil, pg_catalog, public; ALTER ROLE backend SET quote_all_identifiers = on;
      ALTER POLICY own ON orders USING (true)`);
    const allowed = ["evil.pg_policy", "evil.pg_roles"].flatMap((name) => ["--allow", name]);
    const { stdout } = await proveAt(url, ...CUSTOMERS, ...allowed, "--json");
    const { mistakes } = JSON.parse(stdout);
    expect(mistakes.map(({ code }: { code: string }) => code)).toEqual(["seen_without_setting", "seen_by_both"]);
  });

  it.skipIf(!hasPostgres)(`reads each table of many ways by foreign keys once${skipped}`, async () => {
    const keys = ["a", "b", "c", "d", "e", "f"];
    const tables = Array.from({ length: 6 }, (_, index) => {
      const [name, parent] = [`t${5 - index}`, `t${6 - index}`];
      const columns = keys.map((key) => `${key} int REFERENCES ${parent}`).join(", ");
      const exists = keys.map((key) => `EXISTS (SELECT FROM ${parent} p WHERE p.id = ${name}.${key})`).join(" AND ");
      return `CREATE TABLE ${name} (id int PRIMARY KEY, ${columns}); ALTER TABLE ${name} ENABLE ROW LEVEL SECURITY;
        GRANT SELECT ON ${name} TO dashboard; CREATE POLICY own ON ${name} TO dashboard USING (${exists});`;
    });
    const url = await withTables(`CREATE TABLE t6 (LIKE orders INCLUDING ALL); ALTER TABLE t6 ENABLE ROW LEVEL SECURITY;
      GRANT SELECT ON t6 TO dashboard; CREATE POLICY own ON t6 TO dashboard USING (customer = customer()); ${tables.join("")}`);
    const catalogue = await withDatabase(url, (database) => withRollback(database, () => readCatalogue(database)));
    const forms = new Forms(catalogue, () => false);
    const readings = catalogue.relations
      .filter(({ object }) => object === "public.t0")
      .flatMap((table) => table.readers.map((role) => forms.tableReading(table, role).size));
    expect(readings).toEqual([100]);
  });

  it.skipIf(!hasPostgres)(`finds one shared row among many${skipped}`, async () => {
    const url = await withTables(`
      INSERT INTO orders SELECT n, 2, 7 FROM generate_series(100, 12000) n;
      INSERT INTO orders VALUES (20000, NULL, 7);
      INSERT INTO orders SELECT n, 1, 7 FROM generate_series(20001, 32000) n;
      CREATE FUNCTION mine(bigint) RETURNS boolean STABLE LANGUAGE sql RETURN coalesce($1 = customer(), customer() > 0);
      ALTER POLICY own ON orders USING (mine(customer))`);
    const { stdout } = await proveAt(url, ...CUSTOMERS, "--json");
    const { mistakes, limits } = JSON.parse(stdout);
    expect(limits).toContain("public.orders is large: 10000 rows of each customer were compared.");
    expect(mistakes).toContainEqual(
      expect.objectContaining({ code: "seen_by_both", message: expect.stringContaining("(1 row)") }),
    );
  });

  it.skipIf(!hasPostgres)(`proves two people of one customer, and says so${skipped}`, async () => {
    const url = await withTables(PEOPLE_CORRECT);
    const { status, stdout } = await proveAt(url, ...bothFrom(asOneOfTwo(1), asOneOfTwo(2)));
    expect(status).toBe(0);
    expect(stdout).toMatch(/^Proven: neither person sees a row of the other.* \(--any-environment\)\.$/m);
    expect(stdout).toMatch(/rows of person 1 +rows of person 2\npublic\.orders +1 +1$/m);
  });
});

describe("ug prove on a database whose catalogue was changed", () => {
  const changed = async (sql: string) => {
    await postgres.run(RESET);
    await postgres.run("CREATE DATABASE changed");
    onTestFinished(() => postgres.run("DROP DATABASE changed WITH (FORCE)"));
    const url = (role: string) => postgres.url(role).replace("/postgres?", "/changed?");
    const runThere = (text: string) => withDatabase(url("postgres"), (database) => database.query(text));
    for (const each of [CORRECT, "REVOKE SELECT ON countries, all_countries FROM dashboard", sql]) await runThere(each);
    const run = () =>
      proveAt(url("backend"), "--as", asCustomer(1), "--as", asCustomer(2), "--any-environment", "--json");
    return { runThere, run };
  };
  const objectsIn = (stdout: string): string[] =>
    JSON.parse(stdout).not_judged.map(({ object }: { object: string }) => object);

  it.skipIf(!hasPostgres)(`names a built-in function that runs as its owner${skipped}`, async () => {
    const name = "query_to_xml(text,boolean,boolean,text)";
    const { runThere, run } = await changed(`ALTER FUNCTION pg_catalog.${name} SECURITY DEFINER`);
    const { status, stdout } = await run();
    expect([status, objectsIn(stdout)]).toEqual([4, [name]]);
    await runThere(JSON.parse(stdout).not_judged[0].fix);
    expect(objectsIn((await run()).stdout)).toEqual([name]);
  });

  it.skipIf(!hasPostgres).for([
    [
      "a hidden table that is given to an extension",
      "GRANT SELECT ON pg_catalog.pg_statistic TO dashboard; ALTER EXTENSION plpgsql ADD TABLE pg_catalog.pg_statistic",
      "pg_catalog.pg_statistic",
    ],
    [
      "a hidden function that is given to an extension",
      "GRANT EXECUTE ON FUNCTION pg_read_binary_file(text) TO dashboard; ALTER EXTENSION plpgsql ADD FUNCTION pg_read_binary_file(text)",
      "extension plpgsql",
    ],
    [
      "a replaced function of PostgreSQL's own",
      "CREATE OR REPLACE FUNCTION pg_catalog.upper(text) RETURNS text LANGUAGE sql AS 'SELECT $1'",
      "upper(text)",
    ],
    [
      "a replaced view of PostgreSQL's own",
      "CREATE OR REPLACE VIEW information_schema.enabled_roles AS SELECT a.rolname::information_schema.sql_identifier AS role_name, (SELECT string_agg(note, ',') FROM public.orders) AS notes FROM pg_authid a",
      "information_schema.enabled_roles",
    ],
    [
      "a cast of one's own below Supabase's functions",
      `CREATE FUNCTION lie(text) RETURNS uuid IMMUTABLE LANGUAGE sql RETURN '00000000-0000-0000-0000-000000000009'::uuid; CREATE CAST (text AS uuid) WITH FUNCTION lie(text);
       CREATE SCHEMA auth; GRANT USAGE ON SCHEMA auth TO PUBLIC; CREATE FUNCTION auth.uid() RETURNS uuid LANGUAGE sql STABLE AS $$ select coalesce(nullif(current_setting('request.jwt.claim.sub', true), ''), (nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub'))::uuid $$`,
      "auth.uid()",
    ],
  ] as const)(`names %s${skipped}`, async ([, sql, object]) => {
    const { run } = await changed(sql);
    const { status, stdout } = await run();
    expect([status, objectsIn(stdout)]).toEqual([4, expect.arrayContaining([object])]);
  });

  it.skipIf(!hasPostgres).for([
    ["pg_policy", "policies"],
    ["pg_proc", "functions"],
    ["pg_auth_members", "memberships"],
    ["pg_class", "tables and views"],
  ] as const)(`names what it cannot read of %s${skipped}`, async ([table, object]) => {
    const { run } = await changed(`REVOKE SELECT ON pg_catalog.${table} FROM PUBLIC`);
    const { status, stdout, stderr } = await run();
    expect([status, stderr]).toEqual([4, ""]);
    expect(objectsIn(stdout)).toContain(object);
    expect(stdout).not.toMatch(/\bat \w+.*\.ts|42501"/);
  });
});
