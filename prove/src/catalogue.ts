/** What PostgreSQL's catalogue says of the roles of the queries and of everything that they can reach. Names are as SQL writes them. */
import { type Database, reasonOf, rowsOf, withSavepoint } from "./database.ts";
import type { Finding } from "./finding.ts";

/** The first oid of what initdb has not made (`FirstNormalObjectId`). */
export const FIRST_OWN_OID = 16_384;

/** A role of the queries. */
export type Role = {
  oid: number;
  name: string;
  /** The name without quotes. */
  plainName: string;
  isLogin: boolean;
  /** Those that give rights: SUPERUSER, BYPASSRLS, CREATEROLE, CREATEDB, REPLICATION. */
  attributes: string[];
  /** The roles `pg_…` of which it is a member. */
  predefined: string[];
};

/** A right of the queries' roles, or of PUBLIC. */
export type Grant = {
  class: "schema" | "database" | "relation" | "sequence" | "function" | "large object" | "server" | "parameter";
  oid: number;
  /** As GRANT and REVOKE name it, such as `SCHEMA public`. */
  target: string;
  privilege: string;
  grantee: string;
  /** Whether initdb or the object's extension gave it. */
  initial: boolean;
};

export type Relation = {
  oid: number;
  /** With its schema. */
  object: string;
  /** `r` table, `p` partitioned table, `v` view, `m` materialized view, `f` foreign table, `t` TOAST table. */
  kind: string;
  enabled: boolean;
  owner: string;
  parents: string[];
  /** Whether it has children that are no partitions, or had some. */
  hasChildren: boolean;
  isPartition: boolean;
  invoker: boolean;
  /** The extension that has made it as it is. */
  extension: string | null;
  columns: { number: number; name: string; type: number; typeName: string; generated: boolean; folds: boolean }[];
  keyColumns: string[];
  /** Those of reading. */
  policies: Policy[];
  /** The names of all its policies, also of those that do not concern reading. */
  policyNames: string[];
  /** The queries' roles that may read a column. */
  readers: number[];
  /** Whether the schema may be used, or a view or a function names the relation. */
  named: boolean;
  /** A view's stored query. */
  tree: string | null;
};

export type Policy = {
  relation: number;
  name: string;
  /** With its table. */
  object: string;
  permissive: boolean;
  tree: string | null;
  /** The queries' roles to which it applies. */
  roles: number[];
};

/** A function in reach that initdb has not made, or that has been changed since. */
export type Routine = {
  oid: number;
  signature: string;
  language: string;
  kind: string;
  definer: boolean;
  immutable: boolean;
  leakproof: boolean;
  settings: string[];
  /** The type that it returns, and the stored expressions of its arguments' defaults. */
  returns: number;
  defaults: string | null;
  /** Whether its body alone says what it does: it takes a fixed number of arguments, and has no support function for the planner. */
  isPlain: boolean;
  library: string | null;
  source: string;
  tree: string | null;
  /** What `CREATE OR REPLACE` would say; null for aggregates. */
  definition: string | null;
  owner: string;
  extension: string | null;
  /** Whether a policy or a view calls it. */
  isUsed: boolean;
  /** Whether something calls it without asking for a right: an aggregate, an operator class, a type. */
  isPart: boolean;
  /** Whether it is another name for a function of PostgreSQL's own that everybody may call, or an aggregate of such functions. */
  isAlias: boolean;
};

export type Catalogue = {
  version: number;
  /** Without quotes. */
  login: string;
  /** The login, and every role of which it is a member: it can become no other one. */
  roles: Role[];
  /** Roles of which the integrator's other programs may make use, with those whose rights they inherit. */
  others: { name: string; inherits: string[] }[];
  /** What they own, and the right that lets queries read it from another owner. */
  owned: { role: string; object: string; kept: string | null }[];
  grants: Grant[];
  relations: Relation[];
  routines: Routine[];
  foreignKeys: { table: number; parent: number; columns: number[]; parentColumns: number[] }[];
  /** Settings of each new connection, with what ALTER has altered, such as `ROLE ALL`. */
  roleSettings: { role: string | null; altered: string; name: string }[];
  /** Functions that may have effects, and those whose result may change. */
  volatile: Set<number>;
  mutable: Set<number>;
  /** What could make an index or a statistic show other rows than a policy: its name, the extension that has made it, and SQL that drops it. */
  parts: { object: string; extension: string | null; fix: string }[];
  deterministicCollations: Set<number>;
  enums: Set<number>;
  /** Conditions of domains, which a cast runs. */
  checks: { object: string; constraint: string; tree: string }[];
  /** Domains whose texts are equal only if they are the same, and citext, which is a text. What is cast to a limited one may change. */
  domains: Map<number, { base: number; limited: boolean }>;
  /** Whether a name in the text of a function could be something else than PostgreSQL's own. */
  isHidden: boolean;
  unread: Finding[];
};

