/** What PostgreSQL's catalogue says of the objects that the dashboards' roles can reach. */
import { type Database, identifier, rowsOf, withSavepoint } from "./database.ts";

/** A role that the backend has logged in as, or can become. */
export type Role = {
  oid: number;
  name: string;
  superuser: boolean;
  bypassrls: boolean;
  createrole: boolean;
  replication: boolean;
};

type Privilege = "SELECT" | "INSERT" | "UPDATE" | "DELETE" | "TRUNCATE" | "REFERENCES" | "TRIGGER";

/** A table, view, materialized view or foreign table. */
export type Relation = {
  oid: number;
  schema: string;
  name: string;
  /** As in `pg_class`: r and p are tables, v views, m materialized views, f foreign tables. */
  kind: "r" | "p" | "v" | "m" | "f";
  enabled: boolean;
  forced: boolean;
  owner: string;
  ownerOid: number;
  /** The table of which this is a partition or a child. */
  parent: string | null;
  options: string[];
  columns: string[];
  keyColumns: string[];
  /** Columns in which texts that differ are equal. */
  foldedColumns: string[];
  /** What each of the roles may do, by its name. */
  privileges: Record<string, Privilege[]>;
  /** What every role may do. */
  publicPrivileges: string[];
  /** The relations that a view reads. */
  reads: number[];
};

export type Policy = {
  relation: number;
  name: string;
  permissive: boolean;
  /** As in `pg_policy`: r SELECT, a INSERT, w UPDATE, d DELETE, * all. */
  command: "r" | "a" | "w" | "d" | "*";
  using: string | null;
  check: string | null;
  /** The functions of the integrator in it. */
  functions: number[];
  /** The roles, by name, to which it applies: those in `grantees`, and their members. */
  roles: string[];
  /** The roles that CREATE POLICY named; none for PUBLIC. */
  grantees: string[];
};

/** A function that is no part of PostgreSQL or an extension. */
export type StoredFunction = {
  oid: number;
  schema: string;
  name: string;
  signature: string;
  language: string;
  definer: boolean;
  leakproof: boolean;
  ownerOid: number;
  isTrigger: boolean;
  definition: string;
  /** The roles, by name, that can call it. */
  callers: string[];
};

export type Catalogue = {
  version: number;
  login: string;
  roles: Role[];
  relations: Relation[];
  policies: Policy[];
  functions: StoredFunction[];
  /** The predefined roles that one of the roles is a member of. */
  predefined: { role: string; of: string }[];
  defaultPrivileges: { owner: string; grantee: string; schema: string | null; privileges: string[] }[];
  creatable: { role: string; schema: string }[];
  roleSettings: { role: string | null; names: string[] }[];
  readableSequences: string[];
  /** Tables of PostgreSQL itself, with hashes of passwords or samples of all rows. */
  systemTables: { role: string; table: string }[];
  /** Rules of tables, and functions of triggers, that run as somebody else. */
  ownersCode: string[];
};

/** A name with its schema, as SQL writes it. */
export const qualified = ({ schema, name }: { schema: string; name: string }): string =>
  `${identifier(schema)}.${identifier(name)}`;

const USER_SCHEMA = `n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'`;
const notOfExtension = (catalogue: string, oid: string) =>
  `NOT EXISTS (SELECT FROM pg_depend e WHERE e.classid = '${catalogue}'::regclass AND e.objid = ${oid} AND e.deptype = 'e')`;

/** A bound for the roles of one login, so that a deployment with a role for each customer stays readable. */
export const ROLES_MAX = 50;

/**
 * The roles that queries can have: that of the login, those that it can become, and those among `named`, which the customers' SQL
 * names.
 */
export async function readRoles(database: Database, named: readonly string[]): Promise<Role[]> {
  return rowsOf<Role>(
    database,
    `SELECT r.oid::int8::float8 AS oid, r.rolname::text AS name, r.rolsuper AS superuser, r.rolbypassrls AS bypassrls,
            r.rolcreaterole AS createrole, r.rolreplication AS replication
     FROM pg_roles r, pg_roles me
     WHERE me.rolname = session_user AND r.rolname !~ '^pg_' AND (
       r.oid = me.oid OR r.rolname::text = ANY($1::text[]) OR (NOT me.rolsuper AND pg_has_role(me.oid, r.oid, 'MEMBER')))
     ORDER BY r.oid <> me.oid, r.rolname::text <> ALL($1::text[]), r.rolname LIMIT ${ROLES_MAX}`,
    [named],
  );
}

