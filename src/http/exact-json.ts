import type { Issue } from "../domain/failure.ts";
import { BODY_DEPTH_MAX, ISSUES_MAX } from "../limits.ts";

/** JSON's tokens (RFC 8259), for a text that is known to be valid. */
const TOKENS = /"(?:[^"\\]+|\\.)*"|-?\d[\d.eE+-]*|[[\]{},:]/g;

type Frame = { kind: "object"; keys: Set<string>; key: string; atKey: boolean } | { kind: "array"; index: number };

/**
 * Finds what `JSON.parse` would change in silence, as issues with their places: numbers that a double holds as another
 * decimal value, keys that stand twice in one object, strings with lone surrogates; and nesting past what the service
 * walks. `text` must be valid JSON. It reads tokens instead of using a reviver, which knows no places, does not see
 * doubled keys, and overflows the stack on deep nesting.
 */
export function findInexact(text: string, value: object): Issue[] {
  if (isCanonical(text, value)) return [];
  const issues: Issue[] = [];
  const frames: Frame[] = [];
  const report = (message: string) => {
    const path = frames.map((frame) => (frame.kind === "object" ? frame.key : frame.index));
    if (issues.length < ISSUES_MAX) issues.push({ path, message });
  };

  for (const [token] of text.matchAll(TOKENS)) {
    const frame = frames.at(-1);
    if (token === "{" || token === "[") {
      if (frames.length === BODY_DEPTH_MAX) {
        report(`Nest at most ${BODY_DEPTH_MAX} levels.`);
        return issues;
      }
      frames.push(
        token === "{" ? { kind: "object", keys: new Set(), key: "", atKey: true } : { kind: "array", index: 0 },
      );
    } else if (token === "}" || token === "]") {
      frames.pop();
    } else if (token === ",") {
      if (frame?.kind === "object") frame.atKey = true;
      else if (frame) frame.index += 1;
    } else if (token === ":") {
      if (frame?.kind === "object") frame.atKey = false;
    } else if (token.startsWith('"')) {
      const string: string = JSON.parse(token);
      const isKey = frame?.kind === "object" && frame.atKey;
      if (isKey) {
        frame.key = string;
        if (frame.keys.has(string)) report("This key is given twice; give it once.");
        frame.keys.add(string);
      }
      if (!string.isWellFormed())
        report("This text has an unpaired surrogate, which is no character; send whole characters.");
    } else if (!isExact(token)) {
      report(`The number ${token.slice(0, 40)} cannot be kept exactly; send it as a string.`);
    }
  }
  return issues;
}

/**
 * Whether `value` prints as `text` again, so that nothing was lost: the quick way, for the many clients that print JSON as
 * JavaScript does. It leaves alone what may nest too deep, and unpaired surrogates, which print as they came.
 */
function isCanonical(text: string, value: object): boolean {
  const brackets = text.match(/[[{]/g)?.length ?? 0;
  return brackets <= BODY_DEPTH_MAX && !text.includes("\\ud") && JSON.stringify(value) === text;
}

/** Whether a double holds the decimal value of `number` so that printing it gives the same value again. */
function isExact(number: string): boolean {
  return decimalOf(number) === decimalOf(String(Number(number)));
}

/** One spelling for each decimal value: sign, significant digits, exponent. Zero has no sign. */
function decimalOf(number: string): string {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number) ?? [];
  if (!whole) return number;
  const digits = (whole + fraction).replace(/^0+/, "");
  // By hand: /0+$/ takes quadratic time on zeros that are not the last ones.
  let end = digits.length;
  while (digits[end - 1] === "0") end -= 1;
  const significant = digits.slice(0, end);
  if (!significant) return "0";
  const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - significant.length);
  return `${sign}${significant}e${power}`;
}
