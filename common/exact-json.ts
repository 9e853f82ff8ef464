import { attempt } from "./attempt.ts";
import type { Issue } from "./issue.ts";
import { BODY_DEPTH_MAX, ISSUES_MAX } from "./limits.ts";

/**
 * JSON's tokens (RFC 8259). The text may be no JSON, so no string can be matched in two ways: where a closing quote is missing, the time
 * would double with each character. A backslash takes any character after it, as in `endOfString`.
 */
const TOKENS = /"[^"\\]*(?:\\[\s\S][^"\\]*)*"|-?\d[\d.eE+-]*|[[\]{},:]/g;

/** An object or a list around the current token. */
type Frame = { kind: "object"; keys: Set<string>; key: string; atKey: boolean } | { kind: "array"; index: number };

/** The position of the first bracket that opens a level too many. */
function positionOfTooDeep(text: string): number | undefined {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code === OPENING_BRACKET || code === OPENING_BRACE) depth += 1;
    else if (code === CLOSING_BRACKET || code === CLOSING_BRACE) depth -= 1;
    if (depth > BODY_DEPTH_MAX) return at;
  }
  return undefined;
}

const [QUOTE, BACKSLASH, OPENING_BRACKET, CLOSING_BRACKET, OPENING_BRACE, CLOSING_BRACE] = [34, 92, 91, 93, 123, 125];

/** The position of the quote that ends the string at `start`, or that of the text's end. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at += 1;
    else if (code === QUOTE) return at;
  }
  return text.length;
}

/**
 * Parses JSON, and finds what `JSON.parse` would change silently, and where: numbers that a double holds as another decimal value, duplicate
 * keys of an object, strings with lone surrogates; and what others cannot hold: U+0000, and nesting deeper than the service allows. A
 * reviver does not suffice: it has no positions, does not see duplicate keys, and overflows the stack on deep nesting.
 *
 * The value of a text that is no JSON is `undefined`, and so is that of one that nests too deep: parsing 64 KB of brackets takes a thousand
 * times as long as finding them.
 */
export function parseExact(text: string): { value: unknown; issues: Issue[] } {
  const position = positionOfTooDeep(text);
  if (position !== undefined) return { value: undefined, issues: issuesIn(text.slice(0, position + 1)) };
  const value: unknown = attempt(() => JSON.parse(text));
  return { value, issues: value === undefined || isCanonical(text, value) ? [] : issuesIn(text) };
}

function issuesIn(text: string): Issue[] {
  const scan = new InexactScan();
  for (const { 0: token, index } of text.matchAll(TOKENS)) if (!scan.take(token, index)) break;
  return scan.issues;
}

/** Reads the tokens of a JSON text in order, and collects issues. */
class InexactScan {
  readonly issues: Issue[] = [];
  readonly #frames: Frame[] = [];
  #position = 0;

  /** Reads the token at `position`, in UTF-16 code units. Returns whether to continue: no answer has more than `ISSUES_MAX` issues. */
  take(token: string, position: number): boolean {
    if (this.issues.length === ISSUES_MAX) return false;
    this.#position = position;
    const [first = ""] = token;
    if (first === "{" || first === "[") return this.#open(first);
    if (first === "}" || first === "]") this.#frames.pop();
    else if (first === ",") this.#next();
    else if (first === ":") this.#expectKey(false);
    else if (first === '"') this.#takeString(token);
    else if (!isExact(token))
      this.#report(`The number ${token.slice(0, 40)} cannot be kept exactly; send it as a string.`);
    return true;
  }

  #open(bracket: "{" | "["): boolean {
    if (this.#frames.length === BODY_DEPTH_MAX) {
      this.#report(`Nest at most ${BODY_DEPTH_MAX} levels.`);
      return false;
    }
    this.#frames.push(
      bracket === "{" ? { kind: "object", keys: new Set(), key: "", atKey: true } : { kind: "array", index: 0 },
    );
    return true;
  }

  #next(): void {
    const frame = this.#frames.at(-1);
    if (frame?.kind === "array") frame.index += 1;
    else this.#expectKey(true);
  }

  #expectKey(atKey: boolean): void {
    const frame = this.#frames.at(-1);
    if (frame?.kind === "object") frame.atKey = atKey;
  }

  #takeString(token: string): void {
    const text = parseString(token);
    const frame = this.#frames.at(-1);
    if (frame?.kind === "object" && frame.atKey) {
      frame.key = text;
      if (frame.keys.has(text)) this.#report("This key is given twice; give it once.");
      frame.keys.add(text);
    }
    if (!text.isWellFormed())
      this.#report("This text has an unpaired surrogate, which is no character; send whole characters.");
    if (text.includes("\0"))
      this.#report("This text has the character U+0000, which databases such as PostgreSQL cannot hold; leave it out.");
  }

  #report(message: string): void {
    const path = this.#frames.map((frame) => (frame.kind === "object" ? frame.key : frame.index));
    this.issues.push({ path, message: `${message} It is at position ${this.#position} of the body.` });
  }
}

/** The text of a string's token. In a text that is no JSON, the token may be none: then it stands for itself. */
const parseString = (token: string): string => attempt(() => JSON.parse(token)) ?? token;

/**
 * Whether `value` serializes to `text`, so that nothing was lost: a fast path for the many clients that serialize JSON as
 * JavaScript does. It does not decide on unpaired surrogates and U+0000, which serialize unchanged.
 */
const isCanonical = (text: string, value: unknown): boolean =>
  !/\\u(?:d|0000)/.test(text) && JSON.stringify(value) === text;

/** Whether a double holds the decimal value of `number` so that printing it gives the same value again. */
function isExact(number: string): boolean {
  const double = Number(number);
  // Both are decided without the exponent, which can be as long as the body: as a BigInt it takes 50 ms.
  if (!Number.isFinite(double)) return false;
  if (double === 0) return /^0(?:\.0*)?(?:e|$)/i.test(number);
  return decimalOf(number) === decimalOf(String(double));
}

/** One spelling for each decimal value: sign, significant digits, exponent. `-0` differs from `0`, because JSON prints it as `0`. */
function decimalOf(number: string): string {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number) ?? [];
  if (!whole) return number;
  const digits = (whole + fraction).replace(/^0+/, "");
  // By hand: /0+$/ takes quadratic time on zeros that are not the last ones.
  let end = digits.length;
  while (digits[end - 1] === "0") end -= 1;
  const significant = digits.slice(0, end);
  if (!significant) return `${sign}0`;
  const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - significant.length);
  return `${sign}${significant}e${power}`;
}
