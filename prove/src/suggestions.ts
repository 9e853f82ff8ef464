/** Finds conditions that would be right, so that a fix is SQL that can be pasted. */

import { type Catalogue, type Policy, qualified, type Relation } from "./catalogue.ts";
import { identifier } from "./database.ts";
import { isOfQueries, type QueryRoles } from "./roles.ts";
import { type Atom, type Bound, type Caller, heldValue, keyOf } from "./sql/atoms.ts";
import { conditionPartsOf } from "./sql/expression.ts";
import { knownType } from "./sql/types.ts";
import { conditionOf, type Side, type TableBounds } from "./table-bounds.ts";

/** Names that columns of customers and people have. The first that a table has is taken. */
const NAMES = [
  ...["customer", "tenant", "team", "account", "organization", "organisation", "org", "company", "workspace", "client"],
  ...["user_group", "group", "owner", "user", "person", "store"],
];

/** A comparison of a column with what identifies the caller. */
type Comparison = { column: string; type: string; caller: string };

/** Two callers, and whether an atom tells them apart. */
export class Callers {
  readonly both: readonly [Caller, Caller];

  constructor(both: readonly [Caller, Caller]) {
    this.both = both;
  }

  differIn(atom: Atom): boolean {
    const [one, other] = this.both.map((caller) => heldValue(atom, caller));
    return one !== undefined && other !== undefined && one !== other;
  }

  /** Whether a row that is bound to these atoms belongs to one of the two callers at most. */
  areSeparatedBy(bound: Bound): boolean {
    return bound === "any" || [...bound.values()].some((atom) => this.differIn(atom));
  }

  /** What the SQL of the callers has set differently. */
  differences(): Atom[] {
    const [one, other] = this.both;
    const settings = [...one.settings.keys()].flatMap((name) => this.#partsOf({ kind: "setting", name, path: [] }));
    return one.role === other.role ? settings : [...settings, { kind: "user", of: "current" }];
  }

  /** The parts of JSON that differ, or the setting itself. */
  #partsOf(atom: Atom & { kind: "setting" }): Atom[] {
    if (!this.differIn(atom)) return [];
    const keys = keysOfJson(heldValue(atom, this.both[0]));
    const parts = keys.flatMap((key) => this.#partsOf({ ...atom, path: [...atom.path, key] }));
    return keys.length > 0 ? parts : [atom];
  }
}

function keysOfJson(text: string | undefined): string[] {
  try {
    const value: unknown = JSON.parse(text ?? "");
    return typeof value === "object" && value !== null && !Array.isArray(value) ? Object.keys(value) : [];
  } catch {
    return [];
  }
}

export class Suggestions {
  readonly #catalogue: Catalogue;
  readonly #bounds: TableBounds;
  readonly #callers: Callers;
  readonly #arePeople: boolean;
  #comparisons: Comparison[] | undefined;

  constructor(
    catalogue: Catalogue,
    { bounds, callers, arePeople }: { bounds: TableBounds; callers: Callers; arePeople: boolean },
  ) {
    this.#catalogue = catalogue;
    this.#bounds = bounds;
    this.#callers = callers;
    this.#arePeople = arePeople;
  }

  /** SQL that adds a policy to a table. */
  newPolicy(relation: Relation, rest: string): string {
    const names = this.#policiesOf(relation).map(({ name }) => name);
    const free = (count: number): string => {
      const name = count === 1 ? "own_rows" : `own_rows_${count}`;
      return names.includes(name) ? free(count + 1) : name;
    };
    const [name, table] = [free(1), qualified(relation)];
    // Two mistakes of a table may have this fix.
    return `DROP POLICY IF EXISTS ${name} ON ${table}; CREATE POLICY ${name} ON ${table} ${rest};`;
  }

  /** The part of a condition that binds the row to one of the callers. */
  partOf(policy: Policy, side: Side): string | undefined {
    const sql = conditionOf(policy, side);
    return sql === null ? undefined : this.#exactIn(sql, policy);
  }

  /** A condition that binds the rows of a table to one of the callers, if its columns show what to compare. */
  conditionFor(relation: Relation): string | undefined {
    for (const policy of this.#policiesOf(relation))
      for (const side of ["using", "check"] as const) {
        const part = policy.roles.length > 0 ? this.partOf(policy, side) : undefined;
        if (part !== undefined) return part;
      }
    this.#comparisons ??= this.#readComparisons();
    const known = this.#comparisons.find(
      ({ column, type }) =>
        relation.types[column] !== undefined &&
        typeName(relation, column) === type &&
        !relation.foldedColumns.includes(column),
    );
    if (known) return `${identifier(known.column)} = ${known.caller}`;
    return this.#guessFor(relation);
  }

  #policiesOf({ oid }: Relation): Policy[] {
    return this.#catalogue.policies.filter(({ relation }) => relation === oid);
  }

  #exactIn(sql: string, policy: Policy): string | undefined {
    const { bound } = this.#bounds.judgeCondition(sql, policy);
    const { kind, parts } = conditionPartsOf(sql);
    const isExact = bound !== "any" && this.#callers.areSeparatedBy(bound);
    if (isExact && kind !== "or") return sql;
    if (parts.length < 2) return undefined;
    const found = parts.map((part) => this.#exactIn(part, policy)).find((part) => part !== undefined);
    return found ?? (isExact ? sql : undefined);
  }

