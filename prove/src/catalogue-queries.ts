/** The queries of PostgreSQL's catalogue. They run with a `search_path` of `pg_catalog` alone; `$1` has the oids of the roles. */

/** What initdb has not made, wherever it is. */
const OF_USERS = (oid: string) => `${oid}::int8 >= 16384 AND n.nspname !~ '^pg_(?:toast|temp)'`;

const extensionOf = (
  catalogue: string,
  oid: string,
) => `(SELECT x.extname::text FROM pg_depend e JOIN pg_extension x ON x.oid = e.refobjid
    WHERE e.classid = '${catalogue}'::regclass AND e.objid = ${oid} AND e.refclassid = 'pg_extension'::regclass AND e.deptype = 'e')`;

/** Whether everybody had a right on an object when PostgreSQL or an extension made it. */
const initiallyPublic = (catalogue: string, oid: string, privilege: string) => `EXISTS (
    SELECT FROM pg_init_privs i, aclexplode(i.initprivs) a WHERE i.classoid = '${catalogue}'::regclass AND i.objoid = ${oid}
      AND i.objsubid = 0 AND a.grantee = 0 AND a.privilege_type = '${privilege}')`;

/** By whom a role has a right: PUBLIC, itself, or a role whose rights it inherits. */
const grantees = (
  acl: string,
  privileges: string,
) => `ARRAY(SELECT DISTINCT CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(g.rolname) END
    FROM aclexplode(${acl}) a LEFT JOIN pg_roles g ON g.oid = a.grantee
    WHERE a.privilege_type IN (${privileges}) AND (a.grantee = 0 OR pg_has_role(r.oid, g.oid, 'USAGE')))`;

/** Whether a view or a function names an object that is in a schema which a role may not use: what was parsed needs no such right. */
const isNamed = (
  catalogue: string,
  oid: string,
) => `EXISTS (SELECT FROM pg_depend d LEFT JOIN pg_rewrite w ON d.classid = 'pg_rewrite'::regclass AND w.oid = d.objid
    WHERE d.refclassid = '${catalogue}'::regclass AND d.refobjid = ${oid} AND d.classid IN ('pg_rewrite'::regclass, 'pg_proc'::regclass)
      AND w.ev_class IS DISTINCT FROM ${oid})`;

const TYPE = (
  oid: string,
) => `(SELECT jsonb_build_object('schema', n.nspname, 'name', coalesce(l.typname, t.typname), 'array', l.oid IS NOT NULL)
    FROM pg_type t LEFT JOIN pg_type l ON l.oid = t.typelem AND t.typcategory = 'A'
      JOIN pg_namespace n ON n.oid = coalesce(l.typnamespace, t.typnamespace) WHERE t.oid = ${oid})`;

export const DATABASE = `
  SELECT current_setting('server_version_num')::int AS version, session_user::text AS login, current_database()::text AS database,
    (SELECT r.rolname::text FROM pg_roles r WHERE r.oid = 10) AS bootstrap`;

