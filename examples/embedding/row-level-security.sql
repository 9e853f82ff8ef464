-- The claims of the viewer session of this transaction. Without a session they are NULL, and so no row is visible.
CREATE FUNCTION session_claim(name text) RETURNS text STABLE LANGUAGE sql
  RETURN nullif(current_setting('viewer_session.claims', true), '')::jsonb ->> name;

CREATE TABLE orders (
  id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- The user_group_id of the customer.
  customer text NOT NULL,
  amount int NOT NULL
);

ALTER TABLE orders ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_orders ON orders USING (customer = session_claim('sub'));

-- The role of all queries of dashboards. Policies bind neither superusers nor the owner of the table.
CREATE ROLE dashboard NOLOGIN;
GRANT SELECT ON orders TO dashboard;
