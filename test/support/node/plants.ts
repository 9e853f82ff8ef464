/** Mistakes in a correct set-up, or in a part of one that the prover does not know. It must name each of them. */
import { asCustomer, SECRET } from "./correct-schemas.ts";

export type Plant = {
  name: string;
  sql: string;
  /** What the prover must name. Rows of a policy's table that were seen name the policy, too. */
  object: string;
  /** Of a mistake. Without one, the object is not judged. */
  code?: string;
  as?: (number: number) => string;
  /** Whether policies need not name an environment; true without it. */
  anyEnvironment?: false;
  /** Whether it remains after all fixes were pasted: the mistake is elsewhere, or the fix has no column to compare. */
  remains?: true;
};

/** SQL by `what it is → the object`, with the code of a mistake in brackets; `→!` if it remains. */
const plants = (sqlOf: Record<string, string>, rest: Partial<Plant> = {}): Plant[] =>
  Object.entries(sqlOf).map(([key, sql]) => {
    const [, name = "", remains, object = "", code] = /^(.*) →(!?) (.*?)(?: \[(\w+)\])?$/s.exec(key) ?? [];
    return { name, sql, object, ...(code && { code }), ...(remains && { remains: true as const }), ...rest };
  });

const OWN = "public.orders.own";
const SETTING = "current_setting('app.customer', true)";
const PERSON = "current_setting('app.person', true)";
const using = (condition: string) => `ALTER POLICY own ON orders USING (${condition})`;
/** A table with a policy. */
const table = (name: string, columns: string, [rows, condition]: readonly [string, string]) => `
  CREATE TABLE ${name} (${columns}); ${rows && `INSERT INTO ${name} VALUES ${rows};`} ALTER TABLE ${name} OWNER TO owner; GRANT SELECT ON ${name} TO dashboard;
  ALTER TABLE ${name} ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON ${name} FOR SELECT TO dashboard USING (${condition});`;
const notes = (condition: string, type = "text", name = "notes") =>
  table(name, `id int PRIMARY KEY, customer ${type}, note text`, [
    `(1, '1', '${SECRET} of 1'), (2, '2', '${SECRET} of 2')`,
    condition,
  ]);
const FOLDED = "CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);";

const ROLES = plants({
  "a login with BYPASSRLS → backend [bypassrls]": "ALTER ROLE backend BYPASSRLS",
  "queries of a role with BYPASSRLS → dashboard [bypassrls]": "ALTER ROLE dashboard BYPASSRLS",
  "a superuser → backend [superuser]": "ALTER ROLE backend SUPERUSER",
  "a login that can create roles → backend": "ALTER ROLE backend CREATEROLE",
  "a login that can create databases → backend": "ALTER ROLE backend CREATEDB",
  "a login that can replicate → backend": "ALTER ROLE backend REPLICATION",
  "a predefined role → dashboard": "GRANT pg_read_server_files TO dashboard",
  "a role that runs programs → backend": "GRANT pg_execute_server_program TO backend",
  "a predefined role, by way of another → readers":
    "CREATE ROLE readers; GRANT pg_read_all_data TO readers; GRANT readers TO dashboard",
  "a login that owns a table → backend": "ALTER TABLE orders OWNER TO backend",
  "queries of the owner of a table → dashboard": "ALTER TABLE orders OWNER TO dashboard",
  "queries that own a policy's function → dashboard": "ALTER FUNCTION customer() OWNER TO dashboard",
  "queries that own a schema → dashboard": "CREATE SCHEMA shop AUTHORIZATION dashboard",
  "queries that own a type → dashboard": "CREATE TYPE place AS ENUM ('a'); ALTER TYPE place OWNER TO dashboard",
  "a login that can become the owner → owner": "GRANT owner TO backend",
  "a login that can become a role with a policy of its own → public.orders [seen_without_setting]":
    "GRANT importer TO backend; GRANT SELECT ON orders TO importer",
  "a default value of the setting → backend [default_setting]": "ALTER ROLE backend SET app.customer = '3'",
  "a default value of the setting in the database → the database [default_setting]":
    "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET app.customer = 1', current_database()); END $$",
  "a default value of the setting for all roles → the database": "ALTER ROLE ALL SET app.customer = '2'",
}).concat(
  plants(
    {
      "a default value of a setting that is named as a word of SQL → backend [default_setting]": `ALTER ROLE backend SET "app"."user" = '3';
        CREATE OR REPLACE FUNCTION customer() RETURNS bigint STABLE LANGUAGE sql RETURN nullif(current_setting('app.user', true), '')::bigint`,
    },
    { as: (number) => `SET LOCAL ROLE dashboard; SELECT set_config('app.user', '${number}', true)` },
  ),
);

const LARGE = "DO $$ DECLARE o oid := lo_from_bytea(0, 'secret'); BEGIN EXECUTE format(";
const RIGHTS = plants({
  "a schema in which queries may create → schema public": "GRANT CREATE ON SCHEMA public TO PUBLIC",
  "a database in which queries may make schemas → database postgres":
    "DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO dashboard', current_database()); END $$",
  "temporary tables → database postgres":
    "DO $$ BEGIN EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO dashboard', current_database()); END $$",
  "rows that queries write → INSERT, UPDATE on public.orders": "GRANT INSERT, UPDATE ON orders TO dashboard",
  "a column that everybody may write → UPDATE on public.orders": "GRANT UPDATE (note) ON orders TO PUBLIC",
  "a right to TRUNCATE → TRUNCATE on public.orders": "GRANT TRUNCATE ON orders TO dashboard",
  "a sequence that counts all rows → public.numbers": "CREATE SEQUENCE numbers; GRANT SELECT ON numbers TO dashboard",
  "a key whose deleted rows go to another customer's row → DELETE on public.orders": `GRANT DELETE ON orders TO dashboard; ${table("lines", "id int PRIMARY KEY, order_id int DEFAULT 3 REFERENCES orders ON DELETE SET DEFAULT", ["(1, 1), (2, 3)", "EXISTS (SELECT FROM orders o WHERE o.id = order_id AND o.customer = customer())"])}`,
  "messages that are written for another setting than the one by which they are read → INSERT on public.notes": `${notes("customer = customer()::text")} GRANT INSERT ON notes TO dashboard; CREATE POLICY sent ON notes FOR INSERT TO dashboard WITH CHECK (customer = current_setting('app.partner', true))`,
  "a function that reads files → pg_catalog.pg_read_binary_file(text)":
    "GRANT EXECUTE ON FUNCTION pg_read_binary_file(text) TO dashboard",
  "a function that lists files, for everybody → pg_catalog.pg_ls_dir(text)":
    "GRANT EXECUTE ON FUNCTION pg_ls_dir(text) TO PUBLIC",
  "a function that writes files, by way of a role → pg_catalog.lo_export(oid, text)":
    "CREATE ROLE helpers; GRANT helpers TO dashboard; GRANT EXECUTE ON FUNCTION lo_export(oid, text) TO helpers",
  "dblink → extension dblink": "CREATE EXTENSION dblink",
  "an extension's function that the extension hides → extension pgstattuple":
    "CREATE EXTENSION pgstattuple; GRANT EXECUTE ON FUNCTION pgstattuple(text) TO dashboard",
  "a foreign server → foreign server self": `CREATE EXTENSION postgres_fdw; CREATE SERVER self FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host 'localhost');
      CREATE USER MAPPING FOR PUBLIC SERVER self OPTIONS (user 'postgres'); GRANT USAGE ON FOREIGN SERVER self TO dashboard`,
  "a foreign data wrapper for files → foreign data wrapper file_fdw":
    "CREATE EXTENSION file_fdw; GRANT USAGE ON FOREIGN DATA WRAPPER file_fdw TO PUBLIC",
  "a foreign table → public.remote_orders": `CREATE FOREIGN DATA WRAPPER elsewhere; CREATE SERVER other FOREIGN DATA WRAPPER elsewhere;
      CREATE FOREIGN TABLE remote_orders (id int) SERVER other; GRANT SELECT ON remote_orders TO dashboard`,
  "a parameter that turns triggers off → parameter session_replication_role":
    "GRANT SET ON PARAMETER session_replication_role TO dashboard",
  "hashes of passwords → pg_catalog.pg_authid": "GRANT SELECT (rolname, rolpassword) ON pg_authid TO dashboard",
  "samples of all rows → pg_catalog.pg_statistic": "GRANT SELECT ON pg_catalog.pg_statistic TO dashboard",
  "large objects for everybody → large object": `${LARGE}'GRANT SELECT ON LARGE OBJECT %s TO PUBLIC', o); END $$`,
  "large objects that queries own → dashboard": `${LARGE}'ALTER LARGE OBJECT %s OWNER TO dashboard', o); END $$`,
});