export const RELATIONS = `
  SELECT c.oid::int8::float8 AS oid, n.nspname::text AS schema, c.relname::text AS name, c.relkind::text AS kind,
    c.relrowsecurity AS enabled, c.relforcerowsecurity AS forced, o.rolname::text AS owner, o.oid::int8::float8 AS "ownerOid",
    (SELECT i.inhparent::regclass::text FROM pg_inherits i WHERE i.inhrelid = c.oid LIMIT 1) AS parent,
    ARRAY(SELECT i.inhparent::int8::float8 FROM pg_inherits i WHERE i.inhrelid = c.oid) AS parents,
    coalesce(c.reloptions, '{}') AS options,
    coalesce((SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a
      WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped), '{}') AS columns,
    coalesce((SELECT jsonb_object_agg(a.attname, ${TYPE("a.atttypid")}) FROM pg_attribute a
      WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''), '{}') AS types,
    ARRAY(SELECT a.attname::text FROM pg_attribute a LEFT JOIN pg_collation l ON l.oid = a.attcollation
      JOIN pg_type t ON t.oid = a.atttypid
      WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        AND (NOT l.collisdeterministic OR t.typname IN ('citext', 'bpchar'))) AS "foldedColumns",
    ARRAY(SELECT a.attname::text FROM pg_attribute a JOIN pg_collation l ON l.oid = a.attcollation
      WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND NOT l.collisdeterministic) AS "foldingCollations",
    coalesce((SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_index k, pg_attribute a
      WHERE k.indrelid = c.oid AND k.indisprimary AND a.attrelid = c.oid AND a.attnum = ANY(k.indkey::int2[])), '{}') AS "keyColumns",
    coalesce((SELECT jsonb_object_agg(r.rolname, ARRAY(
        SELECT p FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'REFERENCES']) p WHERE has_any_column_privilege(r.oid, c.oid, p)
        UNION ALL
        SELECT p FROM unnest(ARRAY['DELETE', 'TRUNCATE', 'TRIGGER']) p WHERE has_table_privilege(r.oid, c.oid, p)))
      FROM pg_roles r WHERE r.oid = ANY($1::oid[]) AND (has_schema_privilege(r.oid, n.oid, 'USAGE') OR ${isNamed("pg_class", "c.oid")})), '{}') AS privileges,
    ARRAY(SELECT DISTINCT x.privilege_type FROM (
        SELECT a.* FROM aclexplode(c.relacl) a
        UNION ALL SELECT a.* FROM pg_attribute t, aclexplode(t.attacl) a WHERE t.attrelid = c.oid) x
      WHERE x.grantee = 0 ORDER BY 1) AS "publicPrivileges",
    ARRAY(SELECT DISTINCT (m)[1]::int8::float8 FROM pg_rewrite w, regexp_matches(w.ev_action::text, ':relid (\\d+)', 'g') m
      WHERE w.ev_class = c.oid AND (m)[1]::int8 NOT IN (0, c.oid::int8)) AS reads,
    ARRAY(SELECT a.attname::text FROM pg_index k JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.indkey[0]
      WHERE k.indrelid = c.oid AND k.indisunique AND k.indisvalid AND k.indimmediate AND k.indnkeyatts = 1 AND k.indpred IS NULL) AS "uniqueColumns",
    ${extensionOf("pg_class", "c.oid")} AS extension,
    ${initiallyPublic("pg_class", "c.oid", "SELECT")} AS "sharedByExtension"
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_roles o ON o.oid = c.relowner
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relpersistence <> 't' AND ${OF_USERS("c.oid")}
  ORDER BY n.nspname, c.relname`;

export const POLICIES = `
  SELECT p.polrelid::int8::float8 AS relation, p.polname::text AS name, p.polpermissive AS permissive, p.polcmd::text AS command,
    pg_get_expr(p.polqual, p.polrelid) AS using, pg_get_expr(p.polwithcheck, p.polrelid) AS check,
    ARRAY(SELECT DISTINCT (m)[1]::int8::float8
      FROM regexp_matches(concat(p.polqual::text, p.polwithcheck::text), ':(?:func|opfunc)id (\\d+)', 'g') m
      WHERE (m)[1]::int8 >= 16384) AS functions,
    EXISTS (SELECT FROM regexp_matches(concat(p.polqual::text, p.polwithcheck::text), ':(?:func|opfunc)id (\\d+)', 'g') m, pg_proc f
      WHERE f.oid = (m)[1]::oid AND f.provolatile = 'v' AND (f.oid::int8 < 16384 OR ${extensionOf("pg_proc", "f.oid")} IS NOT NULL)) AS "callsVolatile",
    ARRAY(SELECT r.rolname::text FROM pg_roles r WHERE r.oid = ANY($1::oid[]) AND EXISTS (
      SELECT FROM unnest(p.polroles) q WHERE CASE WHEN q = 0 THEN true ELSE pg_has_role(r.oid, q, 'USAGE') END)) AS roles,
    ARRAY(SELECT r.rolname::text FROM pg_roles r WHERE r.oid = ANY(p.polroles)) AS grantees
  FROM pg_policy p ORDER BY p.polrelid, p.polname`;

