/** Finds roles that policies do not bind, and rights that no role of a dashboard needs. */
import { type Catalogue, qualified, type Relation, type Role } from "./catalogue.ts";
import { identifier } from "./database.ts";
import { listed, type Mistake } from "./finding.ts";

/** The role that has logged in, and those as which the customers' queries run. */
export type QueryRoles = { login: string; customers: string[] };

const ATTRIBUTES = [
  { attribute: "superuser", code: "superuser", what: "is a superuser: no policy binds it", off: "NOSUPERUSER" },
  { attribute: "bypassrls", code: "bypassrls", what: "has BYPASSRLS: no policy binds it", off: "NOBYPASSRLS" },
  {
    attribute: "createrole",
    code: "createrole",
    what: "has CREATEROLE: it can make itself a member of other roles",
    off: "NOCREATEROLE",
  },
  {
    attribute: "replication",
    code: "replication",
    what: "has REPLICATION: it can copy the whole database",
    off: "NOREPLICATION",
  },
] as const;

/** How a query can run as a role. */
function wayTo(name: string, { login, customers }: QueryRoles): string {
  if (customers.includes(name)) return "the role of the customers' queries";
  if (name === login) return "the role that logs in, to which every query can return with RESET ROLE";
  return `a role that ${identifier(login)} can become with SET ROLE`;
}

/** Whether a role is that of the login or of the customers' queries. */
export const isOfQueries = (name: string, { login, customers }: QueryRoles): boolean =>
  name === login || customers.includes(name);

/** A role of another program that the login can become, and that is no customer. */
export const reachableRole = (name: string, queries: QueryRoles, { schema, name: table }: Relation): Mistake => ({
  code: "reachable_role",
  object: identifier(name),
  message: `${identifier(name)}, ${wayTo(name, queries)}, may use rows of ${qualified({ schema, name: table })} of more than one customer.`,
  fix: `REVOKE ${identifier(name)} FROM ${identifier(queries.login)}; or from the role by way of which it is a member. Give the other program a login of its own.`,
});

/** The fix for a role that has too many rights. */
const without = (role: Role, queries: QueryRoles, statement: string): string =>
  isOfQueries(role.name, queries)
    ? statement
    : `REVOKE ${identifier(role.name)} FROM ${identifier(queries.login)}; or, if it is a member by way of another role, from that one.`;

/** Finds what is wrong with the roles themselves. */
export function checkRoles(catalogue: Catalogue, queries: QueryRoles): Mistake[] {
  return [
    ...catalogue.roles.flatMap((role) => checkAttributes(role, queries)),
    ...checkOwners(catalogue, queries),
    ...catalogue.predefined.map(({ role, of }) => ({
      code: "predefined_role",
      object: identifier(role),
      message: `${identifier(role)}, ${wayTo(role, queries)}, is a member of ${of}, whose rights reach beyond the tables of one customer.`,
      fix: `REVOKE ${of} FROM ${identifier(role)};`,
    })),
    ...catalogue.systemTables.map(({ role, table }) => ({
      code: "system_table",
      object: `pg_catalog.${table}`,
      message: `${identifier(role)}, ${wayTo(role, queries)}, may read this table of PostgreSQL, which has hashes of passwords, or values of the rows of all customers.`,
      fix: `REVOKE ALL ON pg_catalog.${table} FROM PUBLIC, ${identifier(role)};`,
    })),
    ...catalogue.creatable.map(({ role, schema }) => ({
      code: "schema_create",
      object: identifier(schema),
      message: `${identifier(role)}, ${wayTo(role, queries)}, may create objects in this schema. A function or table made there can take the place of one that other queries name.`,
      fix: `REVOKE CREATE ON SCHEMA ${identifier(schema)} FROM PUBLIC, ${identifier(role)}; and let another role own the schema.`,
    })),
  ];
}

const checkAttributes = (role: Role, queries: QueryRoles): Mistake[] =>
  ATTRIBUTES.filter(({ attribute }) => role[attribute])
    // A superuser has the others too.
    .filter(({ attribute }) => attribute === "superuser" || !role.superuser)
    .map(({ code, what, off }) => ({
      code,
      object: identifier(role.name),
      message: `${identifier(role.name)}, ${wayTo(role.name, queries)}, ${what}.`,
      fix: without(role, queries, fixOf(role, off, queries)),
    }));

/** The role that a server is made with must stay a superuser, so a login of its own comes first. */
const fixOf = (role: Role, off: string, { login }: QueryRoles): string =>
  role.superuser && role.name === login
    ? "Let the backend log in as an ordinary role: CREATE ROLE <backend> LOGIN NOINHERIT; GRANT <role of the customers' queries> TO <backend>;"
    : `ALTER ROLE ${identifier(role.name)} ${off};`;

/** An owner can disable row-level security, and without FORCE its policies do not bind it. */
const checkOwners = ({ roles, relations }: Catalogue, queries: QueryRoles): Mistake[] =>
  roles
    .filter(({ superuser }) => !superuser)
    .flatMap((role) => {
      const owned = relations.filter(({ ownerOid }) => ownerOid === role.oid);
      if (owned.length === 0) return [];
      const unbound = owned.filter(({ enabled, forced }) => enabled && !forced);
      const unforced =
        unbound.length === 0
          ? ""
          : ` The policies of ${listed(unbound.map(qualified))} do not even bind it, without FORCE.`;
      const fix = `ALTER TABLE ${owned[0] ? qualified(owned[0]) : ""} OWNER TO <a role of your migrations>; and so on.`;
      return [
        {
          code: "owner",
          object: identifier(role.name),
          message: `${identifier(role.name)}, ${wayTo(role.name, queries)}, owns ${listed(owned.map(qualified))}. An owner can disable row-level security.${unforced}`,
          fix: without(role, queries, fix),
        },
      ];
    });

/** Finds settings of the customer that a role or a database has by default, so that no setting is ever missing. */
export const checkRoleSettings = ({ roleSettings }: Catalogue, settings: readonly string[]): Mistake[] =>
  roleSettings.flatMap(({ role, names }) =>
    names
      .filter((name) => settings.includes(name.toLowerCase()))
      .map((name) => ({
        code: "default_setting",
        object: role === null ? "the database" : identifier(role),
        message: `${name} has a value by default (ALTER ${role === null ? "DATABASE" : "ROLE"} … SET), so a connection on which nobody has set the customer sees the rows of one.`,
        fix: role === null ? `ALTER DATABASE <name> RESET ${name};` : `ALTER ROLE ${identifier(role)} RESET ${name};`,
      })),
  );

/** Finds rights that tables made in the future will have before anybody has enabled row-level security. */
export const checkDefaultPrivileges = ({ defaultPrivileges }: Catalogue): Mistake[] =>
  defaultPrivileges.map(({ owner, grantee, schema, privileges }) => {
    const place = schema === null ? "" : ` IN SCHEMA ${identifier(schema)}`;
    const whom = grantee === "PUBLIC" ? grantee : identifier(grantee);
    return {
      code: "default_privileges",
      object: whom,
      message: `Each table that ${identifier(owner)} creates${place === "" ? "" : ` in schema ${schema}`} gives ${listed(privileges)} to ${whom} at once, before it has a policy.`,
      fix: `ALTER DEFAULT PRIVILEGES FOR ROLE ${identifier(owner)}${place} REVOKE ALL ON TABLES FROM ${whom}; and grant each table after its policies.`,
    };
  });