const ROLES = `
  WITH RECURSIVE s(oid) AS (
    SELECT r.oid FROM pg_roles r WHERE r.rolname = session_user
    UNION SELECT m.roleid FROM s JOIN pg_auth_members m ON m.member = s.oid)
  SELECT r.oid, quote_ident(r.rolname) AS name, r.rolname::text AS "plainName", r.rolname = session_user AS "isLogin",
    ARRAY(SELECT p.rolname::text FROM pg_auth_members m JOIN pg_roles p ON p.oid = m.roleid WHERE m.member = r.oid AND p.rolname ~ '^pg_' ORDER BY 1) AS predefined,
    array_remove(ARRAY[CASE WHEN r.rolsuper THEN 'SUPERUSER' END, CASE WHEN r.rolbypassrls THEN 'BYPASSRLS' END,
    CASE WHEN r.rolcreaterole THEN 'CREATEROLE' END, CASE WHEN r.rolcreatedb THEN 'CREATEDB' END, CASE WHEN r.rolreplication THEN 'REPLICATION' END],
    NULL) AS attributes
  FROM s JOIN pg_roles r ON r.oid = s.oid ORDER BY r.rolname`;

const OTHERS = `
  SELECT quote_ident(r.rolname) AS name, ARRAY(SELECT quote_ident(p.rolname) FROM pg_roles p WHERE p.oid <> r.oid AND pg_has_role(r.oid, p.oid, 'USAGE')) AS inherits
  FROM pg_roles r WHERE NOT r.rolsuper AND r.rolname !~ '^pg_' AND r.oid <> ALL($1::oid[]) ORDER BY 1`;

const OWNED = `
  SELECT DISTINCT quote_ident(r.rolname) AS role, pg_describe_object(d.classid, d.objid, d.objsubid) AS object,
    CASE d.classid WHEN 'pg_namespace'::regclass THEN 'USAGE ON SCHEMA ' || d.objid::regnamespace WHEN 'pg_class'::regclass THEN
      (SELECT 'SELECT ON ' || c.oid::regclass FROM pg_class c WHERE c.oid = d.objid AND c.relkind IN ('r', 'p', 'v', 'm', 'f')) END AS kept
  FROM pg_shdepend d JOIN pg_roles r ON r.oid = d.refobjid
  WHERE d.deptype = 'o' AND d.refclassid = 'pg_authid'::regclass AND d.refobjid = ANY($1::oid[])
    AND d.dbid IN (0, (SELECT b.oid FROM pg_database b WHERE b.datname = current_database())) ORDER BY 1, 2`;

const extensionOf = (catalogue: string, oid: string) => `(
    SELECT x.extname::text FROM pg_depend e JOIN pg_extension x ON x.oid = e.refobjid
    WHERE e.classid = ${catalogue} AND e.objid = ${oid} AND e.refclassid = 'pg_extension'::regclass AND e.deptype = 'e')`;

const RELATION = "format('%I.%I', n.nspname, c.relname)";
const ROUTINE = "format('%I.%I(%s)', n.nspname, f.proname, pg_get_function_identity_arguments(f.oid))";