const TABLES = plants({
  "a table without row-level security → public.orders [rls_disabled]": "ALTER TABLE orders DISABLE ROW LEVEL SECURITY",
  'a table in another schema, for everybody → archive."Old Orders" [rls_disabled]': `CREATE SCHEMA archive; GRANT USAGE ON SCHEMA archive TO PUBLIC; CREATE TABLE archive."Old Orders" AS SELECT * FROM orders; GRANT SELECT ON archive."Old Orders" TO PUBLIC`,
  "policies on a table whose row-level security is off → public.notes [rls_disabled]": `${notes("customer = customer()::text")} ALTER TABLE notes DISABLE ROW LEVEL SECURITY`,
  "a table that an extension has, and somebody has granted → public.log [rls_disabled]":
    "CREATE EXTENSION pg_trgm; CREATE TABLE log AS SELECT * FROM orders; ALTER EXTENSION pg_trgm ADD TABLE log; GRANT SELECT ON log TO dashboard",
  "one column that everybody may read → public.log [rls_disabled]":
    "CREATE TABLE log AS SELECT * FROM orders; GRANT SELECT (note) ON log TO PUBLIC",
  "a partition that can be read directly → public.visits_2 [partition_open]": `CREATE TABLE visits (customer bigint, note text) PARTITION BY LIST (customer); CREATE TABLE visits_2 PARTITION OF visits FOR VALUES IN (2);
      CREATE TABLE visits_1 PARTITION OF visits DEFAULT; INSERT INTO visits VALUES (1, 'of 1'), (2, 'of 2'); ALTER TABLE visits ENABLE ROW LEVEL SECURITY;
      CREATE POLICY own ON visits FOR SELECT TO dashboard USING (customer = customer()); GRANT SELECT ON visits, visits_2 TO dashboard`,
  "a child that can be read directly → public.old_orders [partition_open]":
    "CREATE TABLE old_orders () INHERITS (orders); GRANT SELECT ON old_orders TO dashboard",
  'a table whose name has what looks like a comment → public."x -- \ny" [rls_disabled]': `CREATE TABLE "x -- \ny" AS SELECT * FROM orders; GRANT SELECT ON "x -- \ny" TO dashboard`,
  "a view that runs as its owner → public.own_orders":
    "ALTER VIEW own_orders RESET (security_invoker); ALTER VIEW own_orders OWNER TO postgres",
  "a view of PostgreSQL's own tables → public.samples":
    "CREATE VIEW samples AS SELECT c.code, s.stavalues1::text FROM countries c, pg_statistic s; GRANT SELECT ON samples TO dashboard",
  "a view that sets the customer → public.all_orders":
    "CREATE VIEW all_orders WITH (security_invoker) AS SELECT o.* FROM (SELECT set_config('app.customer', '2', true) OFFSET 0) s, orders o; GRANT SELECT ON all_orders TO dashboard",
  "a materialized view → public.totals":
    "CREATE MATERIALIZED VIEW totals AS SELECT note, count(*) FROM orders GROUP BY 1; GRANT SELECT ON totals TO dashboard",
  ...Object.fromEntries(
    ["bills [rls_disabled]", "sums", "bodies [rls_disabled]"].map((found) => [
      `a schema that only views and functions name → hidden.${found}`,
      `CREATE SCHEMA hidden; CREATE TABLE hidden.bills AS SELECT * FROM orders; CREATE MATERIALIZED VIEW hidden.sums AS SELECT * FROM orders;
        CREATE TABLE hidden.bodies AS SELECT * FROM orders; GRANT SELECT ON hidden.${found.replace(/ .*/, "")} TO dashboard; CREATE VIEW bills WITH (security_invoker = true) AS SELECT * FROM hidden.bills;
        CREATE VIEW sums WITH (security_invoker = true) AS SELECT * FROM hidden.sums; GRANT SELECT ON bills, sums TO dashboard;
        CREATE FUNCTION bodies() RETURNS SETOF text STABLE LANGUAGE sql BEGIN ATOMIC SELECT note FROM hidden.bodies; END`,
    ]),
  ),
});

/** A function for everybody. */
const routine = (signature: string, rest: string) => `CREATE FUNCTION ${signature} ${rest}`;
const DEFINER = "LANGUAGE sql SECURITY DEFINER";
const HIDDEN = "CREATE SCHEMA hidden; CREATE FUNCTION hidden.";
/** Functions that run as their owner, and tell of other rows by their target or their condition. */
const helper = (target: string, condition = "true") => `
  CREATE TABLE members (person text, customer bigint); INSERT INTO members VALUES ('p1', 1), ('p2', 2);
  CREATE FUNCTION note_of(int) RETURNS text STABLE LANGUAGE sql RETURN (SELECT note FROM public.orders WHERE id = $1);
  CREATE FUNCTION has_note(int) RETURNS boolean STABLE LANGUAGE sql RETURN EXISTS (SELECT FROM public.orders WHERE id = $1);
  CREATE FUNCTION helper(int) RETURNS SETOF text STABLE ${DEFINER} SET search_path = pg_catalog, pg_temp
  BEGIN ATOMIC SELECT ${target} FROM public.members m WHERE m.person = ${PERSON} AND ${condition}; END`;
