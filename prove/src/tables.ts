/** Judges each table and view that the queries can read. */
import type { Policy, Relation } from "./catalogue.ts";
import { boundsIn, either, isPinned, type Reading } from "./expressions/forms.ts";
import { type Caller, callerKey } from "./expressions/terms.ts";
import { readTree, usesOf } from "./expressions/tree.ts";
import type { Finding } from "./finding.ts";
import { bind, bindEnvironment, learn, revoke, secure } from "./fixes.ts";
import { EXTENSION_RELATIONS } from "./rights.ts";
import type { World } from "./world.ts";

/** The tables whose rows are compared: all that have policies, and can be read. */
export const comparableTables = ({ catalogue: { relations }, isAccepted }: World): Relation[] =>
  relations.filter(
    ({ kind, enabled, named, readers, object }) =>
      "rp".includes(kind) && enabled && named && readers.length > 0 && !isAccepted(object),
  );

export function* checkTables(world: World): Iterable<Finding> {
  const { catalogue, isAccepted } = world;
  for (const relation of catalogue.relations) yield* checkRelation(relation, world);
  // Rows of a child can be read in its parent, to which the child's policies do not apply.
  for (const { object, parents, isPartition } of catalogue.relations)
    for (const parent of isPartition || isAccepted(object) ? [] : parents.filter(isAccepted))
      yield {
        object,
        message: `Its rows can be read in ${parent}, which is accepted.`,
        fix: `ALTER TABLE ${object} NO INHERIT ${parent};`,
      };
}

function* checkRelation(relation: Relation, world: World): Iterable<Finding> {
  const grants = world.catalogue.grants.filter((each) => each.class === "relation" && each.oid === relation.oid);
  const isShared =
    EXTENSION_RELATIONS[relation.extension ?? ""]?.includes(relation.object.replace(/^.*\./, "")) === true;
  if (grants.length === 0 || (isShared && grants.every(({ initial }) => initial))) return;
  const reads = grants.filter(({ privilege }) => privilege === "SELECT");
  const writes = grants.filter(({ privilege }) => privilege !== "SELECT");
  if (writes.length > 0)
    yield {
      object: `${[...new Set(writes.map(({ privilege }) => privilege))].join(", ")} on ${relation.object}`,
      message: "Queries may write this table. Only roles that read are judged: let another role write.",
      fix: revoke(writes, world),
    };
  if (reads.length > 0) yield* checkReading(relation, revoke(reads, world), world);
}

/** @param taken SQL that takes the right to read */
function* checkReading(relation: Relation, taken: string, world: World): Iterable<Finding> {
  const { kind, object, enabled, parents } = relation;
  const parent = parents.find((name) => world.catalogue.relations.some((each) => each.enabled && each.object === name));
  if (kind === "v") yield* checkView(relation, taken, world);
  else if (kind === "m" || kind === "f") {
    const what = kind === "m" ? "A materialized view has" : "A foreign table has";
    yield { object, message: `${what} no policies, so all its rows can be read.`, fix: taken };
  } else if (enabled) {
    if (!world.isAccepted(object)) yield* checkPolicies(relation, world);
  } else if (parent !== undefined) {
    const message = `Queries may read this part of ${parent} directly, where the policies of ${parent} do not apply.`;
    yield { code: "partition_open", object, message, fix: taken };
  } else {
    const message = "Queries may read this table, and it has no row-level security.";
    yield { code: "rls_disabled", object, message, fix: secure(relation, taken, world) };
  }
}

/** A view that runs as its caller shows what the caller may read in any case. */
function* checkView(relation: Relation, taken: string, { catalogue, forms }: World): Iterable<Finding> {
  const { object, owner, invoker, tree } = relation;
  const problem = forms.problemIn(tree);
  if (!invoker)
    yield {
      object,
      message: `This view reads its tables as its owner (${owner}), and not as the customer's role.`,
      fix:
        catalogue.version >= 150_000
          ? `ALTER VIEW ${object} SET (security_invoker = true); -- Its readers then need SELECT on the tables that it names, and USAGE on their schemas.`
          : taken,
    };
  else if (problem !== undefined) yield { object, message: `This view cannot be judged: ${problem}.`, fix: taken };
}

/** A permissive policy, for one role that may read. */
type Applied = { policy: Policy; role: number; own: Reading };

const UNKNOWN = "This policy is not one of the forms that are known to be exact.";

