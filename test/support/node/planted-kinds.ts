/** Mistakes of each kind by which a customer reaches rows of another one, beyond those of `planted-mistakes.ts`. */
import { asCustomer } from "./planted-mistakes.ts";

type Found = { code?: string; object: string };

export type PlantedKind = {
  name: string;
  sql: string;
  /** What the prover must name: each of several mistakes in one database. Without a code, it is enough that it does not judge the object. */
  found: Found | readonly Found[];
  as?: (number: number) => string;
};

const OWN = "own on public.orders";
const using = (condition: string) => `ALTER POLICY own ON orders USING (${condition})`;
const SETTING = "current_setting('app.customer', true)";
/** A table of texts, whose policy has this condition. */
const notes = (condition: string, type = "text", rows = "(1, '1'), (2, '2')") => `
  CREATE TABLE notes (id int PRIMARY KEY, customer ${type}); INSERT INTO notes VALUES ${rows};
  ALTER TABLE notes ENABLE ROW LEVEL SECURITY; ALTER TABLE notes FORCE ROW LEVEL SECURITY;
  CREATE POLICY own ON notes FOR SELECT TO dashboard USING (${condition}); GRANT SELECT ON notes TO dashboard`;
const NOTES = { object: "public.notes.own" };
/** Orders for the members of a customer. */
const members = (grants: string, condition: string) => `
  CREATE TABLE members (person text, customer bigint); INSERT INTO members VALUES ('p1', 1), ('p2', 2);
  ALTER TABLE members OWNER TO owner; ALTER TABLE members ENABLE ROW LEVEL SECURITY; ALTER TABLE members FORCE ROW LEVEL SECURITY;
  CREATE POLICY own ON members FOR SELECT TO dashboard USING (person = current_setting('app.person', true));
  GRANT SELECT ON members TO dashboard; ${grants};
  ALTER POLICY own ON orders USING (${condition}) WITH CHECK (${condition})`;
const OF_MEMBER = "WHERE m.customer = orders.customer AND m.person = current_setting('app.person', true)";
const IS_MEMBER = `EXISTS (SELECT FROM members m ${OF_MEMBER})`;
const asPerson = (number: number) => `SET LOCAL ROLE dashboard; SET LOCAL app.person = 'p${number}'`;
const asBoth = (number: number) => `${asCustomer(number)}; SET LOCAL app.person = 'p${number}'`;

const RIGHTS: readonly PlantedKind[] = [
  {
    name: "a function that reads files",
    sql: "GRANT EXECUTE ON FUNCTION pg_read_binary_file(text) TO dashboard",
    found: { code: "builtin_function", object: "pg_catalog.pg_read_binary_file(text)" },
  },
  {
    name: "a function that lists files, for everybody",
    sql: "GRANT EXECUTE ON FUNCTION pg_ls_dir(text) TO PUBLIC",
    found: { code: "builtin_function", object: "pg_catalog.pg_ls_dir(text)" },
  },
  {
    name: "a function that writes files, by way of a role",
    sql: "CREATE ROLE helpers; GRANT helpers TO dashboard; GRANT EXECUTE ON FUNCTION lo_export(oid, text) TO helpers",
    found: { code: "builtin_function", object: "pg_catalog.lo_export(oid, text)" },
  },
  {
    name: "dblink",
    sql: "CREATE EXTENSION dblink",
    found: { code: "builtin_function", object: "public.dblink(text, text)" },
  },
  {
    name: "an extension's function that the extension hides",
    sql: "CREATE EXTENSION pgstattuple; GRANT EXECUTE ON FUNCTION pgstattuple(text) TO dashboard",
    found: { code: "builtin_function", object: "public.pgstattuple(text)" },
  },
  {
    name: "a foreign server",
    sql: `CREATE EXTENSION postgres_fdw; CREATE SERVER self FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host 'localhost');
      CREATE USER MAPPING FOR PUBLIC SERVER self OPTIONS (user 'postgres'); GRANT USAGE ON FOREIGN SERVER self TO dashboard`,
    found: { code: "foreign_server", object: "self" },
  },
  {
    name: "a foreign data wrapper for files",
    sql: "CREATE EXTENSION file_fdw; GRANT USAGE ON FOREIGN DATA WRAPPER file_fdw TO PUBLIC",
    found: { code: "foreign_server", object: "file_fdw" },
  },
  {
    name: "a role that runs programs",
    sql: "GRANT pg_execute_server_program TO backend",
    found: { code: "predefined_role", object: "backend" },
  },
  {
    name: "a role that reads all tables, by way of another",
    sql: "CREATE ROLE readers; GRANT pg_read_all_data TO readers; GRANT readers TO dashboard",
    found: { code: "predefined_role", object: "dashboard" },
  },
  {
    name: "a parameter that turns triggers off",
    sql: "GRANT SET ON PARAMETER session_replication_role TO dashboard",
    found: { code: "parameter", object: "session_replication_role" },
  },
  {
    name: "hashes of passwords",
    sql: "GRANT SELECT (rolname, rolpassword) ON pg_authid TO dashboard",
    found: { code: "system_table", object: "pg_catalog.pg_authid" },
  },
  {
    name: "a schema that queries own",
    sql: "CREATE SCHEMA shop AUTHORIZATION dashboard",
    found: { code: "owner", object: "shop" },
  },
  {
    name: "a database in which queries may make schemas",
    sql: "DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO dashboard', current_database()); END $$",
    found: { code: "schema_create", object: "postgres" },
  },
  {
    name: "large objects for everybody",
    sql: "DO $$ DECLARE o oid := lo_from_bytea(0, 'secret'); BEGIN EXECUTE format('GRANT SELECT ON LARGE OBJECT %s TO PUBLIC', o); END $$",
    found: { code: "large_object", object: "pg_catalog.pg_largeobject" },
  },
  {
    name: "large objects that queries own",
    sql: "DO $$ DECLARE o oid := lo_from_bytea(0, 'secret'); BEGIN EXECUTE format('ALTER LARGE OBJECT %s OWNER TO dashboard', o); END $$",
    found: { code: "large_object", object: "pg_catalog.pg_largeobject" },
  },
  {
    name: "a view of PostgreSQL's own tables beside an allowed one",
    sql: "CREATE VIEW samples AS SELECT c.code, s.stavalues1::text FROM countries c, pg_statistic s; GRANT SELECT ON samples TO dashboard",
    found: { code: "view_runs_as_owner", object: "public.samples" },
  },
  {
    name: "a table that an extension has, and somebody has granted",
    sql: `CREATE EXTENSION pg_trgm; CREATE TABLE log AS SELECT * FROM orders; ALTER EXTENSION pg_trgm ADD TABLE log; GRANT SELECT ON log TO dashboard`,
    found: { code: "rls_disabled", object: "public.log" },
  },
];

