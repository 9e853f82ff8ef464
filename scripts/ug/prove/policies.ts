/** Finds policies that let a customer see or write rows of another one. */
import { type Catalogue, type Policy, qualified, type Relation, type StoredFunction } from "./catalogue.ts";
import { settingNamesIn } from "./customer-sql.ts";
import { identifier } from "./database.ts";
import { allowsMissingSetting, dependsOnCaller, type Names, type Weakness, weaknessesOf } from "./expression.ts";
import { type Findings, listed, type Mistake } from "./finding.ts";
import { isOfQueries, type QueryRoles, reachableRole } from "./roles.ts";

/** Languages whose bodies the prover reads. */
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
};

/** The policies of a catalogue, and the functions in it that depend on the caller. */
export function policiesOf(catalogue: Catalogue, queries: QueryRoles): Policies {
  const used = new Set(catalogue.policies.flatMap(({ functions }) => functions));
  const callerFunctions = new Set<string>();
  // A function may call another one.
  for (let size = -1; size !== callerFunctions.size; ) {
    size = callerFunctions.size;
    for (const { oid, name, definition, language } of catalogue.functions)
      if (dependsOnCaller(definition, [...callerFunctions]) || (used.has(oid) && !READ_LANGUAGES.includes(language)))
        callerFunctions.add(name);
  }
  return { catalogue, callerFunctions: [...callerFunctions], queries };
}

/** The settings that policies and their functions read. */
export const settingNamesOf = ({ policies, functions }: Catalogue): string[] =>
  settingNamesIn(
    [
      ...policies.flatMap((policy) => [policy.using ?? "", policy.check ?? ""]),
      ...functions.map(({ definition }) => definition),
    ].join("\n"),
  );

/** Finds the mistakes in the policies of one table that bind one of the roles. */
export function checkPolicies(policies: Policies, relation: Relation): Mistake[] {
  const own = policies.catalogue.policies.filter((each) => each.relation === relation.oid && each.roles.length > 0);
  const { name: table, columns, foldedColumns } = relation;
  const names: Names = { table, columns, foldedColumns, callerFunctions: policies.callerFunctions };
  const isOpen = (policy: Policy) => !own.some((guard) => isGuarded(policies, policy, guard, names));
  const permissive = own.filter((policy) => policy.permissive && isOpen(policy));
  const bindsQueries = ({ roles }: Policy) => roles.some((role) => isOfQueries(role, policies.queries));
  const bound = permissive.filter(bindsQueries);
  const check = (policy: Policy) => [...checkUsing(policy, relation, names), ...checkNewRows(policy, relation, names)];
  return [
    ...bound.flatMap((policy) => check(policy).map((mistake) => withMembership(mistake, policy, policies.queries))),
    ...permissive
      .filter((policy) => !bindsQueries(policy) && check(policy).length > 0)
      .flatMap((policy) => policy.roles.map((role) => reachableRole(role, policies.queries, relation))),
    ...bound.flatMap((policy) => checkMissingSetting(policies, policy, relation)),
    ...checkAlternatives(bound, relation, policies.queries),
  ];
}