  /** The comparisons in exact policies of all tables. */
  #readComparisons(): Comparison[] {
    return this.#catalogue.policies.flatMap((policy) => {
      const relation = this.#catalogue.relations.find(({ oid }) => oid === policy.relation);
      const part = policy.roles.length > 0 && relation ? this.partOf(policy, "using") : undefined;
      const [, column = "", caller] = /^\(?"?(\w+)"? = (.+?)\)?$/s.exec(part ?? "") ?? [];
      if (!relation?.columns.includes(column) || caller === undefined || part === undefined) return [];
      const text = part.startsWith("(") ? part.slice(1, -1).split(" = ").slice(1).join(" = ") : caller;
      return [{ column, type: typeName(relation, column), caller: text }];
    });
  }

  /** A comparison of a column with a name that columns of customers have, and what the SQL of the callers has set. */
  #guessFor(relation: Relation): string | undefined {
    const atom = this.#callers.differences()[0];
    const own = atom?.kind === "setting" ? ([...atom.name.split("."), ...atom.path].at(-1) ?? "") : "";
    // The columns of customers are not those of people.
    const column = [own, own.replace(/_id$/, ""), ...(this.#arePeople ? [] : NAMES)]
      .flatMap((name) => [name, `${name}_id`, `${name}_uuid`])
      .find((name) => relation.columns.includes(name));
    const type = column === undefined ? undefined : relation.types[column];
    if (!atom || column === undefined || !type || type.array) return undefined;
    if (relation.foldingCollations.includes(column))
      return `${identifier(column)} COLLATE "C" = ${callerSql(atom, "pg_catalog.text")}`;
    if (relation.foldedColumns.includes(column))
      return `${identifier(column)}::text = ${callerSql(atom, "pg_catalog.text")}`;
    if (knownType({ ...type, limited: false }, this.#catalogue.types) === undefined) return undefined;
    return `${identifier(column)} = ${callerSql(atom, `${identifier(type.schema)}.${identifier(type.name)}`)}`;
  }
}

const typeName = (relation: Relation, column: string): string => JSON.stringify(relation.types[column]);

/** SQL for the value of an atom; NULL, which is equal to nothing, if nobody has set it. */
function callerSql(atom: Atom, type: string): string {
  if (atom.kind !== "setting") return "CURRENT_USER";
  const literal = (text: string) => `'${text.replaceAll("'", "''")}'`;
  const setting = `nullif(current_setting(${literal(atom.name)}, true), '')`;
  const json = atom.path.map((key, index) => `${index === atom.path.length - 1 ? "->>" : "->"} ${literal(key)}`);
  const value = json.length === 0 ? setting : `(${setting}::jsonb ${json.join(" ")})`;
  return type === "pg_catalog.text" ? value : `${value}::${type}`;
}

/** The name of a table for `--allow`, and of a policy for `--accept`. */
export const policyName = (policy: Policy, relation: Relation): string =>
  `${qualified(relation)}.${identifier(policy.name)}`;

/** The names of what a row is bound to, for a sentence. */
export const namesOf = (bound: Bound): string[] => (bound === "any" ? [] : [...bound.values()].map(keyOf));

type Known = { bounds: TableBounds; callers: Callers };

/** Each atom that the policies of the customers' roles compare, with the weight of the tables that do. */
function weightsOf(
  catalogue: Catalogue,
  { bounds, queries }: Pick<Known, "bounds"> & { queries: QueryRoles },
): { atom: Atom; weight: number }[] {
  const found = new Map<string, { atom: Atom; weight: number }>();
  for (const policy of catalogue.policies.filter(({ roles }) => roles.some((role) => isOfQueries(role, queries)))) {
    const { bound } = bounds.judge(policy, policy.using === null ? "check" : "using");
    if (bound === "any") continue;
    // What chooses among the rows of a customer is restrictive.
    for (const [key, atom] of bound)
      found.set(key, { atom, weight: (found.get(key)?.weight ?? 0) + (policy.permissive ? 2 : 1) });
  }
  return [...found.values()].toSorted((one, other) => other.weight - one.weight);
}

/** Whether what most tables compare is the same for both callers, who are then people of one customer. */
export function arePeopleOf(catalogue: Catalogue, known: Known & { queries: QueryRoles }): boolean {
  const [first] = weightsOf(catalogue, known);
  const [value, other] = first ? known.callers.both.map((caller) => heldValue(first.atom, caller)) : [];
  return value !== undefined && value === other;
}

/** What policies compare, and one of the callers has not set. */
export const unsetNames = (catalogue: Catalogue, known: Known & { queries: QueryRoles }): string[] =>
  weightsOf(catalogue, known)
    .filter(
      ({ atom }) => atom.kind !== "user" && known.callers.both.some((caller) => heldValue(atom, caller) === undefined),
    )
    .map(({ atom }) => keyOf(atom));