const DEFINERS: readonly PlantedKind[] = [
  {
    name: "an aggregate over a definer's function",
    sql: `CREATE SCHEMA hidden; CREATE FUNCTION hidden.step(text, text) RETURNS text LANGUAGE sql SECURITY DEFINER AS 'SELECT string_agg(note, $2) FROM public.orders';
      REVOKE EXECUTE ON FUNCTION hidden.step FROM PUBLIC;
      CREATE AGGREGATE everything(text) (SFUNC = hidden.step, STYPE = text)`,
    found: { code: "security_definer", object: "hidden.step(text,text)" },
  },
  {
    name: "the final function of an aggregate",
    sql: `CREATE SCHEMA hidden; CREATE FUNCTION hidden.done(bigint) RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT sum(customer)::bigint FROM public.orders';
      REVOKE EXECUTE ON FUNCTION hidden.done FROM PUBLIC;
      CREATE AGGREGATE total(bigint) (SFUNC = int8pl, STYPE = bigint, FINALFUNC = hidden.done)`,
    found: { code: "security_definer", object: "hidden.done(bigint)" },
  },
  {
    name: "an operator",
    sql: `CREATE SCHEMA hidden; CREATE FUNCTION hidden.note(int, int) RETURNS text LANGUAGE sql SECURITY DEFINER AS 'SELECT note FROM public.orders WHERE id = $1';
      CREATE OPERATOR @@@ (FUNCTION = hidden.note, LEFTARG = int, RIGHTARG = int)`,
    found: { code: "security_definer", object: "hidden.note(integer,integer)" },
  },
  {
    name: "a cast",
    sql: `CREATE SCHEMA hidden; CREATE TYPE place AS (id int);
      CREATE FUNCTION hidden.note(place) RETURNS text LANGUAGE sql SECURITY DEFINER AS 'SELECT note FROM public.orders WHERE id = $1.id';
      CREATE CAST (place AS text) WITH FUNCTION hidden.note(place)`,
    found: { code: "security_definer", object: "hidden.note(public.place)" },
  },
  {
    name: "a built-in function that runs as its owner",
    sql: "ALTER FUNCTION pg_catalog.query_to_xml(text, boolean, boolean, text) SECURITY DEFINER",
    found: { code: "security_definer", object: "query_to_xml(text,boolean,boolean,text)" },
  },
  {
    name: "a trigger that runs as its owner",
    sql: `CREATE FUNCTION moved() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN UPDATE public.orders SET note = NEW.note; RETURN NEW; END';
      CREATE TRIGGER moves AFTER UPDATE ON orders FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION moved()`,
    found: { object: "public.orders.moves" },
  },
  {
    name: "a rule that writes as the owner",
    sql: "CREATE RULE clear AS ON UPDATE TO orders DO ALSO UPDATE countries SET code = code",
    found: { object: "public.orders.clear" },
  },
  {
    name: "a definer's function that shows members of all",
    sql: `${members("SELECT 1", IS_MEMBER)}; CREATE FUNCTION everybody(text) RETURNS SETOF bigint STABLE LANGUAGE sql SECURITY DEFINER
      SET search_path = pg_catalog, pg_temp AS 'SELECT customer FROM public.members WHERE person = $1'`,
    as: asPerson,
    found: { code: "security_definer", object: "public.everybody(text)" },
  },
];