const HELPERS: Record<string, string> = {
  "another table": helper("(SELECT o.note FROM public.orders o WHERE o.id = $1)"),
  "a call": helper("public.note_of($1)"),
  "a condition": helper("m.person", "EXISTS (SELECT FROM public.orders o WHERE o.id = $1)"),
  "a negated condition": helper("m.person", "NOT EXISTS (SELECT FROM public.orders o WHERE o.id = $1)"),
  "a question": helper("m.person", "public.has_note($1)"),
  "a CASE": helper(
    "m.person",
    "CASE WHEN (SELECT o.store FROM public.orders o WHERE o.id = $1) = 7 THEN true ELSE false END",
  ),
  "a text of SQL": helper(
    "m.person",
    "query_to_xml('SELECT note FROM public.orders', true, true, '')::text LIKE '%x%'",
  ),
};
const prefixed = (sqlOf: Record<string, string>, key: (name: string) => string, sql = (text: string) => text) =>
  Object.fromEntries(Object.entries(sqlOf).map(([name, text]) => [key(name), sql(text)]));
const FUNCTIONS = plants({
  "a function that runs as its owner → public.everything()": routine(
    "everything() RETURNS SETOF orders",
    `${DEFINER} AS 'SELECT * FROM orders'`,
  ),
  "a procedure of a definer in another schema → app.sweep()": `CREATE SCHEMA app; GRANT USAGE ON SCHEMA app TO dashboard; CREATE PROCEDURE app.sweep() ${DEFINER} AS 'DELETE FROM public.orders'`,
  "a function marked LEAKPROOF → public.peek(text)": routine(
    "peek(text) RETURNS boolean",
    "LANGUAGE plpgsql LEAKPROOF AS 'BEGIN RAISE NOTICE ''%'', $1; RETURN true; END'",
  ),
  "a function with a customer of its own → public.best()": routine(
    "best() RETURNS SETOF text",
    "STABLE LANGUAGE sql SET app.customer = '2' AS 'SELECT note FROM public.orders'",
  ),
  "a function that sets the customer → public.notes_of(integer)": routine(
    "notes_of(int) RETURNS SETOF text",
    "LANGUAGE plpgsql AS 'BEGIN PERFORM set_config(''app.customer'', $1::text, true); RETURN QUERY SELECT note FROM public.orders; END'",
  ),
  "a function that sets the customer, in a body that is parsed → public.become(text)": routine(
    "become(text) RETURNS text",
    "LANGUAGE sql RETURN set_config('app.customer', $1, true)",
  ),
  "a text with types that a call chooses →! public.pick(anyelement)": routine(
    "pick(anyelement) RETURNS anyelement",
    "LANGUAGE sql AS 'SELECT $1'",
  ),
  "a text with an escape →! public.phrase()": routine(
    "phrase() RETURNS text",
    "LANGUAGE sql AS $$SELECT E'it\\'s -- x'$$",
  ),
  "a value that PL/pgSQL casts → public.part(json)": routine(
    "part(json) RETURNS int",
    "LANGUAGE plpgsql AS 'BEGIN RETURN $1 ->> ''a''; END'",
  ),
  "a text that a login reads with another path →! public.mine()": `ALTER ROLE backend SET search_path = shop, public; ${routine("mine() RETURNS SETOF int", "LANGUAGE sql AS 'SELECT id FROM orders'")}`,
  "another name for a function that reads files → public.asset(text)": routine(
    "asset(text) RETURNS bytea",
    "LANGUAGE internal STRICT AS 'pg_read_binary_file_all'",
  ),
  "an aggregate over a definer's function → hidden.step(text,text)": `${HIDDEN}step(text, text) RETURNS text ${DEFINER} AS 'SELECT string_agg(note, $2) FROM public.orders';
      REVOKE EXECUTE ON FUNCTION hidden.step FROM PUBLIC; CREATE AGGREGATE everything(text) (SFUNC = hidden.step, STYPE = text)`,
  "the final function of an aggregate → hidden.done(bigint)": `${HIDDEN}done(bigint) RETURNS bigint ${DEFINER} AS 'SELECT sum(customer)::bigint FROM public.orders';
      REVOKE EXECUTE ON FUNCTION hidden.done FROM PUBLIC; CREATE AGGREGATE total(bigint) (SFUNC = int8pl, STYPE = bigint, FINALFUNC = hidden.done)`,
  "an operator over a definer's function → hidden.note(integer,integer)": `${HIDDEN}note(int, int) RETURNS text ${DEFINER} AS 'SELECT note FROM public.orders WHERE id = $1'; CREATE OPERATOR @@@ (FUNCTION = hidden.note, LEFTARG = int, RIGHTARG = int)`,
  "a cast over a definer's function → hidden.note(public.place)": `CREATE TYPE place AS (id int); ${HIDDEN}note(place) RETURNS text ${DEFINER} AS 'SELECT note FROM public.orders WHERE id = $1.id';
      CREATE CAST (place AS text) WITH FUNCTION hidden.note(place)`,
  "an extension's function in a hidden schema, which a function calls → extension dblink": `CREATE SCHEMA hidden; CREATE EXTENSION dblink SCHEMA hidden;
      CREATE FUNCTION remote(text) RETURNS SETOF text LANGUAGE sql BEGIN ATOMIC SELECT x FROM hidden.dblink('dbname=postgres', $1) AS t (x text); END`,
  ...prefixed(HELPERS, (name) => `a helper that runs as its owner, with ${name} → public.helper(integer)`),
}).map((plant) => ({ ...plant, as: (number: number) => `${asCustomer(number)}; SET LOCAL app.person = 'p${number}'` }));

