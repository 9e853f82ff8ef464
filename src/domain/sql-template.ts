import type { FailureOf } from "./failure.ts";
import { QUERY_PARAMETER_UNITS_MAX, QUERY_PARAMETERS_MAX } from "./limits.ts";
import { fail, ok, type Result } from "./result.ts";

/**
 * SQL templates: `{{variable}}` becomes a placeholder and its value a parameter, `[[ ... ]]` is a clause that goes when a
 * variable in it is missing. The SQL that comes out is made of the template's own text and placeholders, whatever the
 * values are. Whatever could make a filter vanish is refused.
 *
 * The scanner knows the SQL of PostgreSQL, MySQL and SQLite well enough to tell where a placeholder is no placeholder:
 * strings, quoted identifiers, comments and dollar quotes. Where dialects differ it takes the reading that refuses more.
 */

/** How placeholders are written: `?` each, or `$1`, `$2` and so on. */
export type PlaceholderStyle = "?" | "$1";

export type BoundQuery = { sql: string; params: unknown[] };

type TemplateFailure = FailureOf<"invalid_template">;
type Piece = { kind: "text"; text: string } | { kind: "variable"; name: string; spaced: string };
/** A clause in brackets, or the text between two of them. */
type Clause = { isOptional: boolean; pieces: Piece[] };

/** What a name goes on with. Databases take every character that is not ASCII for a letter. */
const NAME = "[A-Za-z_\\u0080-\\u{10ffff}][A-Za-z0-9_\\u0080-\\u{10ffff}]*";

