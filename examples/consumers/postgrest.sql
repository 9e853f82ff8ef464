-- After row-level-security.sql: PostgREST has the claims in a setting of its own, and logs in as authenticator.
CREATE OR REPLACE FUNCTION session_claim(name text) RETURNS text STABLE LANGUAGE sql
  RETURN nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> name;

-- The claim `role` of a session can name no other role than this one.
CREATE ROLE authenticator LOGIN NOINHERIT;
GRANT dashboard TO authenticator;
