/** Judges each table and view that the queries can read. */
import type { Callers } from "./callers.ts";
import type { Catalogue, Grant, Policy, Relation } from "./catalogue.ts";
import { identifier } from "./database.ts";
import { type Bound, either, type Forms, isPinned, type Reading } from "./expressions/forms.ts";
import { type Caller, callerKey } from "./expressions/terms.ts";
import { readTree, usesOf } from "./expressions/tree.ts";
import { type Findings, joined, type Mistake, type NotJudged } from "./finding.ts";
import type { Fixes } from "./fixes.ts";
import { EXTENSION_RELATIONS } from "./rights.ts";

export type Tables = {
  catalogue: Catalogue;
  forms: Forms;
  fixes: Fixes;
  callers: Callers;
  /** Whether the user has judged an object, by its name. */
  isAccepted: (object: string) => boolean;
  anyEnvironment: boolean;
};

/** The name of a policy for `--accept`. */
export const policyName = (relation: Relation, policy: string): string => `${relation.object}.${identifier(policy)}`;

/** The tables whose rows are compared: all that have policies, and can be read. */
export const comparableTables = ({ relations }: Catalogue, isAccepted: (object: string) => boolean): Relation[] =>
  relations.filter(
    (relation) =>
      "rp".includes(relation.kind) &&
      relation.enabled &&
      relation.named &&
      relation.readers.length > 0 &&
      !isAccepted(relation.object),
  );

export const checkTables = (tables: Tables): Findings =>
  joined(
    ...tables.catalogue.relations.map((relation) => checkRelation(relation, tables)),
    ...tables.catalogue.relations.map((relation) => ({ notJudged: checkChild(relation, tables) })),
  );

/** Rows of a child can be read in its parent, to which the child's policies do not apply. */
const checkChild = ({ object, parent, isPartition }: Relation, { isAccepted }: Tables): NotJudged[] =>
  parent === null || isPartition || !isAccepted(parent) || isAccepted(object)
    ? []
    : [
        {
          object,
          message: `Its rows can be read in ${parent}, which is accepted.`,
          fix: `ALTER TABLE ${object} NO INHERIT ${parent};`,
        },
      ];

function checkRelation(relation: Relation, tables: Tables): Partial<Findings> {
  const grants = tables.catalogue.grants.filter((each) => each.class === "relation" && each.oid === relation.oid);
  const isShared = EXTENSION_RELATIONS[relation.extension ?? ""]?.includes(relation.name) === true;
  if (!relation.named || grants.length === 0 || (isShared && grants.every(({ initial }) => initial))) return {};
  const writes = grants.filter(({ privilege }) => privilege !== "SELECT");
  const written = {
    object: `${[...new Set(writes.map(({ privilege }) => privilege))].join(", ")} on ${relation.object}`,
    message: "Queries may write this table. Only roles that read are judged: let another role write.",
    fix: tables.fixes.revoke(writes),
  };
  return joined(
    { notJudged: writes.length > 0 ? [written] : [] },
    grants.some(({ privilege }) => privilege === "SELECT") ? checkReading(relation, grants, tables) : {},
  );
}

function checkReading(relation: Relation, grants: readonly Grant[], tables: Tables): Partial<Findings> {
  const { kind, object, enabled, parent } = relation;
  const { catalogue, fixes } = tables;
  const taken = fixes.revoke(grants.filter(({ privilege }) => privilege === "SELECT"));
  if (kind === "v") return { notJudged: checkView(relation, taken, tables) };
  if (kind === "m" || kind === "f") {
    const what = kind === "m" ? "A materialized view has" : "A foreign table has";
    return { notJudged: [{ object, message: `${what} no policies, so all its rows can be read.`, fix: taken }] };
  }
  if (enabled) return { notJudged: tables.isAccepted(object) ? [] : checkPolicies(relation, tables) };
  const isPart = parent !== null && catalogue.relations.some((each) => each.enabled && each.object === parent);
  const mistake: Mistake = {
    code: isPart ? "partition_open" : "rls_disabled",
    object,
    message: isPart
      ? `Queries may read this part of ${parent} directly, where the policies of ${parent} do not apply.`
      : "Queries may read this table, and it has no row-level security.",
    fix: isPart ? taken : fixes.secure(relation),
  };
  return { mistakes: [mistake] };
}

/** A view that runs as its caller shows what the caller may read in any case. */
function checkView(relation: Relation, taken: string, { catalogue, forms }: Tables): NotJudged[] {
  const { object, owner, invoker, tree } = relation;
  if (!invoker)
    return [
      {
        object,
        message: `This view reads its tables as its owner (${identifier(owner)}), and not as the customer's role.`,
        fix:
          catalogue.version >= 150_000
            ? `ALTER VIEW ${object} SET (security_invoker = true); -- Its readers then need SELECT on the tables that it names.`
            : taken,
      },
    ];
  const problem = forms.problemIn(tree, { mayBeRandom: true });
  return problem === undefined ? [] : [{ object, message: `This view cannot be judged: ${problem}.`, fix: taken }];
}

