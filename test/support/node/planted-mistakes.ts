/** A correct set-up of row-level security, and mistakes in it that the prover must find. */
import { readFileSync } from "node:fs";

/** Removes what the case before has left, roles too. */
export const RESET = `
  DO $$ DECLARE each record; BEGIN
    FOR each IN SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' LOOP
      EXECUTE format('DROP SCHEMA %I CASCADE', each.nspname);
    END LOOP;
    FOR each IN SELECT rolname FROM pg_roles WHERE rolname !~ '^pg_' AND rolname <> 'postgres' LOOP
      EXECUTE format('DROP OWNED BY %I CASCADE', each.rolname);
    END LOOP;
    FOR each IN SELECT rolname FROM pg_roles WHERE rolname !~ '^pg_' AND rolname <> 'postgres' LOOP
      EXECUTE format('DROP ROLE %I', each.rolname);
    END LOOP;
    FOR each IN SELECT fdwname FROM pg_foreign_data_wrapper LOOP
      EXECUTE format('DROP FOREIGN DATA WRAPPER %I CASCADE', each.fdwname);
    END LOOP;
    FOR each IN SELECT evtname FROM pg_event_trigger LOOP
      EXECUTE format('DROP EVENT TRIGGER %I', each.evtname);
    END LOOP;
    PERFORM lo_unlink(oid) FROM pg_largeobject_metadata;
    REVOKE ALL ON pg_catalog.pg_statistic FROM PUBLIC;
    REVOKE EXECUTE ON FUNCTION pg_catalog.pg_ls_dir(text) FROM PUBLIC;
    EXECUTE format('REVOKE CREATE ON DATABASE %I FROM PUBLIC', current_database());
    EXECUTE format('ALTER DATABASE %I OWNER TO postgres', current_database());
    EXECUTE 'ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM PUBLIC';
    EXECUTE format('ALTER DATABASE %I RESET ALL', current_database());
    CREATE SCHEMA public;
    GRANT USAGE ON SCHEMA public TO PUBLIC;
  END $$;`;

/** The value that no output may contain. */
export const SECRET = "top-secret-4711";

/** Customers 1 and 2 have orders; a role writes them; every customer may read countries. */
export const CORRECT = `
  CREATE ROLE owner NOLOGIN;
  CREATE ROLE dashboard NOLOGIN;
  CREATE ROLE importer NOLOGIN;
  CREATE ROLE backend LOGIN NOINHERIT;
  GRANT dashboard TO backend;
  CREATE TABLE orders (id int PRIMARY KEY, customer bigint, store int NOT NULL, note text, public boolean NOT NULL DEFAULT false);
  INSERT INTO orders VALUES (1, 1, 7, '${SECRET}', true), (2, 1, 8, '${SECRET}', false), (3, 2, 7, '${SECRET}', false),
    (4, 2, 8, '${SECRET}', false), (5, 3, 7, '${SECRET}', false);
  CREATE TABLE countries (code text PRIMARY KEY);
  INSERT INTO countries VALUES ('de'), ('fr');
  CREATE VIEW own_orders AS SELECT id, note FROM orders;
  ALTER VIEW own_orders SET (security_invoker = true);
  CREATE VIEW all_countries AS SELECT code FROM countries;
  ALTER TABLE orders ENABLE ROW LEVEL SECURITY;
  ALTER TABLE orders FORCE ROW LEVEL SECURITY;
  CREATE FUNCTION customer() RETURNS bigint STABLE LANGUAGE sql
    RETURN nullif(current_setting('app.customer', true), '')::bigint;
  CREATE POLICY own ON orders TO dashboard USING (customer = customer()) WITH CHECK (customer = customer());
  CREATE POLICY import ON orders TO importer USING (true) WITH CHECK (true);
  ALTER TABLE orders OWNER TO owner;
  ALTER TABLE countries OWNER TO owner;
  ALTER VIEW own_orders OWNER TO owner;
  ALTER VIEW all_countries OWNER TO owner;
  GRANT SELECT, UPDATE, INSERT ON orders TO dashboard;
  GRANT SELECT ON countries, own_orders, all_countries TO dashboard;`;

