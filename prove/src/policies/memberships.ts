import { qualified, type Relation } from "../catalogue.ts";
import { identifier } from "../database.ts";
import { listed, type Mistake } from "../finding.ts";
import { isUnbound } from "../sql/atoms.ts";
import type { Problem } from "../sql/binding.ts";
import { weaknessesOf } from "../sql/expression.ts";
import { conditionOf, type TableBounds } from "../table-bounds.ts";
import { namesIn, type Policies } from "./policies.ts";

/** Mistakes in forms that would be exact without them. */
export function problemMistake(problem: Problem, object: string, policies: Policies): Mistake[] {
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
  if (problem.kind === "cast") return [];
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
export const revokeWrites = (written: readonly Relation[]): string =>
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
export function isParent({ table, via }: Problem & { kind: "writable" }, bounds: TableBounds): boolean {
  const writes = bounds.writesBound(table);
  return table.uniqueColumns.includes(via.parentColumn) && !isUnbound(writes);
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