/** What is passed over in one piece: how it begins, how far it goes, and with which placeholders it is that. */
const QUOTED: { begin: RegExp; whole: RegExp; name: string; only?: PlaceholderStyle }[] = [
  { begin: /[eE]'/y, whole: /[eE]'(?:[^'\\]|\\[\s\S]|'')*'/y, name: "string" },
  { begin: /'/y, whole: /'(?:[^']|'')*'/y, name: "string" },
  { begin: /"/y, whole: /"(?:[^"]|"")*"/y, name: "quoted identifier" },
  { begin: /`/y, whole: /`(?:[^`]|``)*`/y, name: "quoted identifier" },
  // In SQLite; in PostgreSQL they are subscripts.
  { begin: /\[(?!\[)/y, whole: /\[[^\]]*\]/y, name: "quoted identifier", only: "?" },
  // In MySQL; in PostgreSQL it is an operator.
  { begin: /#/y, whole: /#[^\n]*/y, name: "comment", only: "?" },
  { begin: /--/y, whole: /--[^\n]*/y, name: "comment" },
  { begin: /\/\*/y, whole: /\/\*[\s\S]*?\*\//y, name: "comment" },
  {
    begin: new RegExp(`\\$(?:${NAME})?\\$`, "uy"),
    whole: new RegExp(`(\\$(?:${NAME})?\\$)[\\s\\S]*?\\1`, "uy"),
    name: "dollar-quoted string",
  },
];

/** Where databases read such a piece in different ways, so that none can be trusted with it. */
const AMBIGUOUS: { is: (text: string, style: PlaceholderStyle) => boolean; reason: string }[] = [
  {
    is: (text, style) => style === "?" && /^[eE]?['"]/.test(text) && /\\['"]/.test(text),
    reason: "Databases differ on a backslash before a quote. Write the quote twice, or make it a variable.",
  },
  {
    // mysql's and mysql2's `query` write the values into the SQL themselves.
    is: (text, style) => style === "?" && text.includes("?"),
    reason: "Some drivers take a question mark here for a placeholder. Leave it out, or make the text a variable.",
  },
  {
    is: (text, style) => style === "?" && /^--[^\t-\r ]/.test(text),
    reason: "Databases differ on a comment without a space behind its dashes. Put one there.",
  },
  {
    is: (text) => text.startsWith("/*") && /^M?!|\/\*/.test(text.slice(2)),
    reason: "Databases differ on comments in comments, and on those with an exclamation mark. Write a plain one.",
  },
  {
    is: (text, style) => style === "?" && text.startsWith("$"),
    reason:
      "Databases differ on dollar quotes: they are names to MySQL, and placeholders to SQLite. Use single quotes.",
  },
  {
    // Brackets, `#` and backticks are operators to PostgreSQL.
    is: (text, style) => (style === "?" ? /^[[#]/ : /^`/).test(text) && /['"]|--|\/\*|\$[^\s$]*\$/.test(text),
    reason: "To some databases this is SQL like any other. Leave out the quotes and comments that stand in it.",
  },
];

/**
 * Where a string begins that ended just before, with only blanks and comments since: in the same line, or in one above.
 * In PostgreSQL such a string goes on with one that begins in a later line, by the rules of the first.
 */
type StringBefore = { inLine?: number | undefined; above?: number | undefined };

/** What means nothing here, in one piece. A name is one because the `$` that it may hold begins no dollar quote. */
const PLAIN =
  /[A-Za-z_\u0080-\u{10ffff}][A-Za-z0-9_$\u0080-\u{10ffff}]*|[^A-Za-z_\u0080-\u{10ffff}'"`/\-$?#{}[\]:@]+|::/uy;
const VARIABLE = /\{\{([^{}]*)\}\}/y;
/** Placeholders as databases have them: `?`, `?1`, `$1`, `$a`, `:a`, `@a`. PostgreSQL's operators with `?` are none. */
const FOREIGN_PLACEHOLDER = {
  "?": /\?|[$:@][\w\u0080-\u{10ffff}]/uy,
  $1: /\?(?![|&]|\s*')|[$:@][\w\u0080-\u{10ffff}]/uy,
};
/** What a placeholder would run together with: `a{{b}}` would be the name `a$1`, and `{{b}}0` the parameter `$10`. */
const BEFORE_PLACEHOLDER = /[\w$@?}\u0080-\u{10ffff}]$/u;
const AFTER_PLACEHOLDER = /^(?:[\w$@?\u0080-\u{10ffff}]|\{\{)/u;

/**
 * Binds `variables` into `template`. Refuses what is not well formed with its position (in UTF-16 code units, from 0),
 * a variable that is missing outside of brackets, and a value that is no parameter: an object, an empty list, a list with
 * either in it.
 */
export function bindTemplate(
  template: string,
  variables: ReadonlyMap<string, unknown>,
  style: PlaceholderStyle,
): Result<BoundQuery, TemplateFailure | FailureOf<"unknown_variable" | "unusable_variable">> {
  const parsed = parseTemplate(template, style);
  if (!parsed.ok) return parsed;

  const sql: string[] = [];
  const params: unknown[] = [];
  let units = 0;
  for (const { isOptional, pieces } of parsed.value) {
    const missing = pieces.find((piece) => piece.kind === "variable" && nameIn(variables, piece) === undefined);
    if (missing?.kind === "variable" && !isOptional) return fail({ code: "unknown_variable", variable: missing.name });
    const kept = missing ? [] : pieces;
    // The brackets go; without them the text on both sides must not run together into another token.
    if (runsOn(sql.at(-1), kept[0])) sql.push(" ");
    for (const piece of kept) {
      if (piece.kind === "text") {
        sql.push(piece.text);
        continue;
      }
      const values = parametersOf(variables.get(nameIn(variables, piece) ?? ""));
      units += JSON.stringify(values ?? null).length;
      if (!values || params.length + values.length > QUERY_PARAMETERS_MAX || units > QUERY_PARAMETER_UNITS_MAX)
        return fail({ code: "unusable_variable", variable: piece.name });
      params.push(...values);
      const first = params.length - values.length + 1;
      sql.push(values.map((_, index) => (style === "?" ? "?" : `$${first + index}`)).join(", "));
    }
  }
  return ok({ sql: sql.join(""), params });
}

/** Takes a template apart, without regard to any value. */
function parseTemplate(template: string, style: PlaceholderStyle): Result<Clause[], TemplateFailure> {
  const clauses: Clause[] = [{ isOptional: false, pieces: [] }];
  let openedAt: number | undefined;
  let before: StringBefore = {};
  let beforeClause: StringBefore = {};
  let at = 0;
  const refuse = (position: number, reason: string) => fail({ code: "invalid_template" as const, position, reason });
  const match = (pattern: RegExp) => {
    pattern.lastIndex = at;
    return pattern.exec(template);
  };
  const add = (piece: Piece) => clauses.at(-1)?.pieces.push(piece);
  const take = (text: string, isBlank: boolean) => {
    add({ kind: "text", text });
    at += text.length;
    if (!isBlank) before = {};
    else if (text.includes("\n")) before = { above: before.inLine ?? before.above };
  };

  const lone = /\r(?!\n)|\0/.exec(template);
  if (lone)
    return refuse(
      lone.index,
      "Databases differ on NUL, and on a carriage return by itself. Leave it out, and end lines with a line feed.",
    );
  while (at < template.length) {
    const quoted = QUOTED.find(({ begin, only }) => (only === undefined || only === style) && match(begin));
    if (quoted) {
      const { whole, name } = quoted;
      const text = match(whole)?.[0];
      if (text === undefined) return refuse(at, `This ${name} is not closed.`);
      const inside = text.indexOf("{{");
      if (inside !== -1) return refuse(at + inside, `A variable in a ${name} cannot be a parameter. Move it outside.`);
      if (text.startsWith("'") && before.above !== undefined)
        return refuse(before.above, "Databases differ on a string that goes on in another line. Write it in one.");
      const ambiguous = AMBIGUOUS.find(({ is }) => is(text, style));
      if (ambiguous) return refuse(at, ambiguous.reason);
      const beganAt = at;
      take(text, name === "comment");
      if (name === "string") before = { inLine: beganAt };
      continue;
    }

    const plain = match(PLAIN);
    if (plain) {
      take(plain[0], !/\S/.test(plain[0]));
      continue;
    }

    const two = template.slice(at, at + 2);
    if (two === "{{") {
      const [whole, spaced] = match(VARIABLE) ?? [];
      const name = spaced?.trim();
      if (!whole) return refuse(at, "These braces are not closed by }}, or hold braces.");
      if (!name) return refuse(at, "These braces name no variable.");
      const end = at + whole.length;
      if (
        BEFORE_PLACEHOLDER.test(template.slice(Math.max(0, at - 2), at)) ||
        AFTER_PLACEHOLDER.test(template.slice(end, end + 2))
      )
        return refuse(at, "A placeholder would run together with what stands beside it. Put a space between.");
      add({ kind: "variable", name, spaced: spaced ?? "" });
      before = {};
      at = end;
    } else if (two === "}}") {
      return refuse(at, "These braces close none.");
    } else if (two === "[[") {
      if (openedAt !== undefined) return refuse(at, "A clause in brackets cannot stand in another.");
      openedAt = at;
      beforeClause = before;
      clauses.push({ isOptional: true, pieces: [] });
      at += 2;
    } else if (two === "]]") {
      if (openedAt === undefined)
        return refuse(at, "These brackets close none. Put a space between them if they are two.");
      if (!clauses.at(-1)?.pieces.some(({ kind }) => kind === "variable"))
        return refuse(
          openedAt,
          "This clause in brackets holds no variable. Put a space between brackets that are no clause.",
        );
      openedAt = undefined;
      // Whether the clause is kept or goes.
      before = { inLine: before.inLine ?? beforeClause.inLine, above: before.above ?? beforeClause.above };
      clauses.push({ isOptional: false, pieces: [] });
      at += 2;
    } else if (match(FOREIGN_PLACEHOLDER[style])) {
      return refuse(at, "A placeholder of the template's own would take the value of another. Use a variable.");
    } else {
      take(two.slice(0, 1), false);
    }
  }
  return openedAt === undefined ? ok(clauses) : refuse(openedAt, "This clause in brackets is not closed.");
}

/** Which variable a piece names. Blanks at the end are its own where a property ends with them: its filter must not vanish. */
const nameIn = (
  variables: ReadonlyMap<string, unknown>,
  { name, spaced }: { name: string; spaced: string },
): string | undefined => [spaced.trimStart(), name].find((each) => variables.has(each));

/** The values that stand for a variable, or `undefined` for a value that is no parameter. */
function parametersOf(value: unknown): unknown[] | undefined {
  const values: unknown[] = Array.isArray(value) ? value : [value];
  return values.length > 0 && values.every((each) => each === null || typeof each !== "object") ? values : undefined;
}

/** Whether no blank parts what comes `next` from what stands before it. */
const runsOn = (before: string | undefined, next: Piece | undefined): boolean =>
  before !== undefined &&
  next !== undefined &&
  /[^\t-\r ]$/.test(before) &&
  (next.kind === "variable" || /^[^\t-\r ]/.test(next.text));