/** Functions of the integrator, and all that run as their owner. Before version 14, no body is parsed when a function is made. */
export const functionsQuery = (version: number): string => `
  SELECT f.oid::int8::float8 AS oid, n.nspname::text AS schema, f.proname::text AS name, f.oid::regprocedure::text AS signature,
    l.lanname::text AS language, f.prosecdef AS definer, f.proleakproof AS leakproof, f.proowner::int8::float8 AS "ownerOid",
    f.prorettype IN ('trigger'::regtype, 'event_trigger'::regtype) AS "isTrigger",
    pg_get_functiondef(f.oid) AS definition, ${version >= 140000 ? "pg_get_function_sqlbody(f.oid)" : "NULL"} AS "parsedBody", f.prosrc AS body,
    f.provolatile = 'v' AS "isVolatile",
    ARRAY(SELECT coalesce(f.proargnames[i], '') FROM generate_series(1, f.pronargs) i) AS "argNames",
    coalesce((SELECT jsonb_agg(${TYPE("f.proargtypes[i - 1]")} ORDER BY i) FROM generate_series(1, f.pronargs) i), '[]') AS "argTypes",
    ${TYPE("f.prorettype")} AS returns, f.proretset AS "returnsSet",
    (SELECT string_to_array(replace(replace(split_part(e, '=', 2), '"', ''), ' ', ''), ',') FROM unnest(f.proconfig) e
      WHERE e LIKE 'search\\_path=%') AS "searchPath",
    EXISTS (SELECT FROM unnest(f.proconfig) e WHERE e NOT LIKE 'search\\_path=%') AS "setsOthers",
    ARRAY(SELECT r.rolname::text FROM pg_roles r WHERE r.oid = ANY($1::oid[])
      AND has_schema_privilege(r.oid, n.oid, 'USAGE') AND has_function_privilege(r.oid, f.oid, 'EXECUTE')) AS callers,
    ARRAY(SELECT DISTINCT pg_describe_object(d.classid, d.objid, 0) FROM pg_depend d LEFT JOIN pg_proc u ON d.classid = 'pg_proc'::regclass AND u.oid = d.objid
      WHERE f.prosecdef AND d.refclassid = 'pg_proc'::regclass AND d.refobjid = f.oid AND d.deptype IN ('n', 'a', 'i')
        AND d.classid NOT IN ('pg_trigger'::regclass, 'pg_policy'::regclass) AND (u.prokind = 'a'
          OR d.classid NOT IN ('pg_proc'::regclass, 'pg_rewrite'::regclass, 'pg_attrdef'::regclass, 'pg_constraint'::regclass, 'pg_cast'::regclass,
            'pg_operator'::regclass, 'pg_class'::regclass)
          OR EXISTS (SELECT FROM unnest($1::oid[]) r WHERE has_function_privilege(r, f.oid, 'EXECUTE')))) AS "usedBy"
  FROM pg_proc f JOIN pg_namespace n ON n.oid = f.pronamespace JOIN pg_language l ON l.oid = f.prolang
  WHERE f.prokind IN ('f', 'p', 'w') AND (f.prosecdef OR (${OF_USERS("f.oid")} AND ${extensionOf("pg_proc", "f.oid")} IS NULL))
  ORDER BY n.nspname, f.proname`;

export const TYPES = `
  SELECT n.nspname::text AS schema, t.typname::text AS name, CASE t.typtype WHEN 'd' THEN ${TYPE("t.typbasetype")} END AS base,
    coalesce((SELECT l.collisdeterministic FROM pg_collation l WHERE l.oid = t.typcollation), true) AS deterministic,
    t.typtypmod <> -1 AS limited,
    EXISTS (SELECT FROM pg_type x WHERE x.typname = t.typname AND x.oid <> t.oid
      AND (x.typtype NOT IN ('d', 'e') OR x.typnamespace = 'pg_catalog'::regnamespace)) AS hidden
  FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.typtype IN ('d', 'e') AND ${OF_USERS("t.oid")}`;

/** Casts that call a function of the integrator or of an extension, or keep the bytes. */
export const CASTS = `
  SELECT ${TYPE("c.castsource")} AS "from", ${TYPE("c.casttarget")} AS "to" FROM pg_cast c WHERE c.oid::int8 >= 16384 AND c.castmethod <> 'i'`;

