/** Finds policies that let a customer see or write rows of another one, and names those whose form it does not know. */

import { type Catalogue, type Policy, qualified, type Relation, type StoredFunction } from "./catalogue.ts";
import { identifier } from "./database.ts";
import { type Findings, joined, listed, type Mistake, type NotJudged } from "./finding.ts";
import { isOfQueries, type QueryRoles, reachableRole } from "./roles.ts";
import type { Bound, Problem } from "./sql/binding.ts";
import { settingNamesIn } from "./sql/customer-sql.ts";
import { allowsMissingSetting, dependsOnCaller, type Names, type Weakness, weaknessesOf } from "./sql/expression.ts";
import { type Callers, namesOf, policyName, type Suggestions } from "./suggestions.ts";
import { type Command, conditionOf, type Side, TableBounds } from "./table-bounds.ts";

/** Languages whose bodies the prover searches. */
const READ_LANGUAGES = ["sql", "plpgsql"];

const COMMANDS = { r: "SELECT", a: "INSERT", w: "UPDATE", d: "DELETE", "*": "ALL" } as const;

const WEAK: Record<Weakness, string> = {
  open: "is true for every row",
  ignores_caller: "lets rows through for every caller: one of its alternatives reads neither a setting nor the role",
  ignores_row: "does not compare the row with who asks: one of its alternatives holds for all rows or for none",
  inexact: "compares with a pattern, a part, an order or another case of the id, so that it holds for other ids too",
};

/** What the checks of policies read. */
export type Policies = {
  catalogue: Catalogue;
  /** The names of the functions that depend on the caller, without schema. */
  callerFunctions: string[];
  queries: QueryRoles;
  callers: Callers;
  bounds: TableBounds;
  suggestions: Suggestions;
  /** Whether the two callers are people of one customer. */
  arePeople: boolean;
};

/** The names, without schema, of the functions that depend on the caller. */
export function callerFunctionsOf(catalogue: Catalogue): string[] {
  const used = new Set(catalogue.policies.flatMap(({ functions }) => functions));
  const callerFunctions = new Set<string>();
  // A function may call another one.
  for (let size = -1; size !== callerFunctions.size; ) {
    size = callerFunctions.size;
    for (const { oid, name, definition, language } of catalogue.functions)
      if (dependsOnCaller(definition, [...callerFunctions]) || (used.has(oid) && !READ_LANGUAGES.includes(language)))
        callerFunctions.add(name);
  }
  return [...callerFunctions];
}

/** The settings that policies and their functions read. */
export const settingNamesOf = ({ policies, functions }: Catalogue): string[] =>
  settingNamesIn(
    [
      ...policies.flatMap((policy) => [policy.using ?? "", policy.check ?? ""]),
      ...functions.map(({ definition }) => definition),
    ].join("\n"),
  );

/** Whether nothing is known against a policy but its unknown form, so that a person may judge it. */
export const mayBeAccepted = (
  { catalogue, callerFunctions }: Pick<Policies, "catalogue" | "callerFunctions">,
  policy: Policy,
): boolean => {
  const relation = catalogue.relations.find(({ oid }) => oid === policy.relation);
  const names = relation && namesIn(relation, callerFunctions);
  const conditions = [policy.using, policy.check].filter((each) => each !== null);
  return (
    names !== undefined &&
    conditions.every((each) => weaknessesOf(each, names).length === 0) &&
    !isMissingAllowed({ catalogue, callerFunctions }, policy)
  );
};

const namesIn = ({ name: table, columns, foldedColumns }: Relation, callerFunctions: readonly string[]): Names => ({
  ...{ table, columns, foldedColumns, callerFunctions },
});

/** A table whose policies are judged. */
type Table = { relation: Relation; names: Names; own: Policy[] };

