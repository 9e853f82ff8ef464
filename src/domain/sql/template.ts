import { QUERY_PARAMETERS_BYTES_MAX, QUERY_PARAMETERS_MAX } from "../../../common/limits.ts";
import { fail, ok, type Result } from "../../../common/result.ts";
import type { FailureOf } from "../failure.ts";
import {
  findAmbiguity,
  findLoneControl,
  type PlaceholderStyle,
  type Refusal,
  readToken,
  type Source,
  type TextToken,
  type Token,
  type VariableToken,
} from "./tokens.ts";

/**
 * SQL templates. `{{variable}}` becomes a placeholder and its value a parameter. `[[ ... ]]` is an optional clause: it is
 * dropped when a variable of the group in it is missing. The resulting SQL consists of the template's own text and of placeholders,
 * whatever the values are. A template that could lose a filter is refused.
 */

/** `dropped` names the missing variables for which optional clauses were dropped. */
export type BoundQuery = { sql: string; params: unknown[]; dropped: string[] };

export type BindFailure = FailureOf<
  "invalid_template" | "unknown_variable" | "unusable_variable" | "variables_too_large"
>;

type Variables = ReadonlyMap<string, unknown>;
type Piece = TextToken | VariableToken;
/** A variable with its value, and the name under which that was found. */
type BoundPiece = TextToken | (VariableToken & { key: string; value: unknown });
type Parameters = { values: unknown[]; bytes: number };
/** An optional clause, or the text between two of them. */
type Clause = { isOptional: boolean; pieces: Piece[] } & ClauseRange;
/** Where an optional clause is in its template, with its brackets. */
export type ClauseRange = { start: number; end: number };

/** The names that some group can have. Any other name is an error, which must not drop a filter. */
const NAME_OF_GROUP = /^user_group(?:_id|_name|\..+)$/s;
/** The names that restrict a view to one person. A clause with one of them is never dropped, or one would see everybody's rows. */
const NAME_OF_PERSON = /^viewer(?:_id$|\.)/;
/** What separates tokens in every database. */
const BLANK = /[\t-\r ]/;
const utf8 = new TextEncoder();
const SPACE: TextToken = { kind: "text", text: " ", quoted: undefined, end: 0 };

/**
 * Binds `variables` into `template`. Refuses a template that is not well formed, a variable that is missing outside an
 * optional clause or that no group can have, and a value that cannot be a parameter.
 */
export function bindTemplate(
  template: string,
  variables: Variables,
  style: PlaceholderStyle,
): Result<BoundQuery, BindFailure> {
  const parsed = parseTemplate({ template, style });
  if (!parsed.ok) return fail({ code: "invalid_template", ...parsed.failure });
  const kept = keepClauses(parsed.value, variables);
  if (!kept.ok) return kept;
  const written = writeSql(kept.value.pieces, style);
  if (!written.ok) return written;
  return ok({ ...written.value, dropped: kept.value.dropped });
}

/** The clauses of a well-formed template that are dropped with these variables, in their order. */
export function droppedClauses(template: string, variables: Variables, style: PlaceholderStyle): ClauseRange[] {
  const parsed = parseTemplate({ template, style });
  if (!parsed.ok) return [];
  const isMissing = (piece: Piece) => piece.kind === "variable" && variables.get(keyOf(variables, piece)) === undefined;
  return parsed.value
    .filter(({ isOptional, pieces }) => isOptional && pieces.some(isMissing))
    .map(({ start, end }) => ({ start, end }));
}

/** Splits a template into clauses, without regard to any value. */
function parseTemplate(source: Source): Result<Clause[], Refusal> {
  const lone = findLoneControl(source);
  if (lone) return fail(lone);

  const clauses = new Clauses();
  const continuation = new StringContinuation();
  for (let at = 0; at < source.template.length; ) {
    const read = readToken(source, at);
    if (!read.ok) return read;
    const token = read.value;
    const refusal =
      continuation.add(token, at) ??
      (token.kind === "text" ? findAmbiguity(source, at, token) : undefined) ??
      clauses.add(token, at);
    if (refusal) return fail(refusal);
    at = token.end;
  }
  const refusal = clauses.findUnclosed();
  return refusal ? fail(refusal) : ok(clauses.all);
}

/** Collects tokens into clauses, and finds brackets that do not pair. */
class Clauses {
  readonly all: Clause[] = [{ isOptional: false, pieces: [], start: 0, end: 0 }];
  #openedAt: number | undefined;

  add(token: Token, at: number): Refusal | undefined {
    if (token.kind === "[[") return this.#open(at);
    if (token.kind === "]]") return this.#close(at, token.end);
    this.all.at(-1)?.pieces.push(token);
    return undefined;
  }

