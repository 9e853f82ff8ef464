/** Finds roles that policies do not bind, and rights that no role of a dashboard needs. */
import { type Catalogue, qualified, type Relation, type Right, type Role } from "./catalogue.ts";
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

/** What a fix for a role needs. */
type About = { catalogue: Catalogue; queries: QueryRoles };

/** SQL by which the login can no longer become a role: that of each membership that leads there. */
function leave(name: string, { memberships }: Catalogue): string {
  const members = memberships.filter(({ role }) => role === name).map(({ member }) => identifier(member));
  if (members.length === 0) return "-- Log in as a role that is no superuser, and no member of this one.";
  return `REVOKE ${identifier(name)} FROM ${members.join(", ")};`;
}

/** A role of another program that the login can become, and that is no customer. */
export const reachableRole = (
  name: string,
  { catalogue, queries }: About,
  { schema, name: table }: Relation,
): Mistake => ({
  code: "reachable_role",
  object: identifier(name),
  message: `${identifier(name)}, ${wayTo(name, queries)}, may use rows of ${qualified({ schema, name: table })} of more than one customer.`,
  fix: `${leave(name, catalogue)} -- Give the other program a login of its own.`,
});

/** The fix for a role that has too many rights. */
const without = (role: Role, { catalogue, queries }: About, statement: string): string =>
  isOfQueries(role.name, queries) ? statement : leave(role.name, catalogue);

/** Finds what is wrong with the roles themselves. */
export function checkRoles(catalogue: Catalogue, queries: QueryRoles): Mistake[] {
  const about = { catalogue, queries };
  const way = (role: string) => `${identifier(role)}, ${wayTo(role, queries)},`;
  return [
    ...catalogue.roles.flatMap((role) => checkAttributes(role, about)),
    ...checkOwners(about),
    ...checkSchemas(about),
    ...checkCustomers(about),
    ...catalogue.predefined.map(({ role, of }) => ({
      code: "predefined_role",
      object: identifier(role),
      message: `${way(role)} is a member of ${of}, whose rights reach beyond the tables of one customer.`,
      fix: leave(of, catalogue),
    })),
    ...catalogue.systemTables.map((right) => ({
      code: "system_table",
      object: right.object,
      message: `${way(right.role)} may read this table of PostgreSQL, which it hides from ordinary roles: it can have hashes of passwords, or values of the rows of all customers.`,
      fix: `REVOKE ALL ON ${right.object} FROM ${grantees(right)};`,
    })),
    ...catalogue.creatable.map((right) => ({
      code: "schema_create",
      object: right.object,
      message: `${way(right.role)} may create ${right.kind === "SCHEMA" ? "objects in this schema" : "schemas in this database"}. A function or table made there can take the place of one that other queries name.`,
      fix: `REVOKE CREATE ON ${right.kind} ${right.object} FROM ${grantees(right)};`,
    })),
  ];
}

/** Who has a right by name, as the end of a REVOKE. An owner has it without. */
export const grantees = ({ role, grantees }: Right): string =>
  grantees.length > 0 ? grantees.join(", ") : identifier(role);

const checkAttributes = (role: Role, about: About): Mistake[] =>
  ATTRIBUTES.filter(({ attribute }) => role[attribute])
    // A superuser has the others too.
    .filter(({ attribute }) => attribute === "superuser" || !role.superuser)
    .map(({ code, what, off }) => ({
      code,
      object: identifier(role.name),
      message: `${identifier(role.name)}, ${wayTo(role.name, about.queries)}, ${what}.`,
      fix: without(role, about, fixOf(role, off, about)),
    }));

/** The role that a server is made with must stay a superuser, so a login of its own comes first. */
function fixOf(role: Role, off: string, { catalogue, queries }: About): string {
  if (!role.superuser) return `ALTER ROLE ${identifier(role.name)} ${off};`;
  if (role.name !== catalogue.bootstrap)
    return `ALTER ROLE ${identifier(role.name)} NOSUPERUSER NOBYPASSRLS NOCREATEROLE NOREPLICATION;`;
  const customers = [...new Set(queries.customers)].filter((name) => name !== role.name).map(identifier);
  const grant = customers.length > 0 ? ` GRANT ${customers.join(", ")} TO dashboards_backend;` : "";
  return `CREATE ROLE dashboards_backend LOGIN NOINHERIT;${grant} -- Give it a password, and log in as this role.`;
}