const MEMBERSHIPS: readonly PlantedKind[] = [
  {
    name: "members that a customer may insert",
    sql: members(
      "GRANT INSERT ON members TO dashboard; CREATE POLICY join_in ON members FOR INSERT TO dashboard WITH CHECK (person = current_setting('app.person', true))",
      IS_MEMBER,
    ),
    as: asPerson,
    found: { code: "membership_writable", object: "public.members" },
  },
  {
    name: "members without row-level security that a customer may change",
    sql: `${members("GRANT UPDATE (customer) ON members TO dashboard", IS_MEMBER)}; ALTER TABLE members DISABLE ROW LEVEL SECURITY`,
    as: asPerson,
    found: { code: "membership_writable", object: "public.members" },
  },
  {
    name: "members in a list that a customer may insert",
    sql: `${members("GRANT INSERT ON members TO PUBLIC", "customer IN (SELECT customer FROM members WHERE person = current_setting('app.person', true))")}; ALTER TABLE members DISABLE ROW LEVEL SECURITY`,
    as: asPerson,
    found: { code: "membership_writable", object: "public.members" },
  },
  ...[
    ["EXISTS", `EXISTS (SELECT count(*) FROM members m ${OF_MEMBER})`],
    ["a value", `(SELECT coalesce(bool_and(true), true) FROM members m ${OF_MEMBER})`],
    ["a list", `customer IN (SELECT count(*) FROM members m ${OF_MEMBER})`],
    ["EXISTS without a table", "EXISTS (SELECT count(*) WHERE orders.customer = customer())"],
  ].map(([name, condition = ""]) => ({
    name: `an aggregate in ${name}`,
    sql: members("", condition),
    found: { object: OWN },
    as: asBoth,
  })),
  {
    name: "members by way of a view that runs as its owner",
    sql: `${members("SELECT 1", IS_MEMBER)}; CREATE VIEW all_members AS SELECT * FROM members; GRANT INSERT ON all_members TO dashboard`,
    as: asPerson,
    found: { code: "view_runs_as_owner", object: "public.all_members" },
  },
  {
    name: "members of a parent into which queries insert",
    sql: `${members("SELECT 1", IS_MEMBER)}; CREATE TABLE people (person text, customer bigint); GRANT INSERT ON people TO dashboard; ALTER TABLE members INHERIT people`,
    as: asPerson,
    found: { code: "rls_disabled", object: "public.people" },
  },
  {
    name: "members that administrators add, by a policy that leads to itself",
    sql: members(
      "GRANT INSERT ON members TO dashboard; CREATE POLICY add ON members FOR INSERT TO dashboard WITH CHECK (EXISTS (SELECT FROM members m WHERE m.customer = members.customer AND m.person = current_setting('app.person', true)))",
      IS_MEMBER,
    ),
    as: asPerson,
    found: { object: "public.orders.own" },
  },
  {
    name: "a profile whose customer the person may change",
    sql: `CREATE TABLE profiles (person text PRIMARY KEY, customer bigint, name text); INSERT INTO profiles VALUES ('p1', 1), ('p2', 2);
      ALTER TABLE profiles OWNER TO owner; ALTER TABLE profiles ENABLE ROW LEVEL SECURITY; ALTER TABLE profiles FORCE ROW LEVEL SECURITY;
      CREATE POLICY own ON profiles TO dashboard USING (person = current_setting('app.person', true)); GRANT SELECT, UPDATE ON profiles TO dashboard;
      ALTER POLICY own ON orders USING (customer = (SELECT customer FROM profiles WHERE person = current_setting('app.person', true)))
        WITH CHECK (customer = (SELECT customer FROM profiles WHERE person = current_setting('app.person', true)))`,
    as: asPerson,
    found: { code: "membership_writable", object: "public.profiles" },
  },
  {
    name: "a subquery that compares a column with itself",
    sql: members(
      "SELECT 1",
      "EXISTS (SELECT FROM members m WHERE m.customer = m.customer AND m.person = current_setting('app.person', true))",
    ),
    as: asPerson,
    found: { code: "seen_by_both", object: "public.orders" },
  },
  {
    name: "rows of rows without a foreign key",
    sql: `CREATE TABLE lines (order_id int, line int); INSERT INTO lines VALUES (1, 1), (3, 1);
      ALTER TABLE lines ENABLE ROW LEVEL SECURITY; ALTER TABLE lines FORCE ROW LEVEL SECURITY;
      CREATE POLICY own ON lines FOR SELECT TO dashboard
        USING (EXISTS (SELECT FROM orders WHERE orders.id = lines.order_id AND orders.customer = customer()));
      GRANT SELECT ON lines TO dashboard`,
    found: { object: "public.lines.own" },
  },
];

