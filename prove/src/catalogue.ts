/** What PostgreSQL's catalogue says of the objects that the dashboards' roles can reach. */

import {
  CASTS,
  CREATABLE,
  DATABASE,
  DEFAULT_PRIVILEGES,
  FOREIGN_KEYS,
  functionsQuery,
  HIDDEN_FUNCTIONS,
  LARGE_OBJECTS,
  MEMBERSHIPS,
  OWNERS_CODE,
  OWNS,
  PARAMETERS,
  POLICIES,
  PREDEFINED,
  RELATIONS,
  ROLE_SETTINGS,
  SEQUENCES,
  SERVERS,
  SYSTEM_TABLES,
  TYPES,
} from "./catalogue-queries.ts";
import { type Database, identifier, rowsOf, withSavepoint } from "./database.ts";
import type { UserType } from "./sql/types.ts";

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

/** A type by its name in `pg_type`; of an array, that of its elements. */
export type CatalogueType = { schema: string; name: string; array: boolean };

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
  parents: number[];
  options: string[];
  columns: string[];
  /** The types of the columns but generated ones, whose values may be the same for rows of several customers. */
  types: Record<string, CatalogueType>;
  keyColumns: string[];
  /** Columns that no two rows have the same value in. */
  uniqueColumns: string[];
  /** Columns in which texts that differ are equal. */
  foldedColumns: string[];
  /** Those of them whose collation does it, which a cast does not change. */
  foldingCollations: string[];
  /** What each of the roles may do, by its name. */
  privileges: Record<string, Privilege[]>;
  /** What every role may do. */
  publicPrivileges: string[];
  /** The relations that a view reads. */
  reads: number[];
  /** The extension that it belongs to. */
  extension: string | null;
  /** Whether that extension itself lets everybody read it. */
  sharedByExtension: boolean;
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
  /** Whether it calls a function of PostgreSQL that may change something, such as set_config. */
  callsVolatile: boolean;
  /** The roles, by name, to which it applies: those in `grantees`, and their members. */
  roles: string[];
  /** The roles that CREATE POLICY named; none for PUBLIC. */
  grantees: string[];
};

/** A function that is no part of PostgreSQL or an extension, or that runs as its owner. */
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
  /** The body as PostgreSQL understood it when the function was made; `null` if it reads a text at each call. */
  parsedBody: string | null;
  body: string;
  isVolatile: boolean;
  argNames: string[];
  argTypes: CatalogueType[];
  returns: CatalogueType;
  returnsSet: boolean;
  /** The schemas of its own `search_path`; `null` if it uses that of its caller. */
  searchPath: string[] | null;
  /** Whether it sets anything else, such as the setting that it reads. */
  setsOthers: boolean;
  /** The roles, by name, that can call it. */
  callers: string[];
  /** What calls it without its name: aggregates, operators, casts, types. */
  usedBy: string[];
};

/** A foreign key: rows of `table` refer to rows of `parent`. */
export type ForeignKey = {
  name: string;
  table: number;
  columns: string[];
  parent: number;
  parentColumns: string[];
  /** Checked for all rows at each statement. */
  strict: boolean;
  /** As in `pg_constraint`: c CASCADE, n SET NULL, d SET DEFAULT, a and r refuse. */
  onDelete: string;
  onUpdate: string;
};

/** Code that a statement on a table, or one that makes objects (`relation` is then 0), runs as somebody else. */
type OwnersCode = { relation: number; name: string; events: string[]; message: string; fix: string };

/** A right of one of the roles on an object that is no table. `grantees` have it by name: PUBLIC, the role, or one that it inherits. */
export type Right = { role: string; object: string; grantees: string[] };

export type Catalogue = {
  version: number;
  login: string;
  database: string;
  /** The role that the server was made with. */
  bootstrap: string;
  /** Whether the names of PostgreSQL come first for the login, as they do unless somebody has set another order. */
  isPathSafe: boolean;
  roles: Role[];
  relations: Relation[];
  policies: Policy[];
  functions: StoredFunction[];
  types: UserType[];
  /** Casts of the integrator, by which values that differ may become one. */
  casts: { from: CatalogueType; to: CatalogueType }[];
  foreignKeys: ForeignKey[];
  /** Whether one of the roles may create temporary tables, which hide others of the same name. */
  mayCreateTemporary: boolean;
  /** Which of the roles are members of which others, directly. */
  memberships: { role: string; member: string }[];
  /** The predefined roles that one of the roles is a member of. */
  predefined: { role: string; of: string }[];
  defaultPrivileges: { owner: string; grantee: string; schema: string | null; privileges: string[] }[];
  /** Rights to create objects in a schema, or schemas in the database. */
  creatable: (Right & { kind: "SCHEMA" | "DATABASE" })[];
  /** Schemas, types and the database that one of the roles owns. */
  owns: { role: string; kind: "SCHEMA" | "DATABASE" | "TYPE" | "DOMAIN"; object: string }[];
  roleSettings: { role: string | null; inDatabase: boolean; names: string[] }[];
  readableSequences: string[];
  /** Tables of PostgreSQL itself, with hashes of passwords or samples of all rows. */
  systemTables: Right[];
  /** Functions of PostgreSQL or an extension that ordinary roles may not call unless somebody lets them, and dblink's. */
  hiddenFunctions: Right[];
  servers: (Right & { kind: "FOREIGN SERVER" | "FOREIGN DATA WRAPPER" })[];
  parameters: Right[];
  /** Large objects that one of the roles can use: policies do not apply to them. */
  largeObjects: { role: string; count: number; owned: boolean; grantees: string[] }[];
  /** Rules of tables, and functions of triggers, that run as somebody else. */
  ownersCode: OwnersCode[];
};