/** Whether a restrictive policy compares each row that a permissive one lets through, for the same roles and commands. */
function isGuarded(policies: Policies, policy: Policy, guard: Policy, names: Names): boolean {
  const check = guard.check ?? guard.using;
  return (
    !guard.permissive &&
    policy.roles.every((role) => guard.roles.includes(role)) &&
    ["*", policy.command].includes(guard.command) &&
    [guard.using, check].every((condition) => condition !== null && weaknessesOf(condition, names).length === 0) &&
    !isMissingAllowed(policies, guard)
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

/** A policy may apply to queries through a role that they inherit. Then the membership may be wrong, and not the policy. */
function withMembership(mistake: Mistake, { grantees, roles }: Policy, queries: QueryRoles): Mistake {
  if (grantees.length === 0 || grantees.some((name) => isOfQueries(name, queries))) return mistake;
  const members = roles.filter((role) => isOfQueries(role, queries)).map(identifier);
  const revoke = `REVOKE ${grantees.map(identifier).join(", ")} FROM ${members.join(", ")};`;
  return { ...mistake, fix: `If the policy is for another program: ${revoke} Otherwise: ${mistake.fix}` };
}

const checkUsing = (policy: Policy, relation: Relation, names: Names): Mistake[] =>
  weaknessesOf(policy.using ?? "false", names).map((weakness) => ({
    code: "policy_open",
    object: named(policy, relation),
    message: `The condition USING of this permissive policy (for ${COMMANDS[policy.command]}) ${WEAK[weakness]}.`,
    fix: `${alter(policy, relation)} USING (<customer's column> = <setting of the customer>); or drop it. If all customers may read the table, give --allow ${qualified(relation)}.`,
  }));

function checkNewRows(policy: Policy, relation: Relation, names: Names): Mistake[] {
  const object = named(policy, relation);
  const fix = `${alter(policy, relation)} WITH CHECK (<customer's column> = <setting of the customer>);`;
  if (policy.check === null) {
    if (!mayWrite(relation, policy)) return [];
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

/** Whether a policy, or a function in it, gives a missing setting a meaning. */
function isMissingAllowed({ catalogue, callerFunctions }: Policies, policy: Policy): boolean {
  const bodies = functionsOf(catalogue, policy)
    .filter(({ language }) => READ_LANGUAGES.includes(language))
    .map(({ definition }) => definition);
  return [policy.using, policy.check, ...bodies].some(
    (text) => text !== null && allowsMissingSetting(text, callerFunctions),
  );
}

function checkMissingSetting(policies: Policies, policy: Policy, relation: Relation): Mistake[] {
  if (!isMissingAllowed(policies, policy)) return [];
  return [
    {
      code: "missing_setting_allowed",
      object: named(policy, relation),
      message:
        "The policy, or a function in it, gives a missing setting a meaning: a default value, or all rows. A connection on which nobody has set the customer must see nothing.",
      fix: `${alter(policy, relation)} USING (<customer's column> = nullif(current_setting('<setting>', true), '')); NULL is equal to no row.`,
    },
  ];
}

/** PostgreSQL joins permissive policies with OR. */
function checkAlternatives(permissive: Policy[], relation: Relation, queries: QueryRoles): Mistake[] {
  const roles = new Set(permissive.flatMap(({ roles }) => roles).filter((role) => isOfQueries(role, queries)));
  for (const role of roles)
    for (const command of ["r", "w", "d", "a"] as const) {
      const applied = permissive.filter((each) => each.roles.includes(role) && [command, "*"].includes(each.command));
      const conditions = new Set(applied.map((each) => (command === "a" ? (each.check ?? each.using) : each.using)));
      if (conditions.size < 2) continue;
      const names = applied.map(({ name }) => identifier(name));
      return [
        {
          code: "policies_or",
          object: qualified(relation),
          message: `The permissive policies ${listed(names)} apply to ${identifier(role)} together for ${COMMANDS[command]}. PostgreSQL joins them with OR, so a row that one of them lets through is visible, whatever the others say.`,
          fix: `Keep one permissive policy, which compares the customer, and create the others again AS RESTRICTIVE: DROP POLICY ${names.at(-1)} ON ${qualified(relation)}; CREATE POLICY ${names.at(-1)} ON ${qualified(relation)} AS RESTRICTIVE …`,
        },
      ];
    }
  return [];
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

/** Finds mistakes in the functions of policies, and names those that the prover cannot read. */
export function checkPolicyFunctions(catalogue: Catalogue): Findings {
  const findings: Findings = { mistakes: [], unjudged: [] };
  const bound = catalogue.policies.filter(({ roles }) => roles.length > 0);
  const used = new Set(bound.flatMap((policy) => functionsOf(catalogue, policy)));
  for (const { signature, language, ownerOid } of used) {
    const owner = catalogue.roles.find(({ oid, superuser }) => oid === ownerOid && !superuser);
    if (owner)
      findings.mistakes.push({
        code: "policy_function_owned",
        object: signature,
        message: `A policy calls this function, and ${identifier(owner.name)}, which queries can run as, owns it and can replace it.`,
        fix: `ALTER FUNCTION ${signature} OWNER TO <a role of your migrations>;`,
      });
    if (!READ_LANGUAGES.includes(language))
      findings.unjudged.push(
        `The body of ${signature}, which a policy calls, is written in ${language}: read it yourself.`,
      );
    else if (language === "plpgsql")
      findings.unjudged.push(
        `The body of ${signature}, which a policy calls, was searched for defaults, and not understood.`,
      );
  }
  return findings;
}