const NAMES: readonly PlantedKind[] = [
  {
    name: "a function with a table that a temporary one hides",
    sql: `${members("SELECT 1", "true")}; CREATE FUNCTION is_mine(bigint) RETURNS boolean STABLE LANGUAGE sql AS
      'SELECT EXISTS (SELECT FROM members m WHERE m.customer = $1 AND m.person = current_setting(''app.person'', true))';
      ALTER POLICY own ON orders USING (is_mine(customer)) WITH CHECK (is_mine(customer))`,
    as: asPerson,
    found: { code: "policy_function_search_path", object: "public.is_mine(bigint)" },
  },
  {
    name: "a search_path that leaves temporary tables first",
    sql: `${members("SELECT 1", "true")}; CREATE FUNCTION mine() RETURNS SETOF bigint STABLE LANGUAGE sql SET search_path = public AS
      'SELECT customer FROM members WHERE person = current_setting(''app.person'', true)';
      ALTER POLICY own ON orders USING (customer IN (SELECT mine())) WITH CHECK (customer IN (SELECT mine()))`,
    as: asPerson,
    found: { code: "policy_function_search_path", object: "public.mine()" },
  },
];

const MISSING: readonly PlantedKind[] = (
  [
    ["CASE with a number", `customer = CASE WHEN nullif(${SETTING}, '') IS NULL THEN 0 ELSE ${SETTING}::bigint END`],
    ["concat", `customer = concat('0', ${SETTING})::bigint`],
    ["IS NOT FALSE", "(customer = customer()) IS NOT FALSE"],
    ["NOT and <>", "NOT (customer <> customer()) OR customer() IS NULL"],
    ["greatest", "customer = greatest(customer(), 3)"],
    ["a concatenation", `customer = ('0' || nullif(${SETTING}, ''))::bigint`],
    ["IS NOT TRUE", "(customer <> customer()) IS NOT TRUE"],
    ["format", `customer::text = format('%s', ${SETTING})`],
    ["a subquery with a default", `customer = (SELECT max(x) FROM (VALUES (3), (customer())) v (x))`],
    ["num_nulls", "customer = customer() OR num_nulls(customer()) = 1"],
    ["a list with a constant", "customer IN (customer(), 3)"],
    ["a setting of PostgreSQL", "customer = nullif(current_setting('application_name'), '')::bigint"],
    ["a setting that the policy itself sets", "customer = customer() AND set_config('app.customer', '1', true) = '1'"],
  ] as const
).map(([name, condition]) => ({ name: `a missing setting in ${name}`, sql: using(condition), found: { object: OWN } }));

const INEXACT: readonly PlantedKind[] = [
  { name: "lower in a condition", sql: notes(`lower(customer) = lower(${SETTING})`), found: NOTES },
  { name: "replace in a condition", sql: notes(`replace(customer, '-', '') = ${SETTING}`), found: NOTES },
  { name: "a remainder", sql: using("customer % 1000 = customer() % 1000"), found: { object: OWN } },
  { name: "a regular expression", sql: notes(`customer ~ ${SETTING}`), found: NOTES },
  {
    name: "citext",
    sql: `CREATE EXTENSION citext; ${notes(`customer = ${SETTING}::citext`, "citext")}`,
    found: NOTES,
  },
  {
    name: "a text that is compared as citext",
    sql: `CREATE EXTENSION citext; ${notes(`customer::citext = ${SETTING}::citext`)}`,
    found: NOTES,
  },
  {
    name: "a collation in a condition",
    sql: `CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
      ${notes(`customer = ${SETTING} COLLATE folded`)}`,
    found: NOTES,
  },
  {
    name: "a domain with a collation, which a function returns",
    sql: `CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
      CREATE DOMAIN id AS text COLLATE folded; CREATE FUNCTION own_id() RETURNS id STABLE LANGUAGE sql RETURN ${SETTING};
      ${notes("customer = own_id()")}`,
    found: NOTES,
  },
  { name: "a cast that cuts", sql: notes(`customer::varchar(3) = ${SETTING}`), found: NOTES },
  { name: "a setting that is cut", sql: notes(`customer = ${SETTING}::varchar(1)`), found: NOTES },
  { name: "a cast that pads", sql: notes(`customer = ${SETTING}::char(5)`, "char(5)"), found: NOTES },
  {
    name: "a cast that rounds",
    sql: using(`customer = nullif(${SETTING}, '')::numeric::bigint`),
    found: { object: OWN },
  },
  { name: "a floating number", sql: using(`customer = nullif(${SETTING}, '')::float8`), found: { object: OWN } },
  { name: "a number in JSON", sql: using(`customer = (${SETTING}::jsonb)::bigint`), found: { object: OWN } },
  { name: "a text that is compared as a number", sql: notes("customer::bigint = customer()"), found: NOTES },
  {
    name: "a list of texts with a separator",
    sql: notes(`customer = ANY (string_to_array(${SETTING}, ','))`),
    found: NOTES,
  },
  { name: "an overlap of arrays", sql: notes(`ARRAY[customer] && ARRAY[${SETTING}, 'x']`), found: NOTES },
  { name: "starts_with", sql: notes(`starts_with(customer, ${SETTING})`), found: NOTES },
  { name: "position", sql: notes(`strpos(${SETTING}, customer) > 0`), found: NOTES },
  {
    name: "an operator of one's own",
    sql: `CREATE FUNCTION same(text, text) RETURNS boolean IMMUTABLE LANGUAGE sql RETURN lower($1) = lower($2);
      CREATE OPERATOR === (FUNCTION = same, LEFTARG = text, RIGHTARG = text); ${notes(`customer === ${SETTING}`)}`,
    found: NOTES,
  },
  {
    name: "a generated column that is a part of the id",
    sql: notes("part = customer()").replace(
      "customer text)",
      "customer text, part int GENERATED ALWAYS AS (length(customer)) STORED)",
    ),
    found: NOTES,
  },
  { name: "a hash", sql: notes(`hashtext(customer) = hashtext(${SETTING})`), found: NOTES },
  {
    name: "date_trunc",
    sql: using("to_timestamp(customer) = date_trunc('hour', to_timestamp(customer()))"),
    found: { object: OWN },
  },
];

