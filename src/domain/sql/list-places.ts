import { fail, ok, type Result } from "../../../common/result.ts";
import type { FailureOf } from "../failure.ts";
import type { BoundPiece } from "./clauses.ts";
import type { PlaceholderStyle } from "./tokens.ts";

/** What a list becomes: a placeholder for each of its items, or one for an array. */
export type ListPlace = "items" | "array";

/** What the list at `index` becomes, or why it cannot stand there. */
export function placeOfList(
  pieces: BoundPiece[],
  index: number,
  style: PlaceholderStyle,
): Result<ListPlace, FailureOf<"invalid_template" | "unusable_variable">> {
  const piece = pieces[index];
  if (piece?.kind !== "variable") throw new TypeError("There is no variable.");
  const advice = ADVICE.find(({ name }) => name.test(nameBefore(pieces, index)));
  if (advice) return fail({ code: "invalid_template", position: piece.at, reason: advice.reason });
  const isItem = isListItem(pieces, index);
  if (style === "{p1:String}" && (isItem ? isArgument(pieces, index) : isAfterIn(pieces, index))) return ok("array");
  return isItem ? ok("items") : fail({ code: "unusable_variable", variable: piece.name });
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
