-- The claims of the viewer session of this transaction. Without a session they are NULL, and so no row is visible.
CREATE FUNCTION session_claim(name text) RETURNS text STABLE LANGUAGE sql
  RETURN nullif(current_setting('viewer_session.claims', true), '')::jsonb ->> name;

CREATE TABLE sales (
  id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- The team_id of the customer's group, which never changes.
  customer bigint NOT NULL,
  store text NOT NULL,
  product text NOT NULL,
  month date NOT NULL,
  orders int NOT NULL,
  amount int NOT NULL
);

-- The role of all queries of dashboards.
CREATE ROLE dashboard NOLOGIN;
GRANT SELECT ON sales TO dashboard;
ALTER TABLE sales ENABLE ROW LEVEL SECURITY;
ALTER TABLE sales FORCE ROW LEVEL SECURITY;

-- Each customer of this environment sees their own rows. In another one, the same number is another customer.
CREATE POLICY own_sales ON sales FOR SELECT TO dashboard
  USING (customer = session_claim('team_id')::bigint AND session_claim('aud') = 'acme/Customer');
-- Within them, a person sees one store, or all of them as '*'. A session without the property shows no row.
CREATE POLICY own_store ON sales AS RESTRICTIVE FOR SELECT TO dashboard
  USING (session_claim('viewer_properties')::jsonb ->> 'store' IN (store, '*'));

-- By default, each role may create temporary tables, and before PostgreSQL 15 also tables in the schema public. Queries must not.
-- Grant it to those of your roles that need it.
DO $$ BEGIN EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database()); END $$;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
