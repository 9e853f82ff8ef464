import { fail, ok, type Result } from "../../../common/result.ts";
import { findEnd, type Quoted, SYNTAX, type Syntax } from "./syntax.ts";

/**
 * Splits an SQL template into tokens, as the databases read it that take its placeholders. Where these disagree on a text, or
 * where a driver that writes the values into the SQL text itself (mysql, mysql2, PyMySQL, psycopg2, pg-promise) disagrees with its
 * database, the text is refused.
 */

/**
 * How placeholders are written, which says for which databases: `?` each (SQLite, MySQL, and all others over ODBC and JDBC), `$1`, `$2`
 * and so on (PostgreSQL), `%s` each (Python), `@p1`, `@p2` and so on (SQL Server), `{p1:String}`, `{p2:Int64}` and so on (ClickHouse).
 */
export const PLACEHOLDER_STYLES = ["?", "$1", "%s", "@p1", "{p1:String}"] as const;
export type PlaceholderStyle = (typeof PLACEHOLDER_STYLES)[number];

export type Source = { template: string; style: PlaceholderStyle };

/** Why a template is refused, and where (in UTF-16 code units, from 0). */
export type Refusal = { position: number; reason: string };

export type TextToken = { kind: "text"; text: string; quoted: string | undefined; end: number };
/** `spaced` is the name with the blanks around it. */
export type VariableToken = { kind: "variable"; name: string; spaced: string; at: number; end: number };
export type Token = TextToken | VariableToken | { kind: "[["; end: number } | { kind: "]]"; end: number };

const VARIABLE = /\{\{[^{}]*\}\}/y;

/** What databases disagree on anywhere in a template. */
const LONE_CONTROL = /\r(?!\n)|\0/;

const syntaxOf = (style: PlaceholderStyle): Syntax => SYNTAX[style];

export function findLoneControl({ template }: Source): Refusal | undefined {
  const lone = LONE_CONTROL.exec(template);
  return lone
    ? {
        position: lone.index,
        reason:
          "Databases disagree on NUL, and on a carriage return without a line feed. Remove it, and end lines with a line feed.",
      }
    : undefined;
}

/** Reads the token that begins at `at`. */
export function readToken(source: Source, at: number): Result<Token, Refusal> {
  const { template, style } = source;
  const { quoted, plain, foreign } = syntaxOf(style);
  const begun = findQuoted(quoted, template, at);
  if (begun) return readQuoted(template, at, begun);

  const end = findEnd(plain, template, at);
  if (end !== undefined) return ok({ kind: "text", text: template.slice(at, end), quoted: undefined, end });

  const two = template.slice(at, at + 2);
  if (two === "{{") return readVariable(source, at);
  if (two === "}}") return refuse(at, "These closing braces have no opening {{. Remove them, or put a space between.");
  if (two === "[[" || two === "]]") return ok({ kind: two, end: at + 2 });
  const refused = foreign.find(({ begin }) => findEnd(begin, template, at) !== undefined);
  return refused ? refuse(at, refused.reason) : ok(characterAt(template, at));
}

/** One character as a token. */
export const characterAt = (template: string, at: number): TextToken => ({
  kind: "text",
  text: template.charAt(at),
  quoted: undefined,
  end: at + 1,
});

/** What begins at `at`. */
const findQuoted = (quoted: Quoted[], template: string, at: number): Quoted | undefined =>
  quoted.find(({ first, begin }) => first.includes(template.charAt(at)) && findEnd(begin, template, at) !== undefined);

function readQuoted(template: string, at: number, { endOf, name }: Quoted): Result<TextToken, Refusal> {
  const end = endOf(template, at);
  if (end === undefined) return refuse(at, `This ${name} is not closed. Close it.`);
  const text = template.slice(at, end);
  const inside = text.indexOf("{{");
  if (inside !== -1)
    return refuse(at + inside, `A variable in a ${name} cannot become a parameter. Move it out of the ${name}.`);
  return ok({ kind: "text", text, quoted: name, end });
}

function readVariable({ template, style }: Source, at: number): Result<VariableToken, Refusal> {
  const end = findEnd(VARIABLE, template, at);
  if (end === undefined) return refuse(at, "These braces are not closed by }}, or contain a brace. Write {{name}}.");
  const spaced = template.slice(at + 2, end - 2);
  const name = spaced.trim();
  if (!name) return refuse(at, "These braces contain no name. Write the name of a variable in them.");

  const [before, after] = [template.slice(Math.max(0, at - 2), at), template.slice(end, end + 2)];
  const beside = syntaxOf(style).beside.find((each) => each.before?.test(before) || each.after?.test(after));
  return beside ? refuse(at, beside.reason) : ok({ kind: "variable", name, spaced, at, end });
}

/** Finds what databases or drivers disagree on in a text that begins at `at`. */
export function findAmbiguity({ template, style }: Source, at: number, token: TextToken): Refusal | undefined {
  const ambiguous = token.quoted === undefined ? undefined : syntaxOf(style).ambiguous.find(({ is }) => is(token.text));
  if (ambiguous) return { position: at, reason: ambiguous.reason };

  // pg-promise replaces `$1` wherever it finds it. With the next character, because a dollar quote ends with a `$`.
  const numbered = style === "$1" && token.text.includes("$") ? template.slice(at, token.end + 1).search(/\$\d/) : -1;
  return numbered === -1
    ? undefined
    : {
        position: at + numbered,
        reason:
          "Some drivers replace a dollar sign and a digit even here. Remove them, or use a variable for this text.",
      };
}

/**
 * Finds a text between two variables or brackets of clauses that another database, which takes the same placeholders, reads as the
 * beginning of a string, name or comment: the variable after it would be in there.
 */
export function findOtherReading({ template, style }: Source, start: number, end: number): Refusal | undefined {
  const text = template.slice(start, end);
  for (const quoted of syntaxOf(style).others ?? [])
    for (let at = 0; at < text.length; ) {
      const begun = findQuoted(quoted, text, at);
      const after = begun ? begun.endOf(text, at) : at + 1;
      const isOpen = after === undefined || (after === text.length && isLineComment(text.slice(at)));
      if (begun && isOpen && end < template.length)
        return {
          position: start + at,
          reason: `Some databases read this as the beginning of a ${begun.name} that goes on. Put a space after it, or leave it out.`,
        };
      at = after ?? text.length;
    }
  return undefined;
}

const isLineComment = (text: string): boolean => /^(?:--|#|\/\/)/.test(text);

const refuse = (position: number, reason: string) => fail({ position, reason });
