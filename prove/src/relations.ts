/** Finds tables, views and functions that row-level security does not cover. */
import { type Catalogue, qualified, type Relation } from "./catalogue.ts";
import { identifier } from "./database.ts";
import { type Findings, joined, listed, type Mistake, verb } from "./finding.ts";
import { checkPolicies } from "./policies/check-policies.ts";
import type { Policies } from "./policies/policies.ts";
import { isInvoker } from "./table-bounds.ts";

const KINDS = { r: "table", p: "table", v: "view", m: "materialized view", f: "foreign table" } as const;
const ROWS = ["SELECT", "INSERT", "UPDATE", "DELETE"];

/** Names that the user of the command has checked, such as tables that all customers share. */
export type Allowed = (object: { schema: string; name: string }) => boolean;

/** The names of the roles with any of these rights on a relation. */
export const rolesThat = (relation: Relation, privileges: readonly string[]): string[] =>
  Object.entries(relation.privileges).flatMap(([role, held]) =>
    held.some((each) => privileges.includes(each)) ? [role] : [],
  );

/** Whether queries can use a relation. */
const isReachable = (relation: Relation): boolean =>
  rolesThat(relation, ROWS).length > 0 || relation.publicPrivileges.some((each) => ROWS.includes(each));

/** Relations of extensions that everybody may read, and that have no rows of customers. */
const REFERENCE =
  /^(?:postgis\w*\.(?:spatial_ref_sys|(?:geometry|geography|raster)_(?:columns|overviews))|pg_stat_statements\..*)$/;

/** Finds mistakes in each relation that one of the roles can read or write. */
export function checkRelations(policies: Policies, isAllowed: Allowed): Findings {
  const { relations } = policies.catalogue;
  return joined(
    ...relations
      .filter((relation) => isReachable(relation) && !isAllowed(relation))
      .map((relation) =>
        isOfExtension(relation)
          ? checkExtension(relation)
          : joined(checkRelation(policies, relation, isAllowed), { mistakes: checkGrants(relation) }),
      ),
  );
}

/** Whether the rights on a relation are those alone that its extension has given to everybody. */
const isOfExtension = ({ extension, sharedByExtension, publicPrivileges, privileges }: Relation): boolean =>
  extension !== null &&
  sharedByExtension &&
  [publicPrivileges, ...Object.values(privileges)].every((held) => held.every((each) => each === "SELECT"));

const checkExtension = (relation: Relation): Partial<Findings> =>
  REFERENCE.test(`${relation.extension}.${relation.name}`)
    ? {
        limits: [
          `${qualified(relation)} belongs to the extension ${relation.extension}, which lets everybody read it.`,
        ],
      }
    : {
        notJudged: [
          {
            object: qualified(relation),
            message: `The extension ${relation.extension} lets everybody read this ${KINDS[relation.kind]}, in which there could be rows of customers.`,
            fix: `REVOKE ALL ON ${qualified(relation)} FROM PUBLIC; -- If it has no rows of customers: --accept ${qualified(relation)}`,
          },
        ],
      };

function checkRelation(policies: Policies, relation: Relation, isAllowed: Allowed): Partial<Findings> {
  switch (relation.kind) {
    case "v":
      return { mistakes: checkView(policies, relation, isAllowed) };
    case "m":
      return {
        mistakes: [
          {
            code: "materialized_view",
            object: qualified(relation),
            message:
              "This materialized view has its own copy of the rows of all customers, and no policy applies to it.",
            fix: `REVOKE ALL ON ${qualified(relation)} FROM ${holders(relation)}; -- Give a view with security_invoker instead, or a table with policies.`,
          },
        ],
      };
    case "f":
      return {
        mistakes: [
          {
            code: "foreign_table",
            object: qualified(relation),
            message:
              "No policy applies to a foreign table: it shows what the user mapping may read on the other server.",
            fix: `REVOKE ALL ON ${qualified(relation)} FROM ${holders(relation)};`,
          },
        ],
      };
    default:
      return checkTable(policies, relation);
  }
}