  findUnclosed(): Refusal | undefined {
    return this.#openedAt === undefined
      ? undefined
      : { position: this.#openedAt, reason: "This clause in [[ ]] is not closed. Close it with ]]." };
  }

  #open(at: number): Refusal | undefined {
    if (this.#openedAt !== undefined)
      return { position: at, reason: "A clause in [[ ]] cannot contain another one. Close the first one before this." };
    this.#openedAt = at;
    this.all.push({ isOptional: true, pieces: [], start: at, end: at });
    return undefined;
  }

  #close(at: number, end: number): Refusal | undefined {
    if (this.#openedAt === undefined)
      return {
        position: at,
        reason: "These brackets close no clause. Remove them, or put a space between them if they are two brackets.",
      };
    const clause = this.all.at(-1);
    if (!clause?.pieces.some(({ kind }) => kind === "variable"))
      return {
        position: this.#openedAt,
        reason: "This clause in [[ ]] contains no variable. Put a space between two brackets that begin no clause.",
      };
    clause.end = end;
    this.#openedAt = undefined;
    this.all.push({ isOptional: false, pieces: [], start: end, end });
    return undefined;
  }
}

/**
 * PostgreSQL joins a string to one on an earlier line when only blanks and comments stand between them, and reads it by
 * the rules of the first: `E'a'` makes backslashes of the second escape quotes. A variable counts as a string, because some
 * drivers write its value as one.
 */
class StringContinuation {
  /** Where the last string begins, if only blanks and comments follow it: on this line, or on an earlier one. */
  #last: { onThisLine?: number | undefined; onEarlierLine?: number | undefined } = {};
  #beforeClause = this.#last;

  /** Refuses a token that continues a string. */
  add(token: Token, at: number): Refusal | undefined {
    if (token.kind === "[[") {
      this.#beforeClause = this.#last;
    } else if (token.kind === "]]") {
      // The clause may be kept or dropped.
      this.#last = {
        onThisLine: this.#last.onThisLine ?? this.#beforeClause.onThisLine,
        onEarlierLine: this.#last.onEarlierLine ?? this.#beforeClause.onEarlierLine,
      };
    } else {
      const continued = this.#last.onEarlierLine;
      if (continued !== undefined && (token.kind === "variable" || token.text.startsWith("'")))
        return {
          position: continued,
          reason:
            "Databases disagree on a string or variable that another one on a later line follows. Write one string, or put an " +
            "operator or comma between them.",
        };
      this.#pass(token, at);
    }
    return undefined;
  }

  #pass(token: Piece, at: number): void {
    if (token.kind === "variable" || token.quoted === "string") this.#last = { onThisLine: at };
    else if (token.quoted !== "comment" && /\S/.test(token.text)) this.#last = {};
    else if (token.text.includes("\n"))
      this.#last = { onEarlierLine: this.#last.onThisLine ?? this.#last.onEarlierLine };
  }
}

/** Finds the values of the variables, and drops the optional clauses of which a variable is missing. */
function keepClauses(
  clauses: Clause[],
  variables: Variables,
): Result<{ pieces: BoundPiece[]; dropped: string[] }, FailureOf<"unknown_variable">> {
  const kept: BoundPiece[] = [];
  const dropped = new Set<string>();
  for (const { isOptional, pieces } of clauses) {
    const bound = pieces.map((piece) => {
      if (piece.kind === "text") return piece;
      const key = keyOf(variables, piece);
      return { ...piece, key, value: variables.get(key) };
    });
    const missing = bound.flatMap((piece) =>
      piece.kind === "variable" && piece.value === undefined ? [piece.name] : [],
    );
    const isKept = !isOptional || pieces.some((piece) => piece.kind === "variable" && NAME_OF_PERSON.test(piece.name));
    const unknown = missing.find((name) => isKept || !NAME_OF_GROUP.test(name));
    if (unknown !== undefined) return fail({ code: "unknown_variable", variable: unknown });
    for (const name of missing) dropped.add(name);
    if (missing.length > 0) continue;
    // Without its brackets, a clause must not merge with the text next to it.
    if (mergesWith(kept.at(-1), bound[0])) kept.push(SPACE);
    kept.push(...bound);
  }
  return ok({ pieces: kept, dropped: [...dropped] });
}

/**
 * The name under which a variable's value is. The name of a property may end with blanks. So the blanks after a name are ignored only
 * when no variable has them, or else the filter on such a property would be dropped.
 */
function keyOf(variables: Variables, { name, spaced }: VariableToken): string {
  const exact = spaced.trimStart();
  return variables.has(exact) ? exact : name;
}

/** Whether no blank separates `next` from the piece before it. */
function mergesWith(before: Piece | undefined, next: Piece | undefined): boolean {
  if (!before || !next) return false;
  const endsInBlank = before.kind === "text" && BLANK.test(before.text.charAt(before.text.length - 1));
  const beginsWithBlank = next.kind === "text" && BLANK.test(next.text.charAt(0));
  return !endsInBlank && !beginsWithBlank;
}