/** Reads the catalogue for these roles. */
export function readCatalogue(database: Database, roles: Role[]): Promise<Catalogue> {
  return withSavepoint(database, async () => {
    // So names in expressions have their schemas.
    await database.query("SET LOCAL search_path = pg_catalog");
    const [about] = await rowsOf<{ version: number; login: string }>(
      database,
      "SELECT current_setting('server_version_num')::int AS version, session_user::text AS login",
    );
    // A superuser may do everything, which is one mistake, and not one for each table.
    const bound = roles.filter(({ superuser }) => !superuser).map(({ oid }) => oid);
    return {
      version: about?.version ?? 0,
      login: about?.login ?? "",
      roles,
      relations: await rowsOf<Relation>(database, RELATIONS, [bound]),
      policies: await rowsOf<Policy>(database, POLICIES, [bound]),
      functions: await rowsOf<StoredFunction>(database, FUNCTIONS, [bound]),
      predefined: await rowsOf(database, PREDEFINED, [bound]),
      defaultPrivileges: await rowsOf(database, DEFAULT_PRIVILEGES, [bound]),
      creatable: await rowsOf(database, CREATABLE, [bound]),
      roleSettings: await rowsOf(database, ROLE_SETTINGS, [roles.map(({ oid }) => oid)]),
      readableSequences: (await rowsOf<{ name: string }>(database, SEQUENCES, [bound])).map(({ name }) => name),
      systemTables: await rowsOf(database, SYSTEM_TABLES, [bound]),
      ownersCode: (await rowsOf<{ name: string }>(database, OWNERS_CODE)).map(({ name }) => name),
    };
  });
}

const RELATIONS = `
  SELECT c.oid::int8::float8 AS oid, n.nspname::text AS schema, c.relname::text AS name, c.relkind::text AS kind,
    c.relrowsecurity AS enabled, c.relforcerowsecurity AS forced, o.rolname::text AS owner, o.oid::int8::float8 AS "ownerOid",
    (SELECT i.inhparent::regclass::text FROM pg_inherits i WHERE i.inhrelid = c.oid LIMIT 1) AS parent,
    coalesce(c.reloptions, '{}') AS options,
    coalesce((SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a
      WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped), '{}') AS columns,
    ARRAY(SELECT a.attname::text FROM pg_attribute a LEFT JOIN pg_collation l ON l.oid = a.attcollation
      JOIN pg_type t ON t.oid = a.atttypid
      WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        AND (NOT l.collisdeterministic OR t.typname IN ('citext', 'bpchar'))) AS "foldedColumns",
    coalesce((SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_index k, pg_attribute a
      WHERE k.indrelid = c.oid AND k.indisprimary AND a.attrelid = c.oid AND a.attnum = ANY(k.indkey::int2[])), '{}') AS "keyColumns",
    coalesce((SELECT jsonb_object_agg(r.rolname, ARRAY(
        SELECT p FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'REFERENCES']) p WHERE has_any_column_privilege(r.oid, c.oid, p)
        UNION ALL
        SELECT p FROM unnest(ARRAY['DELETE', 'TRUNCATE', 'TRIGGER']) p WHERE has_table_privilege(r.oid, c.oid, p)))
      FROM pg_roles r WHERE r.oid = ANY($1::oid[]) AND has_schema_privilege(r.oid, n.oid, 'USAGE')), '{}') AS privileges,
    ARRAY(SELECT DISTINCT x.privilege_type FROM (
        SELECT a.* FROM aclexplode(c.relacl) a
        UNION ALL SELECT a.* FROM pg_attribute t, aclexplode(t.attacl) a WHERE t.attrelid = c.oid) x
      WHERE x.grantee = 0 ORDER BY 1) AS "publicPrivileges",
    ARRAY(SELECT DISTINCT d.refobjid::int8::float8 FROM pg_rewrite w, pg_depend d
      WHERE w.ev_class = c.oid AND d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
        AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> c.oid) AS reads
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_roles o ON o.oid = c.relowner
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relpersistence <> 't' AND ${USER_SCHEMA} AND ${notOfExtension("pg_class", "c.oid")}
  ORDER BY n.nspname, c.relname`;

const POLICIES = `
  SELECT p.polrelid::int8::float8 AS relation, p.polname::text AS name, p.polpermissive AS permissive, p.polcmd::text AS command,
    pg_get_expr(p.polqual, p.polrelid) AS using, pg_get_expr(p.polwithcheck, p.polrelid) AS check,
    ARRAY(SELECT DISTINCT (m)[1]::int8::float8
      FROM regexp_matches(concat(p.polqual::text, p.polwithcheck::text), ':(?:func|opfunc)id (\\d+)', 'g') m
      WHERE (m)[1]::int8 >= 16384) AS functions,
    ARRAY(SELECT r.rolname::text FROM pg_roles r WHERE r.oid = ANY($1::oid[]) AND EXISTS (
      SELECT FROM unnest(p.polroles) q WHERE CASE WHEN q = 0 THEN true ELSE pg_has_role(r.oid, q, 'USAGE') END)) AS roles,
    ARRAY(SELECT r.rolname::text FROM pg_roles r WHERE r.oid = ANY(p.polroles)) AS grantees
  FROM pg_policy p ORDER BY p.polrelid, p.polname`;

