import { fail, ok, type Result } from "../../../common/result.ts";
import type { FailureOf } from "../failure.ts";
import { type BoundPiece, type Clause, type ClauseRange, Clauses, type Piece } from "./clauses.ts";
import { findConstantTerms } from "./order-by.ts";
import { type BindFailure, writeSql } from "./sql-writer.ts";
import {
  characterAt,
  findAmbiguity,
  findLoneControl,
  findOtherReading,
  type PlaceholderStyle,
  type Refusal,
  readToken,
  type Source,
  type TextToken,
  type Token,
  type VariableToken,
} from "./tokens.ts";
import { NAME_OF_GROUP, NAME_OF_PERSON, NAME_OF_VALUE } from "./variables.ts";

/**
 * SQL templates. `{{variable}}` becomes a placeholder and its value a parameter. `[[ ... ]]` is an optional clause: it is
 * dropped when a variable of the group in it is missing, or a value of the page. The resulting SQL consists of the template's own text and
 * of placeholders, whatever the values are. A template that could lose a filter is refused.
 */

/**
 * `params` are the values of the placeholders: a list in their order, or an object by their names with `{p1:String}`. `dropped` names the
 * missing variables for which optional clauses were dropped.
 */
export type BoundQuery = { sql: string; params: unknown[] | Record<string, unknown>; dropped: string[] };

type Variables = ReadonlyMap<string, unknown>;

/** What separates tokens in every database. */
const BLANK = /[\t-\r ]/;
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

/** The variables of a well-formed template that are a whole term of ORDER BY, so that they sort nothing. */
export function variablesThatSortNothing(template: string, style: PlaceholderStyle): string[] {
  const parsed = parseTemplate({ template, style });
  return parsed.ok ? findConstantTerms(parsed.value) : [];
}

/** Splits a template into clauses, without regard to any value. */
function parseTemplate(source: Source): Result<Clause[], Refusal> {
  const lone = findLoneControl(source);
  if (lone) return fail(lone);

  const clauses = new Clauses();
  const continuation = new StringContinuation();
  /** Where the text begins that ends with the next variable or bracket of a clause. */
  let textStart = 0;
  for (let at = 0; at < source.template.length; ) {
    const read = readToken(source, at);
    if (!read.ok) return read;
    const token = read.value.kind === "]]" && clauses.isInBrackets ? characterAt(source.template, at) : read.value;
    const refusal =
      continuation.add(token, at) ??
      (token.kind === "text" ? findAmbiguity(source, at, token) : findOtherReading(source, textStart, at)) ??
      clauses.add(token, at);
    if (refusal) return fail(refusal);
    at = token.end;
    if (token.kind !== "text") textStart = at;
  }
  const refusal = clauses.findUnclosed();
  return refusal ? fail(refusal) : ok(clauses.all);
}

/** Finds the values of the variables, and drops the optional clauses of which a variable is missing. */
function keepClauses(
  clauses: Clause[],
  variables: Variables,
): Result<{ pieces: BoundPiece[]; dropped: string[] }, FailureOf<"unknown_variable">> {
  const kept: BoundPiece[] = [];
  const dropped = new Set<string>();
  for (const clause of clauses) {
    const bound = clause.pieces.map((piece) => bindPiece(piece, variables));
    const missing = bound.flatMap((piece) =>
      piece.kind === "variable" && piece.value === undefined ? [piece.name] : [],
    );
    const unknown = findUnknown(clause, missing);
    if (unknown !== undefined) return fail({ code: "unknown_variable", variable: unknown });
    for (const name of missing) dropped.add(name);
    if (missing.length > 0) continue;
    // Without its brackets, a clause must not merge with the text next to it.
    if (mergesWith(kept.at(-1), bound[0])) kept.push(SPACE);
    kept.push(...bound);
  }
  return ok({ pieces: kept, dropped: [...dropped] });
}

function bindPiece(piece: Piece, variables: Variables): BoundPiece {
  if (piece.kind === "text") return piece;
  const key = keyOf(variables, piece);
  return { ...piece, key, value: variables.get(key) };
}

/** The first of the `missing` variables for which the clause must not be dropped. */
function findUnknown({ isOptional, pieces }: Clause, missing: string[]): string | undefined {
  const names = pieces.flatMap((piece) => (piece.kind === "variable" ? [piece.name] : []));
  const isOfPage = (name: string) => NAME_OF_VALUE.test(name);
  // The page chooses which values it leaves out. It must not drop a filter of its group so.
  const dropsFilter = missing.every(isOfPage) && !names.every(isOfPage);
  const isKept = !isOptional || names.some((name) => NAME_OF_PERSON.test(name)) || dropsFilter;
  return missing.find((name) => isKept || !(NAME_OF_GROUP.test(name) || isOfPage(name)));
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