/** The rights that the roles in $1 have, in themselves or as everybody. */
const grantsQuery = (version: number): string => `
  WITH objects(class, catalogue, oid, part, target, acl, by_default) AS (
    SELECT 'schema', 'pg_namespace'::regclass, oid, 0, 'SCHEMA ' || quote_ident(nspname), nspacl, acldefault('n', nspowner) FROM pg_namespace
    UNION ALL SELECT 'database', 'pg_database'::regclass, oid, 0, 'DATABASE ' || quote_ident(datname), datacl, acldefault('d', datdba)
      FROM pg_database WHERE datname = current_database()
    UNION ALL SELECT CASE c.relkind WHEN 'S' THEN 'sequence' ELSE 'relation' END, 'pg_class'::regclass, c.oid, 0,
      CASE c.relkind WHEN 'S' THEN 'SEQUENCE ' ELSE '' END || ${RELATION}, c.relacl,
      acldefault(CASE c.relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", c.relowner) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 't', 'S') AND c.relpersistence <> 't'
    UNION ALL SELECT 'relation', 'pg_class'::regclass, c.oid, k.attnum, ${RELATION}, k.attacl, NULL
      FROM pg_attribute k JOIN pg_class c ON c.oid = k.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE k.attacl IS NOT NULL
    UNION ALL SELECT 'function', 'pg_proc'::regclass, f.oid, 0, 'ROUTINE ' || ${ROUTINE}, f.proacl, acldefault('f', f.proowner)
      FROM pg_proc f JOIN pg_namespace n ON n.oid = f.pronamespace
      -- What initdb has made, and nobody has granted or revoked, is as it was.
      WHERE f.oid >= ${FIRST_OWN_OID} OR f.proacl IS NOT NULL
    UNION ALL SELECT 'large object', 'pg_largeobject'::regclass, oid, 0, 'LARGE OBJECT ' || oid,
      CASE WHEN current_setting('lo_compat_privileges')::boolean THEN ARRAY[makeaclitem(0, lomowner, 'SELECT', false)] ELSE lomacl END, NULL FROM pg_largeobject_metadata
    UNION ALL SELECT 'server', 'pg_foreign_server'::regclass, oid, 0, 'FOREIGN SERVER ' || quote_ident(srvname), srvacl, NULL FROM pg_foreign_server
    UNION ALL SELECT 'server', 'pg_foreign_data_wrapper'::regclass, oid, 0, 'FOREIGN DATA WRAPPER ' || quote_ident(fdwname), fdwacl, NULL
      FROM pg_foreign_data_wrapper
    ${version >= 150_000 ? "UNION ALL SELECT 'parameter', 'pg_parameter_acl'::regclass, oid, 0, 'PARAMETER ' || parname, paracl, NULL FROM pg_parameter_acl" : ""})
  SELECT class, oid, target, privilege, grantee, given AND NOT changed AS initial FROM (SELECT o.class, o.oid, o.target, a.privilege_type::text AS privilege,
    -- Of PostgreSQL's own: a view that was replaced, and what an extension was given, which notes its rights as if they were from the start.
    o.oid < ${FIRST_OWN_OID} AND (EXISTS (SELECT FROM pg_depend e WHERE e.classid = o.catalogue AND e.objid = o.oid AND e.deptype = 'e')
    OR o.class = 'relation' AND EXISTS (SELECT FROM pg_rewrite w WHERE w.ev_class = o.oid AND w.xmin::text::int8 > (
      SELECT max(t.xmin::text::int8) FROM pg_type t WHERE t.typnamespace = 'information_schema'::regnamespace AND t.oid < ${FIRST_OWN_OID}))) AS changed,
    CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(g.rolname) END AS grantee,
    -- initdb notes no rights of information_schema, whose hidden tables begin with a line.
    o.class = 'relation' AND a.grantee = 0 AND a.privilege_type = 'SELECT' AND o.target LIKE 'information\\_schema.%' AND o.target NOT LIKE '%.\\_%'
    OR EXISTS (SELECT FROM aclexplode(coalesce((SELECT i.initprivs FROM pg_init_privs i
      WHERE i.classoid = o.catalogue AND i.objoid = o.oid AND i.objsubid = o.part), o.by_default)) b
      WHERE b.grantee = a.grantee AND b.privilege_type = a.privilege_type) AS given
  FROM objects o CROSS JOIN aclexplode(coalesce(o.acl, o.by_default)) a LEFT JOIN pg_roles g ON g.oid = a.grantee
  WHERE a.grantee = 0 OR a.grantee = ANY($1::oid[])) rights`;