/** The SQL of a customer, as a backend with this set-up runs it. */
export const asCustomer = (number: number): string =>
  `SET LOCAL ROLE dashboard; SELECT set_config('app.customer', '${number}', true)`;

export type PlantedMistake = {
  name: string;
  sql: string;
  /** The code and the object that the prover must name. */
  code: string;
  object: string;
  /** Other mistakes that follow from this one. */
  also?: readonly string[];
  /** The SQL of a customer, if the mistake is in it. */
  as?: (number: number) => string;
};

/** Rows that everybody may see through a policy are found by reading, too. */
const READ = ["seen_by_both", "seen_without_setting"];

export const PLANTED: readonly PlantedMistake[] = [
  { name: "a login with BYPASSRLS", sql: "ALTER ROLE backend BYPASSRLS", code: "bypassrls", object: "backend" },
  {
    name: "queries of a role with BYPASSRLS",
    sql: "ALTER ROLE dashboard BYPASSRLS",
    code: "bypassrls",
    object: "dashboard",
    also: READ,
  },
  { name: "a superuser", sql: "ALTER ROLE backend SUPERUSER", code: "superuser", object: "backend" },
  { name: "a login that owns a table", sql: "ALTER TABLE orders OWNER TO backend", code: "owner", object: "backend" },
  {
    name: "queries of the owner of a table without FORCE",
    sql: "ALTER TABLE orders OWNER TO dashboard; ALTER TABLE orders NO FORCE ROW LEVEL SECURITY",
    code: "owner",
    object: "dashboard",
    also: ["rls_not_forced", ...READ],
  },
  {
    name: "a login that can become the owner",
    sql: "GRANT owner TO backend",
    code: "owner",
    object: "owner",
    also: ["no_policy"],
  },
  {
    name: "a login that can become a role with a policy of its own",
    sql: "GRANT importer TO backend; GRANT SELECT ON orders TO importer",
    code: "reachable_role",
    object: "importer",
  },
  {
    name: "a login that can create roles",
    sql: "ALTER ROLE backend CREATEROLE",
    code: "createrole",
    object: "backend",
  },
  { name: "a login that can replicate", sql: "ALTER ROLE backend REPLICATION", code: "replication", object: "backend" },
  {
    name: "membership in a predefined role",
    sql: "GRANT pg_read_server_files TO dashboard",
    code: "predefined_role",
    object: "dashboard",
    also: ["predefined_role"],
  },
  {
    name: "a table without row-level security",
    sql: "ALTER TABLE orders DISABLE ROW LEVEL SECURITY",
    code: "rls_disabled",
    object: "public.orders",
  },
  {
    name: "a table without FORCE",
    sql: "ALTER TABLE orders NO FORCE ROW LEVEL SECURITY",
    code: "rls_not_forced",
    object: "public.orders",
  },
  {
    name: "a table in another schema, for everybody",
    sql: `CREATE SCHEMA archive; GRANT USAGE ON SCHEMA archive TO PUBLIC; CREATE TABLE archive."Old Orders" AS SELECT * FROM orders; GRANT SELECT ON archive."Old Orders" TO PUBLIC`,
    code: "granted_to_public",
    object: 'archive."Old Orders"',
    also: ["rls_disabled"],
  },
  {
    name: "a second permissive policy",
    sql: "CREATE POLICY store ON orders FOR SELECT TO dashboard USING (store = nullif(current_setting('app.store', true), '')::int)",
    code: "policies_or",
    object: "public.orders",
  },
  {
    name: "a policy for everybody and all rows",
    sql: "CREATE POLICY all_rows ON orders USING (true)",
    code: "policy_open",
    object: "all_rows on public.orders",
    also: [...READ, "policies_or", "policy_without_check"],
  },
  {
    name: "one command whose policy is true",
    sql: "CREATE POLICY gone ON orders FOR DELETE TO dashboard USING (true)",
    code: "policy_open",
    object: "gone on public.orders",
    also: ["policies_or"],
  },
  {
    name: "an alternative that asks nobody",
    sql: "ALTER POLICY own ON orders USING (customer = customer() OR public)",
    code: "policy_open",
    object: "own on public.orders",
    also: READ,
  },
  {
    name: "a policy that compares no row",
    sql: "ALTER POLICY own ON orders USING (customer() IS NOT NULL)",
    code: "policy_open",
    object: "own on public.orders",
    also: READ,
  },
  {
    name: "a policy that compares prefixes",
    sql: "ALTER POLICY own ON orders USING (customer::text LIKE customer()::text || '%')",
    code: "policy_open",
    object: "own on public.orders",
  },
  {
    name: "true for a missing setting",
    sql: "ALTER POLICY own ON orders USING (nullif(current_setting('app.customer', true), '') IS NULL OR customer = customer())",
    code: "missing_setting_allowed",
    object: "own on public.orders",
    also: [...READ, "policy_open"],
  },
  {
    name: "a default for a missing setting",
    sql: "ALTER POLICY own ON orders USING (customer = coalesce(customer(), 3))",
    code: "missing_setting_allowed",
    object: "own on public.orders",
    also: READ,
  },
  {
    name: "a default for a missing setting, in a function",
    sql: `CREATE OR REPLACE FUNCTION customer() RETURNS bigint STABLE LANGUAGE plpgsql AS
      $$ BEGIN RETURN coalesce(nullif(current_setting('app.customer', true), ''), '4')::bigint; END $$`,
    code: "missing_setting_allowed",
    object: "own on public.orders",
  },
  {
    name: "a default value of the setting",
    sql: "ALTER ROLE backend SET app.customer = '3'",
    code: "default_setting",
    object: "backend",
    also: READ,
  },
  {
    name: "new rows that are checked by a pattern",
    sql: "DROP POLICY own ON orders; CREATE POLICY own ON orders TO dashboard USING (customer::text LIKE customer()::text || '%')",
    code: "policy_without_check",
    object: "own on public.orders",
    also: ["policy_open"],
  },
  {
    name: "an UPDATE that can move rows to another customer",
    sql: "ALTER POLICY own ON orders WITH CHECK (true)",
    code: "policy_check_open",
    object: "own on public.orders",
  },
  {
    name: "a view that runs as its owner",
    sql: "ALTER VIEW own_orders RESET (security_invoker); ALTER VIEW own_orders OWNER TO postgres",
    code: "view_runs_as_owner",
    object: "public.own_orders",
  },
  {
    name: "a materialized view",
    sql: "CREATE MATERIALIZED VIEW totals AS SELECT customer, count(*) FROM orders GROUP BY 1; GRANT SELECT ON totals TO dashboard",
    code: "materialized_view",
    object: "public.totals",
  },
  {
    name: "a function that runs as its owner",
    sql: "CREATE FUNCTION everything() RETURNS SETOF orders LANGUAGE sql SECURITY DEFINER AS 'SELECT * FROM orders'",
    code: "security_definer",
    object: "public.everything()",
  },
  {
    name: "a function marked LEAKPROOF",
    sql: "CREATE FUNCTION peek(text) RETURNS boolean LANGUAGE sql LEAKPROOF AS 'SELECT true'",
    code: "leakproof_function",
    object: "public.peek(text)",
  },
  {
    name: "a partition that can be read directly",
    sql: `CREATE TABLE visits (customer bigint, day date) PARTITION BY RANGE (day);
      CREATE TABLE visits_2026 PARTITION OF visits FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
      INSERT INTO visits VALUES (1, '2026-05-05'), (2, '2026-05-05');
      ALTER TABLE visits ENABLE ROW LEVEL SECURITY; ALTER TABLE visits FORCE ROW LEVEL SECURITY;
      CREATE POLICY own ON visits FOR SELECT TO dashboard USING (customer = customer());
      GRANT SELECT ON visits, visits_2026 TO dashboard`,
    code: "partition_open",
    object: "public.visits_2026",
  },
  {
    name: "a child that can be read directly",
    sql: "CREATE TABLE old_orders () INHERITS (orders); GRANT SELECT ON old_orders TO dashboard",
    code: "partition_open",
    object: "public.old_orders",
  },
  {
    name: "tables that everybody may read as soon as they exist",
    sql: "ALTER DEFAULT PRIVILEGES FOR ROLE owner IN SCHEMA public GRANT SELECT ON TABLES TO PUBLIC",
    code: "default_privileges",
    object: "PUBLIC",
  },
  {
    name: "a right to TRUNCATE",
    sql: "GRANT TRUNCATE ON orders TO dashboard",
    code: "privilege_beyond_policies",
    object: "public.orders",
  },
  {
    name: "row-level security without a policy",
    sql: "DROP POLICY own ON orders; DROP POLICY import ON orders",
    code: "no_policy",
    object: "public.orders",
  },
  {
    name: "a policy for another role only",
    sql: "ALTER POLICY own ON orders TO importer",
    code: "no_policy",
    object: "public.orders",
  },
  {
    name: "a schema in which queries may create",
    sql: "GRANT CREATE ON SCHEMA public TO PUBLIC",
    code: "schema_create",
    object: "public",
    also: ["schema_create"],
  },
  {
    name: "a function of a policy that queries can replace",
    sql: "ALTER FUNCTION customer() OWNER TO dashboard",
    code: "policy_function_owned",
    object: "public.customer()",
  },
  {
    name: "rows that both customers see",
    sql: "CREATE FUNCTION mine(bigint) RETURNS boolean STABLE LANGUAGE sql RETURN $1 IN (customer(), 3); ALTER POLICY own ON orders USING (mine(customer))",
    code: "seen_by_both",
    object: "public.orders",
    also: ["policy_open", "seen_without_setting"],
  },
  {
    name: "a setting that outlives its transaction",
    sql: "",
    as: (number) => `SET LOCAL ROLE dashboard; SET app.customer = '${number}'`,
    code: "setting_survives",
    object: "app.customer",
  },
  {
    name: "a role that outlives its transaction",
    sql: "",
    as: (number) => `SET LOCAL app.customer = ${number}; SET ROLE dashboard`,
    code: "role_survives",
    object: "dashboard",
  },
  {
    name: "a foreign table",
    sql: `CREATE FOREIGN DATA WRAPPER elsewhere; CREATE SERVER other FOREIGN DATA WRAPPER elsewhere;
      CREATE FOREIGN TABLE remote_orders (id int) SERVER other; GRANT SELECT ON remote_orders TO dashboard`,
    code: "foreign_table",
    object: "public.remote_orders",
  },
  {
    name: "rows without a customer for a missing setting",
    sql: "ALTER POLICY own ON orders USING (customer IS NOT DISTINCT FROM customer())",
    code: "missing_setting_allowed",
    object: "own on public.orders",
  },
  {
    name: "a policy that shows all rows but one's own",
    sql: "DELETE FROM orders WHERE customer = 3; ALTER POLICY own ON orders USING (customer <> customer())",
    code: "policy_open",
    object: "own on public.orders",
  },
  {
    name: "ids that differ in upper case alone",
    sql: `CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
      CREATE TABLE notes (id int PRIMARY KEY, customer text COLLATE folded);
      INSERT INTO notes VALUES (1, '1'), (2, '2');
      ALTER TABLE notes ENABLE ROW LEVEL SECURITY; ALTER TABLE notes FORCE ROW LEVEL SECURITY;
      CREATE POLICY own ON notes FOR SELECT TO dashboard USING (customer = customer()::text);
      GRANT SELECT ON notes TO dashboard`,
    code: "policy_open",
    object: "own on public.notes",
  },
  {
    name: "an INSERT with any customer",
    sql: "CREATE POLICY more ON orders FOR INSERT TO dashboard WITH CHECK (store > 0)",
    code: "policy_check_open",
    object: "more on public.orders",
    also: ["policies_or"],
  },
  {
    name: "a policy of a role that queries inherit",
    sql: `CREATE ROLE support; GRANT support TO dashboard; CREATE POLICY help ON orders FOR SELECT TO support USING (true)`,
    code: "policy_open",
    object: "help on public.orders",
    also: [...READ, "policies_or"],
  },
  {
    name: "a default value of the setting in the database",
    sql: "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET app.customer = 1', current_database()); END $$",
    code: "default_setting",
    object: "the database",
    also: READ,
  },
  {
    name: "set_config for the connection",
    sql: "",
    as: (number) => `SET LOCAL ROLE dashboard; SELECT set_config('app.customer', '${number}', false)`,
    code: "setting_survives",
    object: "app.customer",
  },
  {
    name: "a CASE that shows everything without a setting",
    sql: "ALTER POLICY own ON orders USING (CASE WHEN customer() IS NULL THEN true ELSE customer = customer() END)",
    code: "missing_setting_allowed",
    object: "own on public.orders",
    also: READ,
  },
  {
    name: "an empty setting that shows everything",
    sql: "ALTER POLICY own ON orders USING (current_setting('app.customer', true) = '' OR customer = customer())",
    code: "missing_setting_allowed",
    object: "own on public.orders",
    also: [...READ, "policy_open"],
  },
  {
    name: "a column for everybody",
    sql: "GRANT SELECT (note) ON orders TO PUBLIC",
    code: "granted_to_public",
    object: "public.orders",
  },
  {
    name: "policies on a table whose row-level security is off",
    sql: "CREATE TABLE bills (id int PRIMARY KEY, customer bigint); CREATE POLICY own ON bills USING (customer = customer()); GRANT SELECT ON bills TO dashboard",
    code: "rls_disabled",
    object: "public.bills",
  },
  {
    name: "a definer's procedure in another schema",
    sql: `CREATE SCHEMA app; GRANT USAGE ON SCHEMA app TO dashboard;
      CREATE PROCEDURE app.sweep() LANGUAGE sql SECURITY DEFINER AS 'DELETE FROM public.orders'`,
    code: "security_definer",
    object: "app.sweep()",
  },
  {
    name: "a subquery that asks nothing of the row",
    sql: "DELETE FROM orders WHERE customer = 3; ALTER POLICY own ON orders USING (EXISTS (SELECT FROM orders o WHERE o.customer = customer()))",
    code: "policy_open",
    object: "own on public.orders",
  },
  {
    name: "an UPDATE that takes rows of others",
    sql: "CREATE POLICY take ON orders FOR UPDATE TO dashboard USING (true) WITH CHECK (customer = customer())",
    code: "policy_open",
    object: "take on public.orders",
    also: ["policies_or"],
  },
  {
    name: "a restrictive policy that a missing setting passes",
    sql: `ALTER POLICY own ON orders USING (true);
      CREATE POLICY limited ON orders AS RESTRICTIVE TO dashboard USING (customer() IS NULL OR customer = customer())`,
    code: "policy_open",
    object: "own on public.orders",
    also: ["seen_without_setting", "missing_setting_allowed"],
  },
  {
    name: "samples of all rows",
    sql: "GRANT SELECT ON pg_catalog.pg_statistic TO dashboard",
    code: "system_table",
    object: "pg_catalog.pg_statistic",
  },
  {
    name: "a setting that makes an administrator",
    sql: "ALTER POLICY own ON orders USING (customer = customer() OR current_setting('app.admin', true) = 'on')",
    code: "policy_open",
    object: "own on public.orders",
  },
];

