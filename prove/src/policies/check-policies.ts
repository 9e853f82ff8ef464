/** Finds policies that let a customer see or write rows of another one, and names those whose form it does not know. */

import { type Policy, qualified, type Relation } from "../catalogue.ts";
import { identifier } from "../database.ts";
import { type Findings, joined, listed, type Mistake, type NotJudged } from "../finding.ts";
import { isOfQueries, type QueryRoles, reachableRole } from "../roles.ts";
import { isUnbound } from "../sql/atoms.ts";
import type { Problem } from "../sql/binding.ts";
import { dependsOnCaller, type Names, type Weakness, weaknessesOf } from "../sql/expression.ts";
import { namesOf, policyName } from "../suggestions.ts";
import { type Command, type Side, TableBounds } from "../table-bounds.ts";
import { checkAlternatives } from "./alternatives.ts";
import { isMissingAllowed } from "./functions.ts";
import { isParent, problemMistake, revokeWrites } from "./memberships.ts";
import { alter, COMMANDS, named, namesIn, type Policies } from "./policies.ts";
import { checkWrittenRows } from "./written-rows.ts";

const WEAK: Record<Weakness, string> = {
  open: "is true for every row",
  ignores_caller: "lets rows through for every caller: one of its alternatives reads neither a setting nor the role",
  ignores_row: "does not compare the row with who asks: one of its alternatives holds for all rows or for none",
  inexact: "compares with a pattern, a part, an order or another case of the id, so that it holds for other ids too",
};

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
      relation,
      bound.map(({ policy }) => policy),
    ),
    restrictive,
    checkWrittenRows(policies, relation),
  );
}

/** The commands and conditions for which a permissive policy lets rows through that no policy binds to one caller. */
function openSides({ bounds, callers }: Policies, relation: Relation, policy: Policy): (readonly [Command, Side])[] {
  return TableBounds.sidesOf(policy).filter((side) =>
    policy.roles.some((role) => !callers.areSeparatedBy(bounds.ofTable(relation, role, side))),
  );
}

const mayWrite = (relation: Relation, policy: Policy): boolean =>
  policy.roles.some((role) =>
    relation.privileges[role]?.some(
      (each) =>
        (each === "INSERT" && "a*".includes(policy.command)) || (each === "UPDATE" && "w*".includes(policy.command)),
    ),
  );

/** SQL that makes a policy exact, or drops it if nothing shows what its table should be compared with. */
function fixOf({ suggestions, bounds }: Policies, relation: Relation, policy: Policy): string {
  if (bounds.isContradicted(policy)) return `DROP POLICY ${identifier(policy.name)} ON ${qualified(relation)};`;
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
  const form = problems.find(({ kind }) => kind === "writable" || kind === "cast");
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
  if (problem?.kind === "cast") {
    const [from, to] = [problem.from, problem.to].map(qualified);
    return {
      object,
      message: `This policy casts ${from} to ${to}, for which somebody has made a cast of their own: it may give two customers the same value.`,
      fix: `DROP CAST (${from} AS ${to}); ${accept}`,
    };
  }
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
  const about = {
    relation,
    missed: [],
    problem: problems.find(({ kind }) => kind === "writable" || kind === "cast"),
    fix,
  };
  if (!isOpen && !policies.arePeople) return { notJudged: [notJudgedPolicy(policy, about, policies)] };
  const object = named(policy, relation);
  const mistakes = [
    ...(isMissingAllowed(policies, policy) ? [missingAllowed(object, fix)] : []),
    ...problems.flatMap((problem) => problemMistake(problem, object, policies)),
  ];
  return mistakes.length > 0 ? { mistakes } : { notJudged: [notJudgedPolicy(policy, about, policies)] };
}