/** Policies of `orders` that bind no row to its customer. */
const CONDITIONS: Record<string, string> = {
  true: "true",
  "an alternative that asks nobody": "customer = customer() OR public",
  "an alternative by another setting": "customer = customer() OR current_setting('app.admin', true) = 'on'",
  "no column": "customer() IS NOT NULL",
  prefixes: "customer::text LIKE customer()::text || '%'",
  "an order": "customer <= customer()",
  "a remainder": "customer % 1000 = customer() % 1000",
  "rows of nobody": "customer IS NOT DISTINCT FROM customer()",
  "a subquery that asks nothing of the row": "EXISTS (SELECT FROM countries WHERE customer() IS NOT NULL)",
  "a value that is cut": `customer = nullif(${SETTING}, '')::numeric::bigint`,
  "a floating number": `customer = nullif(${SETTING}, '')::float8`,
  "a number in JSON": `customer = (${SETTING}::jsonb)::bigint`,
  "IS NULL OR": `nullif(${SETTING}, '') IS NULL OR customer = customer()`,
  "an empty setting": `${SETTING} = '' OR customer = customer()`,
  "a default": "customer = coalesce(customer(), 3)",
  "a default of the comparison": "coalesce(customer = customer(), true)",
  "a CASE": "CASE WHEN customer() IS NULL THEN true ELSE customer = customer() END",
  "a CASE with a number": `customer = CASE WHEN nullif(${SETTING}, '') IS NULL THEN 3 ELSE ${SETTING}::bigint END`,
  concat: `customer = concat('0', ${SETTING})::bigint`,
  "a concatenation": `customer = ('0' || nullif(${SETTING}, ''))::bigint`,
  format: `customer::text = format('%s', ${SETTING})`,
  "IS NOT FALSE": "(customer = customer()) IS NOT FALSE",
  "IS NOT TRUE": "(customer <> customer()) IS NOT TRUE",
  NOT: "NOT (customer <> customer()) OR customer() IS NULL",
  num_nulls: "customer = customer() OR num_nulls(customer()) = 1",
  "a list with a constant": "customer IN (customer(), 3)",
  "an array with a constant": "customer = ANY (ARRAY[customer(), 3])",
  "ALL of a list": `customer <> ALL (string_to_array(${SETTING}, ',')::bigint[]) OR customer = customer()`,
  "an aggregate": "EXISTS (SELECT count(*) FROM countries WHERE orders.customer = customer())",
  "an aggregate without a table": "EXISTS (SELECT count(*) WHERE orders.customer = customer())",
  "an aggregate of a value":
    "(SELECT coalesce(bool_and(true), true) FROM countries WHERE orders.customer = customer())",
  "an outer join": "EXISTS (SELECT FROM countries LEFT JOIN (VALUES (1)) v (x) ON orders.customer = customer())",
  "a UNION": "customer IN (SELECT customer() UNION SELECT 3)",
  "a setting that it sets itself": "customer = customer() AND set_config('app.customer', '1', true) = '1'",
};
/** The same, and afterwards no row is left. */
const EMPTY: Record<string, string> = {
  "the rows of others": "customer <> customer() AND customer < 3",
  greatest: "customer = greatest(customer(), 3)",
  "a subquery with a default": "customer = (SELECT max(x) FROM (VALUES (3), (customer())) v (x))",
  "a setting of PostgreSQL": "customer = nullif(current_setting('application_name'), '')::bigint",
};
/** Policies of a table of texts. */
const TEXTS: Record<string, string> = {
  lower: `lower(customer) = lower(${SETTING})`,
  replace: `replace(customer, '-', '') = ${SETTING}`,
  "a regular expression": `customer ~ ${SETTING}`,
  "a cast that cuts": `customer::varchar(3) = ${SETTING}`,
  "a setting that is cut": `customer = ${SETTING}::varchar(1)`,
  "texts that are compared as numbers": "customer::bigint = customer()",
  "a list of texts": `customer = ANY (string_to_array(${SETTING}, ','))`,
  "an overlap of arrays": `ARRAY[customer] && ARRAY[${SETTING}, 'x']`,
  starts_with: `starts_with(customer, ${SETTING})`,
  strpos: `strpos(${SETTING}, customer) > 0`,
  "a hash": `hashtext(customer) = hashtext(${SETTING})`,
};
/** Functions of a policy. */
const BODIES: Record<string, string> = {
  "OR true": "RETURN $1 = customer() OR true",
  "OR of another column": "RETURN $1 = customer() OR current_setting('app.admin', true) = 'on'",
  "a list": "RETURN $1 IN (customer(), 3)",
  "OR in a text": "AS 'SELECT $1 = public.customer() OR $1 = 3'",
  "a UNION": "AS 'SELECT $1 = public.customer() UNION SELECT true ORDER BY 1 DESC LIMIT 1'",
  "a volatile call": "AS 'SELECT $1 = public.customer() OR random() < 0.5'",
};
const mine = (body: string) =>
  `CREATE FUNCTION mine(bigint) RETURNS boolean STABLE LANGUAGE sql ${body}; ${using("mine(customer)")}`;
