import { fail, ok, type Result } from "../../../common/result.ts";

/**
 * Splits an SQL template into tokens. It knows enough of the SQL of PostgreSQL, MySQL and SQLite to recognise strings, quoted
 * identifiers, comments and dollar quotes, in which a placeholder would not be a placeholder. Where databases disagree on a
 * text, or where a driver that writes the values into the SQL text itself (mysql, mysql2, PyMySQL, psycopg2, pg-promise)
 * disagrees with its database, the text is refused.
 */

/** How placeholders are written: `?` each, or `$1`, `$2` and so on, or `%s` each. */
export const PLACEHOLDER_STYLES = ["?", "$1", "%s"] as const;
export type PlaceholderStyle = (typeof PLACEHOLDER_STYLES)[number];

export type Source = { template: string; style: PlaceholderStyle };

/** Why a template is refused, and where (in UTF-16 code units, from 0). */
export type Refusal = { position: number; reason: string };

export type TextToken = { kind: "text"; text: string; quoted: string | undefined; end: number };
/** `spaced` is the name with the blanks around it. */
export type VariableToken = { kind: "variable"; name: string; spaced: string; at: number; end: number };
export type Token = TextToken | VariableToken | { kind: "[["; end: number } | { kind: "]]"; end: number };

/** A name after its first character. Databases read every character outside ASCII as a letter. */
const NAME = "[A-Za-z_\\u0080-\\u{10ffff}][A-Za-z0-9_\\u0080-\\u{10ffff}]*";

/** With `$1` the database is PostgreSQL. With the others it may be MySQL, too. */
const isPerhapsMysql = (style: PlaceholderStyle): boolean => style !== "$1";
type Quoted = { first: string; begin: RegExp; whole: RegExp; name: string; in?: readonly PlaceholderStyle[] };

