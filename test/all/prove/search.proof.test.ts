/**
 * Plants random rights, policies, functions, views and settings, and compares each "Proven" with what the roles really read. A row has the
 * name of its customer in `mark`. What a customer reads must not change either when all rows of others are gone.
 */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { report, runs } from "../../proof/effort.ts";
import { RESET } from "../../support/node/correct-schemas.ts";
import { hasPostgres, skippedWithoutPostgres } from "../../support/node/postgres.ts";
import { type Engine, pasted, proofOf, startServer } from "../../support/node/prover.ts";
import { foreignIn, type Readable, readEverything, rowsIn } from "../../support/node/readable.ts";

const uuid = (number: number) => `00000000-0000-0000-0000-00000000000${number}`;
/** A number and a text of customers 1 and 2, and of others, whose ids are easily taken for theirs. */
const IDS = [
  ["1", "'a'"],
  ["2", "'b'"],
  ["3", "'A'"],
  ["12", "'a '"],
  ["-1", "'ab'"],
  ["0", "'x'"],
  ["NULL", "NULL"],
] as const;
const ROWS = IDS.map(([n, t], index) => {
  const number = index + 1;
  return `(${number}, ${n}, ${n}, ${t}, ${n === "NULL" ? n : `'${uuid(number)}'`}, ARRAY[${t}]::text[], 'of ${number}', ${number > 2}, ${number})`;
});
const inserted = (names: readonly string[], rows: readonly string[]) =>
  names.map((name) => `INSERT INTO ${name} VALUES ${rows.join(", ")};`).join(" ");
const TABLES = ["docs", "lines", "members", "hidden"];
const table = (name: string) =>
  `CREATE TABLE ${name} (id int PRIMARY KEY, n int, g bigint, t text, u uuid, l text[], mark text, public boolean, doc int); ${inserted([name], ROWS.slice(0, 2))}`;
/** Rows that a proof must hold for, too, although `ug prove` has not read them: of other customers, and one that each column gives to another. */
const LATER = `${inserted(TABLES, ROWS.slice(2))} ${inserted(["docs", "lines"], [`(8, 1, 1, 'b', '${uuid(8)}', '{b}', 'anybody''s', false, 8)`])}`;
const SCHEMA = `
  CREATE ROLE owner; CREATE ROLE dashboard; CREATE ROLE helper; CREATE ROLE stranger; CREATE ROLE backend LOGIN NOINHERIT; GRANT dashboard TO backend;
  DO $$ BEGIN EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database()); END $$;
  CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
  ${TABLES.map(table).join(" ")} ALTER TABLE lines ADD FOREIGN KEY (doc) REFERENCES docs ON DELETE CASCADE;
  CREATE FUNCTION me_n() RETURNS int STABLE LANGUAGE sql RETURN nullif(current_setting('app.n', true), '')::int;
  CREATE FUNCTION me_t() RETURNS text STABLE LANGUAGE sql BEGIN ATOMIC SELECT nullif(current_setting('app.t', true), ''); END;
  CREATE FUNCTION claim(text) RETURNS text STABLE LANGUAGE sql RETURN nullif(current_setting('app.claims', true), '')::jsonb ->> $1;
  CREATE FUNCTION loose(text, text) RETURNS boolean IMMUTABLE LANGUAGE sql RETURN lower($1) = lower($2);
  CREATE OPERATOR === (FUNCTION = loose, LEFTARG = text, RIGHTARG = text);`;

const as = (number: number) => {
  const t = number === 1 ? "a" : "b";
  const claims = JSON.stringify({ n: number, t, u: uuid(number), l: [t], same: "x" });
  const settings = { n: number, t, u: uuid(number), same: "x", zero: 0, claims };
  const sets = Object.entries(settings).map(([name, value]) => `SET LOCAL app.${name} = '${value}'`);
  return `SET LOCAL ROLE dashboard; ${sets.join("; ")}`;
};

/**
 * The texts that may stand for `<name>`, with ` | ` between them and the weight of each before them; without dice, the first. `<name:row>` is
 * one about `row`, which is `@` in it. `;;` separates statements.
 */