/** Judges the policies of a table, for each role that may read it. */
function* checkPolicies(relation: Relation, world: World): Iterable<Finding> {
  const { forms, isAccepted, callers } = world;
  const { policies, readers } = relation;
  const broken = policies
    .filter(({ roles }) => readers.some((role) => roles.includes(role)))
    .map((policy) => ({ policy, problem: forms.problemIn(policy.tree) }))
    .filter(({ problem }) => problem !== undefined);
  for (const { policy, problem } of broken)
    yield {
      object: policy.object,
      message: `This policy cannot be judged: ${problem}.`,
      fix: bind(relation, world).replace(/^(?!--)/, () => `DROP POLICY ${policy.name} ON ${relation.object}; `),
    };
  if (broken.length > 0) return;
  // Without a permissive policy, a role sees no row.
  const applied = readers.flatMap((role) =>
    policies
      .filter(({ permissive, roles, object }) => permissive && roles.includes(role) && !isAccepted(object))
      .map((policy) => ({ policy, role, own: forms.rowsReading(relation, policy, role) })),
  );
  const reading = either(applied.map(({ own }) => own));
  learn(relation, boundsIn(reading), world);
  const [first] = applied;
  if (!first || isExact(reading, world)) return;
  const isOfOne = boundsIn(reading).some(({ caller }) => callers.areSame(caller));
  const unknown = isOfOne ? unknownRestrictions(relation, first.role, world) : [];
  const findings = unknown.length > 0 ? unknown : applied.flatMap((each) => whatIsMissing(relation, each, world));
  const names = new Set(applied.map(({ policy }) => policy.name));
  const isSeparated = boundsIn(reading).some((each) => callers.areSeparatedBy(each));
  if (findings.length === 0)
    yield {
      object: relation.object,
      message: `The policies ${[...names].join(", ")} show rows to one role or to several, and they do not compare one column with one caller${isSeparated ? " of one environment" : ""}.`,
      fix: bind(relation, world),
    };
  yield* findings;
}

/** Whether one bound keeps the two callers apart, and the environment of its caller is named. */
const isExact = (reading: Reading, { callers, anyEnvironment }: World): boolean =>
  boundsIn(reading)
    .filter((each) => callers.areSeparatedBy(each))
    .some(({ caller }) => anyEnvironment || caller.every(({ setting }) => isPinned(reading, setting)));

/** Restrictive policies that choose among the rows of what is the same for both callers, in a form that is not known. */
function unknownRestrictions(relation: Relation, role: number, { forms, isAccepted }: World): Finding[] {
  return relation.policies
    .filter(({ permissive, roles, object }) => !permissive && roles.includes(role) && !isAccepted(object))
    .filter((policy) => boundsIn(forms.policyReading(relation, policy, role)).length === 0)
    .map(({ object }) => ({
      object,
      message: UNKNOWN,
      fix: `-- Let it compare a column with the caller. If you have judged it: --accept ${object}`,
    }));
}

/** What the rows lack that one permissive policy shows. */
function whatIsMissing(relation: Relation, { policy: { object, tree }, own }: Applied, world: World): Finding[] {
  const { catalogue, callers } = world;
  if (isExact(own, world)) return [];
  const bounds = boundsIn(own);
  const bound = bounds.find((each) => callers.areSeparatedBy(each));
  if (bound) {
    const message = `Neither this policy nor a restrictive one names the environment of ${callerKey(bound.caller)}: in another environment, the same number or id is another customer.`;
    return [{ object, message, fix: bindEnvironment(relation, bound.caller, world) }];
  }
  if (bounds.length === 0) {
    const uses = tree === null ? new Set() : usesOf(readTree(tree)).functions;
    const text = catalogue.routines.find((each) => uses.has(each.oid) && each.tree === null && each.extension === null);
    const fix = text ? `-- See ${text.signature} first, and run this again.` : bind(relation, world, object);
    return [{ object, message: UNKNOWN, fix }];
  }
  const keys = [...new Set(bounds.map(({ caller }) => callerKey(caller)))].join(" and ");
  const message = `This policy compares rows with ${keys}, which is the same for both, or which the SQL of a customer does not set, or which another customer's person may have, too.`;
  return [{ object, message, fix: bind(relation, world, object) }];
}

/** What the policies compare, that of most tables and roles first. */
export function callersIn({ catalogue, forms }: World): Caller[] {
  const all = catalogue.relations.flatMap((relation) =>
    relation.readers.flatMap((role) => boundsIn(forms.tableReading(relation, role))),
  );
  const groups = [...Map.groupBy(all, ({ caller }) => callerKey(caller)).values()];
  const sorted = groups.toSorted((one, other) => other.length - one.length);
  return sorted.flatMap((same) => same.slice(0, 1).map(({ caller }) => caller));
}