const FUNCTIONS = `
  SELECT f.oid::int8::float8 AS oid, n.nspname::text AS schema, f.proname::text AS name, f.oid::regprocedure::text AS signature,
    l.lanname::text AS language, f.prosecdef AS definer, f.proleakproof AS leakproof, f.proowner::int8::float8 AS "ownerOid",
    f.prorettype IN ('trigger'::regtype, 'event_trigger'::regtype) AS "isTrigger",
    pg_get_functiondef(f.oid) AS definition,
    ARRAY(SELECT r.rolname::text FROM pg_roles r WHERE r.oid = ANY($1::oid[])
      AND has_schema_privilege(r.oid, n.oid, 'USAGE') AND has_function_privilege(r.oid, f.oid, 'EXECUTE')) AS callers
  FROM pg_proc f JOIN pg_namespace n ON n.oid = f.pronamespace JOIN pg_language l ON l.oid = f.prolang
  WHERE f.prokind IN ('f', 'p', 'w') AND ${USER_SCHEMA} AND ${notOfExtension("pg_proc", "f.oid")}
  ORDER BY n.nspname, f.proname`;

const PREDEFINED = `
  SELECT r.rolname::text AS role, p.rolname::text AS of FROM pg_roles r, pg_roles p
  WHERE r.oid = ANY($1::oid[]) AND p.rolname IN ('pg_read_all_data', 'pg_write_all_data', 'pg_read_server_files',
      'pg_write_server_files', 'pg_execute_server_program', 'pg_monitor', 'pg_read_all_stats')
    AND pg_has_role(r.oid, p.oid, 'MEMBER')
  ORDER BY 1, 2`;

const DEFAULT_PRIVILEGES = `
  SELECT o.rolname::text AS owner, CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE g.rolname::text END AS grantee,
    n.nspname::text AS schema, array_agg(a.privilege_type::text ORDER BY a.privilege_type) AS privileges
  FROM pg_default_acl d CROSS JOIN aclexplode(d.defaclacl) a JOIN pg_roles o ON o.oid = d.defaclrole
    LEFT JOIN pg_namespace n ON n.oid = d.defaclnamespace LEFT JOIN pg_roles g ON g.oid = a.grantee
  WHERE d.defaclobjtype = 'r' AND (a.grantee = 0 OR a.grantee = ANY($1::oid[])) AND a.grantee <> d.defaclrole
  GROUP BY 1, 2, 3 ORDER BY 1, 2`;

const CREATABLE = `
  SELECT r.rolname::text AS role, n.nspname::text AS schema FROM pg_roles r, pg_namespace n
  WHERE r.oid = ANY($1::oid[]) AND ${USER_SCHEMA} AND has_schema_privilege(r.oid, n.oid, 'CREATE') ORDER BY 1, 2`;

const ROLE_SETTINGS = `
  SELECT r.rolname::text AS role, ARRAY(SELECT split_part(e, '=', 1) FROM unnest(s.setconfig) e) AS names
  FROM pg_db_role_setting s LEFT JOIN pg_roles r ON r.oid = s.setrole
  WHERE (s.setrole = 0 OR s.setrole = ANY($1::oid[]))
    AND s.setdatabase IN (0, (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))`;

const SEQUENCES = `
  SELECT c.oid::regclass::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind = 'S' AND ${USER_SCHEMA} AND EXISTS (SELECT FROM pg_roles r WHERE r.oid = ANY($1::oid[])
    AND r.oid <> c.relowner AND has_schema_privilege(r.oid, n.oid, 'USAGE') AND has_sequence_privilege(r.oid, c.oid, 'SELECT'))
  ORDER BY 1`;

const SYSTEM_TABLES = `
  SELECT r.rolname::text AS role, c.relname::text AS table FROM pg_roles r, pg_class c
  WHERE r.oid = ANY($1::oid[]) AND c.relnamespace = 'pg_catalog'::regnamespace
    AND c.relname IN ('pg_authid', 'pg_shadow', 'pg_statistic', 'pg_statistic_ext_data', 'pg_largeobject', 'pg_user_mapping')
    AND has_any_column_privilege(r.oid, c.oid, 'SELECT')
  ORDER BY 1, 2`;

const OWNERS_CODE = `
  SELECT format('The rule %I of %s runs as the owner of the table', w.rulename, c.oid::regclass) AS name
  FROM pg_rewrite w JOIN pg_class c ON c.oid = w.ev_class JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE w.rulename <> '_RETURN' AND ${USER_SCHEMA}
  UNION ALL
  SELECT format('The trigger %I of %s calls %s, which runs as its owner', t.tgname, t.tgrelid::regclass, f.oid::regprocedure)
  FROM pg_trigger t JOIN pg_proc f ON f.oid = t.tgfoid WHERE f.prosecdef AND NOT t.tgisinternal
  ORDER BY 1`;