const GRAMMAR: Record<string, string> = {
  database: `3 <wild:docs> ;; <tame:lines> ;; <tame:members> ;; <extras> | <tame:docs> ;; <wild:lines> ;; <tame:members> ;; <extras>
    3 <tame:docs> ;; <tame:lines> ;; <tame:members> ;; <extra> ;; <extras>
    2 <tame:docs> ;; <tame:lines> ;; <wild:members> ;; <extras>
    1 <wild:docs> ;; <wild:lines> ;; <wild:members> ;; <extras>`,
  tame: `8 ALTER TABLE @ ENABLE ROW LEVEL SECURITY ;; GRANT SELECT ON @ TO dashboard ;; CREATE POLICY own ON @ FOR SELECT TO dashboard USING (<exact>)
    1 SELECT`,
  exact: `4 @.n = me_n()
    3 @.t = nullif(current_setting('app.t', true), '')
    1 @.u = claim('u')::uuid AND @.public | @.t = current_setting('app.t', true) AND <any>`,
  wild: "1 <enabled> ;; GRANT <rights> ;; CREATE POLICY own ON @ <policy> <more>",
  enabled: `20 ALTER TABLE @ ENABLE ROW LEVEL SECURITY
    1 SELECT`,
  rights: `20 SELECT ON @ TO dashboard
    2 SELECT ON @ TO PUBLIC | SELECT ON @ TO helper | SELECT (id, n, mark) ON @ TO dashboard
    1 SELECT ON @ TO stranger`,
  more: `30 ;;
    4 ;; CREATE POLICY own_too ON @ <policy> | ;; CREATE POLICY bounded ON @ AS RESTRICTIVE <policy>
    4 ;; ALTER POLICY own ON @ USING (true) ;; CREATE POLICY bounded ON @ AS RESTRICTIVE <policy>
    6 ;; ALTER POLICY own ON @ USING (<weak>) ;; CREATE POLICY bounded ON @ AS RESTRICTIVE FOR <command> TO <role> USING (<exact>)`,
  policy: "1 FOR <command> TO <role> USING (<condition>)",
  command: `8 SELECT
    3 ALL
    1 UPDATE`,
  role: `8 dashboard
    4 PUBLIC
    1 helper | stranger | backend`,
  condition: `30 <own>
    6 <weak> | (<own>) AND (<any>)
    10 <form>
    3 (<own>) OR (<own>)
    2 (<own>) OR (<any>) | coalesce(<any>, false) | (<any>) IS TRUE
    1 coalesce(<any>, true) | (<any>) IS NOT FALSE | NOT (<any>) | (SELECT <any>) | CASE WHEN <any> THEN true ELSE false END
    1 CASE WHEN me_n() IS NULL THEN true ELSE <any> END`,
  any: `2 <own> | <form>
    1 <weak>`,
  // What separates the rows of customers 1 and 2, and not those of others.
  weak: `1 @.n = me_n() OR @.n > 2 | @.t = me_t() OR @.public | @.t = me_t() OR @.t IS NULL | @.n IN (me_n(), 3) | @.n % 10 = me_n() | @.n <> me_n()
    1 @.t ~ me_t() | @.t === <t> | @.n = me_n() OR @.t = me_t() | @.t = ANY (ARRAY[me_t(), 'A']) | @.n = ANY (ARRAY[me_n(), 3])`,
  own: `6 @.n = <n> | @.t = <t>
    3 @.u = <u>
    2 <n> = @.n
    1 <t> = @.t | @.g = <n> | @.n::bigint = <n> | @.n % 10 = <n> | @.n <comparison> <n> | @.t <comparison> <t> | @.t === <t> | @.t ~ <t>
    1 @.t COLLATE folded = <t> | @.t::varchar(1) = <t> | @.t::char(2) = <t> | @.u::text = <text:u> | loose(@.t, <t>)`,
  comparison: "1 <> | <= | >= | IS NOT DISTINCT FROM",
  n: `10 (<text:n>)::int
    6 me_n()
    1 (SELECT me_n()) | abs(me_n()) | (<text:n>)::numeric::int | coalesce(me_n(), 0) | claim('n')::bigint`,
  t: `10 <text:t>
    5 me_t()
    1 me_t()::varchar | me_t()::varchar(1) | lower(<text:t>) | left(<text:t>, 1)`,
  u: `10 (<text:u>)::uuid
    1 claim('u')::uuid`,
  text: `12 current_setting('app.@', true) | nullif(current_setting('app.@', true), '')
    4 (nullif(current_setting('app.claims', true), '')::jsonb ->> '@')
    2 (current_setting('app.claims', true)::json ->> '@') | (current_setting('app.claims', true)::jsonb #>> '{@}')
    3 claim('@') | (SELECT current_setting('app.@', true))
    1 current_setting('app.zero', true) | current_setting('app.none', true)
    1 coalesce(nullif(current_setting('app.none', true), ''), current_setting('app.@', true))
    1 coalesce(current_setting('app.zero', true), current_setting('app.@', true)) | coalesce(nullif(current_setting('app.@', true), ''), '0')
    1 (SELECT max(x) FROM (VALUES ('2'), (current_setting('app.@', true))) v (x)) | '1'`,
  form: `2 @.n = ANY (string_to_array(<text:n>, ',')::int[]) | <t> = ANY (@.l) | (current_setting('app.claims', true)::jsonb -> 'l') ? @.t
    2 @.n IN (SELECT m.n FROM members m WHERE <own:m>) | EXISTS (SELECT FROM docs d WHERE d.id = @.doc) | @.doc IN (SELECT id FROM docs)
    1 @.t = ANY (string_to_array(<text:t>, ',')) | @.n <> ALL (string_to_array(<text:n>, ',')::int[]) | <t> <> ANY (@.l)
    1 @.t IN (SELECT jsonb_array_elements_text(current_setting('app.claims', true)::jsonb -> 'l'))
    1 @.t IN (SELECT x FROM jsonb_array_elements_text(current_setting('app.claims', true)::jsonb -> 'l') x) | true | @.public | @.mark IS NOT NULL
    1 me_n() IS NOT NULL | EXISTS (SELECT FROM members m WHERE <link> OR <own:m>) | EXISTS (SELECT FROM members m WHERE <link> AND <condition:m>)
    1 EXISTS (SELECT count(*) FROM members m WHERE m.n = @.n AND <own:m>)
    1 EXISTS (SELECT FROM members m LEFT JOIN hidden h ON h.n = @.n AND <own:m>)
    1 EXISTS (SELECT FROM members m JOIN hidden h ON h.n = m.n WHERE h.n = @.n AND <own:m>)
    1 EXISTS (SELECT FROM members m JOIN members o ON o.n = m.n WHERE o.t = @.t AND <own:m>) | @.n IN (SELECT m.id FROM members m WHERE <own:m>)
    1 @.t NOT IN (SELECT m.t FROM members m WHERE <own:m>) | @.t = ANY (ARRAY(SELECT m.t FROM members m WHERE <own:m>))
    1 @.n = (SELECT m.n FROM members m WHERE <own:m>) | EXISTS (SELECT FROM docs d WHERE d.id = @.id)
    1 EXISTS (SELECT FROM docs d WHERE d.id >= @.doc)
    4 EXISTS (SELECT FROM members m WHERE <link> AND <own:m>)`,
  link: `4 m.n = @.n
    2 m.t = @.t
    1 m.n = m.n | m.n <= @.n | m.id = @.id | m.n = @.n AND m.t = @.t`,
  extras: `4 SELECT
    5 <extra>
    3 <extra> ;; <extra>
    1 <extra> ;; <extra> ;; <extra>`,
  extra: `5 <function> | <view>
    1 GRANT helper TO dashboard | GRANT helper TO backend | GRANT helper TO dashboard ;; GRANT stranger TO helper
    1 ALTER ROLE dashboard NOINHERIT ;; GRANT helper TO dashboard | ALTER ROLE backend INHERIT
    1 GRANT owner TO helper ;; GRANT helper TO backend ;; ALTER TABLE docs OWNER TO owner | ALTER ROLE backend SET app.n = '1'
    1 ALTER ROLE dashboard SET app.n = '1' | ALTER ROLE ALL SET app.t = 'a' | ALTER ROLE backend SET row_security = off
    1 GRANT SELECT (mark) ON hidden TO PUBLIC | GRANT SELECT ON hidden TO helper ;; GRANT helper TO dashboard
    1 CREATE TABLE child () INHERITS (docs) ;; INSERT INTO child SELECT * FROM lines ;; GRANT SELECT ON child TO helper ;; GRANT helper TO backend
    1 CREATE FUNCTION step(text, text) RETURNS text LANGUAGE sql SECURITY DEFINER RETURN (SELECT string_agg(mark, ',') FROM public.docs) ;; CREATE AGGREGATE f(text) (SFUNC = step, STYPE = text)
    1 CREATE OR REPLACE FUNCTION me_n() RETURNS int STABLE LANGUAGE sql AS $$ SELECT coalesce(nullif(current_setting('app.n', true), ''), '3')::int $$
    1 CREATE OR REPLACE FUNCTION me_t() RETURNS text STABLE LANGUAGE sql RETURN lower(current_setting('app.t', true))
    1 CREATE OR REPLACE FUNCTION claim(text) RETURNS text STABLE LANGUAGE plpgsql AS $$ BEGIN RETURN nullif(current_setting('app.claims', true), '')::jsonb ->> $1; END $$
    1 ALTER FUNCTION me_n() SET app.n = '2' | ALTER TABLE lines DISABLE TRIGGER ALL ;; UPDATE lines SET doc = 1
    1 CREATE SCHEMA extra ;; CREATE TABLE extra.copies AS SELECT * FROM docs ;; GRANT SELECT ON extra.copies TO dashboard ;; CREATE VIEW copied WITH (security_invoker) AS SELECT mark FROM extra.copies ;; GRANT SELECT ON copied TO dashboard
    1 CREATE TABLE parts (n int, mark text) PARTITION BY LIST (n) ;; CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1) ;; CREATE TABLE parts_2 PARTITION OF parts DEFAULT ;; INSERT INTO parts SELECT n, mark FROM docs ;; ALTER TABLE parts ENABLE ROW LEVEL SECURITY ;; CREATE POLICY own ON parts USING (<condition:parts>) ;; GRANT SELECT ON parts TO dashboard ;; GRANT SELECT ON parts_2 TO helper`,
  function: `4 CREATE FUNCTION f() RETURNS SETOF text STABLE LANGUAGE sql <how> BEGIN ATOMIC <query>; END
    1 CREATE FUNCTION f() RETURNS SETOF text STABLE LANGUAGE sql <how> AS $f$ <query> $f$
    1 CREATE FUNCTION f() RETURNS SETOF text STABLE LANGUAGE plpgsql <how> AS $f$ BEGIN RETURN QUERY <query>; END $f$
    2 CREATE FUNCTION f(int) RETURNS SETOF text STABLE LANGUAGE sql <how> BEGIN ATOMIC SELECT z.mark FROM public.docs z WHERE z.n = $1 AND <condition:z>; END
    2 CREATE FUNCTION f(int) RETURNS boolean STABLE LANGUAGE sql <how> RETURN EXISTS (SELECT FROM public.docs z WHERE z.n = $1 AND <condition:z>)
    2 CREATE FUNCTION f(text) RETURNS text STABLE LANGUAGE sql <how> RETURN (SELECT z.mark FROM public.members z WHERE z.t = $1 AND <own:z>)`,
  how: `2 PARALLEL SAFE | SECURITY DEFINER SET search_path = ''
    4 SECURITY DEFINER
    1 SET app.n = '2' | LEAKPROOF`,
  view: `3 CREATE VIEW v <options> AS <query> ;; GRANT SELECT ON v TO dashboard
    1 CREATE MATERIALIZED VIEW v AS <query> ;; GRANT SELECT ON v TO dashboard
    1 CREATE VIEW inner_v AS <query> ;; CREATE VIEW v <options> AS SELECT * FROM inner_v ;; GRANT SELECT ON v TO dashboard
    1 CREATE VIEW inner_v WITH (security_invoker) AS <query> ;; CREATE VIEW v <options> AS SELECT * FROM inner_v ;; GRANT SELECT ON v, inner_v TO dashboard`,
  options: `4 WITH (security_invoker = true)
    1 WITH (security_barrier) | WITH (security_invoker = false)`,
  query: `2 SELECT x.mark FROM public.<name> x WHERE <own:x> | SELECT x.mark FROM public.<name> x | SELECT x.mark FROM public.<name> x WHERE <condition:x>
    1 SELECT count(*)::text FROM public.<name> x WHERE <own:x> | SELECT y.mark FROM public.members x JOIN public.<name> y ON y.n = x.n WHERE <own:x>
    1 SELECT y.mark FROM public.members x JOIN public.<name> y ON y.n >= x.n WHERE <own:x>
    1 SELECT x.mark FROM public.members x WHERE <own:x> AND EXISTS (SELECT FROM public.<name> y WHERE y.t = x.t)
    1 SELECT x.mark FROM public.<name> x WHERE <own:x> ORDER BY x.id DESC LIMIT 1 | SELECT x.t FROM public.<name> x WHERE <own:x> AND x.public`,
  name: `4 members
    3 docs
    1 lines | hidden`,
};
const CHOICES = Object.fromEntries(
  Object.entries(GRAMMAR).map(([name, text]) => [
    name,
    text.split("\n").flatMap((line) => {
      const [, weight, choices = ""] = /^\s*(\d+) ?(.*)$/.exec(line) ?? [];
      return choices.split(" | ").flatMap((choice) => Array<string>(Number(weight)).fill(choice));
    }),
  ]),
);