const FUNCTIONS: readonly PlantedKind[] = (
  [
    ["OR true", "RETURN $1 = customer() OR true"],
    ["OR of another column", "RETURN $1 = customer() OR current_setting('app.admin', true) = 'on'"],
    ["OR in a text", "AS 'SELECT $1 = public.customer() OR $1 = 3'"],
    ["two statements", "AS 'SELECT true; SELECT $1 = public.customer() OR $1 = 3'"],
    ["a UNION", "AS 'SELECT $1 = public.customer() UNION SELECT true ORDER BY 1 DESC LIMIT 1'"],
    ["a volatile call", "AS 'SELECT $1 = public.customer() OR random() < 0.5'"],
  ] as const
).map(([name, body]) => ({
  name: `a function with ${name}`,
  sql: `CREATE FUNCTION mine(bigint) RETURNS boolean STABLE LANGUAGE sql ${body}; ${using("mine(customer)")}`,
  found: { object: OWN },
}));

const CASCADES: readonly PlantedKind[] = (
  [
    ["ON DELETE CASCADE", "DELETE"],
    ["ON DELETE SET NULL", "DELETE"],
    ["ON UPDATE CASCADE", "UPDATE"],
  ] as const
).map(([action, right]) => ({
  name: `${action} of rows with customers of their own`,
  sql: `CREATE TABLE lines (id int PRIMARY KEY, customer bigint, order_id int REFERENCES orders ${action}); INSERT INTO lines VALUES (1, 1, 1), (2, 2, 1);
    ALTER TABLE lines ENABLE ROW LEVEL SECURITY; ALTER TABLE lines FORCE ROW LEVEL SECURITY;
    CREATE POLICY own ON lines TO dashboard USING (customer = customer()); GRANT SELECT ON lines TO dashboard; GRANT ${right} ON orders TO dashboard`,
  found: { object: "public.lines.lines_order_id_fkey" },
}));

const OTHERS: readonly PlantedKind[] = [
  ...CASCADES,
  {
    name: "a cascade from a table that all share",
    sql: `CREATE TABLE lines (id int PRIMARY KEY, customer bigint, country text REFERENCES countries ON DELETE CASCADE); INSERT INTO lines VALUES (1, 1, 'de'), (2, 2, 'de');
      ALTER TABLE lines ENABLE ROW LEVEL SECURITY; ALTER TABLE lines FORCE ROW LEVEL SECURITY;
      CREATE POLICY own ON lines TO dashboard USING (customer = customer()); GRANT SELECT ON lines TO dashboard; GRANT DELETE ON countries TO dashboard`,
    found: { code: "cascade", object: "public.lines" },
  },
  {
    name: "the role of one customer that is granted to another",
    sql: `CREATE ROLE c1; CREATE ROLE c2; GRANT c1, c2 TO backend; GRANT c2 TO c1; GRANT SELECT ON orders TO c1, c2;
      ALTER TABLE orders ADD who name; UPDATE orders SET who = 'c' || customer; CREATE POLICY who ON orders FOR SELECT TO c1, c2 USING (who = current_user)`,
    as: (number) => `SET LOCAL ROLE c${number}`,
    found: { code: "customer_role_granted", object: "c1" },
  },
  {
    name: "the role of a third customer that is granted to the first",
    sql: `CREATE ROLE c1; CREATE ROLE c2; CREATE ROLE c3; GRANT c1, c2, c3 TO backend; GRANT c3 TO c1; GRANT SELECT ON orders TO c1, c2, c3;
      ALTER TABLE orders ADD who name; UPDATE orders SET who = 'c' || customer; CREATE POLICY who ON orders FOR SELECT TO c1, c2, c3 USING (who = current_user)`,
    as: (number) => `SET LOCAL ROLE c${number}`,
    found: { code: "customer_role_granted", object: "c1" },
  },
  {
    name: "an optional restrictive policy",
    sql: `CREATE POLICY store ON orders AS RESTRICTIVE TO dashboard
      USING (nullif(current_setting('app.store', true), '') IS NULL OR store = current_setting('app.store', true)::int)`,
    found: { object: "public.orders.store" },
  },
  {
    name: "a policy for a setting that the two customers share",
    sql: `CREATE TABLE visits (id int PRIMARY KEY, region text); ALTER TABLE visits ENABLE ROW LEVEL SECURITY; ALTER TABLE visits FORCE ROW LEVEL SECURITY;
      CREATE POLICY own ON visits FOR SELECT TO dashboard USING (region = current_setting('app.region', true)); GRANT SELECT ON visits TO dashboard`,
    as: (number) => `${asCustomer(number)}; SET LOCAL app.region = 'eu'`,
    found: { object: "public.visits.own" },
  },
  {
    name: "two policies, of which one is for people",
    sql: `CREATE POLICY person ON orders FOR SELECT TO dashboard USING (note = current_setting('app.person', true))`,
    as: asBoth,
    found: { code: "policies_or", object: "public.orders" },
  },
];