const EMPTY = "DROP SCHEMA public CASCADE; CREATE SCHEMA public; GRANT USAGE ON SCHEMA public TO PUBLIC;";

/** Other ways to write a correct set-up. `only` starts without the tables of the first one. */
export const CORRECT_TOO: readonly { name: string; sql: string; as: (number: number) => string; only?: true }[] = [
  {
    name: "the recipe of verifying.md, with a restrictive policy",
    only: true,
    sql: `${EMPTY} DROP ROLE dashboard, backend; ${readFileSync("examples/embedding/row-level-security.sql", "utf8")}
      ALTER TABLE orders ADD store int DEFAULT 7;
      CREATE POLICY own_store ON orders AS RESTRICTIVE FOR SELECT TO dashboard
        USING (store = (session_claim('viewer_properties')::jsonb ->> 'store')::int);
      INSERT INTO orders (customer, amount) VALUES (1, 1), (2, 2)`,
    as: (number) =>
      `SELECT set_config('viewer_session.claims', '{"team_id":${number},"aud":"acme/Customer","viewer_properties":{"store":7}}', true); SET LOCAL ROLE dashboard`,
  },
  {
    name: "a login that queries itself, with a setting that must be there",
    only: true,
    sql: `${EMPTY} CREATE TABLE notes (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), customer text NOT NULL);
      INSERT INTO notes (customer) VALUES ('c1'), ('c2');
      ALTER TABLE notes ENABLE ROW LEVEL SECURITY; ALTER TABLE notes FORCE ROW LEVEL SECURITY;
      CREATE POLICY own ON notes FOR SELECT USING (customer = current_setting('app.customer'));
      GRANT SELECT ON notes TO backend`,
    as: (number) => `SET LOCAL app.customer = 'c${number}'`,
  },
  {
    name: "a role for each customer, who may read some columns",
    only: true,
    sql: `${EMPTY} CREATE ROLE c1; CREATE ROLE c2; GRANT c1, c2 TO backend;
      CREATE TABLE notes (id int PRIMARY KEY, customer name NOT NULL, secret text);
      INSERT INTO notes VALUES (1, 'c1'), (2, 'c2');
      ALTER TABLE notes ENABLE ROW LEVEL SECURITY; ALTER TABLE notes FORCE ROW LEVEL SECURITY;
      CREATE POLICY own ON notes FOR SELECT USING (customer = current_user);
      GRANT SELECT (id, customer) ON notes TO c1, c2`,
    as: (number) => `SET LOCAL ROLE c${number}`,
  },
  {
    name: "partitions behind their parent, and rows that belong to rows",
    sql: `CREATE TABLE lines (order_id int REFERENCES orders, line int) PARTITION BY RANGE (order_id);
      CREATE TABLE lines_1 PARTITION OF lines FOR VALUES FROM (0) TO (1000);
      INSERT INTO lines VALUES (1, 1), (3, 1);
      ALTER TABLE lines ENABLE ROW LEVEL SECURITY; ALTER TABLE lines FORCE ROW LEVEL SECURITY;
      CREATE POLICY own ON lines FOR SELECT TO dashboard
        USING (EXISTS (SELECT FROM orders WHERE orders.id = lines.order_id AND orders.customer = customer()));
      GRANT SELECT ON lines TO dashboard`,
    as: asCustomer,
  },
  {
    name: "a restrictive policy below one for all rows",
    sql: `ALTER POLICY own ON orders USING (true);
      CREATE POLICY limited ON orders AS RESTRICTIVE TO dashboard USING (customer = (SELECT customer())) WITH CHECK (customer = customer())`,
    as: asCustomer,
  },
  {
    name: "policies without WITH CHECK, whose USING checks new rows too",
    sql: `DROP POLICY own ON orders; CREATE POLICY own ON orders FOR SELECT TO dashboard USING (customer = customer());
      CREATE POLICY change ON orders FOR UPDATE TO dashboard USING (customer = customer())`,
    as: asCustomer,
  },
  {
    name: "a login that inherits the role of its queries",
    sql: "ALTER ROLE backend INHERIT; CREATE SEQUENCE numbers; GRANT USAGE, SELECT ON SEQUENCE numbers TO dashboard; CREATE TABLE internal (id int)",
    as: asCustomer,
  },
];
