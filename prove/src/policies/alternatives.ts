import { type Policy, qualified, type Relation } from "../catalogue.ts";
import { identifier } from "../database.ts";
import { type Findings, listed } from "../finding.ts";
import { isOfQueries } from "../roles.ts";
import { type Bound, isUnbound } from "../sql/atoms.ts";
import { namesOf, policyName } from "../suggestions.ts";
import { conditionOf, type Side } from "../table-bounds.ts";
import { alter, COMMANDS, mayBeAccepted, type Policies } from "./policies.ts";

const ALTERNATIVES = [
  ["r", "using"],
  ["w", "using"],
  ["d", "using"],
  ["a", "check"],
] as const;

/** Finds permissive policies that are open together: PostgreSQL joins them with OR. */
export function checkAlternatives(policies: Policies, relation: Relation, open: readonly Policy[]): Partial<Findings> {
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

/** Whether the form of a policy is known: exact, or wrong. */
function isKnown({ bounds, ...policies }: Policies, policy: Policy, side: Side): boolean {
  const { bound, problems } = bounds.judge(policy, side);
  return !isUnbound(bound) || problems.length > 0 || !mayBeAccepted(policies, policy);
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