const MESSAGE = "SET LOCAL ROLE dashboard; SELECT set_config('app.claims', ";
const PEOPLE_SQL = (
  policy: string,
) => `CREATE FUNCTION claim(text) RETURNS text STABLE LANGUAGE sql RETURN nullif(current_setting('app.claims', true), '')::jsonb ->> $1;
  CREATE OR REPLACE FUNCTION customer() RETURNS bigint STABLE LANGUAGE sql RETURN claim('team_id')::bigint; ${policy}`;

/** Two people of the first customer, of different stores. */
export const asOneOfTwo = (number: number): string =>
  `${MESSAGE}'{"team_id":1,"viewer_properties":{"store":${number + 6}}}', true)`;

/** Mistakes between people of one customer, with the policy that keeps them apart. */
export const PEOPLE_CORRECT = PEOPLE_SQL(
  "CREATE POLICY store ON orders AS RESTRICTIVE TO dashboard USING (store = (claim('viewer_properties')::jsonb ->> 'store')::int)",
);

const PEOPLE: readonly PlantedKind[] = [
  {
    name: "people without a policy of theirs",
    sql: `${PEOPLE_SQL("")}; CREATE TABLE visits (id int PRIMARY KEY, customer bigint, store int); INSERT INTO visits VALUES (1, 1, 7), (2, 1, 8);
      ALTER TABLE visits ENABLE ROW LEVEL SECURITY; ALTER TABLE visits FORCE ROW LEVEL SECURITY; GRANT SELECT ON visits TO dashboard;
      CREATE POLICY own ON visits FOR SELECT TO dashboard USING (customer = customer());
      CREATE POLICY store ON visits AS RESTRICTIVE FOR SELECT TO dashboard USING (store = (claim('viewer_properties')::jsonb ->> 'store')::int)`,
    as: asOneOfTwo,
    found: { code: "seen_by_both", object: "public.orders" },
  },
  {
    name: "a person's policy that a missing store passes",
    sql: PEOPLE_SQL(`CREATE POLICY store ON orders AS RESTRICTIVE TO dashboard
      USING (claim('viewer_properties') IS NULL OR store = (claim('viewer_properties')::jsonb ->> 'store')::int)`),
    as: asOneOfTwo,
    found: { code: "missing_setting_allowed", object: "store on public.orders" },
  },
  {
    name: "a person's policy with a default",
    sql: PEOPLE_SQL(`CREATE POLICY store ON orders AS RESTRICTIVE TO dashboard
      USING (store = coalesce((claim('viewer_properties')::jsonb ->> 'store')::int, store))`),
    as: asOneOfTwo,
    found: { object: "public.orders.store" },
  },
  {
    name: "a person's policy that is dropped",
    sql: `${PEOPLE_CORRECT}; DROP POLICY store ON orders`,
    as: asOneOfTwo,
    found: { code: "seen_by_both", object: "public.orders" },
  },
  {
    name: "a table of the customer's without a column for people",
    sql: `${PEOPLE_CORRECT}; CREATE TABLE bills (id int PRIMARY KEY, customer bigint); ALTER TABLE bills ENABLE ROW LEVEL SECURITY;
      ALTER TABLE bills FORCE ROW LEVEL SECURITY; CREATE POLICY own ON bills FOR SELECT TO dashboard USING (customer = customer()); GRANT SELECT ON bills TO dashboard`,
    as: asOneOfTwo,
    found: { object: "public.bills.own" },
  },
  {
    name: "a person's policy for reading alone",
    sql: PEOPLE_SQL(
      "CREATE POLICY store ON orders AS RESTRICTIVE FOR SELECT TO dashboard USING (store = (claim('viewer_properties')::jsonb ->> 'store')::int)",
    ),
    as: asOneOfTwo,
    found: { object: "public.orders.own" },
  },
];

/** A table with a policy of its own, in a database with others. */
const table = (name: string, columns: string, { rows, rights = "SELECT" }: { rows: string; rights?: string }) => `
  CREATE TABLE ${name} (${columns}); INSERT INTO ${name} VALUES ${rows}; ALTER TABLE ${name} OWNER TO owner;
  ALTER TABLE ${name} ENABLE ROW LEVEL SECURITY; ALTER TABLE ${name} FORCE ROW LEVEL SECURITY; GRANT ${rights} ON ${name} TO dashboard;`;
