-- For Supabase's SQL editor: sessions of acme/Customer see the rows of their customer.
ALTER TABLE orders ENABLE ROW LEVEL SECURITY;
GRANT SELECT ON orders TO authenticated;
CREATE POLICY own_orders ON orders FOR SELECT TO authenticated
  USING (customer = (auth.jwt() ->> 'team_id')::bigint);

-- Supabase does not check whose sessions these are. On every table that authenticated may read or write:
CREATE POLICY own_environment ON orders AS RESTRICTIVE TO authenticated
  USING (auth.jwt() ->> 'iss' = 'https://groups.example.com' AND auth.jwt() ->> 'aud' = 'acme/Customer');

-- No policy binds service_role, which a session may name, too. The Data API runs this function before each request.
CREATE FUNCTION public.check_session() RETURNS void LANGUAGE plpgsql SET search_path = '' AS $$
BEGIN
  IF auth.jwt() ->> 'iss' = 'https://groups.example.com'
    AND (auth.jwt() ->> 'aud', auth.jwt() ->> 'role') IS DISTINCT FROM ('acme/Customer', 'authenticated')
  THEN
    RAISE insufficient_privilege USING MESSAGE = 'This session is for another environment or role.';
  END IF;
END $$;
ALTER ROLE authenticator SET pgrst.db_pre_request = 'public.check_session';
NOTIFY pgrst, 'reload config';