/** Whether one of the roles, or everybody, may use a schema. */
const MAY_USE = `EXISTS (SELECT FROM aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
      WHERE a.privilege_type = 'USAGE' AND (a.grantee = 0 OR a.grantee = ANY($1::oid[])))`;

/** Whether one of the roles, or everybody, may call a function. */
const MAY_CALL = (routine: string) => `
      EXISTS (SELECT FROM aclexplode(coalesce(${routine}.proacl, acldefault('f', ${routine}.proowner))) a
      WHERE a.grantee = 0 OR a.grantee = ANY($1::oid[]))`;

const RELATIONS = `
  SELECT c.oid, ${RELATION} AS object, c.relkind::text AS kind,
    c.relrowsecurity AS enabled, quote_ident(o.rolname) AS owner,
    ARRAY(SELECT i.inhparent::regclass::text FROM pg_inherits i WHERE i.inhrelid = c.oid ORDER BY i.inhseqno) AS parents,
    c.relkind = 'r' AND c.relhassubclass AS "hasChildren", c.relispartition AS "isPartition",
    EXISTS (SELECT FROM unnest(c.reloptions) e WHERE e ~* '^security_invoker=(t|tr|tru|true|y|ye|yes|on|1)$') AS invoker,
    (SELECT x.extname::text FROM pg_depend e JOIN pg_extension x ON x.oid = e.refobjid
      WHERE e.classid = 'pg_class'::regclass AND e.objid = c.oid AND e.deptype = 'e' AND x.extnamespace = c.relnamespace
        AND NOT EXISTS (SELECT FROM pg_rewrite w WHERE w.ev_class = c.oid AND w.xmin::text::int8 > x.xmin::text::int8)) AS extension,
    coalesce((SELECT jsonb_agg(jsonb_build_object('number', a.attnum, 'name', quote_ident(a.attname), 'type', a.atttypid::int8, 'typeName', format_type(a.atttypid, NULL),
        'generated', a.attgenerated <> '', 'folds', coalesce(NOT l.collisdeterministic, false)) ORDER BY a.attnum)
      FROM pg_attribute a LEFT JOIN pg_collation l ON l.oid = a.attcollation
      WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped), '[]') AS columns,
    ARRAY(SELECT quote_ident(a.attname) FROM pg_index k JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY(k.indkey::int2[])
      WHERE k.indrelid = c.oid AND k.indisprimary ORDER BY a.attnum) AS "keyColumns",
    ARRAY(SELECT p.polname::text FROM pg_policy p WHERE p.polrelid = c.oid) AS "policyNames",
    ARRAY(SELECT z FROM unnest($1::oid[]) z WHERE has_any_column_privilege(z, c.oid, 'SELECT')) AS readers,
    ${MAY_USE} OR EXISTS (SELECT FROM pg_depend d LEFT JOIN pg_rewrite w ON d.classid = 'pg_rewrite'::regclass AND w.oid = d.objid
      WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = c.oid AND d.classid IN ('pg_rewrite'::regclass, 'pg_proc'::regclass)
        AND w.ev_class IS DISTINCT FROM c.oid) AS named,
    (SELECT w.ev_action::text FROM pg_rewrite w WHERE w.ev_class = c.oid AND w.ev_type = '1' AND c.relkind = 'v') AS tree
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_roles o ON o.oid = c.relowner
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relpersistence <> 't' AND c.oid >= ${FIRST_OWN_OID} ORDER BY n.nspname, c.relname`;

/** Policies of reading. Without USING one shows no row. A policy applies to a role that has the rights of the policy's role. */
const POLICIES = `
  SELECT p.polrelid AS relation, quote_ident(p.polname) AS name, format('%I.%I.%I', n.nspname, c.relname, p.polname) AS object,
    p.polpermissive AS permissive, p.polqual::text AS tree,
    ARRAY(SELECT z FROM unnest($1::oid[]) z WHERE EXISTS (
      SELECT FROM unnest(p.polroles) q WHERE CASE WHEN q = 0 THEN true ELSE pg_has_role(z, q, 'USAGE') END)) AS roles
  FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE p.polcmd IN ('r', '*') AND p.polqual IS NOT NULL ORDER BY p.polrelid, p.polname`;