/** Writes the SQL with a placeholder for each value, and collects the values. */
function writeSql(
  pieces: BoundPiece[],
  style: PlaceholderStyle,
): Result<{ sql: string; params: unknown[] }, BindFailure> {
  const writer = new SqlWriter(style);
  for (const [index, piece] of pieces.entries()) {
    const failure =
      piece.kind === "text" ? writer.addText(piece.text) : (misplaced(pieces, index, piece) ?? writer.addValue(piece));
    if (failure) return fail(failure);
  }
  return ok(writer.bound());
}

/** The failure of a list in a place where one value must stand. */
function misplaced(
  pieces: BoundPiece[],
  index: number,
  { name, at, value }: VariableToken & { value: unknown },
): BindFailure | undefined {
  if (!Array.isArray(value)) return undefined;
  if (QUANTIFIED.test(nameBefore(pieces, index)))
    return { code: "invalid_template", position: at, reason: QUANTIFIED_REASON };
  return isListItem(pieces, index) ? undefined : { code: "unusable_variable", variable: name };
}

/** The SQL that is written so far, and its parameters. */
class SqlWriter {
  readonly #style: PlaceholderStyle;
  readonly #sql: string[] = [];
  readonly #params: unknown[] = [];
  /** Measured once for each value, because a template can repeat a long one. */
  readonly #known = new Map<unknown, Parameters | undefined>();
  /** The placeholders of the variables that have been written. */
  readonly #written = new Map<string, string>();
  /** With one bracket of the list: the other one is in the first value's. */
  #bytes = 1;
  #placeholderCount = 0;

  constructor(style: PlaceholderStyle) {
    this.#style = style;
  }

  bound(): { sql: string; params: unknown[] } {
    return { sql: this.#sql.join(""), params: this.#params };
  }

  addText(text: string): undefined {
    this.#sql.push(textFor(text, this.#style));
  }

  /**
   * Adds the placeholders of a value. Where they have numbers, a variable that occurs twice has the same ones: to PostgreSQL, `GROUP BY
   * f($2)` would name another expression than the `f($1)` that the query returns.
   */
  addValue({ name, key, value }: { name: string; key: string; value: unknown }): BindFailure | undefined {
    if (!this.#known.has(value)) this.#known.set(value, parametersOf(value));
    const parameters = this.#known.get(value);
    this.#placeholderCount += parameters?.values.length ?? 0;
    if (!parameters || this.#placeholderCount > QUERY_PARAMETERS_MAX)
      return { code: "unusable_variable", variable: name };
    const again = this.#style === "$1" ? this.#written.get(key) : undefined;
    if (again !== undefined) {
      this.#sql.push(again);
      return undefined;
    }
    this.#bytes += parameters.bytes;
    if (this.#bytes > QUERY_PARAMETERS_BYTES_MAX) return { code: "variables_too_large" };
    const first = this.#params.length + 1;
    const placeholders = parameters.values.map((_, offset) => placeholderFor(first + offset, this.#style)).join(", ");
    this.#params.push(...parameters.values);
    this.#sql.push(placeholders);
    this.#written.set(key, placeholders);
    return undefined;
  }
}

/** Python's drivers read every percent sign, in strings and comments too, and two as one. */
const textFor = (text: string, style: PlaceholderStyle): string => (style === "%s" ? text.replaceAll("%", "%%") : text);

const placeholderFor = (number: number, style: PlaceholderStyle): string => (style === "$1" ? `$${number}` : style);

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
 * Whether a piece is an item of a list in parentheses or brackets, where several placeholders can take its place:
 * `LIMIT {{list}}` would become `LIMIT ?, ?`, a limit with an offset.
 */
const isListItem = (pieces: Piece[], index: number): boolean =>
  /[([,]$/.test(textBeside(pieces, index, -1)) && /^[)\],]/.test(textBeside(pieces, index, 1));

/** Comparisons with the items of one value, such as an array. */
const QUANTIFIED = /^(?:any|all|some)$/i;
const QUANTIFIED_REASON =
  "ANY, ALL and SOME take one value, and a list becomes several. Write IN ({{list}}) instead of = ANY, and NOT IN ({{list}}) " +
  "instead of <> ALL.";

/** The name before the parentheses that open directly before a piece; empty when anything else is there. */
function nameBefore(pieces: Piece[], index: number): string {
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
function textBeside(pieces: Piece[], index: number, step: -1 | 1): string {
  for (let at = index + step; ; at += step) {
    const piece = pieces[at];
    if (piece?.kind !== "text") return "";
    const text = piece.quoted === "comment" ? "" : piece.text.trim();
    if (text !== "") return text;
  }
}
