-- The claims of the viewer session of this transaction. Without a session they are NULL, and so no row is visible.
CREATE FUNCTION session_claim(name text) RETURNS text STABLE LANGUAGE sql
  RETURN nullif(current_setting('viewer_session.claims', true), '')::jsonb ->> name;

CREATE TABLE orders (
  id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- The team_id of the customer's group, which never changes. The answer that created the group has it.
  customer bigint NOT NULL,
  amount int NOT NULL
);

-- The role of all queries of dashboards.
CREATE ROLE dashboard NOLOGIN;
GRANT SELECT ON orders TO dashboard;

ALTER TABLE orders ENABLE ROW LEVEL SECURITY;
-- The table's owner sees no row either. Policies never bind superusers and roles with BYPASSRLS.
ALTER TABLE orders FORCE ROW LEVEL SECURITY;
-- In another environment, the same number is another customer: replace acme/Customer by the environment of these rows.
CREATE POLICY own_orders ON orders FOR SELECT TO dashboard
  USING (customer = session_claim('team_id')::bigint AND session_claim('aud') = 'acme/Customer');

-- The role with which the dashboards' backend logs in. It has no right but to become dashboard.
CREATE ROLE backend LOGIN NOINHERIT;
GRANT dashboard TO backend;

-- By default, each role may create temporary tables, and before PostgreSQL 15 also tables in the schema public. Queries must not.
-- Grant it to those of your roles that need it.
DO $$ BEGIN EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database()); END $$;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