/** The statements that some dice choose. */
function statementsOf(dice: readonly number[]): string[] {
  const left = dice.values();
  const expand = (name: string, row: string): string => {
    const choices = CHOICES[name] ?? [];
    const choice = choices[(left.next().value ?? 0) % choices.length] ?? "";
    return choice
      .replaceAll("@", row)
      .replaceAll(/<([a-z]+)(?::(\w+))?>/g, (_, inner: string, other: string | undefined) =>
        expand(inner, other ?? row),
      );
  };
  return expand("database", "")
    .split(";;")
    .map((each) => each.trim())
    .filter((each) => each !== "" && each !== "SELECT");
}

describe("a random search for a wrong proof", () => {
  let engine: Engine;
  beforeAll(async () => {
    if (hasPostgres) engine = await startServer();
  });
  afterAll(() => engine?.stop());

  const read = (sql: string) => engine.connect((database) => readEverything(database, sql));
  /** What is not the same, without what PostgreSQL has refused: an error may tell that a row exists, but not what it has. */
  const differences = (before: Readable, after: Readable) =>
    before.flatMap(({ name, rows }, index) => {
      const now = after[index]?.rows;
      return rows && now && rows.join() !== now.join() ? [`${name}: ${rows} → ${now}`] : [];
    });
  /** What customers 1 and 2 and nobody read, and must not. */
  const leaks = async () => {
    await engine.run(LATER);
    const [one, two] = [await read(as(1)), await read(as(2))];
    const found = [...foreignIn(one, "1"), ...foreignIn(two, "2"), ...foreignIn(await read(""), "nobody")];
    const seen = new Set(rowsIn(two));
    await engine.run(
      ["lines", "docs", "members", "hidden"]
        .map((name) => `DELETE FROM ${name} WHERE mark LIKE 'of %' AND mark <> 'of 1'`)
        .join("; "),
    );
    return [...found, ...rowsIn(one).filter((row) => seen.has(row)), ...differences(one, await read(as(1)))].slice(
      0,
      5,
    );
  };

  it.skipIf(!hasPostgres)(`finds none${skippedWithoutPostgres}`, async () => {
    const tally = { databases: 0, statements: 0, refused: 0, proven: 0, "proven after fixes": 0 };
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: 9999 }), { minLength: 200, maxLength: 200 }), async (dice) => {
        const statements = statementsOf(dice);
        for (const each of [RESET, SCHEMA]) await engine.run(each);
        for (const each of statements) await engine.run(each).catch(() => (tally.refused += 1));
        tally.databases += 1;
        tally.statements += statements.length;
        const prove = () => proofOf(engine, as, { accept: [] });
        const first = await prove();
        // The fixes of all would take most of the time.
        const { proof } = tally.databases % 4 === 0 ? await pasted(engine, first, prove, 2) : { proof: first };
        if (proof?.outcome !== "proven") return;
        const when = first === proof ? "proven" : "proven after fixes";
        tally[when] += 1;
        expect(await leaks(), `${when}: ${statements.join(";\n")}`).toEqual([]);
      }),
      { ...runs(24, 1_000_000, 0.2), endOnFailure: true },
    );
    report("a search for wrong proofs", tally);
    expect(tally.proven).toBeGreaterThan(tally.databases / 8);
    expect(tally.refused).toBeLessThan(tally.statements / 8);
  });
});
