import type { FailureOf } from "./failure.ts";
import { QUERY_PARAMETERS_MAX } from "./limits.ts";
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
type Piece = { kind: "text"; text: string } | { kind: "variable"; name: string };
/** A clause in brackets, or the text between two of them. */
type Clause = { isOptional: boolean; pieces: Piece[] };

/**
 * What is passed over in one piece, by how it begins, and how far it goes. `#` begins a comment in MySQL, whose placeholders
 * are `?`, and an operator in PostgreSQL, whose are `$1`.
 */
const QUOTED: { begin: RegExp; whole: RegExp | typeof endOfComment; name: string; only?: PlaceholderStyle }[] = [
  { begin: /[eE]'/y, whole: /[eE]'(?:[^'\\]|\\[\s\S]|'')*'/y, name: "string" },
  { begin: /'/y, whole: /'(?:[^']|'')*'/y, name: "string" },
  { begin: /"/y, whole: /"(?:[^"]|"")*"/y, name: "quoted identifier" },
  { begin: /`/y, whole: /`(?:[^`]|``)*`/y, name: "quoted identifier" },
  { begin: /#/y, whole: /#[^\n\r]*/y, name: "comment", only: "?" },
  { begin: /--/y, whole: /--[^\n\r]*/y, name: "comment" },
  { begin: /\/\*/y, whole: endOfComment, name: "comment" },
  {
    begin: /\$(?:[\p{L}_][\p{L}\p{N}_]*)?\$/uy,
    whole: /(\$(?:[\p{L}_][\p{L}\p{N}_]*)?\$)[\s\S]*?\1/uy,
    name: "dollar-quoted string",
  },
];
/** What means nothing here, in one piece. A name is one because the `$` that it may hold begins no dollar quote. */
const PLAIN = /[\p{L}_][\p{L}\p{N}_$]*|[^\p{L}_'"`/\-$?#{}[\]]+/uy;
const VARIABLE = /\{\{\s*([^{}]*?)\s*\}\}/y;
/** What a placeholder would run together with: `a{{b}}` would be the name `a$1`, and `{{b}}0` the parameter `$10`. */
const BEFORE_PLACEHOLDER = /[\p{L}\p{N}_$@?}]$/u;
const AFTER_PLACEHOLDER = /^(?:[\p{L}\p{N}_$@?]|\{\{)/u;

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

  let sql = "";
  const params: unknown[] = [];
  for (const { isOptional, pieces } of parsed.value) {
    const missing = pieces.find((piece) => piece.kind === "variable" && !variables.has(piece.name));
    if (missing?.kind === "variable" && !isOptional) return fail({ code: "unknown_variable", variable: missing.name });
    const kept = missing ? [] : pieces;
    // The brackets go; without them the text on both sides must not run together into another token.
    sql = withGap(sql, kept);
    for (const piece of kept) {
      if (piece.kind === "text") {
        sql += piece.text;
        continue;
      }
      const values = parametersOf(variables.get(piece.name));
      if (!values || params.length + values.length > QUERY_PARAMETERS_MAX)
        return fail({ code: "unusable_variable", variable: piece.name });
      params.push(...values);
      const first = params.length - values.length + 1;
      sql += values.map((_, index) => (style === "?" ? "?" : `$${first + index}`)).join(", ");
    }
  }
  return ok({ sql, params });
}

/** Takes a template apart, without regard to any value. */
function parseTemplate(template: string, style: PlaceholderStyle): Result<Clause[], TemplateFailure> {
  const clauses: Clause[] = [{ isOptional: false, pieces: [] }];
  let openedAt: number | undefined;
  let at = 0;
  const refuse = (position: number, reason: string) => fail({ code: "invalid_template" as const, position, reason });
  const match = (pattern: RegExp) => {
    pattern.lastIndex = at;
    return pattern.exec(template);
  };
  const add = (piece: Piece) => clauses.at(-1)?.pieces.push(piece);
  const take = (text: string) => {
    add({ kind: "text", text });
    at += text.length;
  };

  while (at < template.length) {
    const quoted = QUOTED.find(({ begin, only }) => (only === undefined || only === style) && match(begin));
    if (quoted) {
      const { whole, name } = quoted;
      const text = typeof whole === "function" ? whole(template, at) : match(whole)?.[0];
      if (text === undefined) return refuse(at, `This ${name} is not closed.`);
      const inside = text.indexOf("{{");
      if (inside !== -1) return refuse(at + inside, `A variable in a ${name} cannot be a parameter. Move it outside.`);
      if (style === "?" && /^['"]/.test(text) && /\\['"]/.test(text))
        return refuse(
          at,
          "Databases differ on a backslash before a quote. Write the quote twice, or make it a variable.",
        );
      take(text);
      continue;
    }

    const plain = match(PLAIN);
    if (plain) {
      take(plain[0]);
      continue;
    }

    const two = template.slice(at, at + 2);
    if (two === "{{") {
      const [whole, name] = match(VARIABLE) ?? [];
      if (!whole) return refuse(at, "These braces are not closed by }}, or hold braces.");
      if (!name) return refuse(at, "These braces name no variable.");
      const end = at + whole.length;
      if (
        BEFORE_PLACEHOLDER.test(template.slice(Math.max(0, at - 2), at)) ||
        AFTER_PLACEHOLDER.test(template.slice(end, end + 2))
      )
        return refuse(at, "A placeholder would run together with what stands beside it. Put a space between.");
      add({ kind: "variable", name });
      at = end;
    } else if (two === "}}") {
      return refuse(at, "These braces close none.");
    } else if (two === "[[") {
      if (openedAt !== undefined) return refuse(at, "A clause in brackets cannot stand in another.");
      openedAt = at;
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
      clauses.push({ isOptional: false, pieces: [] });
      at += 2;
    } else if (/^\$\d/.test(two) || (style === "?" && two.startsWith("?"))) {
      return refuse(at, "A placeholder of the template's own would take the value of another. Use a variable.");
    } else {
      take(two.slice(0, 1));
    }
  }
  return openedAt === undefined ? ok(clauses) : refuse(openedAt, "This clause in brackets is not closed.");
}

/** A comment with those inside it, as PostgreSQL nests them, or `undefined` when it is not closed. */
function endOfComment(template: string, begin: number): string | undefined {
  let depth = 0;
  for (const { 0: mark, index } of template.slice(begin).matchAll(/\/\*|\*\//g)) {
    depth += mark === "/*" ? 1 : -1;
    if (depth === 0) return template.slice(begin, begin + index + 2);
  }
  return undefined;
}

/** The values that stand for a variable, or `undefined` for a value that is no parameter. */
function parametersOf(value: unknown): unknown[] | undefined {
  const values: unknown[] = Array.isArray(value) ? value : [value];
  return values.length > 0 && values.every((each) => each === null || typeof each !== "object") ? values : undefined;
}

function withGap(sql: string, pieces: Piece[]): string {
  const [first] = pieces;
  const follows = first?.kind === "variable" || /^\S/.test(first?.text ?? "");
  return follows && /\S/.test(sql.slice(-1)) ? `${sql} ` : sql;
}
