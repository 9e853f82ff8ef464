import { type Catalogue, type Policy, qualified, type Relation } from "../catalogue.ts";
import { identifier } from "../database.ts";
import type { QueryRoles } from "../roles.ts";
import { settingNamesIn } from "../sql/customer-sql.ts";
import { type Names, weaknessesOf } from "../sql/expression.ts";
import type { Callers, Suggestions } from "../suggestions.ts";
import type { TableBounds } from "../table-bounds.ts";
import { isMissingAllowed } from "./functions.ts";

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

/** The names that conditions of a table can use. */
export const namesIn = (
  { name: table, columns, foldedColumns }: Relation,
  callerFunctions: readonly string[],
): Names => ({
  ...{ table, columns, foldedColumns, callerFunctions },
});

/** The commands by their letters in `pg_policy`. */
export const COMMANDS = { r: "SELECT", a: "INSERT", w: "UPDATE", d: "DELETE", "*": "ALL" } as const;

/** A policy by its name, as findings show it. */
export const named = (policy: Policy, relation: Relation): string =>
  `${identifier(policy.name)} on ${qualified(relation)}`;

/** The start of SQL that changes a policy. */
export const alter = (policy: Policy, relation: Relation): string =>
  `ALTER POLICY ${identifier(policy.name)} ON ${qualified(relation)}`;