const POLICIES = [
  ...plants({
    ...prefixed(CONDITIONS, (name) => `a policy with ${name} → ${OWN}`, using),
    ...prefixed(
      TEXTS,
      (name) => `a policy of texts with ${name} → public.notes.own`,
      (text) => notes(text),
    ),
    ...prefixed(BODIES, (name) => `a policy's function with ${name} → ${OWN}`, mine),
    "a second policy, for everybody and all rows → public.orders.all_rows":
      "CREATE POLICY all_rows ON orders USING (true)",
    "a second policy for another setting → public.orders.store":
      "CREATE POLICY store ON orders FOR SELECT TO dashboard USING (store = nullif(current_setting('app.store', true), '')::int)",
    "a second policy for another column → public.orders": `CREATE POLICY store ON orders FOR SELECT TO dashboard USING (store::text = ${SETTING})`,
    "a policy of a role whose rights queries inherit → public.orders.help":
      "CREATE ROLE support; GRANT support TO dashboard; CREATE POLICY help ON orders FOR SELECT TO support USING (true)",
    "a restrictive policy for another role → public.orders.own": `${using("true")}; CREATE POLICY own_too ON orders AS RESTRICTIVE TO importer USING (customer = customer())`,
    "a restrictive policy that a missing setting passes → public.orders.own": `${using("true")}; CREATE POLICY own_too ON orders AS RESTRICTIVE TO dashboard USING (customer() IS NULL OR customer = customer())`,
    "a restrictive policy for writing alone → public.orders.own": `${using("true")}; CREATE POLICY own_too ON orders AS RESTRICTIVE FOR UPDATE TO dashboard USING (customer = customer())`,
    "rows that both customers see → public.orders [seen_by_both]": `INSERT INTO orders VALUES (9, NULL, 7, NULL); ${using("coalesce(customer = customer(), customer() > 0)")}`,
    "a function in PL/pgSQL with a default → public.customer()": `CREATE OR REPLACE FUNCTION customer() RETURNS bigint STABLE LANGUAGE plpgsql AS $$ BEGIN RETURN coalesce(nullif(${SETTING}, ''), '4')::bigint; END $$`,
    "a text that is compared as citext → public.notes.own": `CREATE EXTENSION citext; ${notes(`customer::citext = ${SETTING}::citext`)}`,
    "a collation → public.notes.own": `${FOLDED} ${notes(`customer = ${SETTING} COLLATE folded`)}`,
    "a domain with a collation, which a function returns → public.notes.own": `${FOLDED} CREATE DOMAIN id AS text COLLATE folded; CREATE FUNCTION own_id() RETURNS id STABLE LANGUAGE sql RETURN ${SETTING}; ${notes("customer = own_id()")}`,
    "a domain that cuts → public.notes.own": `CREATE DOMAIN short AS varchar(1); ${notes(`customer = ${SETTING}::short`)}`,
    "a list of an enum whose values have commas →! public.notes.own": `CREATE TYPE place AS ENUM ('1', '2', '1,2'); ${notes(`customer = ANY (string_to_array(${SETTING}, ',')::place[])`, "place")}`,
    "a setting with a name that nobody can set → public.notes.own": notes(
      "customer = current_setting('app.my-tenant', true)",
    ),
    "a column that is perhaps a customer's →! public.visits.own": table("visits", "id int PRIMARY KEY, store int", [
      "(1, 1), (2, 2)",
      `abs(store) = ${SETTING}::int`,
    ]),
    "a list with another separator → public.notes.own": notes(
      `customer = ANY (string_to_array(${SETTING}, '0')::int[])`,
      "int",
    ),
    "a function with a cast to a type of another schema → public.day()": `CREATE DOMAIN public.date AS text; CREATE FUNCTION day() RETURNS text STABLE LANGUAGE sql AS $$ SELECT ${SETTING}::date::text $$; ${notes("customer = day()")}`,
    "an operator of one's own → public.notes.own": `CREATE FUNCTION same(text, text) RETURNS boolean IMMUTABLE LANGUAGE sql RETURN lower($1) = lower($2);
        CREATE OPERATOR === (FUNCTION = same, LEFTARG = text, RIGHTARG = text); ${notes(`customer === ${SETTING}`)}`,
    "an enum with a cast of one's own →! public.notes.own": `CREATE TYPE place AS ENUM ('1', '2'); CREATE FUNCTION lie(place) RETURNS text IMMUTABLE LANGUAGE sql RETURN '1'; CREATE CAST (place AS text) WITH FUNCTION lie(place);
          ${notes(`customer::text = ${SETTING}`, "place")}`,
    "a generated column that is a part of the id → public.notes.own": table(
      "notes",
      "id int PRIMARY KEY, customer text, part int GENERATED ALWAYS AS (length(customer)) STORED",
      ["(1, '1'), (2, '22')", "part = customer()"],
    ),
  }),
  ...plants(
    {
      ...prefixed(EMPTY, (name) => `a policy with ${name} → ${OWN}`, using),
      "two statements in a policy's function → public.orders.own": mine(
        "AS 'SELECT true; SELECT $1 = public.customer() OR $1 = 3'",
      ),
      "a column of citext → public.notes.own": `CREATE EXTENSION citext; ${notes(`customer = ${SETTING}::citext`, "citext")}`,
      "a column with a collation → public.notes.own": `${FOLDED} ${notes(`customer = ${SETTING}`, "text COLLATE folded")}`,
      "a cast of one's own, by which ids become the same → public.notes.own": `CREATE FUNCTION lie(text) RETURNS uuid IMMUTABLE LANGUAGE sql RETURN '00000000-0000-0000-0000-000000000001'::uuid; CREATE CAST (text AS uuid) WITH FUNCTION lie(text);
        ${table("notes", "id int PRIMARY KEY, customer uuid", ["(1, '00000000-0000-0000-0000-000000000001')", `customer = ${SETTING}::uuid`])}`,
      "a key that nobody checks → public.lines.own": `${table("lines", "order_id int REFERENCES orders, line int", ["(1, 1), (3, 1)", "EXISTS (SELECT FROM orders WHERE orders.id = lines.order_id)"])} ALTER TABLE lines DISABLE TRIGGER ALL`,
      "a column that pads → public.notes.own": notes(`customer = ${SETTING}::char(5)`, "char(5)"),
    },
    { remains: true },
  ),
];

/** Orders for the members of a customer. */
const members = (condition: string, grants = "") => `
  ${table("members", "person text, customer bigint", ["('p1', 1), ('p2', 2)", `person = ${PERSON}`])} ${grants}; ${using(condition)}`;
const IS_MEMBER = `EXISTS (SELECT FROM members m WHERE m.customer = orders.customer AND m.person = ${PERSON})`;
const MEMBERSHIPS = plants(
  {
    "members that a person may insert → INSERT on public.members": members(
      IS_MEMBER,
      "GRANT INSERT ON members TO dashboard",
    ),
    "members without row-level security that a person may change → UPDATE on public.members": members(
      IS_MEMBER,
      "GRANT UPDATE (customer) ON members TO PUBLIC; ALTER TABLE members DISABLE ROW LEVEL SECURITY",
    ),
    "members by way of a view → INSERT on public.all_members": members(
      IS_MEMBER,
      "CREATE VIEW all_members AS SELECT * FROM members; GRANT INSERT ON all_members TO dashboard",
    ),
    "members of a parent into which queries insert → INSERT on public.people": members(
      IS_MEMBER,
      "CREATE TABLE people (person text, customer bigint); GRANT INSERT ON people TO dashboard; ALTER TABLE members INHERIT people",
    ),
    "an aggregate of members →! public.orders.own": members(
      `customer IN (SELECT count(*) FROM members m WHERE m.person = ${PERSON})`,
    ),
    "members whose column is compared with itself →! public.orders [seen_by_both]": members(
      `EXISTS (SELECT FROM members m WHERE m.customer = m.customer AND m.person = ${PERSON})`,
    ),
    "members by an outer join →! public.visits.own": members(
      IS_MEMBER,
      table("visits", "id int PRIMARY KEY, customer bigint", [
        "",
        `EXISTS (SELECT FROM members m LEFT JOIN members n ON n.customer = visits.customer AND n.person = ${PERSON})`,
      ]),
    ),
    "any member →! public.orders.own": members(
      "customer IN (SELECT m.customer FROM members m)",
      "ALTER POLICY own ON members USING (true)",
    ),
    "members that a function shows of all → public.everybody(text)": members(
      IS_MEMBER,
      `CREATE FUNCTION everybody(text) RETURNS SETOF bigint STABLE ${DEFINER} SET search_path = pg_catalog, pg_temp AS 'SELECT customer FROM public.members WHERE person = $1'`,
    ),
    "members in a function's text, which a temporary table could hide → public.mine()": members(
      "customer IN (SELECT mine())",
      `CREATE FUNCTION mine() RETURNS SETOF bigint STABLE LANGUAGE sql SET search_path = public AS 'SELECT customer FROM members WHERE person = current_setting(''app.person'', true)'`,
    ),
  },
  { as: (number) => `SET LOCAL ROLE dashboard; SET LOCAL app.person = 'p${number}'` },
);

