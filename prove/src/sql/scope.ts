import type { Relation, StoredFunction } from "../catalogue.ts";
import type { Expression } from "./sql-tree.ts";
import type { KnownType } from "./types.ts";

/** A row of a table in a condition: that of the policy, or one of a subquery. */
export type Row = { alias: string; relation: Relation };

/** A name in a subquery that stands for what a function returns. */
type Value = { names: string[][]; closure: Closure };

/** What the names in one subquery can mean. */
export type Scope = { rows: Row[]; values: Value[] };

/** Where names are looked up. */
export type Place = {
  scopes: Scope[];
  /** The function whose body is read, and what it was called with. */
  called: { stored: StoredFunction; args: Closure[] } | undefined;
  /** Whether it runs as the owner of a function, who sees other rows. */
  asOwner: boolean;
  /** How many calls of functions lead to it. */
  depth: number;
  /** A text by which a role of its own is known, in a policy for this role alone. */
  ofOneRole: boolean;
};

/** An expression with the place in which its names are looked up. */
export type Closure = { expression: Expression; place: Place };

/** A column of a row. */
export type Column = { row: Row; name: string; type: KnownType };

/** The place within a subquery. */
export const within = (inner: Scope, place: Place): Place => ({ ...place, scopes: [inner, ...place.scopes] });

/** The column of a row that a path names. */
export function columnOf({ alias, relation }: Row, path: readonly string[]): string | undefined {
  const [name = "", of] = path.toReversed();
  return path.length <= 2 && (of === undefined || of === alias) && relation.columns.includes(name) ? name : undefined;
}