/** Finds what is wrong with the policies of one table that bind one of the roles. */
export function checkPolicies(policies: Policies, relation: Relation): Partial<Findings> {
  const own = policies.catalogue.policies.filter((each) => each.relation === relation.oid && each.roles.length > 0);
  const table: Table = { relation, names: namesIn(relation, policies.callerFunctions), own };
  const open = own
    .filter(({ permissive }) => permissive)
    .map((policy) => ({ policy, sides: openSides(policies, relation, policy) }))
    .filter(({ sides }) => sides.length > 0);
  const isOfOthers = ({ roles }: Policy) => !roles.some((role) => isOfQueries(role, policies.queries));
  const bound = open.filter(({ policy }) => !isOfOthers(policy));
  const restrictive = joined(
    ...own
      .filter((policy) => !policy.permissive && !isOfOthers(policy))
      .map((policy) => checkRestrictive(policies, table, policy, bound.length > 0)),
  );
  const isRestricted = restrictive.mistakes.length + restrictive.notJudged.length > 0;
  return joined(
    ...bound
      // A permissive policy that is exact by itself is not to blame for the restrictive one.
      .filter(({ policy }) => !(isRestricted && !isUnbound(policies.bounds.judge(policy, "using").bound)))
      .map(({ policy, sides }) => checkOpen(policies, table, policy, sides)),
    {
      mistakes: open
        .filter(({ policy }) => isOfOthers(policy))
        .flatMap(({ policy }) => policy.roles.map((role) => reachableRole(role, policies, relation))),
    },
    checkAlternatives(
      policies,
      table,
      bound.map(({ policy }) => policy),
    ),
    restrictive,
  );
}

/** The commands and conditions for which a permissive policy lets rows through that no policy binds to one caller. */
function openSides({ bounds, callers }: Policies, relation: Relation, policy: Policy): (readonly [Command, Side])[] {
  return TableBounds.sidesOf(policy).filter((side) =>
    policy.roles.some((role) => !callers.areSeparatedBy(bounds.ofTable(relation, role, side))),
  );
}

const named = (policy: Policy, relation: Relation): string => `${identifier(policy.name)} on ${qualified(relation)}`;
const alter = (policy: Policy, relation: Relation): string =>
  `ALTER POLICY ${identifier(policy.name)} ON ${qualified(relation)}`;
const mayWrite = (relation: Relation, policy: Policy): boolean =>
  policy.roles.some((role) =>
    relation.privileges[role]?.some(
      (each) =>
        (each === "INSERT" && "a*".includes(policy.command)) || (each === "UPDATE" && "w*".includes(policy.command)),
    ),
  );

/** Whether a condition is not known to bind rows to anything. */
export const isUnbound = (bound: Bound): boolean => bound !== "any" && bound.size === 0;

/** SQL that makes a policy exact, or drops it if nothing shows what its table should be compared with. */
function fixOf({ suggestions, bounds }: Policies, relation: Relation, policy: Policy): string {
  const condition = suggestions.conditionFor(relation);
  const isExact = (["using", "check"] as const).every((side) => !isUnbound(bounds.judge(policy, side).bound));
  // It keeps the customers apart, and not the two people.
  const roles = policy.roles.map(identifier).join(", ");
  if (isExact)
    return condition === undefined
      ? `REVOKE ALL ON ${qualified(relation)} FROM ${roles};`
      : suggestions.newPolicy(relation, `AS RESTRICTIVE TO ${roles} USING (${condition})`);
  const using = policy.using === null ? undefined : (suggestions.partOf(policy, "using") ?? condition);
  const check = policy.check === null ? undefined : (suggestions.partOf(policy, "check") ?? condition);
  if ((policy.using !== null && using === undefined) || (policy.check !== null && check === undefined))
    return `DROP POLICY ${identifier(policy.name)} ON ${qualified(relation)};`;
  const parts = [using && `USING (${using})`, check && `WITH CHECK (${check})`].filter((part) => part !== undefined);
  return `${alter(policy, relation)} ${parts.join(" ")};`;
}