/**
 * The transaction in which initdb began to make its types of `information_schema`: after all functions, and before everything else. `xmin`
 * of a function that was replaced is later. GRANT does not change the rows of types.
 */
const INITDB_END =
  "(SELECT min(t.xmin::text::int8) FROM pg_type t WHERE t.typnamespace = 'information_schema'::regnamespace AND t.oid < 16384)";

const routinesQuery = (version: number): string => `
  SELECT f.oid, f.oid::regprocedure::text AS signature, l.lanname::text AS language, f.prokind::text AS kind, f.prosecdef AS definer,
    f.provolatile = 'i' AS immutable, f.proleakproof AS leakproof, coalesce(f.proconfig, '{}') AS settings, f.prorettype AS returns, f.proargdefaults::text AS defaults, f.provariadic = 0 AND f.prosupport = 0 AS "isPlain", f.probin::text AS library, f.prosrc AS source,
    ${version >= 140_000 ? "f.prosqlbody::text" : "NULL::text"} AS tree,
    CASE WHEN f.prokind <> 'a' THEN pg_get_functiondef(f.oid) END AS definition, quote_ident(w.rolname) AS owner,
    ${extensionOf("'pg_proc'::regclass", "f.oid")} AS extension, p.part AS "isPart",
    EXISTS (SELECT FROM pg_depend d WHERE d.refclassid = 'pg_proc'::regclass AND d.refobjid = f.oid
      AND d.classid IN ('pg_policy'::regclass, 'pg_rewrite'::regclass)) AS "isUsed",
    EXISTS (SELECT FROM pg_proc b WHERE b.oid < ${FIRST_OWN_OID} AND l.lanname = 'internal' AND f.prokind <> 'a' AND b.prolang = f.prolang AND b.prosrc = f.prosrc
      AND b.pronargs = f.pronargs AND b.proacl IS NULL AND b.provolatile <> 'v')
      OR f.prokind = 'a' AND NOT EXISTS (SELECT FROM pg_aggregate g JOIN pg_proc s ON s.oid IN (g.aggtransfn, g.aggfinalfn, g.aggcombinefn)
        WHERE g.aggfnoid = f.oid AND s.provolatile = 'v') AS "isAlias"
  FROM pg_proc f JOIN pg_namespace n ON n.oid = f.pronamespace JOIN pg_language l ON l.oid = f.prolang JOIN pg_roles w ON w.oid = f.proowner
    CROSS JOIN LATERAL (SELECT EXISTS (SELECT FROM pg_depend d LEFT JOIN pg_proc u ON d.classid = 'pg_proc'::regclass AND u.oid = d.objid
      WHERE d.refclassid = 'pg_proc'::regclass AND d.refobjid = f.oid AND ((u.prokind = 'a' AND ${MAY_CALL("u")}) OR d.classid IN ('pg_type'::regclass, 'pg_opclass'::regclass, 'pg_opfamily'::regclass, 'pg_amproc'::regclass, 'pg_conversion'::regclass, 'pg_transform'::regclass,
      'pg_ts_parser'::regclass, 'pg_ts_template'::regclass, 'pg_language'::regclass, 'pg_am'::regclass))) AS part) p
  WHERE (f.oid >= ${FIRST_OWN_OID} OR f.prosecdef OR f.proconfig IS NOT NULL OR f.proowner <> 10 OR l.lanname NOT IN ('internal', 'c', 'sql')
      OR (f.xmin::text::int8 > ${INITDB_END} AND f.probin IS DISTINCT FROM '$libdir/plpgsql'))
    AND (p.part OR ${MAY_CALL("f")})
    AND (p.part OR ${MAY_USE} OR EXISTS (SELECT FROM pg_depend d WHERE d.refclassid = 'pg_proc'::regclass AND d.refobjid = f.oid
      AND d.deptype <> 'e' AND d.classid <> 'pg_trigger'::regclass))
    -- Only a trigger can call these, and nobody who only reads fires one.
    AND (f.prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype) OR l.lanname IN ('internal', 'c'))
    -- PostgreSQL makes constructors with each type of ranges.
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = f.oid AND d.refclassid = 'pg_type'::regclass
      AND d.deptype = 'i')
  ORDER BY n.nspname, f.proname, f.oid`;