/** The policies of this schema compare rows with claims. */
const claims = (policy = "") => `
  CREATE FUNCTION claim(text) RETURNS text STABLE LANGUAGE sql RETURN nullif(current_setting('app.claims', true), '')::jsonb ->> $1;
  CREATE OR REPLACE FUNCTION customer() RETURNS bigint STABLE LANGUAGE sql RETURN claim('team_id')::bigint; ${policy && `CREATE POLICY store ON orders AS RESTRICTIVE TO dashboard USING (${policy});`}`;
const STORE = "store = (claim('viewer_properties')::jsonb ->> 'store')::int";
/** What keeps the two people of a customer apart. */
export const PEOPLE_CORRECT = claims(STORE);
/** Two people of the first customer, of different stores. */
export const asOneOfTwo = (number: number): string =>
  `SET LOCAL ROLE dashboard; SELECT set_config('app.claims', '{"team_id":1,"viewer_properties":{"store":${number + 6}}}', true)`;
const PEOPLE = plants(
  {
    "people without a policy of theirs → public.orders [seen_by_both]": `${claims()} ${table("visits", "id int PRIMARY KEY, customer bigint, store int", ["(1, 1, 7), (2, 1, 8)", `customer = customer() AND ${STORE}`])}`,
    "a person's policy that a missing store passes →! public.orders.store": claims(
      `claim('viewer_properties') IS NULL OR ${STORE}`,
    ),
    "a person's policy with a default →! public.orders.store": claims(
      STORE.replace("= (", "= coalesce((").replace(/$/, ", store)"),
    ),
    "a person's policy that is dropped → public.orders [seen_by_both]": `${claims(STORE)} DROP POLICY store ON orders`,
    "a table of the customer's without a column for people →! public.bills": `${claims(STORE)} ${table("bills", "id int PRIMARY KEY, customer bigint", ["(1, 1), (2, 2)", "customer = customer()"])}`,
  },
  { as: asOneOfTwo },
);

const asRoles = (number: number) => `SET LOCAL ROLE c${number}`;
const OWN_ROLES = "CREATE ROLE c1; CREATE ROLE c2; GRANT c1, c2 TO backend; GRANT SELECT ON orders TO c1, c2;";
const SESSIONS: Plant[] = [
  ...plants(
    {
      "a role for each customer, by its name → public.orders.who": `${OWN_ROLES} ALTER TABLE orders ADD who name; UPDATE orders SET who = 'c' || customer; CREATE POLICY who ON orders FOR SELECT TO c1, c2 USING (who = current_user)`,
      "a policy for the role of each customer → public.orders.c1": `${OWN_ROLES} CREATE POLICY c1 ON orders TO c1 USING (customer = 1); CREATE POLICY c2 ON orders TO c2 USING (customer = 2)`,
      "one customer in the policies of two roles → public.orders": `${OWN_ROLES} CREATE POLICY c1 ON orders TO c1 USING (customer = 1); CREATE POLICY c2 ON orders TO c2 USING (customer = 1.0)`,
    },
    { as: asRoles, remains: true },
  ),
  // In these, the SQL of the customer is the plant.
  ...plants({
    "SET of the setting → app.customer [setting_survives]": "SET app.customer = 'N'",
    "set_config for the connection → app.customer [setting_survives]": "SELECT set_config('app.customer', 'N', false)",
    "SET ROLE → dashboard [role_survives]": "SET LOCAL app.customer = 'N'; SET ROLE dashboard",
    "a cursor that outlives its transaction → the first --as":
      "SET LOCAL app.customer = 'N'; DECLARE held CURSOR WITH HOLD FOR SELECT * FROM orders",
  }).map(({ sql, ...plant }) => ({
    ...plant,
    sql: "",
    remains: true as const,
    as: (number: number) => `SET LOCAL ROLE dashboard; ${sql.replace("N", String(number))}`,
  })),
  ...plants(
    {
      "a setting that the two customers share → public.visits.own": table("visits", "id int PRIMARY KEY, region text", [
        "(1, 'eu')",
        "region = current_setting('app.region', true)",
      ]),
    },
    { as: (number) => `${asCustomer(number)}; SET LOCAL app.region = 'eu'`, remains: true },
  ),
  {
    name: "two policies, of which one is for people",
    sql: `CREATE POLICY person ON orders FOR SELECT TO dashboard USING (note = ${PERSON})`,
    object: "public.orders",
    as: (number) => `${asCustomer(number)}; SET LOCAL app.person = 'p${number}'`,
  },
  {
    name: "an operator in a schema that the customer's SQL puts first",
    sql: `CREATE SCHEMA shop; GRANT USAGE ON SCHEMA shop TO dashboard; CREATE FUNCTION shop.same(bigint, bigint) RETURNS boolean IMMUTABLE LANGUAGE sql RETURN $1 - $2 IN (0, 2);
      CREATE OPERATOR shop.= (FUNCTION = shop.same, LEFTARG = bigint, RIGHTARG = bigint); ${mine(`AS $$ SELECT $1 = nullif(${SETTING}, '')::bigint $$`)}`,
    object: "public.mine(bigint)",
    as: (number) => `SET LOCAL search_path = shop, pg_catalog, public; ${asCustomer(number)}`,
  },
];

const CLAIMS = "nullif(current_setting('app.claims', true), '')::jsonb";
const definer = (name: string, returns: string, body: string) =>
  `CREATE FUNCTION ${name} RETURNS ${returns} STABLE ${DEFINER} SET search_path = pg_catalog, pg_temp BEGIN ATOMIC ${body}; END;`;
const note = (condition: string) => table("notes", "id int PRIMARY KEY, customer text", ["", condition]);
const SETTING_DOMAIN = "CREATE DOMAIN setter AS text CHECK (set_config('app.customer', VALUE, true) IS NOT NULL);";
const REPORT =
  "CREATE FUNCTION report(x text DEFAULT set_config('app.customer', '2', true)) RETURNS text STABLE LANGUAGE sql RETURN x;";