/** A policy may apply to queries through a role that they inherit. Then the membership may be wrong, and not the policy. */
function withMembership(fix: string, { grantees, roles }: Policy, queries: QueryRoles): string {
  if (grantees.length === 0 || grantees.some((name) => isOfQueries(name, queries))) return fix;
  const members = roles.filter((role) => isOfQueries(role, queries)).map(identifier);
  return `REVOKE ${grantees.map(identifier).join(", ")} FROM ${members.join(", ")}; -- If the policy is for the customers: ${fix}`;
}

/** What is wrong with a permissive policy on whose rows nothing else is exact. */
function checkOpen(
  policies: Policies,
  { relation, names }: Table,
  policy: Policy,
  sides: readonly (readonly [Command, Side])[],
): Partial<Findings> {
  const { bounds, callers, queries } = policies;
  // Of several alternatives, one that is exact by itself is not to blame.
  const blamed = (["using", "check"] as const).filter(
    (side) => sides.some(([, each]) => each === side) && !callers.areSeparatedBy(bounds.judge(policy, side).bound),
  );
  if (blamed.length === 0) return {};
  const fix = withMembership(fixOf(policies, relation, policy), policy, queries);
  const object = named(policy, relation);
  const problems = blamed.flatMap((side) => bounds.judge(policy, side).problems);
  const mistakes: Mistake[] = [
    ...(blamed.includes("using") ? checkUsing(policy, names, { object, fix: sharedFix(fix, relation) }) : []),
    ...(blamed.includes("check") ? checkNewRows(policy, { relation, names }, { object, fix }) : []),
    ...(isMissingAllowed(policies, policy) ? [missingAllowed(object, fix)] : []),
    ...problems.flatMap((problem) => problemMistake(problem, object, policies)),
  ];
  if (mistakes.length > 0) return { mistakes };
  const missed = namesOf(new Map(blamed.flatMap((side) => [...atomsIn(policies, policy, side)])));
  const form = problems.find(({ kind }) => kind === "writable");
  return { notJudged: [notJudgedPolicy(policy, { relation, missed, problem: form, fix }, policies)] };
}

const sharedFix = (fix: string, relation: Relation): string =>
  `${fix} -- If all customers may read the table: --allow ${qualified(relation)}`;

const atomsIn = ({ bounds }: Policies, policy: Policy, side: Side) => {
  const { bound } = bounds.judge(policy, side);
  return bound === "any" ? [] : bound;
};

function notJudgedPolicy(
  policy: Policy,
  about: { relation: Relation; missed: string[]; problem: Problem | undefined; fix: string },
  { arePeople, bounds }: Policies,
): NotJudged {
  const { relation, missed, problem, fix } = about;
  const object = policyName(policy, relation);
  const callers = arePeople ? "people" : "customers";
  const accept = `-- If you have judged it: --accept ${object}`;
  if (missed.length > 0)
    return {
      object,
      message: `This policy binds rows to ${listed(missed)} alone, which is missing or the same in the SQL of both ${callers}.`,
      fix: `${fix.split(" -- ")[0]} -- If both may use the same rows: --allow ${qualified(relation)}`,
    };
  if (problem?.kind === "writable" && !isParent(problem, bounds))
    return {
      object,
      message: `This policy lets those through who have a row in ${qualified(problem.table)}, and queries may write into it: the prover does not know whether a customer can make themselves a member of another one.`,
      fix: `${revokeWrites(bounds.writtenBy(problem.table))} ${accept}`,
    };
  if (problem?.kind === "writable") {
    const { table, column, parentColumn } = problem.via;
    return {
      object,
      message: `This policy follows ${identifier(column)} to ${qualified(problem.table)}, into which queries can write, and no foreign key holds the two together: a row without its parent would belong to the first who makes one.`,
      fix: `ALTER TABLE ${qualified(table)} ADD FOREIGN KEY (${identifier(column)}) REFERENCES ${qualified(problem.table)} (${identifier(parentColumn)}); ${accept}`,
    };
  }
  return {
    object,
    message: `The form of this policy (for ${COMMANDS[policy.command]}) is not one of those that are known to be exact.`,
    fix: `${fix.split(" -- ")[0]} ${accept}`,
  };
}