const PERSON = "current_setting('app.person', true)";
const UUIDS = "(1, '00000000-0000-0000-0000-000000000001'), (2, '00000000-0000-0000-0000-000000000002')";
/** A function that runs as its owner, and tells of other rows by its target or its condition. */
const helper = (name: string, target: string, condition = "true") => `
  CREATE FUNCTION ${name}(int) RETURNS text STABLE LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
    $$ SELECT ${target} FROM public.members m WHERE m.person = ${PERSON} AND ${condition} $$;`;
const HELPERS = {
  target: helper("target", "(SELECT o.note FROM public.orders o WHERE o.id = $1)"),
  called: helper("called", "public.note_of($1)"),
  oracle: helper("oracle", "m.person", "EXISTS (SELECT FROM public.orders o WHERE o.id = $1)"),
  negated: helper("negated", "m.person", "NOT EXISTS (SELECT FROM public.orders o WHERE o.id = $1)"),
  asked: helper("asked", "m.person", "public.has_note($1)"),
  chosen: helper(
    "chosen",
    "m.person",
    "CASE WHEN (SELECT o.store FROM public.orders o WHERE o.id = $1) = 7 THEN true ELSE false END",
  ),
  dynamic: helper(
    "dynamic",
    "m.person",
    "query_to_xml('SELECT note FROM public.orders', true, true, '')::text LIKE '%x%'",
  ),
};