export const FOREIGN_KEYS = `
  SELECT k.conname::text AS name, k.conrelid::int8::float8 AS table, k.confrelid::int8::float8 AS parent,
    ARRAY(SELECT a.attname::text FROM unnest(k.conkey) WITH ORDINALITY u(n, i) JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.n
      ORDER BY u.i) AS columns,
    ARRAY(SELECT a.attname::text FROM unnest(k.confkey) WITH ORDINALITY u(n, i) JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = u.n
      ORDER BY u.i) AS "parentColumns",
    k.convalidated AND NOT k.condeferrable
      AND NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgconstraint = k.oid AND t.tgenabled NOT IN ('O', 'A')) AS strict, k.confdeltype::text AS "onDelete", k.confupdtype::text AS "onUpdate"
  FROM pg_constraint k WHERE k.contype = 'f' AND k.conparentid = 0 ORDER BY k.conname`;

export const MEMBERSHIPS = `
  SELECT p.rolname::text AS role, m.rolname::text AS member FROM pg_auth_members a JOIN pg_roles p ON p.oid = a.roleid
    JOIN pg_roles m ON m.oid = a.member WHERE m.oid = ANY($1::oid[]) ORDER BY 1, 2`;

/** All of PostgreSQL's own roles but those whose rights show and change no row. */
export const PREDEFINED = `
  SELECT r.rolname::text AS role, p.rolname::text AS of FROM pg_roles r, pg_roles p
  WHERE r.oid = ANY($1::oid[]) AND p.rolname ~ '^pg_' AND p.oid::int8 < 16384
    AND p.rolname NOT IN ('pg_signal_backend', 'pg_checkpoint', 'pg_use_reserved_connections', 'pg_read_all_settings',
      'pg_signal_autovacuum_worker', 'pg_database_owner')
    AND pg_has_role(r.oid, p.oid, 'MEMBER')
  ORDER BY 1, 2`;

export const DEFAULT_PRIVILEGES = `
  SELECT o.rolname::text AS owner, CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE g.rolname::text END AS grantee,
    n.nspname::text AS schema, array_agg(a.privilege_type::text ORDER BY a.privilege_type) AS privileges
  FROM pg_default_acl d CROSS JOIN aclexplode(d.defaclacl) a JOIN pg_roles o ON o.oid = d.defaclrole
    LEFT JOIN pg_namespace n ON n.oid = d.defaclnamespace LEFT JOIN pg_roles g ON g.oid = a.grantee
  WHERE d.defaclobjtype = 'r' AND (a.grantee = 0 OR a.grantee = ANY($1::oid[])) AND a.grantee <> d.defaclrole
  GROUP BY 1, 2, 3 ORDER BY 1, 2`;

export const CREATABLE = `
  SELECT r.rolname::text AS role, 'SCHEMA' AS kind, quote_ident(n.nspname) AS object, ${grantees("n.nspacl", "'CREATE'")} AS grantees
  FROM pg_roles r, pg_namespace n
  WHERE r.oid = ANY($1::oid[]) AND n.nspname !~ '^pg_(?:toast|temp)' AND has_schema_privilege(r.oid, n.oid, 'CREATE')
  UNION ALL
  SELECT r.rolname::text, 'DATABASE', quote_ident(d.datname), ${grantees("d.datacl", "'CREATE'")}
  FROM pg_roles r, pg_database d
  WHERE r.oid = ANY($1::oid[]) AND d.datname = current_database() AND has_database_privilege(r.oid, d.oid, 'CREATE')
  ORDER BY 1, 2, 3`;

export const OWNS = `
  SELECT r.rolname::text AS role, 'SCHEMA' AS kind, quote_ident(n.nspname) AS object FROM pg_roles r JOIN pg_namespace n ON n.nspowner = r.oid
  WHERE r.oid = ANY($1::oid[]) AND n.nspname !~ '^pg_(?:toast|temp)'
  UNION ALL
  SELECT r.rolname::text, 'DATABASE', quote_ident(d.datname) FROM pg_roles r JOIN pg_database d ON d.datdba = r.oid
  WHERE r.oid = ANY($1::oid[]) AND d.datname = current_database()
  UNION ALL
  SELECT r.rolname::text, CASE t.typtype WHEN 'd' THEN 'DOMAIN' ELSE 'TYPE' END, t.oid::regtype::text
  FROM pg_roles r JOIN pg_type t ON t.typowner = r.oid JOIN pg_namespace n ON n.oid = t.typnamespace
  WHERE r.oid = ANY($1::oid[]) AND t.typtype IN ('d', 'e') AND ${OF_USERS("t.oid")} ORDER BY 1, 2, 3`;

