/** Finds tables, views and functions that row-level security does not cover. */
import { type Catalogue, qualified, type Relation } from "./catalogue.ts";
import { identifier } from "./database.ts";
import { listed, type Mistake, verb } from "./finding.ts";
import { checkPolicies, type Policies } from "./policies.ts";

const KINDS = { r: "table", p: "table", v: "view", m: "materialized view", f: "foreign table" } as const;
const ROWS = ["SELECT", "INSERT", "UPDATE", "DELETE"];

/** Names that the user of the command has checked, such as tables that all customers share. */
export type Allowed = (object: { schema: string; name: string }) => boolean;

/** The names of the roles with any of these rights on a relation. */
export const rolesThat = (relation: Relation, privileges: readonly string[]): string[] =>
  Object.entries(relation.privileges).flatMap(([role, held]) =>
    held.some((each) => privileges.includes(each)) ? [role] : [],
  );

const isReachable = (relation: Relation): boolean =>
  rolesThat(relation, ROWS).length > 0 || relation.publicPrivileges.some((each) => ROWS.includes(each));

/** Finds mistakes in each relation that one of the roles can read or write. */
export function checkRelations(policies: Policies, isAllowed: Allowed): Mistake[] {
  const { relations } = policies.catalogue;
  return relations
    .filter((relation) => isReachable(relation) && !isAllowed(relation))
    .flatMap((relation) => [...checkRelation(policies, relation, isAllowed), ...checkGrants(relation)]);
}

function checkRelation(policies: Policies, relation: Relation, isAllowed: Allowed): Mistake[] {
  switch (relation.kind) {
    case "v":
      return checkView(policies.catalogue, relation, isAllowed);
    case "m":
      return [
        {
          code: "materialized_view",
          object: qualified(relation),
          message: "This materialized view has its own copy of the rows of all customers, and no policy applies to it.",
          fix: `REVOKE ALL ON ${qualified(relation)} FROM ${holders(relation)}; and give a view with security_invoker, or a table with policies.`,
        },
      ];
    case "f":
      return [
        {
          code: "foreign_table",
          object: qualified(relation),
          message: "No policy applies to a foreign table: it shows what the user mapping may read on the other server.",
          fix: `REVOKE ALL ON ${qualified(relation)} FROM ${holders(relation)};`,
        },
      ];
    default:
      return checkTable(policies, relation);
  }
}

/** Who holds rights on a relation, as the end of a REVOKE. */
function holders(relation: Relation): string {
  const roles = rolesThat(relation, ROWS).map(identifier);
  return [...(relation.publicPrivileges.length > 0 ? ["PUBLIC"] : []), ...roles].join(", ");
}

function checkTable(policies: Policies, relation: Relation): Mistake[] {
  const table = qualified(relation);
  if (!relation.enabled) return [unprotected(policies.catalogue, relation)];
  const unforced: Mistake = {
    code: "rls_not_forced",
    object: table,
    message: `Row-level security does not bind the owner of this table (${identifier(relation.owner)}), nor views and functions that run as the owner.`,
    fix: `ALTER TABLE ${table} FORCE ROW LEVEL SECURITY;`,
  };
  return [
    ...(relation.forced ? [] : [unforced]),
    ...checkApplied(policies.catalogue, relation),
    ...checkPolicies(policies, relation),
  ];
}

/** A table without row-level security, perhaps a part of one that has it. */
function unprotected({ policies }: Catalogue, relation: Relation): Mistake {
  const table = qualified(relation);
  const enable = `ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY; ALTER TABLE ${table} FORCE ROW LEVEL SECURITY; and create a policy.`;
  if (relation.parent !== null)
    return {
      code: "partition_open",
      object: table,
      message: `This partition or child of ${relation.parent} can be queried by its own name, and the policies of ${relation.parent} do not apply then.`,
      fix: `REVOKE ALL ON ${table} FROM ${holders(relation)}; or ${enable}`,
    };
  const has = policies.filter((policy) => policy.relation === relation.oid).length;
  return {
    code: "rls_disabled",
    object: table,
    message: `${has > 0 ? `The table has policies (${has}), but row-level` : "Row-level"} security is not enabled, so ${listed(rolesThat(relation, ROWS).map(identifier)) || "every role"} can use all its rows.`,
    fix: `${enable} If all customers may read it, give --allow ${table}.`,
  };
}