/** Who holds rights on a relation, as the end of a REVOKE. */
function holders(relation: Relation): string {
  const roles = rolesThat(relation, ROWS).map(identifier);
  return [...(relation.publicPrivileges.length > 0 ? ["PUBLIC"] : []), ...roles].join(", ");
}

function checkTable(policies: Policies, relation: Relation): Findings {
  const table = qualified(relation);
  if (!relation.enabled) return joined({ mistakes: [unprotected(policies, relation)] });
  const unforced: Mistake = {
    code: "rls_not_forced",
    object: table,
    message: `Row-level security does not bind the owner of this table (${identifier(relation.owner)}), nor views and functions that run as the owner.`,
    fix: `ALTER TABLE ${table} FORCE ROW LEVEL SECURITY;`,
  };
  return joined(
    { mistakes: [...(relation.forced ? [] : [unforced]), ...checkApplied(policies, relation)] },
    checkPolicies(policies, relation),
  );
}

/** SQL that gives a table a policy for its customers; without a column to compare, it takes the rights away. */
function policyFix({ suggestions }: Policies, relation: Relation): string {
  const condition = suggestions.conditionFor(relation);
  const roles = rolesThat(relation, ROWS).map(identifier);
  if (condition === undefined) return `REVOKE ALL ON ${qualified(relation)} FROM ${holders(relation)};`;
  const command = rolesThat(relation, ["INSERT", "UPDATE", "DELETE"]).length > 0 ? "" : "FOR SELECT ";
  const whom = relation.publicPrivileges.length > 0 || roles.length === 0 ? "PUBLIC" : roles.join(", ");
  return suggestions.newPolicy(relation, `${command}TO ${whom} USING (${condition})`);
}

/** A table without row-level security, perhaps a part of one that has it. */
function unprotected(policies: Policies, relation: Relation): Mistake {
  const table = qualified(relation);
  const enable = `ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY; ALTER TABLE ${table} FORCE ROW LEVEL SECURITY;`;
  const shared = `-- If all customers may read it: --allow ${table}`;
  if (relation.parent !== null)
    return {
      code: "partition_open",
      object: table,
      message: `This partition or child of ${relation.parent} can be queried by its own name, and the policies of ${relation.parent} do not apply then.`,
      fix: `REVOKE ALL ON ${table} FROM ${holders(relation)};`,
    };
  const has = policies.catalogue.policies.filter((policy) => policy.relation === relation.oid).length;
  const made = policyFix(policies, relation);
  return {
    code: "rls_disabled",
    object: table,
    message: `${has > 0 ? `The table has policies (${has}), but row-level` : "Row-level"} security is not enabled, so ${listed(rolesThat(relation, ROWS).map(identifier)) || "every role"} can use all its rows.`,
    fix: has > 0 ? enable : `${made.startsWith("REVOKE") ? made : `${enable} ${made}`} ${shared}`,
  };
}

/** A role that may read a table, but has no policy there, sees no row: a policy is missing, or the grant is a mistake. */
function checkApplied(policies: Policies, relation: Relation): Mistake[] {
  const { catalogue } = policies;
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
      fix: `${policyFix(policies, relation)} -- If no customer may: REVOKE ALL ON ${table} FROM ${holders(relation)};`,
    },
  ];
}

/** Whether all tables below a view may be read by everybody. */
function readsOnlyAllowed(catalogue: Catalogue, view: Relation, isAllowed: Allowed, seen = new Set<number>()): boolean {
  seen.add(view.oid);
  return (
    view.reads.length > 0 &&
    view.reads.every((oid) => {
      // PostgreSQL's own tables are not in the catalogue.
      const read = catalogue.relations.find((each) => each.oid === oid);
      if (!read) return false;
      return (
        seen.has(oid) || isAllowed(read) || (read.kind === "v" && readsOnlyAllowed(catalogue, read, isAllowed, seen))
      );
    })
  );
}