const BATCHES: readonly PlantedKind[] = [
  {
    name: "casts of one's own, by which ids become the same",
    sql: `CREATE TYPE place AS ENUM ('1', '2', '3');
      CREATE FUNCTION lie(place) RETURNS text IMMUTABLE LANGUAGE sql RETURN CASE WHEN $1 >= '2'::place THEN '2' ELSE '1' END; CREATE CAST (place AS text) WITH FUNCTION lie(place);
      CREATE FUNCTION lie(text) RETURNS uuid IMMUTABLE LANGUAGE sql RETURN lpad($1, 32, '0')::varchar::uuid; CREATE CAST (text AS uuid) WITH FUNCTION lie(text);
      CREATE FUNCTION own_id() RETURNS uuid STABLE LANGUAGE sql AS $$ SELECT ${SETTING}::uuid $$;
      ${table("a", "id int PRIMARY KEY, customer place", { rows: "(1, '1'), (2, '2')" })} CREATE POLICY own ON a TO dashboard USING (customer::text = ${SETTING});
      ${table("b", "id int PRIMARY KEY, customer uuid", { rows: UUIDS })} CREATE POLICY own ON b TO dashboard USING (customer = own_id())`,
    found: [{ object: "public.a.own" }, { object: "public.b.own" }],
  },
  {
    name: "types and lists that cut ids",
    sql: `CREATE DOMAIN short AS varchar(1); CREATE DOMAIN public.date AS text; CREATE TYPE place AS ENUM ('1', '2', '1,2');
      CREATE FUNCTION day() RETURNS text STABLE LANGUAGE sql AS $$ SELECT ${SETTING}::date::text $$;
      ${table("a", "id int PRIMARY KEY, customer text", { rows: "(1, '1'), (2, '2')" })} CREATE POLICY own ON a TO dashboard USING (customer = ${SETTING}::short);
      ${table("b", "id int PRIMARY KEY, customer place", { rows: "(1, '1'), (2, '2')" })} CREATE POLICY own ON b TO dashboard USING (customer = ANY (string_to_array(${SETTING}, ',')::place[]));
      ${table("c", "id int PRIMARY KEY, customer int", { rows: "(1, 1), (2, 2)" })} CREATE POLICY own ON c TO dashboard USING (customer = ANY (string_to_array(${SETTING}, '0')::int[]));
      ${table("d", "id int PRIMARY KEY, customer text", { rows: "(1, '1'), (2, '2')" })} CREATE POLICY own ON d TO dashboard USING (customer = day())`,
    found: ["a", "b", "c", "d"].map((name) => ({ object: `public.${name}.own` })),
  },
  {
    name: "helpers that run as their owner, and tell of the rows of others",
    sql: `${members("SELECT 1", IS_MEMBER)}; CREATE FUNCTION note_of(int) RETURNS text STABLE LANGUAGE sql AS 'SELECT note FROM public.orders WHERE id = $1';
      CREATE FUNCTION has_note(int) RETURNS boolean STABLE LANGUAGE plpgsql AS 'BEGIN RETURN EXISTS (SELECT FROM public.orders WHERE id = $1); END';
      ${Object.values(HELPERS).join("")}`,
    as: asPerson,
    found: Object.keys(HELPERS).map((name) => ({ code: "security_definer", object: `public.${name}(integer)` })),
  },
  {
    name: "tables and functions in schemas that only views and functions may name",
    sql: `CREATE SCHEMA hidden; CREATE TABLE hidden.bills AS SELECT * FROM orders; CREATE MATERIALIZED VIEW hidden.sums AS SELECT * FROM orders;
      CREATE TABLE hidden.bodies AS SELECT * FROM orders; GRANT SELECT ON ALL TABLES IN SCHEMA hidden TO dashboard; CREATE EXTENSION dblink SCHEMA hidden;
      CREATE VIEW bills WITH (security_invoker = true) AS SELECT * FROM hidden.bills; CREATE VIEW sums WITH (security_invoker = true) AS SELECT * FROM hidden.sums;
      GRANT SELECT ON bills, sums TO dashboard; CREATE FUNCTION bodies() RETURNS bigint STABLE LANGUAGE sql BEGIN ATOMIC SELECT count(*) FROM hidden.bodies; END;
      CREATE FUNCTION remote(text) RETURNS SETOF text LANGUAGE sql BEGIN ATOMIC SELECT x FROM hidden.dblink('dbname=postgres', $1) AS t (x text); END`,
    found: [
      { code: "rls_disabled", object: "hidden.bills" },
      { code: "materialized_view", object: "hidden.sums" },
      { code: "rls_disabled", object: "hidden.bodies" },
      { code: "builtin_function", object: "hidden.dblink(text, text)" },
    ],
  },
  {
    name: "rows that a person writes for another customer",
    sql: `${members("SELECT 1", IS_MEMBER)}; ${table("docs", "id int PRIMARY KEY, customer bigint, author text", { rows: "(1, 1, 'p1'), (2, 2, 'p2')", rights: "SELECT, INSERT, UPDATE" })}
      CREATE POLICY seen ON docs FOR SELECT TO dashboard USING (customer IN (SELECT customer FROM members WHERE person = ${PERSON}));
      CREATE POLICY added ON docs FOR INSERT TO dashboard WITH CHECK (author = ${PERSON}); CREATE POLICY moved ON docs FOR UPDATE TO dashboard USING (author = ${PERSON})`,
    as: asPerson,
    found: [{ object: "public.docs.added" }, { object: "public.docs.moved" }],
  },
  {
    name: "keys that nobody checks, and tables that a path may not mean",
    sql: `${members("SELECT 1", "customer IN (SELECT mine())").replace("GRANT SELECT ON members", "CREATE SCHEMA hidden; CREATE TABLE hidden.members (LIKE members); CREATE FUNCTION mine() RETURNS SETOF bigint STABLE LANGUAGE sql SET search_path = hidden, public, pg_temp AS 'SELECT customer FROM members WHERE person = current_setting(''app.person'', true)'; GRANT SELECT ON members")};
      ${table("lines", "order_id int REFERENCES orders, line int", { rows: "(1, 1), (3, 1)" })} ALTER TABLE lines DISABLE TRIGGER ALL;
      CREATE POLICY own ON lines FOR SELECT TO dashboard USING (EXISTS (SELECT FROM orders WHERE orders.id = lines.order_id AND orders.customer = customer()))`,
    as: asBoth,
    found: [{ object: OWN }, { object: "public.lines.own" }],
  },
  {
    name: "an operator in a schema that the customer's SQL puts first",
    sql: `CREATE SCHEMA shop; GRANT USAGE ON SCHEMA shop TO dashboard; CREATE FUNCTION shop.same(bigint, bigint) RETURNS boolean IMMUTABLE LANGUAGE sql RETURN $1 - $2 IN (0, 2);
      CREATE OPERATOR shop.= (FUNCTION = shop.same, LEFTARG = bigint, RIGHTARG = bigint);
      CREATE FUNCTION mine(bigint) RETURNS boolean STABLE LANGUAGE sql AS $$ SELECT $1 = nullif(${SETTING}, '')::bigint $$; ALTER POLICY own ON orders USING (mine(customer)) WITH CHECK (mine(customer))`,
    as: (number) => `SET LOCAL search_path = shop, pg_catalog, public; ${asCustomer(number)}`,
    found: { object: OWN },
  },
  {
    name: "roles of customers, whose policies name another customer, and one that owns a type",
    sql: `REVOKE dashboard FROM backend; CREATE ROLE c1; CREATE ROLE c2; GRANT c1, c2 TO backend; CREATE TYPE place AS ENUM ('c1', 'c2'); ALTER TYPE place OWNER TO c1;
      ${table("notes", "id int PRIMARY KEY, customer int", { rows: "(1, 1), (2, 2)" })} GRANT SELECT, INSERT, UPDATE, DELETE ON notes TO c1, c2;
      CREATE POLICY c1 ON notes FOR SELECT TO c1 USING (customer = 1); CREATE POLICY c2 ON notes FOR SELECT TO c2 USING (customer = 2);
      CREATE POLICY gone ON notes FOR DELETE TO c2 USING (customer = 1); CREATE POLICY added ON notes FOR INSERT TO c1 WITH CHECK (customer = 2)`,
    as: (number) => `SET LOCAL ROLE c${number}`,
    found: [
      { object: "gone on public.notes" },
      { object: "added on public.notes" },
      { code: "owner", object: "public.place" },
    ],
  },
];

export const KINDS: readonly PlantedKind[] = [
  ...BATCHES,
  ...RIGHTS,
  ...DEFINERS,
  ...MEMBERSHIPS,
  ...NAMES,
  ...MISSING,
  ...INEXACT,
  ...FUNCTIONS,
  ...OTHERS,
  ...PEOPLE,
];