/** A name with its schema, as SQL writes it. */
export const qualified = ({ schema, name }: { schema: string; name: string }): string =>
  `${identifier(schema)}.${identifier(name)}`;

/** A bound for the roles of one login. */
export const ROLES_MAX = 1_000;

const OWN_PATH = "SET LOCAL search_path = pg_catalog, pg_temp";

/** Runs the prover's own queries: no schema of the integrator's can put its objects before those of PostgreSQL. */
const withOwnPath = <T>(database: Database, work: () => Promise<T>): Promise<T> =>
  withSavepoint(database, async () => {
    await database.query(OWN_PATH);
    return work();
  });

/** Whether PostgreSQL looks into its own schema first. */
export const isPathSafe = (schemas: readonly string[]): boolean =>
  schemas.map((schema) => schema.trim().replaceAll('"', "")).indexOf("pg_catalog") <= 0;

/**
 * The roles that queries can have: that of the login, those that it can become, and those among `named`, which the customers' SQL
 * names.
 */
export const readRoles = (database: Database, named: readonly string[]): Promise<Role[]> =>
  withOwnPath(database, () =>
    rowsOf<Role>(
      database,
      `SELECT r.oid::int8::float8 AS oid, r.rolname::text AS name, r.rolsuper AS superuser, r.rolbypassrls AS bypassrls,
              r.rolcreaterole AS createrole, r.rolreplication AS replication
       FROM pg_catalog.pg_roles r, pg_catalog.pg_roles me
       WHERE me.rolname = session_user AND r.rolname !~ '^pg_' AND (
         r.oid = me.oid OR r.rolname::text = ANY($1::text[]) OR (NOT me.rolsuper AND pg_has_role(me.oid, r.oid, 'MEMBER')))
       ORDER BY r.oid <> me.oid, r.rolname::text <> ALL($1::text[]), r.rolname LIMIT ${ROLES_MAX}`,
      [named],
    ),
  );

/** Reads the catalogue for these roles. */
export function readCatalogue(database: Database, roles: Role[]): Promise<Catalogue> {
  return withSavepoint(database, async () => {
    const [path] = await rowsOf<{ setting: string }>(
      database,
      "SELECT pg_catalog.current_setting('search_path') AS setting",
    );
    await database.query(OWN_PATH);
    // With these, PostgreSQL would write expressions in another way.
    await database.query("SET LOCAL quote_all_identifiers = off");
    await database.query("SET LOCAL standard_conforming_strings = on");
    const [about] = await rowsOf<{ version: number; login: string; database: string; bootstrap: string }>(
      database,
      DATABASE,
    );
    const version = about?.version ?? 0;
    // A superuser may do everything, which is one mistake, and not one for each table.
    const bound = roles.filter(({ superuser }) => !superuser).map(({ oid }) => oid);
    const read = <Row>(sql: string) => rowsOf<Row>(database, sql, [bound]);
    const [temporary] = await read<{ may: boolean }>(
      "SELECT EXISTS (SELECT FROM unnest($1::oid[]) r WHERE has_database_privilege(r, current_database(), 'TEMPORARY')) AS may",
    );
    return {
      version,
      login: about?.login ?? "",
      database: about?.database ?? "",
      bootstrap: about?.bootstrap ?? "",
      isPathSafe: isPathSafe(path?.setting.split(",") ?? []),
      roles,
      relations: await read(RELATIONS),
      policies: await read(POLICIES),
      functions: await read(functionsQuery(version)),
      types: await rowsOf(database, TYPES),
      casts: await rowsOf(database, CASTS),
      foreignKeys: await rowsOf(database, FOREIGN_KEYS),
      mayCreateTemporary: temporary?.may ?? true,
      memberships: await read(MEMBERSHIPS),
      predefined: await read(PREDEFINED),
      defaultPrivileges: await read(DEFAULT_PRIVILEGES),
      creatable: await read(CREATABLE),
      owns: await read(OWNS),
      roleSettings: await rowsOf(database, ROLE_SETTINGS, [roles.map(({ oid }) => oid)]),
      readableSequences: (await read<{ name: string }>(SEQUENCES)).map(({ name }) => name),
      systemTables: await read(SYSTEM_TABLES),
      hiddenFunctions: await read(HIDDEN_FUNCTIONS),
      servers: await read(SERVERS),
      parameters: version >= 150000 ? await read(PARAMETERS) : [],
      largeObjects: await read(LARGE_OBJECTS),
      ownersCode: await rowsOf(database, OWNERS_CODE),
    };
  });
}