/** SQL by which a view reads as the caller, who needs a policy and the right to read each table below it. */
function invokerFix(policies: Policies, view: Relation): string {
  const customers = [...new Set(policies.queries.customers)];
  const below = policies.catalogue.relations.filter(
    ({ oid, privileges }) =>
      view.reads.includes(oid) && !customers.some((role) => privileges[role]?.includes("SELECT")),
  );
  const whom = customers.map(identifier).join(", ");
  const fixes = below.map((table) => {
    const condition = policies.suggestions.conditionFor(table);
    if (!"rp".includes(table.kind) || (!table.enabled && condition === undefined)) return undefined;
    const name = qualified(table);
    const policy = policies.suggestions.newPolicy(table, `FOR SELECT TO ${whom} USING (${condition})`);
    const protect = `ALTER TABLE ${name} ENABLE ROW LEVEL SECURITY; ALTER TABLE ${name} FORCE ROW LEVEL SECURITY; ${policy} `;
    return `${table.enabled ? "" : protect}GRANT SELECT ON ${name} TO ${whom}; `;
  });
  if (fixes.includes(undefined)) return `REVOKE ALL ON ${qualified(view)} FROM ${holders(view)};`;
  return `${fixes.join("")}ALTER VIEW ${qualified(view)} SET (security_invoker = true);`;
}

function checkView(policies: Policies, view: Relation, isAllowed: Allowed): Mistake[] {
  const { catalogue } = policies;
  if (isInvoker(view) || readsOnlyAllowed(catalogue, view, isAllowed)) return [];
  const isPossible = catalogue.version >= 150000;
  return [
    {
      code: "view_runs_as_owner",
      object: qualified(view),
      message: `This view reads its tables as its owner (${identifier(view.owner)}), and not as the customer's role.`,
      fix: isPossible
        ? invokerFix(policies, view)
        : `REVOKE ALL ON ${qualified(view)} FROM ${holders(view)}; -- Views can run as the caller from PostgreSQL 15 on.`,
    },
  ];
}

/** Rights that policies do not limit, and rights of everybody. */
function checkGrants(relation: Relation): Mistake[] {
  const object = qualified(relation);
  const mistakes: Mistake[] = [];
  if (relation.publicPrivileges.length > 0) {
    const kept = relation.publicPrivileges.filter((each) => ROWS.includes(each));
    const roles = rolesThat(relation, kept).map(identifier);
    // Those rights of a column alone would grow to the table.
    const grant =
      kept.length > 0 && roles.length > 0
        ? ` -- For the customers: GRANT ${kept.join(", ")} ON ${object} TO ${roles.join(", ")};`
        : "";
    mistakes.push({
      code: "granted_to_public",
      object,
      message: `Every role of the database has ${listed(relation.publicPrivileges)} on this ${KINDS[relation.kind]}.`,
      fix: `REVOKE ALL ON ${object} FROM PUBLIC;${grant}`,
    });
  }
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
export function checkFunctions({ catalogue, bounds }: Policies, isAllowed: Allowed): Mistake[] {
  return catalogue.functions
    .filter((each) => (each.callers.length > 0 || each.usedBy.length > 0) && !each.isTrigger && !isAllowed(each))
    .flatMap((stored) => {
      const { signature, definer, leakproof, callers, usedBy } = stored;
      const mistakes: Mistake[] = [];
      if (definer && (usedBy.length > 0 || !bounds.binding.isBoundToCaller(stored)))
        mistakes.push({
          code: "security_definer",
          object: signature,
          message: `${usedBy.length > 0 ? `By way of the ${listed(usedBy)}, queries` : listed(callers.map(identifier))} can call this function, and it runs as its owner (SECURITY DEFINER), whom other policies or none bind.`,
          fix: `ALTER ROUTINE ${signature} SECURITY INVOKER; -- If you have checked that it shows and changes nothing of other customers, and sets search_path: --allow with its name. If customers need not call it: REVOKE EXECUTE ON ROUTINE ${signature} FROM PUBLIC${callers.map((role) => `, ${identifier(role)}`).join("")};`,
        });
      if (leakproof && callers.length > 0)
        mistakes.push({
          code: "leakproof_function",
          object: signature,
          message: "This function is marked LEAKPROOF, so PostgreSQL may call it with rows that a policy will hide.",
          fix: `ALTER FUNCTION ${signature} NOT LEAKPROOF;`,
        });
      return mistakes;
    });
}