export const ROLE_SETTINGS = `
  SELECT r.rolname::text AS role, s.setdatabase <> 0 AS "inDatabase",
    ARRAY(SELECT split_part(e, '=', 1) FROM unnest(s.setconfig) e) AS names
  FROM pg_db_role_setting s LEFT JOIN pg_roles r ON r.oid = s.setrole
  WHERE (s.setrole = 0 OR s.setrole = ANY($1::oid[]))
    AND s.setdatabase IN (0, (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))`;

export const SEQUENCES = `
  SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind = 'S' AND ${OF_USERS("c.oid")} AND EXISTS (SELECT FROM pg_roles r WHERE r.oid = ANY($1::oid[])
    AND r.oid <> c.relowner AND has_schema_privilege(r.oid, n.oid, 'USAGE') AND has_sequence_privilege(r.oid, c.oid, 'SELECT'))
  ORDER BY 1`;

/** Tables of PostgreSQL that it hides from ordinary roles. */
export const SYSTEM_TABLES = `
  SELECT r.rolname::text AS role, format('%I.%I', n.nspname, c.relname) AS object,
    ARRAY(SELECT DISTINCT g FROM unnest(${grantees("c.relacl", "'SELECT'")} || ARRAY(
      SELECT unnest(${grantees("t.attacl", "'SELECT'")}) FROM pg_attribute t WHERE t.attrelid = c.oid)) g) AS grantees
  FROM pg_roles r, pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE r.oid = ANY($1::oid[])
    AND CASE WHEN c.relkind = 't' THEN r.oid <> c.relowner AND has_schema_privilege(r.oid, n.oid, 'USAGE')
      ELSE n.nspname = 'pg_catalog' AND c.oid::int8 < 16384 AND c.relkind IN ('r', 'v')
        AND EXISTS (SELECT FROM pg_init_privs i WHERE i.classoid = 'pg_class'::regclass AND i.objoid = c.oid)
        AND NOT ${initiallyPublic("pg_class", "c.oid", "SELECT")} END
    AND (has_table_privilege(r.oid, c.oid, 'SELECT') OR (c.relname <> 'pg_subscription' AND has_any_column_privilege(r.oid, c.oid, 'SELECT')))
  ORDER BY 1, 2`;

export const HIDDEN_FUNCTIONS = `
  SELECT r.rolname::text AS role, format('%I.%I(%s)', n.nspname, f.proname, oidvectortypes(f.proargtypes)) AS object,
    ${grantees("coalesce(f.proacl, acldefault('f', f.proowner))", "'EXECUTE'")} AS grantees
  FROM pg_roles r, pg_proc f JOIN pg_namespace n ON n.oid = f.pronamespace
  WHERE r.oid = ANY($1::oid[]) AND has_function_privilege(r.oid, f.oid, 'EXECUTE')
    AND ((EXISTS (SELECT FROM pg_init_privs i WHERE i.classoid = 'pg_proc'::regclass AND i.objoid = f.oid)
        AND NOT ${initiallyPublic("pg_proc", "f.oid", "EXECUTE")})
      OR ${extensionOf("pg_proc", "f.oid")} IN ('dblink', 'adminpack') AND (has_schema_privilege(r.oid, n.oid, 'USAGE') OR ${isNamed("pg_proc", "f.oid")}))
  ORDER BY 1, 2`;

