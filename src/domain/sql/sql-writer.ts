import { QUERY_PARAMETERS_BYTES_MAX, QUERY_PARAMETERS_MAX } from "../../../common/limits.ts";
import { fail, ok, type Result } from "../../../common/result.ts";
import type { FailureOf } from "../failure.ts";
import type { BoundPiece, BoundVariable } from "./clauses.ts";
import { type ListPlace, placeOfList } from "./list-places.ts";
import type { PlaceholderStyle } from "./tokens.ts";

export type BindFailure = FailureOf<
  "invalid_template" | "unknown_variable" | "unusable_variable" | "variables_too_large"
>;

type Params = unknown[] | Record<string, unknown>;
type Parameters = { values: unknown[]; bytes: number };

const utf8 = new TextEncoder();

/** The styles whose placeholders have numbers. */
const NUMBERED: readonly PlaceholderStyle[] = ["$1", "@p1", "{p1:String}"];

/** Writes the SQL with a placeholder for each value, and collects the values. */
export function writeSql(
  pieces: BoundPiece[],
  style: PlaceholderStyle,
): Result<{ sql: string; params: Params }, BindFailure> {
  const writer = new SqlWriter(style);
  for (const [index, piece] of pieces.entries()) {
    const failure = piece.kind === "text" ? writer.addText(piece.text) : addVariable(writer, pieces, index, piece);
    if (failure) return fail(failure);
  }
  return ok(writer.bound());
}

function addVariable(
  writer: SqlWriter,
  pieces: BoundPiece[],
  index: number,
  variable: BoundVariable,
): BindFailure | undefined {
  if (!Array.isArray(variable.value)) return writer.addValue(variable, "items");
  const place = placeOfList(pieces, index, writer.style);
  return place.ok ? writer.addValue(variable, place.value) : place.failure;
}

/** The SQL that is written so far, and its parameters. */
class SqlWriter {
  readonly style: PlaceholderStyle;
  readonly #sql: string[] = [];
  readonly #params: unknown[] = [];
  /** Measured once for each value, because a template can repeat a long one. */
  readonly #known = new Map<unknown, Parameters | undefined>();
  /** The placeholders of the variables that have been written. */
  readonly #written = new Map<string, string>();
  /** With one bracket of the list or object: the other one is in the first value's. */
  #bytes = 1;
  #placeholderCount = 0;

  constructor(style: PlaceholderStyle) {
    this.style = style;
  }

  bound(): { sql: string; params: Params } {
    const named = () => Object.fromEntries(this.#params.map((value, index) => [nameOf(index + 1), value]));
    return { sql: this.#sql.join(""), params: this.style === "{p1:String}" ? named() : this.#params };
  }

  addText(text: string): undefined {
    this.#sql.push(textFor(text, this.style));
  }

  /**
   * Adds the placeholders of a value, for a list one for each item or one for the whole. Where they have numbers, a variable that occurs
   * twice has the same ones: to PostgreSQL, `GROUP BY f($2)` would name another expression than the `f($1)` that the query returns.
   */
  addValue({ name, key, value }: BoundVariable, place: ListPlace): BindFailure | undefined {
    const parameters = this.#parametersOf(value);
    const values = place === "array" ? [value] : (parameters?.values ?? []);
    this.#placeholderCount += values.length;
    if (!parameters || this.#placeholderCount > QUERY_PARAMETERS_MAX)
      return { code: "unusable_variable", variable: name };
    const written = `${place} ${key}`;
    const again = NUMBERED.includes(this.style) ? this.#written.get(written) : undefined;
    if (again !== undefined) {
      this.#sql.push(again);
      return undefined;
    }
    const first = this.#params.length + 1;
    const placeholders = values.map((each, offset) => placeholderFor(first + offset, each, this.style));
    if (placeholders.includes(undefined)) return { code: "unusable_variable", variable: name };
    this.#bytes += parameters.bytes + this.#bytesOfNames(first, values.length) + (place === "array" ? 2 : 0);
    if (this.#bytes > QUERY_PARAMETERS_BYTES_MAX) return { code: "variables_too_large" };
    this.#params.push(...values);
    this.#sql.push(placeholders.join(", "));
    this.#written.set(written, placeholders.join(", "));
    return undefined;
  }

  #parametersOf(value: unknown): Parameters | undefined {
    if (!this.#known.has(value)) this.#known.set(value, parametersOf(value));
    return this.#known.get(value);
  }

  /** The bytes of the names of parameters in an object, such as `"p1":`. */
  #bytesOfNames(first: number, count: number): number {
    if (this.style !== "{p1:String}") return 0;
    return Array.from({ length: count }, (_, offset) => nameOf(first + offset).length + 3).reduce((a, b) => a + b, 0);
  }
}

const nameOf = (number: number): string => `p${number}`;

/** Python's drivers read every percent sign, in strings and comments too, and two as one. */
const textFor = (text: string, style: PlaceholderStyle): string => (style === "%s" ? text.replaceAll("%", "%%") : text);

/** The placeholder of a value; `undefined` for a list whose items have no common type. */
function placeholderFor(number: number, value: unknown, style: PlaceholderStyle): string | undefined {
  if (style === "$1") return `$${number}`;
  if (style === "@p1") return `@${nameOf(number)}`;
  if (style !== "{p1:String}") return style;
  const type = clickHouseTypeOf(value);
  return type && `{${nameOf(number)}:${type}}`;
}

/**
 * The parameters that stand for a value, and what they add to the length of a list as JSON; `undefined` for a value that cannot be a
 * parameter.
 */
function parametersOf(value: unknown): Parameters | undefined {
  const values: unknown[] = Array.isArray(value) ? value : [value];
  return values.length > 0 && values.every((each) => each === null || typeof each !== "object")
    ? { values, bytes: utf8.encode(JSON.stringify(values)).length - 1 }
    : undefined;
}

/**
 * The type of a placeholder of ClickHouse, which a value cannot have by itself
 * (https://clickhouse.com/docs/sql-reference/syntax#defining-and-using-query-parameters). `undefined` for a list whose items have no
 * common type.
 */
function clickHouseTypeOf(value: unknown): string | undefined {
  return Array.isArray(value) ? arrayTypeOf(value) : scalarTypeOf(value);
}

function arrayTypeOf(items: unknown[]): string | undefined {
  const types = new Set(items.filter((item) => item !== null).map(scalarTypeOf));
  // A number without a fraction fits into a list of others.
  if (types.has("Float64")) types.delete("Int64");
  const [type = "String", ...others] = types;
  if (others.length > 0) return undefined;
  return items.includes(null) ? `Array(Nullable(${type}))` : `Array(${type})`;
}

function scalarTypeOf(value: unknown): string {
  if (value === null) return "Nullable(String)";
  if (typeof value === "boolean") return "Bool";
  if (typeof value === "number") return isInt64(value) ? "Int64" : "Float64";
  return "String";
}

/** The doubles of 2^63 and -2^63 are printed as larger numbers than they are. */
const isInt64 = (value: number): boolean => Number.isInteger(value) && Math.abs(value) < 2 ** 63;