const checkUsing = (policy: Policy, names: Names, { object, fix }: { object: string; fix: string }): Mistake[] =>
  weaknessesOf(policy.using ?? "false", names).map((weakness) => ({
    code: "policy_open",
    object,
    message: `The condition USING of this permissive policy (for ${COMMANDS[policy.command]}) ${WEAK[weakness]}.`,
    fix,
  }));

function checkNewRows(
  policy: Policy,
  { relation, names }: Pick<Table, "relation" | "names">,
  { object, fix }: { object: string; fix: string },
): Mistake[] {
  if (policy.check === null) {
    if (!mayWrite(relation, policy) || weaknessesOf(policy.using ?? "false", names).length === 0) return [];
    const message = `The policy (for ${COMMANDS[policy.command]}) has no WITH CHECK, and a role that it binds may write: new rows are checked by USING alone, so whatever a customer may see, they may also write.`;
    return [{ code: "policy_without_check", object, message, fix }];
  }
  return weaknessesOf(policy.check, names).map((weakness) => ({
    code: "policy_check_open",
    object,
    message: `The condition WITH CHECK of this policy (for ${COMMANDS[policy.command]}) ${WEAK[weakness]}. So a customer can write rows of another one, or move rows to them.`,
    fix,
  }));
}

/** Mistakes in forms that would be exact without them. */
function problemMistake(problem: Problem, object: string, policies: Policies): Mistake[] {
  const { catalogue, bounds } = policies;
  if (problem.kind === "temporary") {
    const { stored, table } = problem;
    const schemas = [...new Set([table.schema, stored.schema, ...(stored.searchPath ?? [])])].filter(
      (schema) => !["pg_catalog", "pg_temp", "$user"].includes(schema),
    );
    return [
      {
        code: "policy_function_search_path",
        object: stored.signature,
        message: `A policy calls this function, which names ${identifier(table.name)} without its schema. A temporary table of that name, which queries may create, takes its place.`,
        fix: `ALTER FUNCTION ${stored.signature} SET search_path = pg_catalog, ${schemas.map(identifier).join(", ")}, pg_temp;`,
      },
    ];
  }
  const { table } = problem;
  if (isParent(problem, bounds) || !isOpenToWrites(problem, policies)) return [];
  const written = bounds.writtenBy(table);
  const keys = catalogue.foreignKeys.filter(
    (key) => key.table === table.oid && /[cd]/.test(key.onUpdate + key.onDelete),
  );
  const writers = [...new Set(written.flatMap(rolesThatWrite))].map(identifier);
  return [
    {
      code: "membership_writable",
      object: qualified(table),
      message: `${object} lets those through who have a row in this table, and ${listed(writers) || "a foreign key"} may write into it. So a customer can make themselves a member of another one.`,
      fix:
        revokeWrites(written) ||
        keys.map((key) => `ALTER TABLE ${qualified(table)} DROP CONSTRAINT ${identifier(key.name)};`).join(" "),
    },
  ];
}

/** SQL that takes the rights to write. */
const revokeWrites = (written: readonly Relation[]): string =>
  written
    .map((each) => {
      const isPublic = each.publicPrivileges.some((right) => right === "INSERT" || right === "UPDATE");
      const from = [...(isPublic ? ["PUBLIC"] : []), ...rolesThatWrite(each).map(identifier)];
      return `REVOKE INSERT, UPDATE ON ${qualified(each)} FROM ${from.join(", ")};`;
    })
    .join(" ");

const rolesThatWrite = ({ privileges }: Relation): string[] =>
  Object.entries(privileges).flatMap(([role, held]) =>
    held.some((right) => right === "INSERT" || right === "UPDATE") ? [role] : [],
  );

/** Whether a row names one other row, which belongs to the caller by policies of its own: then a foreign key would hold them together. */
function isParent({ table, via }: Problem & { kind: "writable" }, bounds: TableBounds): boolean {
  const writes = bounds.writesBound(table);
  return table.uniqueColumns.includes(via.parentColumn) && (writes === "any" || writes.size > 0);
}