/** Judges the policies of a table, for each role that may read it. */
function checkPolicies(relation: Relation, tables: Tables): NotJudged[] {
  const { catalogue, forms, isAccepted, fixes, callers } = tables;
  const policies = catalogue.policies.filter((each) => each.relation === relation.oid);
  const applied = policies.filter(({ roles }) => relation.readers.some((role) => roles.includes(role)));
  const broken = applied.flatMap(({ name, tree }): NotJudged[] => {
    const problem = forms.problemIn(tree, { mayBeRandom: false });
    const [object, fix] = [policyName(relation, name), fixes.bind(relation)];
    return problem === undefined
      ? []
      : [
          {
            object,
            message: `This policy cannot be judged: ${problem}.`,
            fix: `DROP POLICY ${identifier(name)} ON ${relation.object}; ${fix}`,
          },
        ];
  });
  if (broken.length > 0) return broken;
  // Without a permissive policy, a role sees no row.
  const isLeft = ({ permissive, name }: Policy) => permissive && !isAccepted(policyName(relation, name));
  const readers = relation.readers.filter((role) => policies.some((each) => isLeft(each) && each.roles.includes(role)));
  const reading = either(readers.map((role) => forms.tableReading(relation, role)));
  fixes.learn(relation, reading.bounds.values());
  const separating = [...reading.bounds.values()].filter((each) => callers.areSeparatedBy(each));
  if (readers.length === 0 || separating.some((each) => namesEnvironment(each, reading, tables))) return [];
  const [first] = separating;
  const all = readers.flatMap((role) =>
    policies
      .filter((each) => isLeft(each) && each.roles.includes(role))
      .map((policy) => ({ policy, role, own: forms.policyReading(relation, policy.tree, role) })),
  );
  const unknown = all.every(({ own }) => own.bounds.size > 0) ? unknownRestrictions(relation, readers, tables) : [];
  if (unknown.length > 0) return unknown;
  const findings = first
    ? all
        .filter(({ own }) => !namesEnvironment(first, own, tables))
        .map(({ policy }) => unnamed(relation, { policy, first }, tables))
    : all.flatMap((each) => judgePolicy(relation, each, tables));
  if (findings.length > 0) return findings;
  const names = [...new Set(all.map(({ policy }) => identifier(policy.name)))].join(", ");
  return [
    {
      object: relation.object,
      message: `The policies ${names} show rows to one role or to several, and they do not compare one column with one caller${first ? " of one environment" : ""}.`,
      fix: fixes.bind(relation),
    },
  ];
}

const unnamed = (
  relation: Relation,
  { policy, first }: { policy: Policy; first: Bound },
  { fixes }: Tables,
): NotJudged => ({
  object: policyName(relation, policy.name),
  message: `Neither this policy nor a restrictive one names the environment of ${callerKey(first.caller)}: in another environment, the same number or id is another customer.`,
  fix: fixes.bindEnvironment(relation, first.caller),
});

/** Restrictive policies that choose among the rows of what is the same for both callers, in a form that is not known. */
function unknownRestrictions(
  relation: Relation,
  readers: readonly number[],
  { catalogue, forms, callers, isAccepted }: Tables,
): NotJudged[] {
  const reading = either(readers.map((role) => forms.tableReading(relation, role)));
  const [role] = readers;
  if (role === undefined || ![...reading.bounds.values()].some(({ caller }) => callers.areSame(caller))) return [];
  return catalogue.policies
    .filter((each) => each.relation === relation.oid && !each.permissive && each.roles.includes(role))
    .filter(({ tree }) => forms.policyReading(relation, tree, role).bounds.size === 0)
    .map(({ name }) => policyName(relation, name))
    .filter((object) => !isAccepted(object))
    .map((object) => ({
      object,
      message: "This policy is not one of the forms that are known to be exact.",
      fix: `-- Let it compare a column with the caller. If you have judged it: --accept ${object}`,
    }));
}

/** What one permissive policy lacks, if no restrictive one has it. */
function judgePolicy(
  relation: Relation,
  { policy, own }: { policy: Policy; own: Reading },
  { catalogue, callers, fixes }: Tables,
): NotJudged[] {
  const bounds = [...own.bounds.values()];
  const object = policyName(relation, policy.name);
  if (bounds.length === 0) {
    const uses = policy.tree === null ? new Set() : usesOf(readTree(policy.tree)).functions;
    const text = catalogue.routines.find(
      ({ oid, tree, extension }) => uses.has(oid) && tree === null && extension === null,
    );
    const fix = text ? `-- See ${text.signature} first, and run this again.` : fixes.bind(relation, object);
    return [{ object, message: "This policy is not one of the forms that are known to be exact.", fix }];
  }
  if (bounds.some((each) => callers.areSeparatedBy(each))) return [];
  const unset = callers.unsetIn(bounds.map(({ caller }) => caller));
  const keys = [...new Set(bounds.map(({ caller }) => callerKey(caller)))].join(" and ");
  return [
    {
      object,
      message:
        unset.length > 0
          ? `This policy compares rows with ${unset.join(" and ")}, which the SQL of a customer does not set.`
          : `This policy compares rows with ${keys}, which is the same for both.`,
      fix: fixes.bind(relation, object),
    },
  ];
}

const namesEnvironment = ({ caller }: Bound, reading: Reading, { anyEnvironment }: Tables): boolean =>
  anyEnvironment || caller.every(({ setting }) => isPinned(reading, setting));

/** What the policies of the queries' roles compare, that of most tables first. A policy that cannot be read compares nothing. */
export function callersIn({ relations, policies }: Catalogue, forms: Forms): Caller[] {
  const weights = new Map<string, { caller: Caller; weight: number }>();
  for (const { relation: oid, permissive, tree, roles } of policies) {
    const relation = relations.find((each) => each.oid === oid);
    const role = relation?.readers.find((each) => roles.includes(each));
    if (!relation || role === undefined || forms.problemIn(tree, { mayBeRandom: true }) !== undefined) continue;
    for (const { caller } of forms.policyReading(relation, tree, role).bounds.values()) {
      const before = weights.get(callerKey(caller))?.weight ?? 0;
      // What chooses among the rows of a customer is restrictive.
      weights.set(callerKey(caller), { caller, weight: before + (permissive ? 2 : 1) });
    }
  }
  return [...weights.values()].toSorted((one, other) => other.weight - one.weight).map(({ caller }) => caller);
}
