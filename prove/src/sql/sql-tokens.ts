/** Splits SQL into tokens, as PostgreSQL does. */

export type Token =
  /** A name or keyword. Without quotes, `text` is in lower case. */
  | { kind: "word"; text: string; quoted: boolean }
  | { kind: "string"; text: string }
  | { kind: "number"; text: string }
  /** `$1` */
  | { kind: "parameter"; text: string }
  | { kind: "operator"; text: string }
  /** A parenthesis, bracket, comma, semicolon, dot, colon or cast. */
  | { kind: "mark"; text: string };

/** Thrown for SQL that the prover does not read. It then judges nothing by it. */
export class Unreadable extends Error {}

/** Each alternative is one kind of token. Comments that nest are not read. */
const TOKEN = new RegExp(
  [
    String.raw`(?<blank>\s+|--[^\n]*|/\*(?:(?!/\*|\*/)[\s\S])*\*/)`,
    String.raw`(?<string>(?:[eE])?'(?:[^'\\]|''|\\[\s\S])*')`,
    String.raw`\$(?<tag>[A-Za-z_]*)\$(?<dollar>[\s\S]*?)\$\k<tag>\$`,
    `"(?<quoted>(?:[^"]|"")*)"`,
    String.raw`(?<word>[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*)`,
    String.raw`(?<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)`,
    String.raw`\$(?<parameter>\d+)`,
    String.raw`(?<mark>::|:=|[()[\],;.:])`,
    String.raw`(?<operator>(?:(?!--|/\*)[-+*/<>=~!@#%^&|\x60?])+)`,
  ].join("|"),
  "y",
);

/** The tokens of SQL. @throws Unreadable if there is something else in it. */
export function tokensOf(sql: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < sql.length; at = TOKEN.lastIndex) {
    TOKEN.lastIndex = at;
    const groups = TOKEN.exec(sql)?.groups;
    if (!groups) throw new Unreadable();
    const token = tokenOf(groups);
    if (token) tokens.push(token);
  }
  return tokens;
}

function tokenOf(groups: Record<string, string | undefined>): Token | undefined {
  const { string, dollar, quoted, word, number, parameter, mark, operator } = groups;
  if (string !== undefined) return { kind: "string", text: textOf(string) };
  if (dollar !== undefined) return { kind: "string", text: dollar };
  if (quoted !== undefined) return { kind: "word", text: quoted.replaceAll('""', '"'), quoted: true };
  if (word !== undefined) return { kind: "word", text: word.toLowerCase(), quoted: false };
  if (number !== undefined) return { kind: "number", text: number };
  if (parameter !== undefined) return { kind: "parameter", text: parameter };
  if (mark !== undefined) return { kind: "mark", text: mark };
  return operator === undefined ? undefined : { kind: "operator", text: operator };
}

/** The value of a literal. Escapes other than doubled quotes are not read, since their meaning depends on settings. */
function textOf(literal: string): string {
  if (literal.includes("\\")) throw new Unreadable();
  return literal.slice(literal.indexOf("'") + 1, -1).replaceAll("''", "'");
}