const FOREIGN_KEYS = `
  SELECT k.conrelid AS table, k.confrelid AS parent, k.conkey::int4[] AS columns, k.confkey::int4[] AS "parentColumns" FROM pg_constraint k
  WHERE k.contype = 'f' AND k.convalidated
    AND NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgconstraint = k.oid AND t.tgenabled NOT IN ('O', 'A'))
    AND EXISTS (SELECT FROM pg_trigger t WHERE t.tgconstraint = k.oid)`;

const ROLE_SETTINGS = `
  SELECT quote_ident(r.rolname) AS role, lower(split_part(e, '=', 1)) AS name,
    concat_ws(' IN ', CASE WHEN s.setrole <> 0 THEN 'ROLE ' || quote_ident(r.rolname) WHEN s.setdatabase = 0 THEN 'ROLE ALL' END,
      CASE WHEN s.setdatabase <> 0 THEN 'DATABASE ' || quote_ident(current_database()) END) AS altered
  FROM pg_db_role_setting s CROSS JOIN unnest(s.setconfig) e LEFT JOIN pg_roles r ON r.oid = s.setrole
  WHERE s.setdatabase IN (0, (SELECT b.oid FROM pg_database b WHERE b.datname = current_database()))
    AND (s.setrole = 0 OR s.setrole = ANY($1::oid[]))`;

const TYPES = `
  SELECT t.oid, t.typtype::text AS kind, t.typbasetype AS base, t.typtypmod <> -1 AS limited FROM pg_type t
  WHERE t.typtype = 'e' OR (t.typtype = 'd' AND NOT EXISTS (
    SELECT FROM pg_collation l WHERE l.oid = t.typcollation AND NOT l.collisdeterministic))
  UNION ALL SELECT t.oid, 'd', 'text'::regtype, true FROM pg_type t WHERE t.typname = 'citext' AND ${extensionOf("'pg_type'::regclass", "t.oid")} = 'citext'`;

const CHECKS = `
  SELECT format('%I.%I', n.nspname, t.typname) AS object, quote_ident(k.conname) AS constraint, k.conbin::text AS tree
  FROM pg_constraint k JOIN pg_type t ON t.oid = k.contypid JOIN pg_namespace n ON n.oid = t.typnamespace
  WHERE k.contype = 'c' AND t.oid >= ${FIRST_OWN_OID}`;

/**
 * Operator classes, and members of PostgreSQL's families, that initdb has not made; indexes with them, or with functions and operators of one's own,
 * which may have kept what another caller was shown; and statistics of expressions, where `pg_stats_ext_exprs` shows those of all rows
 * (CVE-2024-4317).
 */
const partsQuery = (version: number): string => `
  WITH made(classid, oid) AS (
    SELECT 'pg_opclass'::regclass::oid, oid FROM pg_opclass
    UNION ALL SELECT 'pg_amop'::regclass, oid FROM pg_amop WHERE amopfamily < ${FIRST_OWN_OID}
    UNION ALL SELECT 'pg_amproc'::regclass, oid FROM pg_amproc WHERE amprocfamily < ${FIRST_OWN_OID}
    UNION ALL SELECT d.classid, d.objid FROM pg_depend d JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
      WHERE c.relkind IN ('i', 'I') AND d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass, 'pg_opclass'::regclass)
        AND ${extensionOf("d.refclassid", "d.refobjid")} IS NULL
    ${version >= 140_000 ? "UNION ALL SELECT 'pg_statistic_ext'::regclass, s.oid FROM pg_statistic_ext s WHERE s.stxexprs IS NOT NULL AND pg_get_viewdef('pg_stats_ext_exprs'::regclass) !~ 'row_security_active'" : ""})
  SELECT DISTINCT p.type || ' ' || p.identity AS object, ${extensionOf("m.classid", "m.oid")} AS extension,
    CASE WHEN p.type LIKE '%access method' THEN '-- Take it out of its family with ALTER OPERATOR FAMILY … DROP.'
      ELSE format('DROP %s %s;', replace(upper(p.type), ' OBJECT', ''), p.identity) END AS fix
  FROM made m CROSS JOIN LATERAL pg_identify_object(m.classid, m.oid, 0) p WHERE m.oid >= ${FIRST_OWN_OID} ORDER BY 1`;