/** What an attack on the first closed world found: each was "Proven". Without rows, no comparison of rows finds them. */
const ATTACKS: readonly Plant[] = [
  ...plants({
    "a definer with a guard on its argument → public.notes_of(bigint)": definer(
      "notes_of(bigint)",
      "SETOF text",
      "SELECT o.note FROM public.orders o WHERE $1 = public.customer()",
    ),
    "a definer that joins by another column → public.of_store()": definer(
      "of_store()",
      "SETOF text",
      "SELECT o.note FROM public.orders o JOIN public.orders m ON m.store = o.store WHERE m.customer = public.customer()",
    ),
    "a parent whose row-level security is off → public.items.own": `CREATE SCHEMA hidden; CREATE TABLE hidden.shops (id int PRIMARY KEY, customer bigint); INSERT INTO hidden.shops VALUES (1, 1), (2, 2); GRANT SELECT ON hidden.shops TO dashboard;
      CREATE POLICY own ON hidden.shops FOR SELECT TO dashboard USING (customer = customer());
      ${table("items", "id int PRIMARY KEY, customer bigint, shop int REFERENCES hidden.shops", ["", "EXISTS (SELECT FROM hidden.shops s WHERE s.id = items.shop)"])}`,
    "two roles with two columns → public.visits": `CREATE ROLE support; GRANT support TO backend; ${table("visits", "id int PRIMARY KEY, customer bigint, partner bigint", ["", "customer = customer()"])}
      GRANT SELECT ON visits TO support; CREATE POLICY partner ON visits FOR SELECT TO support USING (partner = customer());`,
    "a parent whose child repeats its keys → public.items.own": `CREATE TABLE shops (id int PRIMARY KEY, customer bigint); CREATE TABLE more_shops () INHERITS (shops); ALTER TABLE shops ENABLE ROW LEVEL SECURITY;
      CREATE POLICY own ON shops FOR SELECT TO dashboard USING (customer = customer()); GRANT SELECT ON shops TO dashboard;
      ${table("items", "id int PRIMARY KEY, customer bigint, shop int REFERENCES shops", ["", "EXISTS (SELECT FROM shops s WHERE s.id = items.shop)"])}`,
    "a function that sees rows before the policies → public.peek(text)":
      "CREATE FUNCTION peek(text) RETURNS boolean LANGUAGE sql LEAKPROOF RETURN length($1) > 3",
    "the order of an operator class → public.cmp(integer,integer)":
      "CREATE FUNCTION cmp(int, int) RETURNS int IMMUTABLE LANGUAGE sql RETURN $1 - $2; REVOKE EXECUTE ON FUNCTION cmp FROM PUBLIC; CREATE OPERATOR CLASS own FOR TYPE int USING btree AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 cmp(int, int)",
    "a default argument that sets the customer → public.report(text)": REPORT,
    "a default argument of an extension's function → extension citext": `CREATE EXTENSION citext; ${REPORT} ALTER EXTENSION citext ADD FUNCTION report(text)`,
    "a domain whose condition sets the customer → public.setter": `${SETTING_DOMAIN} CREATE FUNCTION be(text) RETURNS text LANGUAGE sql RETURN $1::setter;`,
    "a function whose result is cut → public.notes.own": `CREATE FUNCTION me() RETURNS int STABLE LANGUAGE sql RETURN nullif(${SETTING}, '')::numeric; ${table("notes", "id int PRIMARY KEY, customer int", ["", "customer = me()"])}`,
    "a cast of one's own that a function's result takes →! public.notes.own": `CREATE TYPE place AS ENUM ('1', '2'); CREATE FUNCTION lie(text) RETURNS place IMMUTABLE LANGUAGE sql RETURN '2'::place; CREATE CAST (text AS place) WITH FUNCTION lie(text) AS ASSIGNMENT;
      CREATE FUNCTION me() RETURNS place STABLE LANGUAGE sql RETURN ${SETTING}; ${table("notes", "id int PRIMARY KEY, customer place", ["", "customer = me()"])}`,
    "an alias with a no-break space that hides a call → public.stats":
      "CREATE VIEW stats WITH (security_invoker = true) AS SELECT o.customer FROM (SELECT set_config('app.customer', '2', true) AS \"x\u00a0:expr\u00a0<>\" OFFSET 0) s, orders o; GRANT SELECT ON stats TO dashboard",
    "a setting whose name has the sign of kelvin → public.notes.own": note(
      "customer = current_setting('app.\u212Aey', true)",
    ),
    'a table whose name without quotes is that of a shared one → public."coun""tries" [rls_disabled]': `CREATE TABLE "coun""tries" AS SELECT * FROM orders; GRANT SELECT ON "coun""tries" TO dashboard`,
    "a table that inherits from a shared one → public.codes": `CREATE TABLE codes () INHERITS (countries); INSERT INTO codes VALUES ('${SECRET} of 1')`,
    "a table that is called as an extension's → public.spatial_ref_sys [rls_disabled]":
      "CREATE EXTENSION citext; CREATE TABLE spatial_ref_sys AS SELECT * FROM orders; GRANT SELECT ON spatial_ref_sys TO dashboard; ALTER EXTENSION citext ADD TABLE spatial_ref_sys",
    "an aggregate of set_config → public.evil(text,boolean)":
      "CREATE AGGREGATE evil(text, boolean) (SFUNC = set_config, STYPE = text, INITCOND = 'app.customer')",
    "an aggregate of set_config, given to an extension → extension citext":
      "CREATE EXTENSION citext; CREATE AGGREGATE evil(text, boolean) (SFUNC = set_config, STYPE = text, INITCOND = 'app.customer'); ALTER EXTENSION citext ADD AGGREGATE evil(text, boolean)",
  }),
  ...plants(
    {
      "a coalesce whose first part is never set → public.notes.own": note(
        `customer = coalesce((SELECT ${SETTING} LIMIT 0), current_setting('app.region', true))`,
      ),
      "a coalesce with the key of an array → public.notes.own": note(
        `customer = coalesce(${CLAIMS} -> 'teams' ->> '0', ${CLAIMS} ->> 'region')`,
      ),
      "a coalesce with a negative index → public.notes.own": note(
        `customer = coalesce(${CLAIMS} #>> '{teams,-1}', ${CLAIMS} ->> 'team')`,
      ),
      "a coalesce with the null of JSON → public.notes.own": note(
        `customer = coalesce((${CLAIMS} -> 'none')::text, ${CLAIMS} ->> 'team')`,
      ),
      "lists with a common element → public.notes.own": note(
        `customer IN (SELECT jsonb_array_elements_text(${CLAIMS} -> 'teams'))`,
      ),
      "objects with the same keys → public.notes.own": note(`${CLAIMS} -> 'roles' ? customer`),
      "two keys that read alike → public.notes.more": `${note(`customer = ${CLAIMS} -> 'a' ->> 'b'`)} CREATE POLICY more ON notes FOR SELECT TO dashboard USING (customer = ${CLAIMS} ->> 'a → b');`,
    },
    {
      as: (number) =>
        `${asCustomer(number)}; SET LOCAL app.region = 'eu'; SELECT set_config('app.claims', '${JSON.stringify({ team: `${number}`, teams: [`t${number}`, "demo"], region: "eu", none: null, roles: { x: number }, a: { b: `${number}` }, "a → b": "eu" })}', true)`,
    },
  ),
  ...plants(
    {
      "an environment or another → public.orders.own": `(${CLAIMS} ->> 'aud' = 'acme/Customer' OR ${CLAIMS} ->> 'aud' = 'evil/Customer')`,
      "an environment that another setting names → public.orders.own":
        "nullif(current_setting('app.service', true), '')::jsonb ->> 'aud' = 'acme/Customer'",
      "an environment that one of two settings names → public.orders.own": `coalesce(nullif(current_setting('app.service', true), '')::jsonb ->> 'aud', ${CLAIMS} ->> 'aud') = 'acme/Customer'`,
      "policies of two environments → public.orders": `${CLAIMS} ->> 'aud' = 'acme/Customer'); CREATE POLICY more ON orders FOR SELECT TO dashboard USING (customer = customer() AND ${CLAIMS} ->> 'aud' = 'evil/Customer'`,
    },
    {
      as: (number) =>
        `SET LOCAL ROLE dashboard; SELECT set_config('app.claims', '{"team_id":${number},"aud":"acme/Customer"}', true), set_config('app.service', '{"aud":"acme/Customer"}', true)`,
      anyEnvironment: false,
    },
  )
    .concat(
      plants(
        { "an environment without a slash → public.orders.own": `${CLAIMS} ->> 'aud' = 'acme'` },
        {
          as: (number) =>
            `SET LOCAL ROLE dashboard; SELECT set_config('app.claims', '{"team_id":${number},"aud":"acme"}', true)`,
          anyEnvironment: false,
          remains: true,
        },
      ),
    )
    .map(({ sql, ...plant }) => ({
      ...plant,
      sql: `CREATE OR REPLACE FUNCTION customer() RETURNS bigint STABLE LANGUAGE sql RETURN (${CLAIMS} ->> 'team_id')::bigint; ${using(`customer = customer() AND ${sql}`)}`,
    })),
];

