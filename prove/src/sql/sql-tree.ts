/** The trees of the expressions and subqueries that the prover reads. */

export type TypeName = {
  /** As in `pg_type`, without its schema: `int8`. */
  name: string;
  schema: string | undefined;
  /** Whether it has a length or a precision, such as `varchar(3)`. */
  limited: boolean;
  array: boolean;
};

export type Expression =
  | { kind: "constant"; value: string | null; isBoolean?: true }
  /** A column, perhaps with its table and schema; or an argument of a function, by its name. */
  | { kind: "name"; path: string[] }
  | { kind: "parameter"; place: number }
  | { kind: "call"; name: string[]; args: Expression[] }
  /** `current_user`, `session_user` */
  | { kind: "user"; of: "current" | "session" }
  /** An operator of `pg_catalog`, which PostgreSQL writes without a schema. */
  | { kind: "operation"; operator: string; left: Expression; right: Expression }
  | { kind: "and" | "or"; parts: Expression[] }
  | { kind: "cast"; of: Expression; type: TypeName }
  /** `left = ANY (array)`; with IN, the array is a list or a subquery */
  | { kind: "any"; left: Expression; array: Expression }
  | { kind: "array"; items: Expression[] }
  | { kind: "subscript"; of: Expression; index: Expression }
  /** A subquery: one value, `EXISTS`, a list for `IN`, or `ARRAY(SELECT …)`. */
  | { kind: "subquery"; as: "value" | "exists" | "list"; select: Select }
  | { kind: "isTrue"; of: Expression }
  /** `COLLATE "C"`, under which texts are equal only if their bytes are */
  | { kind: "bytes"; of: Expression }
  /** What the prover does not judge, with what it consists of, if that was read. It narrows what it is joined to with AND. */
  | { kind: "opaque"; parts?: Expression[] };

/** What a subquery reads from: a table, or a function that returns rows. */
export type Source =
  | { kind: "table"; alias: string; path: string[] }
  | { kind: "call"; alias: string; column: string | undefined; call: Expression };

/** A subquery without grouping, order, limit or set operations. */
export type Select = { targets: (Expression | "*")[]; sources: Source[]; conditions: Expression[] };

/** The expressions that an expression consists of. */
export function childrenOf(expression: Expression): Expression[] {
  switch (expression.kind) {
    case "call":
      return expression.args;
    case "operation":
      return [expression.left, expression.right];
    case "and":
    case "or":
      return expression.parts;
    case "opaque":
      return expression.parts ?? [];
    case "cast":
    case "isTrue":
    case "bytes":
      return [expression.of];
    case "any":
      return [expression.left, expression.array];
    case "array":
      return expression.items;
    case "subscript":
      return [expression.of, expression.index];
    case "subquery": {
      const { targets, sources, conditions } = expression.select;
      const calls = sources.flatMap((source) => (source.kind === "call" ? [source.call] : []));
      return [...targets.filter((target) => target !== "*"), ...calls, ...conditions];
    }
    default:
      return [];
  }
}
