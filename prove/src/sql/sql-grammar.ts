/** The words and types of PostgreSQL's grammar, and how strongly operators bind. */

import type { TypeName } from "./sql-tree.ts";

/** How strongly the parts of an expression bind, as in PostgreSQL's grammar. */
export const BINDS = {
  or: 1,
  and: 2,
  not: 3,
  is: 4,
  comparison: 5,
  membership: 6,
  other: 7,
  sum: 8,
  product: 9,
  power: 10,
  collate: 12,
  sign: 13,
} as const;

const { comparison, sum, product, power } = BINDS;

/** How strongly operators bind. Those that are not in it are `BINDS.other`. */
export const BINDS_OPERATOR: Record<string, number> = {
  ...{ "=": comparison, "<": comparison, ">": comparison, "<=": comparison, ">=": comparison, "<>": comparison },
  ...{ "!=": comparison, "+": sum, "-": sum, "*": product, "/": product, "%": product, "^": power },
};

/** Types whose SQL names are not those of `pg_type`. */
const TYPES: Record<string, string> = {
  bigint: "int8",
  integer: "int4",
  int: "int4",
  smallint: "int2",
  decimal: "numeric",
  boolean: "bool",
  real: "float4",
  "double precision": "float8",
  "character varying": "varchar",
  character: "bpchar",
  char: "bpchar",
};

/** The words that may follow a name and are no alias of it. */
export const NO_ALIAS = new Set(
  "from where on join inner cross left right full natural using group order having limit offset union intersect except for fetch window and or not as".split(
    " ",
  ),
);

/** Functions with a grammar of their own, in which FROM, FOR and others stand between the arguments. */
export const OPAQUE_CALLS = new Set([
  "extract",
  "substring",
  "trim",
  "overlay",
  "position",
  "xmlelement",
  "normalize",
  "row",
]);

/** The type that a path names, without a length. */
export function typeOf(path: readonly string[]): TypeName {
  const [name = "", schema] = path.toReversed();
  const isLimited = schema === undefined && ["char", "character"].includes(name);
  return { name: (schema === undefined ? TYPES[name] : undefined) ?? name, schema, limited: isLimited, array: false };
}