/** What PostgreSQL plans or keeps by a word of the integrator's, found by an attack on the second version of the prover. */
const WORDS = [
  ...plants({
    "a function that is immutable in name alone → public.customer()":
      "CREATE OR REPLACE FUNCTION customer() RETURNS bigint IMMUTABLE LANGUAGE sql RETURN nullif(current_setting('app.customer', true), '')::bigint",
    "an index that has kept what a caller was shown → index public.mine":
      "CREATE FUNCTION is_mine(bigint) RETURNS boolean IMMUTABLE LANGUAGE sql RETURN $1 = customer(); SET app.customer = '1'; CREATE INDEX mine ON orders (is_mine(customer)); RESET app.customer",
    "statistics of a table whose schema may not be used → hidden.bills [rls_disabled]":
      "CREATE SCHEMA hidden; CREATE TABLE hidden.bills AS SELECT * FROM orders; GRANT SELECT ON hidden.bills TO dashboard",
    "an operator of one's own over PostgreSQL's equality → public.orders.own": `CREATE OPERATOR === (FUNCTION = int8eq, LEFTARG = bigint, RIGHTARG = bigint); ${using("customer() === customer")}`,
    "an operator class of PostgreSQL's functions → operator class public.evil USING btree":
      "CREATE OPERATOR CLASS evil FOR TYPE int USING btree AS OPERATOR 1 <, OPERATOR 3 =, FUNCTION 1 int4pl(int, int)",
    "a table in another schema that is called as an extension's → shop.pg_stat_statements [rls_disabled]":
      "CREATE EXTENSION pg_stat_statements; CREATE SCHEMA shop; GRANT USAGE ON SCHEMA shop TO dashboard; CREATE TABLE shop.pg_stat_statements AS SELECT * FROM orders; GRANT SELECT ON shop.pg_stat_statements TO dashboard; ALTER EXTENSION pg_stat_statements ADD TABLE shop.pg_stat_statements",
    "a view of an extension that was replaced → public.pg_stat_statements_info":
      "CREATE EXTENSION pg_stat_statements; COMMIT; CREATE OR REPLACE VIEW pg_stat_statements_info AS SELECT customer AS dealloc, now() AS stats_reset FROM orders",
    "LEAKPROOF on an extension's function → extension pg_trgm":
      "CREATE EXTENSION pg_trgm; ALTER FUNCTION set_limit(real) LEAKPROOF",
    "an escaped text that a function of an extension runs → extension citext":
      "CREATE EXTENSION citext; CREATE FUNCTION become() RETURNS void LANGUAGE sql AS 'DO U&''BEGIN PERFORM s\\0065t_config(\\0027app.customer\\0027,\\00271\\0027,true); END''; SELECT NULL::void'; ALTER EXTENSION citext ADD FUNCTION become()",
  }),
  ...plants(
    {
      "numbers with two spellings → public.numbers.own": table("numbers", "id int PRIMARY KEY, customer int", [
        "",
        `customer = (${CLAIMS} ->> 'team')::int`,
      ]),
      "lists of numbers with two spellings → public.numbers.own": table("numbers", "id int PRIMARY KEY, customer int", [
        "",
        `customer = ANY (string_to_array(${CLAIMS} ->> 'list', ',')::int[])`,
      ]),
      "objects with their keys in another order → public.notes.own": notes(`customer = (${CLAIMS} -> 'object')::text`),
      "a text with a comma that is one element → public.notes.own": notes(`${CLAIMS} -> 'element' ? customer`),
    },
    {
      as: (number) => {
        const claims = [
          { team: "7", list: "5,1", object: { a: 1, b: 2 }, element: "a,b" },
          { team: "07", list: "05,2", object: { b: 2, a: 1 }, element: ["a,b"] },
        ];
        return `${asCustomer(number)}; SELECT set_config('app.claims', '${JSON.stringify(claims[number - 1])}', true)`;
      },
    },
  ),
  ...plants(
    {
      "a property that a person of another customer may have, too →! public.orders.own": using(
        `store = (${CLAIMS} -> 'viewer_properties' ->> 'store')::int AND ${CLAIMS} ->> 'aud' = 'acme/Customer'`,
      ),
      "the environment of a parent beside that of the row →! public.lines": `${using(`customer = (${CLAIMS} ->> 'team_id')::bigint AND note = ${CLAIMS} ->> 'aud'`)};
        ${table("lines", "id int REFERENCES orders, customer bigint, store int, note text", ["", `customer = (${CLAIMS} ->> 'team_id')::bigint AND EXISTS (SELECT FROM orders o WHERE o.id = lines.id)`])}
        CREATE POLICY more ON lines FOR SELECT TO dashboard USING (customer = (${CLAIMS} ->> 'team_id')::bigint AND note = ${CLAIMS} ->> 'aud')`,
    },
    {
      as: (number) =>
        `SET LOCAL ROLE dashboard; SELECT set_config('app.claims', '{"team_id":${number},"aud":"acme/Customer","viewer_properties":{"store":${6 + number}}}', true)`,
      anyEnvironment: false,
    },
  ),
];

export const PLANTS: readonly Plant[] = [
  ...ATTACKS,
  ...ROLES,
  ...RIGHTS,
  ...TABLES,
  ...FUNCTIONS,
  ...POLICIES,
  ...MEMBERSHIPS,
  ...PEOPLE,
  ...SESSIONS,
  ...WORDS,
];
