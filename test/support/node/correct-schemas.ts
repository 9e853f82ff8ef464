/** Databases that keep customers apart, as people write them. The prover must say so after what it prints was pasted once. */
import { readFileSync } from "node:fs";

/** Removes what the case before has left, roles too, and gives back what initdb gives everybody. */
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
    PERFORM lo_unlink(oid) FROM pg_largeobject_metadata;
    REVOKE ALL ON pg_catalog.pg_statistic FROM PUBLIC;
    REVOKE EXECUTE ON FUNCTION pg_catalog.pg_ls_dir(text) FROM PUBLIC;
    EXECUTE format('REVOKE CREATE ON DATABASE %I FROM PUBLIC', current_database());
    EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO PUBLIC', current_database());
    EXECUTE format('ALTER DATABASE %I OWNER TO postgres', current_database());
    EXECUTE format('ALTER DATABASE %I RESET ALL', current_database());
    ALTER ROLE ALL RESET ALL;
    CREATE SCHEMA public;
    GRANT USAGE ON SCHEMA public TO PUBLIC;
  END $$;`;

/** The value that no output may contain. What follows it names the customer whose row it is. */
export const SECRET = "top-secret-4711";

/** Customers 1, 2 and 3 have orders, and every customer may read countries. It is proven as it is. */
export const CORRECT = `
  CREATE ROLE owner NOLOGIN;
  CREATE ROLE dashboard NOLOGIN;
  CREATE ROLE importer NOLOGIN;
  CREATE ROLE backend LOGIN NOINHERIT;
  GRANT dashboard TO backend;
  CREATE TABLE orders (id int PRIMARY KEY, customer bigint, store int NOT NULL, note text, public boolean NOT NULL DEFAULT false);
  INSERT INTO orders VALUES (1, 1, 7, '${SECRET} of 1', true), (2, 1, 8, '${SECRET} of 1', false), (3, 2, 7, '${SECRET} of 2', false),
    (4, 2, 8, '${SECRET} of 2', false), (5, 3, 7, '${SECRET} of 3', false);
  CREATE TABLE countries (code text PRIMARY KEY);
  INSERT INTO countries VALUES ('de'), ('fr');
  CREATE VIEW own_orders WITH (security_invoker = true) AS SELECT id, note FROM orders;
  CREATE VIEW all_countries WITH (security_invoker = true) AS SELECT code FROM countries;
  ALTER TABLE orders ENABLE ROW LEVEL SECURITY;
  CREATE FUNCTION customer() RETURNS bigint STABLE LANGUAGE sql
    RETURN nullif(current_setting('app.customer', true), '')::bigint;
  CREATE POLICY own ON orders TO dashboard USING (customer = customer());
  CREATE POLICY import ON orders TO importer USING (true);
  CREATE POLICY write ON orders FOR ALL WITH CHECK (customer = customer());
  ALTER TABLE orders OWNER TO owner;
  ALTER TABLE countries OWNER TO owner;
  ALTER VIEW own_orders OWNER TO owner;
  ALTER VIEW all_countries OWNER TO owner;
  GRANT SELECT ON orders, countries, own_orders, all_countries TO dashboard;
  DO $$ BEGIN EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database()); END $$;`;

/** The SQL of a customer, as a backend with this set-up runs it. */
export const asCustomer = (number: number): string =>
  `SET LOCAL ROLE dashboard; SELECT set_config('app.customer', '${number}', true)`;

/** The tables that all customers of the correct set-up share. */
export const SHARED: readonly string[] = ["public.countries", "public.all_countries"];

export type CorrectSchema = {
  name: string;
  sql: string;
  as: (number: number) => string;
  accept: readonly string[];
};

/** Databases by their names, whose customers are set in the same way. */
const correct = (
  as: CorrectSchema["as"],
  sqlOf: Record<string, string>,
  accept: readonly string[] = [],
): CorrectSchema[] => Object.entries(sqlOf).map(([name, sql]) => ({ name, sql, as, accept }));

const ROLES = `
  CREATE ROLE owner NOLOGIN; CREATE ROLE dashboard NOLOGIN; CREATE ROLE backend LOGIN NOINHERIT; GRANT dashboard TO backend;`;
const secured = (...tables: readonly string[]) =>
  tables
    .map(
      (table) =>
        `ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY; ALTER TABLE ${table} FORCE ROW LEVEL SECURITY; ALTER TABLE ${table} OWNER TO owner;`,
    )
    .join(" ");
const setting = (name: string, of: (number: number) => string) => (number: number) =>
  `SET LOCAL ROLE dashboard; SELECT set_config('${name}', '${of(number)}', true)`;
const uuid = (number: number) => `00000000-0000-0000-0000-00000000000${number}`;

const RECIPE = readFileSync("examples/embedding/row-level-security.sql", "utf8");
const asSession = (number: number) =>
  `SELECT set_config('viewer_session.claims', '{"team_id":${number},"aud":"acme/Customer","viewer_properties":{"store":"7"}}', true); SET LOCAL ROLE dashboard`;

const RECIPES: readonly CorrectSchema[] = [
  ...correct(asSession, {
    "the recipe": `${RECIPE} INSERT INTO orders (customer, amount) VALUES (1, 1), (2, 2)`,
    "the recipe with a policy for people": `${RECIPE} ALTER TABLE orders ADD store int DEFAULT 7; INSERT INTO orders (customer, amount) VALUES (1, 1), (2, 2);
      CREATE POLICY own_store ON orders AS RESTRICTIVE FOR SELECT TO dashboard
        USING (store = (session_claim('viewer_properties')::jsonb ->> 'store')::int)`,
    "the recipe in one policy, without a function": `${ROLES} CREATE TABLE orders (id int PRIMARY KEY, customer bigint NOT NULL, paid boolean); INSERT INTO orders VALUES (1, 1, true), (2, 2, true);
      ${secured("orders")} GRANT SELECT ON orders TO dashboard;
      CREATE POLICY own ON orders FOR SELECT TO dashboard
        USING (customer = ((nullif(current_setting('viewer_session.claims', true), '')::json) ->> 'team_id')::bigint AND paid IS NOT FALSE)`,
    "the recipe with a function of a text": `${ROLES} CREATE TABLE orders (id int PRIMARY KEY, customer bigint NOT NULL); INSERT INTO orders VALUES (1, 1), (2, 2);
      CREATE FUNCTION team() RETURNS bigint LANGUAGE sql STABLE SET search_path = '' AS $$
        SELECT (NULLIF(current_setting('viewer_session.claims', true), '')::jsonb #>> '{team_id}')::bigint; -- of the session
      $$;
      ${secured("orders")} GRANT SELECT ON orders TO dashboard; CREATE POLICY own ON orders TO dashboard USING (customer = (SELECT team()))`,
    "the product": `${readFileSync("examples/product/schema.sql", "utf8")} CREATE ROLE backend LOGIN NOINHERIT; GRANT dashboard TO backend;
      INSERT INTO sales (customer, store, product, month, orders, amount) VALUES (1, '7', 'a', '2026-01-01', 1, 1), (2, '7', 'a', '2026-01-01', 1, 1)`,
  }),
  ...correct(setting("app.team", String), {
    "the recipe with a function in PL/pgSQL": `${ROLES} CREATE TABLE orders (id int PRIMARY KEY, customer bigint NOT NULL); INSERT INTO orders VALUES (1, 1), (2, 2);
      CREATE FUNCTION team() RETURNS bigint LANGUAGE plpgsql STABLE AS $$
        BEGIN RETURN nullif(current_setting('app.team', true), '')::bigint; END $$;
      ${secured("orders")} GRANT SELECT ON orders TO dashboard; CREATE POLICY own ON orders TO dashboard USING (customer = team())`,
  }),
  ...correct((number) => `SET LOCAL app.customer = 'c${number}'`, {
    "a login that queries itself, with a setting that must be there": `CREATE ROLE backend LOGIN; CREATE TABLE notes (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), customer text NOT NULL, secret text);
      INSERT INTO notes (customer) VALUES ('c1'), ('c2'); ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
      CREATE POLICY own ON notes FOR SELECT USING (customer = current_setting('app.customer')); GRANT SELECT (id, customer) ON notes TO backend`,
  }),
];

const SUPABASE = `
  CREATE ROLE owner NOLOGIN; CREATE ROLE anon NOLOGIN NOINHERIT; CREATE ROLE authenticated NOLOGIN NOINHERIT; CREATE ROLE backend LOGIN NOINHERIT;
  GRANT anon, authenticated TO backend;
  CREATE SCHEMA auth; GRANT USAGE ON SCHEMA auth TO anon, authenticated;
  CREATE FUNCTION auth.uid() RETURNS uuid LANGUAGE sql STABLE AS $$
    select coalesce(
      nullif(current_setting('request.jwt.claim.sub', true), ''),
      (nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub')
    )::uuid
  $$;
  CREATE FUNCTION auth.role() RETURNS text LANGUAGE sql STABLE AS $$
    select coalesce(
      nullif(current_setting('request.jwt.claim.role', true), ''),
      (nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'role')
    )::text
  $$;
  CREATE FUNCTION auth.jwt() RETURNS jsonb LANGUAGE sql STABLE AS $$
    select coalesce(nullif(current_setting('request.jwt.claim', true), ''), nullif(current_setting('request.jwt.claims', true), ''))::jsonb
  $$;`;
const asUser = (number: number) =>
  `SELECT set_config('role', 'authenticated', true), set_config('request.jwt.claims', '{"sub":"${uuid(number)}","role":"authenticated","app_metadata":{"org_id":"${uuid(number + 2)}"}}', true)`;

const SUPABASES: readonly CorrectSchema[] = [
  ...correct(asUser, {
    "Supabase with auth.uid()": `${SUPABASE} CREATE TABLE profiles (id uuid PRIMARY KEY, name text); INSERT INTO profiles VALUES ('${uuid(1)}', 'a'), ('${uuid(2)}', 'b');
      CREATE TABLE todos (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, user_id uuid NOT NULL DEFAULT auth.uid(), task text);
      INSERT INTO todos (user_id) VALUES ('${uuid(1)}'), ('${uuid(2)}');
      ${secured("profiles", "todos")} GRANT SELECT ON profiles TO authenticated; GRANT SELECT, INSERT, UPDATE, DELETE ON todos TO authenticated;
      CREATE POLICY "Users see themselves." ON profiles FOR SELECT TO authenticated USING ((select auth.uid()) = id);
      CREATE POLICY "Users see their todos." ON todos FOR SELECT TO authenticated USING (auth.uid() = user_id)`,
    "Supabase with a claim of the organization": `${SUPABASE} CREATE TABLE docs (id int PRIMARY KEY, org_id uuid); INSERT INTO docs VALUES (1, '${uuid(3)}'), (2, '${uuid(4)}');
      ${secured("docs")} GRANT SELECT ON docs TO authenticated;
      CREATE POLICY org ON docs FOR ALL TO authenticated USING (org_id = (auth.jwt() -> 'app_metadata' ->> 'org_id')::uuid)`,
    "Supabase as its documents write policies": `${SUPABASE} CREATE TABLE teams (id uuid PRIMARY KEY, name text); INSERT INTO teams VALUES ('${uuid(3)}', 'a'), ('${uuid(4)}', 'b');
      CREATE TABLE team_user (team_id uuid REFERENCES teams ON DELETE CASCADE, user_id uuid); INSERT INTO team_user VALUES ('${uuid(3)}', '${uuid(1)}'), ('${uuid(4)}', '${uuid(2)}');
      CREATE TABLE plans (id int PRIMARY KEY, team_id uuid); INSERT INTO plans VALUES (1, '${uuid(3)}'), (2, '${uuid(4)}');
      CREATE TABLE files (id int PRIMARY KEY, team text); INSERT INTO files VALUES (1, '${uuid(3)}'), (2, '${uuid(4)}');
      CREATE FUNCTION my_teams() RETURNS uuid[] LANGUAGE sql STABLE SET search_path = public, pg_temp AS
        'select array(select team_id from team_user where user_id = auth.uid())';
      ${secured("teams", "team_user", "plans", "files")} GRANT SELECT ON teams, team_user TO authenticated; GRANT SELECT, UPDATE ON plans, files TO authenticated;
      CREATE POLICY "Members see their teams" ON teams TO authenticated USING (auth.uid() in (select user_id from team_user where team_user.team_id = teams.id));
      CREATE POLICY "Members see members" ON team_user FOR SELECT USING (auth.role() = 'authenticated' and user_id = (select auth.uid()));
      CREATE POLICY "Members see plans" ON plans USING (team_id = ANY (my_teams())) WITH CHECK (team_id = ANY (my_teams()));
      CREATE POLICY "Members see files" ON files USING (team = (auth.jwt() -> 'app_metadata' ->> 'org_id'))`,
  }),
  // A function that runs as its owner is not judged, and neither are the policies that call it.
  ...correct(
    asUser,
    {
      "Supabase with members, and a function that runs as its owner": `${SUPABASE} CREATE TABLE members (org_id uuid, user_id uuid, PRIMARY KEY (org_id, user_id));
      INSERT INTO members VALUES ('${uuid(3)}', '${uuid(1)}'), ('${uuid(4)}', '${uuid(2)}');
      CREATE TABLE docs (id int PRIMARY KEY, org_id uuid); INSERT INTO docs VALUES (1, '${uuid(3)}'), (2, '${uuid(4)}');
      CREATE FUNCTION orgs() RETURNS SETOF uuid LANGUAGE sql STABLE SECURITY DEFINER SET search_path = '' AS $$
        select org_id from public.members where user_id = (select auth.uid())
      $$;
      CREATE FUNCTION is_member(org uuid) RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER SET search_path = '' AS $$
        select exists (select 1 from public.members m where m.org_id = org and m.user_id = auth.uid());
      $$;
      ${secured("docs", "members")} GRANT SELECT, INSERT ON docs TO authenticated; GRANT SELECT ON members TO authenticated;
      CREATE POLICY own ON members FOR SELECT TO authenticated USING (org_id IN (SELECT orgs()));
      CREATE POLICY own ON docs FOR SELECT TO authenticated USING (is_member(org_id))`,
    },
    ["public.orgs()", "public.is_member(uuid)", "public.members.own", "public.docs.own"],
  ),
  ...correct(
    setting("request.jwt.claims", (number) => `{"email":"u${number}@example.com"}`),
    {
      "PostgREST's claims": `${ROLES} CREATE TABLE notes (id int PRIMARY KEY, email text); INSERT INTO notes VALUES (1, 'u1@example.com'), (2, 'u2@example.com');
      ${secured("notes")} GRANT SELECT, UPDATE ON notes TO dashboard;
      CREATE POLICY own ON notes USING (email = current_setting('request.jwt.claims', true)::json->>'email')
        WITH CHECK (email = current_setting('request.jwt.claims', true)::json->>'email')`,
    },
  ),
  ...correct(
    (number) =>
      `${setting("app.claims", (each) => `{"teams":[${each}],"areas":["a${each}"]}`)(number)}; SET LOCAL app.teams = '${number}'`,
    {
      "a list in the claims": `${ROLES} CREATE TABLE notes (id int PRIMARY KEY, team int, area text); INSERT INTO notes VALUES (1, 1, 'a1'), (2, 2, 'a2');
      CREATE TABLE more (id int PRIMARY KEY, area text); INSERT INTO more VALUES (1, 'a1'), (2, 'a2');
      CREATE TABLE others (id int PRIMARY KEY, team int); INSERT INTO others VALUES (1, 1), (2, 2);
      ${secured("notes", "more", "others")} GRANT SELECT ON notes, more, others TO dashboard;
      CREATE POLICY own ON notes USING (team IN (SELECT value::int FROM jsonb_array_elements_text(current_setting('app.claims', true)::jsonb -> 'teams')));
      CREATE POLICY own ON more USING (current_setting('app.claims', true)::jsonb -> 'areas' ? area);
      CREATE POLICY own ON others USING (team = ANY (string_to_array(current_setting('app.teams', true), ',')::int[]))`,
    },
  ),
];

const RAILS: readonly CorrectSchema[] = [
  ...correct(setting("rls.tenant_id", String), {
    "a Rails tenant_id": `${ROLES} CREATE TABLE tenants (id bigserial PRIMARY KEY, name varchar); INSERT INTO tenants (name) VALUES ('a'), ('b');
      CREATE TABLE posts (id bigserial PRIMARY KEY, tenant_id bigint NOT NULL REFERENCES tenants, title varchar(255), deleted_at timestamp);
      CREATE TABLE comments (id bigserial PRIMARY KEY, tenant_id bigint NOT NULL REFERENCES tenants, post_id bigint REFERENCES posts);
      INSERT INTO posts (tenant_id) VALUES (1), (2); INSERT INTO comments (tenant_id, post_id) VALUES (1, 1), (2, 2);
      ${secured("tenants", "posts", "comments")} GRANT SELECT ON tenants TO dashboard; GRANT SELECT, INSERT, UPDATE, DELETE ON posts, comments TO dashboard;
      CREATE POLICY tenant ON tenants USING (id = NULLIF(current_setting('rls.tenant_id', TRUE), '')::bigint);
      CREATE POLICY tenant ON posts USING (tenant_id = NULLIF(current_setting('rls.tenant_id', TRUE), '')::bigint);
      CREATE POLICY tenant ON comments USING (tenant_id = NULLIF(current_setting('rls.tenant_id', TRUE), '')::bigint);
      CREATE POLICY kept ON posts AS RESTRICTIVE FOR SELECT USING (deleted_at IS NULL)`,
  }),
  ...correct(setting("app.current_tenant", uuid), {
    "a Rails tenant_id of type uuid, with keys that name the tenant": `${ROLES} CREATE TABLE posts (id bigserial PRIMARY KEY, tenant_id uuid NOT NULL, UNIQUE (tenant_id, id));
      CREATE TABLE comments (id bigserial PRIMARY KEY, tenant_id uuid NOT NULL, post_id bigint,
        FOREIGN KEY (tenant_id, post_id) REFERENCES posts (tenant_id, id) ON DELETE CASCADE);
      INSERT INTO posts (tenant_id) VALUES ('${uuid(1)}'), ('${uuid(2)}'); INSERT INTO comments (tenant_id, post_id) VALUES ('${uuid(1)}', 1), ('${uuid(2)}', 2);
      ${secured("posts", "comments")} GRANT SELECT, INSERT, UPDATE, DELETE ON posts, comments TO dashboard;
      CREATE POLICY tenant ON posts USING (tenant_id::text = current_setting('app.current_tenant', true));
      CREATE POLICY tenant ON comments USING (tenant_id = current_setting('app.current_tenant')::uuid)`,
  }),
];

const MEMBERS: readonly CorrectSchema[] = [
  ...correct(
    setting("app.person", (number) => `p${number}`),
    {
      "a membership table, joined": `${ROLES} CREATE TABLE teams (id int PRIMARY KEY); INSERT INTO teams VALUES (1), (2);
      CREATE TABLE memberships (team_id int REFERENCES teams ON DELETE CASCADE, person text); INSERT INTO memberships VALUES (1, 'p1'), (2, 'p2');
      CREATE TABLE projects (id int PRIMARY KEY, team_id int REFERENCES teams); INSERT INTO projects VALUES (1, 1), (2, 2);
      CREATE TABLE tasks (id int PRIMARY KEY, project_id int NOT NULL REFERENCES projects ON DELETE CASCADE); INSERT INTO tasks VALUES (1, 1), (2, 2);
      ${secured("projects", "tasks", "memberships")} GRANT SELECT ON memberships TO dashboard; GRANT SELECT, INSERT, UPDATE, DELETE ON projects, tasks TO dashboard;
      CREATE POLICY own ON memberships FOR SELECT TO dashboard USING (person = current_setting('app.person', true));
      CREATE POLICY own ON projects TO dashboard
        USING (EXISTS (SELECT 1 FROM memberships m WHERE m.team_id = projects.team_id AND m.person = current_setting('app.person', true)));
      CREATE POLICY own ON tasks TO dashboard USING (EXISTS (
        SELECT 1 FROM projects p JOIN memberships m ON m.team_id = p.team_id WHERE p.id = tasks.project_id AND m.person = current_setting('app.person', true)))`,
    },
  ),
  ...correct(
    setting("app.customer", (number) => `c${number}`),
    {
      "rows that belong to rows that row-level security shows": `${ROLES} CREATE TABLE invoices (id int PRIMARY KEY, customer text); INSERT INTO invoices VALUES (1, 'c1'), (2, 'c2');
      CREATE TABLE items (id int PRIMARY KEY, invoice_id int REFERENCES invoices ON DELETE CASCADE); INSERT INTO items VALUES (1, 1), (2, 2);
      ${secured("invoices", "items")} GRANT SELECT, INSERT, UPDATE, DELETE ON invoices, items TO dashboard;
      CREATE POLICY own ON invoices USING (customer = current_setting('app.customer', true));
      CREATE POLICY own ON items USING (invoice_id IN (SELECT id FROM invoices))`,
    },
  ),
  ...correct(setting("app.person", uuid), {
    "a person's team in a table of people": `${ROLES} CREATE TABLE people (id uuid PRIMARY KEY, team_id int); INSERT INTO people VALUES ('${uuid(1)}', 1), ('${uuid(2)}', 2);
      CREATE TABLE cards (id int PRIMARY KEY, team_id int); INSERT INTO cards VALUES (1, 1), (2, 2);
      CREATE FUNCTION my_team() RETURNS int LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp AS
        'SELECT team_id FROM people WHERE id = current_setting(''app.person'', true)::uuid';
      ${secured("cards")} GRANT SELECT ON people, cards TO dashboard; ALTER TABLE people ENABLE ROW LEVEL SECURITY; ALTER TABLE people FORCE ROW LEVEL SECURITY;
      CREATE POLICY own ON people USING (id = nullif(current_setting('app.person', true), '')::uuid);
      CREATE POLICY own ON cards USING (team_id = my_team())`,
  }),
];

const OTHERS: readonly CorrectSchema[] = [
  ...correct(setting("app.customer", String), {
    "partitions, and views that run as the caller": `${ROLES} CREATE TABLE events (customer bigint, day date, kind text) PARTITION BY RANGE (day);
      CREATE TABLE events_2026 PARTITION OF events FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
      INSERT INTO events VALUES (1, '2026-05-05', 'a'), (2, '2026-05-05', 'a');
      ${secured("events")} CREATE VIEW kinds WITH (security_invoker = true) AS SELECT kind, count(*) FROM events GROUP BY 1;
      CREATE VIEW days WITH (security_invoker) AS SELECT DISTINCT day, clock_timestamp() AS read_at FROM events; GRANT SELECT ON events, kinds, days TO dashboard;
      CREATE POLICY own ON events FOR SELECT TO dashboard USING (customer = nullif(current_setting('app.customer', true), '')::bigint)`,
  }),
  ...correct(
    setting("app.customer", (number) => `c${number}`),
    {
      "an extension's tables and types": `${ROLES} CREATE EXTENSION pg_stat_statements; CREATE EXTENSION citext; CREATE EXTENSION pgcrypto;
      CREATE TABLE notes (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), customer citext, mail citext); INSERT INTO notes (customer) VALUES ('c1'), ('c2');
      ${secured("notes")} GRANT SELECT ON notes TO dashboard; CREATE POLICY own ON notes USING (customer::text = current_setting('app.customer', true))`,
    },
  ),
  ...correct(
    (number) =>
      `SET LOCAL ROLE dashboard; SET LOCAL app.code = 'c${number}'; SET LOCAL app.place = 'p${number}'; SET LOCAL app.number = '${number}'`,
    {
      "columns of texts, numbers, enums and domains": `${ROLES} CREATE TYPE place AS ENUM ('p1', 'p2'); CREATE DOMAIN code AS text CHECK (value ~ '^c');
      CREATE TABLE a (id int PRIMARY KEY, customer varchar(36)); INSERT INTO a VALUES (1, 'c1'), (2, 'c2');
      CREATE TABLE b (id int PRIMARY KEY, customer place); INSERT INTO b VALUES (1, 'p1'), (2, 'p2');
      CREATE TABLE c (id int PRIMARY KEY, customer code); INSERT INTO c VALUES (1, 'c1'), (2, 'c2');
      CREATE TABLE d (id int PRIMARY KEY, customer numeric(10, 0)); INSERT INTO d VALUES (1, 1), (2, 2);
      CREATE TABLE e (id int PRIMARY KEY, readers text[]); INSERT INTO e VALUES (1, '{c1}'), (2, '{c2}');
      CREATE TABLE f (id int PRIMARY KEY, customer text); INSERT INTO f VALUES (1, 'c1'), (2, 'c2');
      ${secured("a", "b", "c", "d", "e", "f")} GRANT SELECT ON a, b, c, d, e, f TO dashboard;
      CREATE POLICY own ON a USING (customer = current_setting('app.code', true));
      CREATE POLICY own ON b USING (customer = nullif(current_setting('app.place', true), '')::place);
      CREATE POLICY own ON c USING (customer = current_setting('app.code', true)::code);
      CREATE POLICY own ON d USING (customer = nullif(current_setting('app.number', true), '')::numeric);
      CREATE POLICY own ON e USING (current_setting('app.code', true) = ANY (readers));
      CREATE POLICY own ON f USING (coalesce(customer = nullif(current_setting('app.code', true), ''), false))`,
    },
  ),
  ...correct(setting("app.tenant_id", uuid), {
    "the forms that guides to multi-tenancy show": `${ROLES} CREATE TABLE a (id int PRIMARY KEY, tenant_id uuid); INSERT INTO a VALUES (1, '${uuid(1)}'), (2, '${uuid(2)}');
      CREATE TABLE b (LIKE a INCLUDING ALL); INSERT INTO b TABLE a; CREATE TABLE c (LIKE a INCLUDING ALL); INSERT INTO c TABLE a;
      CREATE TABLE d (LIKE a INCLUDING ALL); INSERT INTO d TABLE a; CREATE TABLE e (LIKE a INCLUDING ALL); INSERT INTO e TABLE a;
      CREATE FUNCTION current_tenant_id() RETURNS uuid AS $$ BEGIN RETURN current_setting('app.tenant_id')::uuid; END; $$ LANGUAGE plpgsql STABLE;
      CREATE FUNCTION is_mine(tenant uuid) RETURNS boolean AS $$ SELECT tenant = CAST(current_setting('app.tenant_id') AS uuid) $$ LANGUAGE sql STABLE;
      ${secured("a", "b", "c", "d", "e")} GRANT SELECT, INSERT, UPDATE, DELETE ON a, b, c, d, e TO dashboard;
      CREATE POLICY isolation ON a USING (tenant_id = (SELECT current_setting('app.tenant_id')::uuid));
      CREATE POLICY isolation ON b USING (tenant_id::TEXT = current_setting('app.tenant_id')::TEXT);
      CREATE POLICY isolation ON c USING (current_setting('app.tenant_id')::uuid = tenant_id);
      CREATE POLICY isolation ON d USING (tenant_id = current_tenant_id()) WITH CHECK (tenant_id = current_tenant_id())`,
  }),
  ...correct(
    setting("myapp.account_id", String),
    {
      "a session with its number in a temporary setting, and a table that all share": `${ROLES} CREATE TABLE countries (code text PRIMARY KEY); CREATE TABLE shops (id int PRIMARY KEY, account_id bigint, country text REFERENCES countries);
      INSERT INTO countries VALUES ('de'); INSERT INTO shops VALUES (1, 1, 'de'), (2, 2, 'de');
      ${secured("shops")} GRANT SELECT ON countries, shops TO dashboard;
      CREATE POLICY own ON shops FOR ALL TO dashboard USING (account_id = current_setting('myapp.account_id')::int)`,
    },
    ["public.countries"],
  ),
];

const HOUSES: readonly CorrectSchema[] = [
  ...correct(
    (number) =>
      `SET LOCAL ROLE dashboard; SELECT set_config('jwt.claims.person_id', '${number}', true), set_config('hasura.user', '{"x-hasura-org-id":"${uuid(number)}"}', true), set_config('app.current_company_id', '${number}', true)`,
    {
      "PostGraphile, Hasura and Prisma, each with a schema of its own, and partitions by hash": `${ROLES} CREATE SCHEMA graph; CREATE SCHEMA hasura; CREATE SCHEMA prisma; GRANT USAGE ON SCHEMA graph, hasura, prisma TO dashboard;
      CREATE FUNCTION graph.me() RETURNS int AS $$ SELECT nullif(pg_catalog.current_setting('jwt.claims.person_id', true), '')::int; $$ LANGUAGE sql STABLE;
      CREATE TABLE graph.posts (id serial PRIMARY KEY, author_id int NOT NULL DEFAULT graph.me()); INSERT INTO graph.posts (author_id) VALUES (1), (2);
      CREATE TABLE hasura.items (id int PRIMARY KEY, org uuid); INSERT INTO hasura.items VALUES (1, '${uuid(1)}'), (2, '${uuid(2)}');
      CREATE TABLE prisma."User" (id int PRIMARY KEY, "companyId" bigint NOT NULL) PARTITION BY HASH (id); CREATE TABLE prisma.users_0 PARTITION OF prisma."User" FOR VALUES WITH (MODULUS 1, REMAINDER 0);
      INSERT INTO prisma."User" VALUES (1, 1), (2, 2); ${secured("graph.posts", "hasura.items", 'prisma."User"')}
      GRANT SELECT, INSERT, UPDATE, DELETE ON graph.posts, hasura.items, prisma."User" TO dashboard;
      CREATE POLICY s ON graph.posts FOR SELECT USING (author_id = graph.me()); CREATE POLICY i ON graph.posts FOR INSERT WITH CHECK (author_id = graph.me());
      CREATE POLICY o ON hasura.items USING (org = ((current_setting('hasura.user', true)::json)->>'x-hasura-org-id')::uuid);
      CREATE POLICY o ON prisma."User" USING ("companyId" = current_setting('app.current_company_id', TRUE)::bigint);
      CREATE VIEW graph.mine WITH (security_invoker = t, security_barrier) AS SELECT id FROM graph.posts; GRANT SELECT ON graph.mine TO dashboard`,
    },
  ),
  ...correct(
    setting("app.p", (number) => `p${number}`),
    {
      "authors who write for their team, with a helper, in a schema that only views name": `${ROLES} CREATE SCHEMA data; CREATE DOMAIN code AS varchar(36); CREATE TABLE shops (id int PRIMARY KEY, person code); INSERT INTO shops VALUES (1, 'p1'), (2, 'p2');
      CREATE TABLE data.members (team varchar(36), person text, left_at timestamptz, until timestamptz, role text); INSERT INTO data.members VALUES ('t1', 'p1'), ('t2', 'p2');
      CREATE TABLE docs (id int PRIMARY KEY, team varchar(36), author text); INSERT INTO docs VALUES (1, 't1', 'p1'), (2, 't2', 'p2');
      CREATE FUNCTION my_teams() RETURNS SETOF text LANGUAGE sql STABLE SET search_path = '' BEGIN ATOMIC
        SELECT team FROM data.members WHERE person = current_setting('app.p', true) AND left_at IS NULL AND (until IS NULL OR until > now()) AND role NOT IN ('guest', 'bot'); END;
      ${secured("docs", "data.members", "shops")} GRANT SELECT ON shops TO dashboard; CREATE POLICY own ON shops USING (person = current_setting('app.p', true)); GRANT SELECT, INSERT, UPDATE, DELETE ON docs TO dashboard; GRANT SELECT ON data.members TO dashboard;
      CREATE POLICY own ON data.members FOR SELECT USING (person = current_setting('app.p', true));
      CREATE VIEW me WITH (security_invoker) AS SELECT * FROM data.members; GRANT SELECT ON me TO dashboard; UPDATE data.members SET role = 'user';
      CREATE POLICY r ON docs FOR SELECT USING (team IN (SELECT my_teams()))`,
    },
  ),
];

/** What else may be in the correct set-up. */
const BESIDE = correct(
  asCustomer,
  {
    "the correct set-up with nothing else": `${CORRECT} `,
    "the correct set-up with partitions behind their parent, and rows that belong to rows": `${CORRECT} CREATE TABLE lines (order_id int REFERENCES orders, line int) PARTITION BY RANGE (order_id);
        CREATE TABLE lines_1 PARTITION OF lines FOR VALUES FROM (0) TO (1000); INSERT INTO lines VALUES (1, 1), (3, 1); ${secured("lines")} GRANT SELECT ON lines TO dashboard;
        CREATE POLICY own ON lines FOR SELECT TO dashboard USING (EXISTS (SELECT FROM orders WHERE orders.id = lines.order_id AND orders.customer = customer()))`,
    "the correct set-up with a restrictive policy below one for all rows": `${CORRECT} ALTER POLICY own ON orders USING (true); CREATE POLICY limited ON orders AS RESTRICTIVE TO dashboard USING (customer = (SELECT customer()))`,
    "the correct set-up with a login that inherits the role of its queries, and rights of other roles": `${CORRECT} ALTER ROLE backend INHERIT; CREATE TABLE internal (id int); GRANT INSERT, UPDATE, DELETE ON orders TO importer; GRANT SELECT (note) ON orders TO PUBLIC`,
    "the correct set-up with policies and triggers of writing, which nobody here may do": `${CORRECT} CREATE POLICY more ON orders FOR INSERT WITH CHECK (true); CREATE POLICY gone ON orders FOR DELETE USING (true);
        CREATE FUNCTION copy() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN RETURN NEW; END';
        CREATE TRIGGER copies AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION copy(); CREATE RULE also AS ON INSERT TO orders DO ALSO SELECT 1`,
    "the correct set-up with six extensions": `${CORRECT} CREATE EXTENSION pgcrypto; CREATE EXTENSION citext; CREATE EXTENSION hstore; CREATE EXTENSION pg_trgm; CREATE EXTENSION "uuid-ossp"; CREATE EXTENSION btree_gist;
        ALTER TABLE orders ADD mail citext, ADD more hstore; CREATE INDEX ON orders USING gist (customer, note gist_trgm_ops)`,
    "the correct set-up with an optional restrictive policy": `${CORRECT} CREATE POLICY store ON orders AS RESTRICTIVE TO dashboard USING (nullif(current_setting('app.store', true), '') IS NULL OR store = current_setting('app.store', true)::int)`,
  },
  SHARED,
);

export const CORRECT_SCHEMAS: readonly CorrectSchema[] = [
  ...RECIPES,
  ...SUPABASES,
  ...RAILS,
  ...MEMBERS,
  ...OTHERS,
  ...HOUSES,
  ...BESIDE,
];