export const SERVERS = `
  SELECT r.rolname::text AS role, 'FOREIGN SERVER' AS kind, quote_ident(s.srvname) AS object, ${grantees("s.srvacl", "'USAGE'")} AS grantees
  FROM pg_roles r, pg_foreign_server s WHERE r.oid = ANY($1::oid[]) AND has_server_privilege(r.oid, s.oid, 'USAGE')
  UNION ALL
  SELECT r.rolname::text, 'FOREIGN DATA WRAPPER', quote_ident(w.fdwname), ${grantees("w.fdwacl", "'USAGE'")}
  FROM pg_roles r, pg_foreign_data_wrapper w WHERE r.oid = ANY($1::oid[]) AND has_foreign_data_wrapper_privilege(r.oid, w.oid, 'USAGE')
  ORDER BY 1, 2, 3`;

/** Parameters with which a role reaches beyond policies and foreign keys, or changes the server's file of settings. */
export const PARAMETERS = `
  SELECT r.rolname::text AS role, p.parname::text AS object, ${grantees("p.paracl", "'SET', 'ALTER SYSTEM'")} AS grantees
  FROM pg_roles r, pg_parameter_acl p WHERE r.oid = ANY($1::oid[]) AND (has_parameter_privilege(r.oid, p.parname, 'ALTER SYSTEM')
    OR (has_parameter_privilege(r.oid, p.parname, 'SET') AND p.parname IN ('lo_compat_privileges', 'session_replication_role',
      'allow_system_table_mods', 'dynamic_library_path', 'session_preload_libraries', 'local_preload_libraries')))
  ORDER BY 1, 2`;

export const LARGE_OBJECTS = `
  SELECT r.rolname::text AS role, count(*)::int AS count, bool_or(pg_has_role(r.oid, m.lomowner, 'USAGE')) AS owned,
    ARRAY(SELECT DISTINCT g FROM unnest(array_agg(x.grantees)) g WHERE g IS NOT NULL) AS grantees
  FROM pg_roles r, pg_largeobject_metadata m, LATERAL (SELECT string_agg(g, ', ') AS grantees FROM unnest(${grantees("m.lomacl", "'SELECT', 'UPDATE'")}) g) x
  WHERE r.oid = ANY($1::oid[]) AND (pg_has_role(r.oid, m.lomowner, 'USAGE') OR x.grantees IS NOT NULL
    OR current_setting('lo_compat_privileges')::bool)
  GROUP BY 1 ORDER BY 1`;

export const OWNERS_CODE = `
  SELECT w.ev_class::int8::float8 AS relation, w.rulename::text AS name,
    ARRAY[CASE w.ev_type WHEN '1' THEN 'SELECT' WHEN '2' THEN 'UPDATE' WHEN '3' THEN 'INSERT' ELSE 'DELETE' END] AS events,
    format('The rule %I of %s runs as the owner of the table.', w.rulename, c.oid::regclass) AS message,
    format('DROP RULE %I ON %I.%I;', w.rulename, n.nspname, c.relname) AS fix
  FROM pg_rewrite w JOIN pg_class c ON c.oid = w.ev_class JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE w.rulename <> '_RETURN' AND ${OF_USERS("c.oid")}
  UNION ALL
  SELECT t.tgrelid::int8::float8, t.tgname::text,
    array_remove(ARRAY[CASE WHEN t.tgtype & 4 > 0 THEN 'INSERT' END, CASE WHEN t.tgtype & 8 > 0 THEN 'DELETE' END,
      CASE WHEN t.tgtype & 16 > 0 THEN 'UPDATE' END, CASE WHEN t.tgtype & 32 > 0 THEN 'TRUNCATE' END], NULL),
    format('The trigger %I of %s calls %s, which runs as its owner.', t.tgname, t.tgrelid::regclass, f.oid::regprocedure),
    format('ALTER FUNCTION %s SECURITY INVOKER;', f.oid::regprocedure)
  FROM pg_trigger t JOIN pg_proc f ON f.oid = t.tgfoid WHERE f.prosecdef AND NOT t.tgisinternal AND t.tgenabled <> 'D'
  UNION ALL
  SELECT 0, t.evtname::text, ARRAY['DDL'], format('The event trigger %I calls %s, which runs as its owner.', t.evtname, f.oid::regprocedure),
    format('ALTER FUNCTION %s SECURITY INVOKER;', f.oid::regprocedure)
  FROM pg_event_trigger t JOIN pg_proc f ON f.oid = t.evtfoid WHERE f.prosecdef AND t.evtenabled <> 'D'
  ORDER BY 2`;