/** An owner can disable row-level security, and without FORCE its policies do not bind it. */
const checkOwners = (about: About): Mistake[] =>
  about.catalogue.roles
    .filter(({ superuser }) => !superuser)
    .flatMap((role) => {
      const { catalogue, queries } = about;
      const owned = catalogue.relations.filter(({ ownerOid }) => ownerOid === role.oid);
      if (owned.length === 0) return [];
      const unbound = owned.filter(({ enabled, forced }) => enabled && !forced);
      const unforced =
        unbound.length === 0
          ? ""
          : ` The policies of ${listed(unbound.map(qualified))} do not even bind it, without FORCE.`;
      // The owner's rights go with it.
      const fixes = owned.map(
        (each) =>
          `ALTER TABLE ${qualified(each)} OWNER TO ${identifier(catalogue.bootstrap)}; GRANT SELECT ON ${qualified(each)} TO ${identifier(role.name)};`,
      );
      return [
        {
          code: "owner",
          object: identifier(role.name),
          message: `${identifier(role.name)}, ${wayTo(role.name, queries)}, owns ${listed(owned.map(qualified))}. An owner can disable row-level security.${unforced}`,
          fix: without(role, about, fixes.join(" ")),
        },
      ];
    });

/** The owner of a schema can drop all tables in it, and that of an enum rename its labels. */
const checkSchemas = ({ catalogue, queries }: About): Mistake[] =>
  catalogue.owns.map(({ role, kind, object }) => ({
    code: "owner",
    object,
    message: `${identifier(role)}, ${wayTo(role, queries)}, owns this ${kind.toLowerCase()}, and can ${kind === "TYPE" || kind === "DOMAIN" ? "change what its values mean" : "drop the tables in it or replace them"}.`,
    fix: `ALTER ${kind} ${object} OWNER TO ${identifier(catalogue.bootstrap)};${kind === "SCHEMA" ? ` GRANT USAGE ON SCHEMA ${object} TO ${identifier(role)};` : ""}`,
  }));

/** Customers who have roles of their own, of which one is a member of the other. */
function checkCustomers({ catalogue, queries }: About): Mistake[] {
  const [first, second] = queries.customers;
  return catalogue.memberships
    .filter(
      ({ role, member }) =>
        (role === first && member === second) || (role === second && member === first && first !== second),
    )
    .map(({ role, member }) => ({
      code: "customer_role_granted",
      object: identifier(member),
      message: `${identifier(member)}, the role of one customer, is a member of ${identifier(role)}, the role of the other one: it has its rights, and can become it.`,
      fix: `REVOKE ${identifier(role)} FROM ${identifier(member)};`,
    }));
}

/** Finds settings of the customer that a role or a database has by default, so that no setting is ever missing. */
export const checkRoleSettings = ({ roleSettings, database }: Catalogue, settings: readonly string[]): Mistake[] =>
  roleSettings.flatMap(({ role, inDatabase, names }) => {
    const within = inDatabase ? ` IN DATABASE ${identifier(database)}` : "";
    const [kind, altered] =
      role === null && inDatabase
        ? ["DATABASE", `DATABASE ${identifier(database)}`]
        : ["ROLE", `ROLE ${role === null ? "ALL" : identifier(role)}${within}`];
    return names
      .filter((name) => settings.includes(name.toLowerCase()))
      .map((name) => ({
        code: "default_setting",
        object: role === null ? "the database" : identifier(role),
        message: `${name} has a value by default (ALTER ${kind} … SET), so a connection on which nobody has set the customer sees the rows of one.`,
        fix: `ALTER ${altered} RESET ${name};`,
      }));
  });

/** Finds rights that tables made in the future will have before anybody has enabled row-level security. */
export const checkDefaultPrivileges = ({ defaultPrivileges }: Catalogue): Mistake[] =>
  defaultPrivileges.map(({ owner, grantee, schema, privileges }) => {
    const place = schema === null ? "" : ` IN SCHEMA ${identifier(schema)}`;
    const whom = grantee === "PUBLIC" ? grantee : identifier(grantee);
    return {
      code: "default_privileges",
      object: whom,
      message: `Each table that ${identifier(owner)} creates${place === "" ? "" : ` in schema ${schema}`} gives ${listed(privileges)} to ${whom} at once, before it has a policy.`,
      fix: `ALTER DEFAULT PRIVILEGES FOR ROLE ${identifier(owner)}${place} REVOKE ALL ON TABLES FROM ${whom}; -- Grant each table after its policies.`,
    };
  });