/** Texts that are one token: their first character, how they begin, how far they reach, and with which placeholders they exist. */
const QUOTED: Quoted[] = [
  { first: "eE", begin: /[eE]'/y, whole: /[eE]'(?:[^'\\]|\\[\s\S]|'')*'/y, name: "string" },
  { first: "'", begin: /'/y, whole: /'(?:[^']|'')*'/y, name: "string" },
  { first: '"', begin: /"/y, whole: /"(?:[^"]|"")*"/y, name: "quoted identifier" },
  { first: "`", begin: /`/y, whole: /`(?:[^`]|``)*`/y, name: "quoted identifier" },
  // In SQLite. In PostgreSQL these are subscripts.
  { first: "[", begin: /\[(?!\[)/y, whole: /\[[^\]]*\]/y, name: "quoted identifier", in: ["?"] },
  // In MySQL. In PostgreSQL this is an operator.
  { first: "#", begin: /#/y, whole: /#[^\n]*/y, name: "comment", in: ["?", "%s"] },
  { first: "-", begin: /--/y, whole: /--[^\n]*/y, name: "comment" },
  { first: "/", begin: /\/\*/y, whole: /\/\*[\s\S]*?\*\//y, name: "comment" },
  {
    first: "$",
    begin: new RegExp(`\\$(?:${NAME})?\\$`, "uy"),
    whole: new RegExp(`(\\$(?:${NAME})?\\$)[\\s\\S]*?\\1`, "uy"),
    name: "dollar-quoted string",
  },
];
const QUOTED_BY_FIRST = new Map(QUOTED.flatMap((quoted) => [...quoted.first].map((first) => [first, quoted])));

/** Quoted texts on which databases or drivers disagree. */
const AMBIGUOUS: { is: (text: string, style: PlaceholderStyle) => boolean; reason: string }[] = [
  {
    is: (text, style) => isPerhapsMysql(style) && /^[eE]?['"]/.test(text) && /\\['"]/.test(text),
    reason:
      "Databases disagree on a backslash before a quote. Double the quote instead, or use a variable for this text.",
  },
  {
    // mysql's and mysql2's `query` write the values into the SQL themselves.
    is: (text, style) => style === "?" && text.includes("?"),
    reason: "Some drivers replace a question mark here with a value. Remove it, or use a variable for this text.",
  },
  {
    is: (text, style) => isPerhapsMysql(style) && /^--[^\t-\r ]/.test(text),
    reason: "Databases disagree on a comment without a space after its two dashes. Add a space.",
  },
  {
    is: (text) => text.startsWith("/*") && /^M?!|\/\*/.test(text.slice(2)),
    reason:
      "Databases disagree on nested comments, and on comments that begin with an exclamation mark. Use a plain comment.",
  },
  {
    is: (text, style) => isPerhapsMysql(style) && text.startsWith("$"),
    reason: "Databases disagree on dollar quotes: MySQL reads names, SQLite reads placeholders. Use single quotes.",
  },
  {
    // PostgreSQL reads brackets, `#` and backticks as operators, and MySQL reads `#` as the beginning of a comment.
    is: (text, style) =>
      ((isPerhapsMysql(style) ? /^[[#`]/ : /^`/).test(text) && /['"]|--|\/\*|\$[^\s$]*\$/.test(text)) ||
      (style === "?" && text.startsWith("[") && text.includes("#")),
    reason: "Some databases read quotes and comments in this text as SQL. Remove them from it.",
  },
];

/**
 * Text without a special meaning, as one token. A whole name is one token, because the `$` that a name may contain begins no
 * dollar quote.
 */
const PLAIN =
  /[A-Za-z_\u0080-\u{10ffff}][A-Za-z0-9_$\u0080-\u{10ffff}]*|[^A-Za-z_\u0080-\u{10ffff}'"`/\-$?#{}[\]:@]+|::/uy;
const VARIABLE = /\{\{[^{}]*\}\}/y;
/** The placeholders of databases: `?`, `?1`, `$1`, `$a`, `:a`, `@a`. PostgreSQL's operators with `?` are not among them. */
const FOREIGN_PLACEHOLDER = {
  "?": /\?|[$:@][\w\u0080-\u{10ffff}]/uy,
  $1: /\?(?![|&]|\s*')|[$:@][\w\u0080-\u{10ffff}]/uy,
  "%s": /\?(?![|&]|\s*')|[$:@][\w\u0080-\u{10ffff}]/uy,
};

/** Text next to a variable with which its placeholder, or the value in its place, could be read as something else. */
const BESIDE_VARIABLE: { before?: RegExp; after?: RegExp; only?: PlaceholderStyle; reason: string }[] = [
  {
    // `a{{b}}` would be the name `a$1`, `{{b}}0` the parameter `$10`, and `'a'{{b}}` with its value the string 'a''b'.
    before: /(?:[\w$@?}'\u0080-\u{10ffff}]|U&)$/iu,
    after: /^(?:[\w$@?'\u0080-\u{10ffff}]|\{\{)/u,
    reason: "The placeholder would merge with the text next to it. Put a space between them.",
  },
  {
    // Drivers that write values into the SQL text write `--5`, a comment.
    before: /-$/,
    reason:
      "A minus sign and a negative value would form a comment. Put a space between the minus sign and the variable.",
  },
  {
    // pg-promise's modifiers; `$1^` and `$1:raw` put a value into the SQL text without quotes.
    after: /^(?:[\^~#]|:(?!:))/,
    only: "$1",
    reason: "Some drivers read the character after this variable as a modifier. Put a space between them.",
  },
];

/** What databases disagree on anywhere in a template. */
const LONE_CONTROL = /\r(?!\n)|\0/;

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
  const quoted = QUOTED_BY_FIRST.get(template.charAt(at));
  if (quoted && (quoted.in ?? [style]).includes(style) && findEnd(quoted.begin, template, at) !== undefined)
    return readQuoted(template, at, quoted);

  const end = findEnd(PLAIN, template, at);
  if (end !== undefined) return ok({ kind: "text", text: template.slice(at, end), quoted: undefined, end });

  const two = template.slice(at, at + 2);
  if (two === "{{") return readVariable(source, at);
  if (two === "}}") return refuse(at, "These closing braces have no opening {{. Remove them.");
  if (two === "[[" || two === "]]") return ok({ kind: two, end: at + 2 });
  if (findEnd(FOREIGN_PLACEHOLDER[style], template, at) !== undefined)
    return refuse(at, "A placeholder in the template itself would take the value of another one. Use a {{variable}}.");
  return ok({ kind: "text", text: two.slice(0, 1), quoted: undefined, end: at + 1 });
}

function readQuoted(template: string, at: number, { whole, name }: Quoted): Result<TextToken, Refusal> {
  const end = findEnd(whole, template, at);
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
  const beside = BESIDE_VARIABLE.find(
    (each) => (each.only ?? style) === style && (each.before?.test(before) || each.after?.test(after)),
  );
  return beside ? refuse(at, beside.reason) : ok({ kind: "variable", name, spaced, at, end });
}

/** Finds what databases or drivers disagree on in a text that begins at `at`. */
export function findAmbiguity({ template, style }: Source, at: number, token: TextToken): Refusal | undefined {
  const ambiguous = token.quoted === undefined ? undefined : AMBIGUOUS.find(({ is }) => is(token.text, style));
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

/** Where the match of a sticky `pattern` at `at` ends, or `undefined` without a match. */
function findEnd(pattern: RegExp, template: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(template) ? pattern.lastIndex : undefined;
}

const refuse = (position: number, reason: string) => fail({ position, reason });