const COLLATIONS = "SELECT oid FROM pg_collation WHERE collisdeterministic";

const FUNCTIONS = `
  SELECT ARRAY(SELECT f.oid FROM pg_proc f WHERE f.provolatile <> 'i') AS mutable, ARRAY(SELECT f.oid FROM pg_proc f WHERE f.provolatile = 'v'
      AND f.proname NOT IN ('random', 'clock_timestamp', 'timeofday', 'gen_random_uuid')) AS volatile,
    EXISTS (SELECT FROM pg_proc f WHERE f.oid >= ${FIRST_OWN_OID} AND f.proname = 'current_setting')
    OR EXISTS (SELECT FROM pg_cast c WHERE c.oid >= ${FIRST_OWN_OID} AND c.castsource = 'text'::regtype AND c.casttarget::int8 < ${FIRST_OWN_OID})
    OR EXISTS (SELECT FROM pg_type t WHERE t.oid >= ${FIRST_OWN_OID} AND t.typname IN ('uuid', 'jsonb', 'text'))
    OR EXISTS (SELECT FROM pg_operator o WHERE o.oid >= ${FIRST_OWN_OID} AND (o.oprname IN ('->', '->>')
      AND o.oprleft = 'jsonb'::regtype OR o.oprname = '=' AND o.oprleft = 'text'::regtype AND o.oprright = 'text'::regtype)) AS "isHidden"`;

/** Reads what the login can see of it. A part that it cannot read is a finding. */
export async function readCatalogue(database: Database): Promise<Catalogue> {
  const unread: Finding[] = [];
  const read = async <Row>(what: string, sql: string, params: unknown[] = []): Promise<Row[]> => {
    try {
      return await withSavepoint(database, () => rowsOf<Row>(database, sql, params));
    } catch (error) {
      unread.push({
        object: what,
        message: `The part of PostgreSQL's catalogue that has the ${what} cannot be read (${reasonOf(error)}).`,
        fix: "-- Grant the login SELECT on PostgreSQL's own tables, as initdb does, and EXECUTE on its functions.",
      });
      return [];
    }
  };
  const [{ version = 0, login = "" } = {}] = await rowsOf<{ version?: number; login?: string }>(
    database,
    "SELECT current_setting('server_version_num')::int AS version, session_user::text AS login",
  );
  const roles = await read<Role>("memberships", ROLES);
  const all = [roles.map(({ oid }) => oid)];
  // Superusers have every right; they are named once.
  const ordinary = [roles.filter(({ attributes }) => !attributes.includes("SUPERUSER")).map(({ oid }) => oid)];
  const types = await read<{ oid: number; kind: string; base: number; limited: boolean }>("types", TYPES);
  const [functions] = await read<{ volatile: number[]; mutable: number[]; isHidden: boolean }>("functions", FUNCTIONS);
  const collations = await read<{ oid: number }>("collations", COLLATIONS);
  const policies = await read<Policy>("policies", POLICIES, ordinary);
  const relations = await read<Relation>("tables and views", RELATIONS, ordinary);
  for (const each of relations) each.policies = policies.filter(({ relation }) => relation === each.oid);
  return {
    version,
    login,
    roles,
    others: await read("other roles", OTHERS, all),
    owned: await read("owners", OWNED, ordinary),
    grants: await read("rights", grantsQuery(version), ordinary),
    relations,
    routines: await read("functions of one's own", routinesQuery(version), ordinary),
    foreignKeys: await read("foreign keys", FOREIGN_KEYS),
    roleSettings: await read("settings of roles", ROLE_SETTINGS, all),
    volatile: new Set(functions?.volatile),
    mutable: new Set(functions?.mutable),
    parts: await read("indexes and statistics", partsQuery(version)),
    deterministicCollations: new Set([0, ...collations.map(({ oid }) => oid)]),
    checks: await read("conditions of domains", CHECKS),
    enums: new Set(types.filter(({ kind }) => kind === "e").map(({ oid }) => oid)),
    domains: new Map(types.filter(({ kind }) => kind === "d").map((each) => [each.oid, each])),
    isHidden: functions?.isHidden ?? true,
    unread,
  };
}