/** A role that may read a table, but has no policy there, sees no row: a policy is missing, or the grant is a mistake. */
function checkApplied(catalogue: Catalogue, relation: Relation): Mistake[] {
  const table = qualified(relation);
  const readers = rolesThat(relation, ["SELECT"]);
  const readable = catalogue.policies.filter(
    ({ relation: oid, permissive, command }) => oid === relation.oid && permissive && "r*".includes(command),
  );
  const unserved = readers.filter((reader) => !readable.some(({ roles }) => roles.includes(reader)));
  // One of several roles may inherit the right without using it.
  if (readers.length === 0 || unserved.length < readers.length) return [];
  const others = catalogue.policies.some((each) => each.relation === relation.oid)
    ? "its policies apply to other roles or commands"
    : "it has no policies";
  return [
    {
      code: "no_policy",
      object: table,
      message: `${listed(readers.map(identifier))} may read the table, but ${others}, so no customer sees a row.`,
      fix: `CREATE POLICY <name> ON ${table} FOR SELECT TO ${readers.map(identifier).join(", ")} USING (<customer's column> = <setting of the customer>); or REVOKE ALL ON ${table} FROM ${holders(relation)};`,
    },
  ];
}

/** Whether all tables below a view may be read by everybody. */
function readsOnlyAllowed(catalogue: Catalogue, view: Relation, isAllowed: Allowed, seen = new Set<number>()): boolean {
  seen.add(view.oid);
  const below = catalogue.relations.filter(({ oid }) => view.reads.includes(oid) && !seen.has(oid));
  return (
    view.reads.length > 0 &&
    below.every((each) => isAllowed(each) || (each.kind === "v" && readsOnlyAllowed(catalogue, each, isAllowed, seen)))
  );
}

function checkView(catalogue: Catalogue, view: Relation, isAllowed: Allowed): Mistake[] {
  const isInvoker = view.options.some((option) => /^security_invoker=(?:true|on|yes|1)$/i.test(option));
  if (isInvoker || readsOnlyAllowed(catalogue, view, isAllowed)) return [];
  const isPossible = catalogue.version >= 150000;
  return [
    {
      code: "view_runs_as_owner",
      object: qualified(view),
      message: `This view reads its tables as its owner (${identifier(view.owner)}), and not as the customer's role.`,
      fix: isPossible
        ? `ALTER VIEW ${qualified(view)} SET (security_invoker = true);`
        : `REVOKE ALL ON ${qualified(view)} FROM ${holders(view)}; views can run as the caller from PostgreSQL 15 on.`,
    },
  ];
}

/** Rights that policies do not limit, and rights of everybody. */
function checkGrants(relation: Relation): Mistake[] {
  const object = qualified(relation);
  const mistakes: Mistake[] = [];
  if (relation.publicPrivileges.length > 0)
    mistakes.push({
      code: "granted_to_public",
      object,
      message: `Every role of the database has ${listed(relation.publicPrivileges)} on this ${KINDS[relation.kind]}.`,
      fix: `REVOKE ALL ON ${object} FROM PUBLIC; and grant it to the role of the dashboards.`,
    });
  // The owner has all rights, which is another mistake.
  const beyond = (["TRUNCATE", "REFERENCES", "TRIGGER"] as const).filter((privilege) =>
    rolesThat(relation, [privilege]).some((role) => role !== relation.owner),
  );
  if (beyond.length > 0 && relation.kind !== "v")
    mistakes.push({
      code: "privilege_beyond_policies",
      object,
      message: `${listed(rolesThat(relation, beyond).map(identifier))} ${verb(rolesThat(relation, beyond), ["has", "have"])} ${beyond.join(", ")} on this table. Policies do not limit these: TRUNCATE deletes the rows of all customers, and foreign keys and triggers see them.`,
      fix: `REVOKE ${beyond.join(", ")} ON ${object} FROM ${[...(relation.publicPrivileges.length > 0 ? ["PUBLIC"] : []), ...rolesThat(relation, beyond).map(identifier)].join(", ")};`,
    });
  return mistakes;
}

/** Finds functions that run as their owner, or that see rows before the policies do. */
export function checkFunctions({ functions }: Catalogue, isAllowed: Allowed): Mistake[] {
  return functions
    .filter((each) => each.callers.length > 0 && !each.isTrigger && !isAllowed(each))
    .flatMap(({ signature, definer, leakproof, callers }) => {
      const mistakes: Mistake[] = [];
      if (definer)
        mistakes.push({
          code: "security_definer",
          object: signature,
          message: `${listed(callers.map(identifier))} can call this function, and it runs as its owner (SECURITY DEFINER), whom other policies or none bind.`,
          fix: `ALTER FUNCTION ${signature} SECURITY INVOKER; or REVOKE EXECUTE ON FUNCTION ${signature} FROM PUBLIC, ${callers.map(identifier).join(", ")}; If you have checked that it shows and changes nothing of other customers, and sets search_path, give --allow with its name.`,
        });
      if (leakproof)
        mistakes.push({
          code: "leakproof_function",
          object: signature,
          message: "This function is marked LEAKPROOF, so PostgreSQL may call it with rows that a policy will hide.",
          fix: `ALTER FUNCTION ${signature} NOT LEAKPROOF;`,
        });
      return mistakes;
    });
}