/** Whether somebody may write rows of any customer into a membership table, as far as its policies are understood. */
function isOpenToWrites({ table, via }: Problem & { kind: "writable" }, policies: Policies): boolean {
  const { catalogue, bounds, callerFunctions } = policies;
  const written = catalogue.policies.filter(
    ({ relation, permissive, command, roles }) =>
      relation === table.oid && permissive && "aw*".includes(command) && roles.length > 0,
  );
  return (
    !table.enabled ||
    bounds.writtenBy(table).some((each) => each !== table) ||
    written.some((policy) => {
      const { bound } = bounds.judge(policy, "check");
      if (bound === "any") return false;
      const isKnown = bound.size > 0 && ![...bound.keys()].some((key) => key.startsWith(`${via.parentColumn} = `));
      const check = conditionOf(policy, "check") ?? "true";
      return isKnown || weaknessesOf(check, namesIn(table, callerFunctions)).length > 0;
    })
  );
}

/** Whether a policy, or a function in it, gives a missing setting a meaning. */
function isMissingAllowed(
  { catalogue, callerFunctions }: Pick<Policies, "catalogue" | "callerFunctions">,
  policy: Policy,
): boolean {
  const bodies = functionsOf(catalogue, policy)
    .filter(({ language }) => READ_LANGUAGES.includes(language))
    .map(({ definition }) => definition);
  return [policy.using, policy.check, ...bodies].some(
    (text) => text !== null && allowsMissingSetting(text, callerFunctions),
  );
}

const missingAllowed = (object: string, fix: string): Mistake => ({
  code: "missing_setting_allowed",
  object,
  message:
    "The policy, or a function in it, gives a missing setting a meaning: a default value, or all rows. A connection on which nobody has set the customer must see nothing.",
  fix,
});

/** A restrictive policy that reads who asks, in a form that binds the row to nothing. It opens the table only if nothing else is exact. */
function checkRestrictive(
  policies: Policies,
  { relation, names }: Table,
  policy: Policy,
  isOpen: boolean,
): Partial<Findings> {
  const conditions = [policy.using, policy.check].filter((each) => each !== null);
  if (!conditions.some((each) => dependsOnCaller(each, names.callerFunctions))) return {};
  const inexact = (["using", "check"] as const).filter((side) => {
    return isUnbound(policies.bounds.judge(policy, side).bound);
  });
  if (inexact.length === 0) return {};
  const fix = fixOf(policies, relation, policy);
  const problems = inexact.flatMap((side) => policies.bounds.judge(policy, side).problems);
  const about = { relation, missed: [], problem: problems.find(({ kind }) => kind === "writable"), fix };
  if (!isOpen && !policies.arePeople) return { notJudged: [notJudgedPolicy(policy, about, policies)] };
  const object = named(policy, relation);
  const mistakes = [
    ...(isMissingAllowed(policies, policy) ? [missingAllowed(object, fix)] : []),
    ...problems.flatMap((problem) => problemMistake(problem, object, policies)),
  ];
  return mistakes.length > 0 ? { mistakes } : { notJudged: [notJudgedPolicy(policy, about, policies)] };
}

