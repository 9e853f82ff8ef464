import { QUERY_PARAMETERS_BYTES_MAX, QUERY_PARAMETERS_MAX } from "../../../common/limits.ts";
import { fail, ok, type Result } from "../../../common/result.ts";
import { utf8 } from "../bytes.ts";
import type { FailureOf } from "../failure.ts";
import type { BoundPiece, BoundVariable } from "./clauses.ts";
import type { PlaceholderStyle } from "./tokens.ts";

export type BindFailure = FailureOf<
  "invalid_template" | "unknown_variable" | "unusable_variable" | "variables_too_large"
>;

type Params = unknown[] | Record<string, unknown>;
type ParameterValues = { values: unknown[]; bytes: number };

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
  const place = placeOfList(pieces, index, variable, writer.style);
  return place.ok ? writer.addValue(variable, place.value) : place.failure;
}

/** The SQL that is written so far, and its parameters. */
class SqlWriter {
  readonly style: PlaceholderStyle;
  readonly #sql: string[] = [];
  readonly #params: unknown[] = [];
  /** Measured once for each value, because a template can repeat a long one. */
  readonly #known = new Map<unknown, ParameterValues | undefined>();
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

  #parametersOf(value: unknown): ParameterValues | undefined {
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
function parametersOf(value: unknown): ParameterValues | undefined {
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

/** What a list becomes: a placeholder for each of its items, or one for an array. */
type ListPlace = "items" | "array";

/** What the list at `index` becomes, or why it cannot stand there. */
function placeOfList(
  pieces: BoundPiece[],
  index: number,
  { at, name: variable }: BoundVariable,
  style: PlaceholderStyle,
): Result<ListPlace, FailureOf<"invalid_template" | "unusable_variable">> {
  const advice = ADVICE.find(({ name }) => name.test(nameBefore(pieces, index)));
  if (advice) return fail({ code: "invalid_template", position: at, reason: advice.reason });
  const isItem = isListItem(pieces, index);
  if (style === "{p1:String}" && (isItem ? isArgument(pieces, index) : isAfterIn(pieces, index))) return ok("array");
  return isItem ? ok("items") : fail({ code: "unusable_variable", variable });
}

/** What takes one value, such as an array, in parentheses. */
const ADVICE = [
  {
    name: /^(?:any|all|some)$/i,
    reason:
      "ANY, ALL and SOME take one value, and a list becomes several. Write IN ({{list}}) instead of = ANY, and NOT IN ({{list}}) " +
      "instead of <> ALL.",
  },
  {
    name: /^unnest$/i,
    reason:
      "UNNEST takes one array, and a list becomes several values. Write IN ({{list}}) instead of IN UNNEST({{list}}), and " +
      "UNNEST(ARRAY[{{list}}]) elsewhere in PostgreSQL.",
  },
];

/**
 * Whether a piece is an item of a list in parentheses or brackets, where several placeholders can take its place:
 * `LIMIT {{list}}` would become `LIMIT ?, ?`, a limit with an offset.
 */
const isListItem = (pieces: BoundPiece[], index: number): boolean =>
  /[([,]$/.test(textBeside(pieces, index, -1)) && /^[)\],]/.test(textBeside(pieces, index, 1));

/** ClickHouse has `x IN {p1:Array(String)}`. */
const isAfterIn = (pieces: BoundPiece[], index: number): boolean => /^in$/i.test(textBeside(pieces, index, -1));

/** The words before parentheses that are no functions. Their list is a tuple, of which each item is a value. */
const NO_FUNCTION =
  /^(?:in|values|tuple|array|and|or|not|where|prewhere|having|select|distinct|on|by|using|case|when|then|else|as|between|like|ilike)$/i;

/** Whether a piece stands in the parentheses of a function, such as those of `has({{list}}, x)`. */
function isArgument(pieces: BoundPiece[], index: number): boolean {
  let depth = 0;
  for (const { bracket, at, unit } of bracketsBefore(pieces, index)) {
    const isOpening = bracket === "(" || bracket === "[";
    if (isOpening && depth === 0) return bracket === "(" && isFunction(wordBefore(pieces, at, unit));
    depth += isOpening ? -1 : 1;
  }
  return false;
}

/** The brackets of SQL before a piece, the nearest first, each with the number of its piece and its place in there. */
function* bracketsBefore(pieces: BoundPiece[], index: number) {
  for (let at = index - 1; at >= 0; at -= 1) {
    const piece = pieces[at];
    if (piece?.kind !== "text" || piece.quoted !== undefined) continue;
    for (let unit = piece.text.length - 1; unit >= 0; unit -= 1) {
      const bracket = piece.text.charAt(unit);
      if ("()[]".includes(bracket)) yield { bracket, at, unit };
    }
  }
}

const isFunction = (word: string): boolean => /^[\w"`]/.test(word) && !NO_FUNCTION.test(word);

/** The word before the unit of a piece's text; another text than a word where there is none. */
function wordBefore(pieces: BoundPiece[], at: number, unit: number): string {
  const piece = pieces[at];
  const before = piece?.kind === "text" ? piece.text.slice(0, unit).trim() : "";
  return before.at(-1) ?? textBeside(pieces, at, -1);
}

/** The name before the parentheses that open directly before a piece; empty when anything else is there. */
function nameBefore(pieces: BoundPiece[], index: number): string {
  let isOpen = false;
  for (let at = index - 1; ; at -= 1) {
    const piece = pieces[at];
    if (piece?.kind !== "text") return "";
    if (piece.quoted === "comment" || /^\s*$/.test(piece.text)) continue;
    if (!/^[\s(]*$/.test(piece.text)) return isOpen ? piece.text : "";
    isOpen = true;
  }
}

/** The nearest text before (-1) or after (1) a piece, without blanks and comments; empty when there is a variable. */
function textBeside(pieces: BoundPiece[], index: number, step: -1 | 1): string {
  for (let at = index + step; ; at += step) {
    const piece = pieces[at];
    if (piece?.kind !== "text") return "";
    const text = piece.quoted === "comment" ? "" : piece.text.trim();
    if (text !== "") return text;
  }
}