/** PostgreSQL joins permissive policies with OR. */
function checkAlternatives(policies: Policies, { relation }: Table, open: readonly Policy[]): Partial<Findings> {
  const { bounds, callers, queries, suggestions } = policies;
  const roles = new Set(open.flatMap((policy) => policy.roles).filter((role) => isOfQueries(role, queries)));
  for (const role of roles)
    for (const side of ALTERNATIVES) {
      const [command, condition] = side;
      const applied = bounds.applied(relation, role, command).filter(({ permissive }) => permissive);
      const isSeparated = callers.areSeparatedBy(bounds.ofTable(relation, role, side));
      const texts = new Set(applied.map((each) => conditionOf(each, condition)));
      const unknown = applied.filter((each) => !isKnown(policies, each, condition));
      if (isSeparated || texts.size < 2 || unknown.length > 0) continue;
      const others = applied.filter((each) => !callers.areSeparatedBy(bounds.judge(each, condition).bound));
      const names = listed(applied.map(({ name }) => identifier(name)));
      const together = `The permissive policies ${names} apply to ${identifier(role)} together for ${COMMANDS[command]}. PostgreSQL joins them with OR, so a row that one of them lets through is visible, whatever the others say.`;
      const guard = suggestions.conditionFor(relation);
      const fix = (blamed: readonly Policy[]) => blamed.map((policy) => narrowed(policy, relation, guard)).join(" ");
      if (others.length > 0 || !haveCommonAtom(applied.map((each) => bounds.judge(each, condition).bound)))
        return {
          mistakes: [
            {
              code: "policies_or",
              object: qualified(relation),
              message: together,
              fix: fix(others.length > 0 ? others : applied.slice(1)),
            },
          ],
        };
      return {
        notJudged: applied.slice(1).map((policy) => ({
          object: policyName(policy, relation),
          message: `${together} Each is exact by itself, but they compare different columns.`,
          fix: `${fix([policy])} -- If you have judged it: --accept ${policyName(policy, relation)}`,
        })),
      };
    }
  return {};
}

/** Whether alternatives are about the same caller, if by different columns. */
function haveCommonAtom(bounds: readonly Bound[]): boolean {
  const [first = [], ...others] = bounds.map(namesOf);
  return first.some((name) => others.every((names) => names.includes(name)));
}

const ALTERNATIVES = [
  ["r", "using"],
  ["w", "using"],
  ["d", "using"],
  ["a", "check"],
] as const;

/** Whether the form of a policy is known: exact, or wrong. */
function isKnown({ bounds, ...policies }: Policies, policy: Policy, side: Side): boolean {
  const { bound, problems } = bounds.judge(policy, side);
  return bound === "any" || bound.size > 0 || problems.length > 0 || !mayBeAccepted(policies, policy);
}

/** SQL that joins the customer's condition to a policy with AND. */
function narrowed(policy: Policy, relation: Relation, guard: string | undefined): string {
  if (guard === undefined) return `DROP POLICY ${identifier(policy.name)} ON ${qualified(relation)};`;
  const joinedTo = (condition: string) => (condition === "true" ? guard : `(${guard}) AND ${condition}`);
  const parts = [
    policy.using === null ? "" : ` USING (${joinedTo(policy.using)})`,
    policy.check === null ? "" : ` WITH CHECK (${joinedTo(policy.check)})`,
  ];
  return `${alter(policy, relation)}${parts.join("")};`;
}

/** The functions in a policy, and those that they call. */
function functionsOf(catalogue: Catalogue, { functions }: Policy): StoredFunction[] {
  const used = new Set(catalogue.functions.filter(({ oid }) => functions.includes(oid)));
  for (const caller of used)
    for (const each of catalogue.functions)
      if (caller !== each && new RegExp(`\\b${each.name.replaceAll(/[^\w]/g, ".")}"?\\s*\\(`).test(caller.definition))
        used.add(each);
  return [...used];
}

/** Finds mistakes in the functions of policies. */
export function checkPolicyFunctions(catalogue: Catalogue): Mistake[] {
  const bound = catalogue.policies.filter(({ roles }) => roles.length > 0);
  const used = new Set(bound.flatMap((policy) => functionsOf(catalogue, policy)));
  return [...used].flatMap(({ signature, ownerOid }) => {
    const owner = catalogue.roles.find(({ oid, superuser }) => oid === ownerOid && !superuser);
    if (!owner) return [];
    return [
      {
        code: "policy_function_owned",
        object: signature,
        message: `A policy calls this function, and ${identifier(owner.name)}, which queries can run as, owns it and can replace it.`,
        fix: `ALTER FUNCTION ${signature} OWNER TO ${identifier(catalogue.bootstrap)};`,
      },
    ];
  });
}
