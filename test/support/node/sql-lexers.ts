/**
 * Small lexers of databases, written from their grammars without regard to the service's own, to judge bound SQL. Each finds the texts
 * in which a placeholder would be none: strings, quoted identifiers and comments.
 */

type Range = { start: number; end: number };

/** The quoted texts of an SQL text, in their order; `undefined` if the database refuses the text because one is not closed. */
export type Lexer = (sql: string) => Range[] | undefined;

/** Where a quoted text that begins at `at` ends; `"open"` if it is not closed, and `undefined` if none begins there. */
type Rule = (sql: string, at: number) => number | "open" | undefined;

/** `next` finds where the token after the one at `at` begins, if that is not quoted. */
const lexerOf =
  (rules: Rule[], next = (_sql: string, at: number) => at + 1): Lexer =>
  (sql) => {
    const ranges: Range[] = [];
    for (let at = 0; at < sql.length; ) {
      const end = rules.map((rule) => rule(sql, at)).find((each) => each !== undefined);
      if (end === "open") return undefined;
      if (end !== undefined) ranges.push({ start: at, end });
      at = end ?? next(sql, at);
    }
    return ranges;
  };

type Escapes = { backslash?: boolean; doubled?: boolean };

/** The end of a text that a closing character ends, and which began before `at`. */
function closingAt(sql: string, at: number, close: string, { backslash = false, doubled = true }: Escapes) {
  for (let i = at; i < sql.length; i += 1) {
    if (backslash && sql[i] === "\\") i += 1;
    else if (sql[i] === close) {
      if (!doubled || sql[i + 1] !== close) return i + 1;
      i += 1;
    }
  }
  return "open" as const;
}

const between =
  (open: string, close: string, escapes: Escapes = {}): Rule =>
  (sql, at) =>
    sql.startsWith(open, at) ? closingAt(sql, at + open.length, close, escapes) : undefined;

const lineEnd = (sql: string, at: number): number => {
  const end = sql.indexOf("\n", at);
  return end === -1 ? sql.length : end;
};
const line =
  (begin: string, follows: (next: string | undefined) => boolean = () => true): Rule =>
  (sql, at) =>
    sql.startsWith(begin, at) && follows(sql[at + begin.length]) ? lineEnd(sql, at) : undefined;

const block =
  (isNested: boolean, whenOpen: "open" | "end" = "open"): Rule =>
  (sql, at) => {
    if (!sql.startsWith("/*", at)) return undefined;
    let depth = 1;
    for (let i = at + 2; i < sql.length; ) {
      const two = sql.slice(i, i + 2);
      if (two === "*/") depth -= 1;
      else if (isNested && two === "/*") depth += 1;
      i += two === "*/" || (isNested && two === "/*") ? 2 : 1;
      if (depth === 0) return i;
    }
    return whenOpen === "open" ? "open" : sql.length;
  };

/** https://www.postgresql.org/docs/current/sql-syntax-lexical.html: E strings, strings that go on in the next line, dollar quotes. */
const postgresString: Rule = (sql, at) => {
  const begin = /^[eE]?'/.exec(sql.slice(at, at + 2))?.[0];
  if (begin === undefined) return undefined;
  const escapes = { backslash: begin.length === 2 };
  let end = closingAt(sql, at + begin.length, "'", escapes);
  while (end !== "open") {
    const next = /^(?:\s|--[^\n]*\n)*'/.exec(sql.slice(end))?.[0];
    if (!next?.includes("\n")) return end;
    end = closingAt(sql, end + next.length, "'", escapes);
  }
  return end;
};
const dollarQuote: Rule = (sql, at) => {
  const tag = /^\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/.exec(sql.slice(at))?.[0];
  if (tag === undefined) return undefined;
  const end = sql.indexOf(tag, at + tag.length);
  return end === -1 ? "open" : end + tag.length;
};
/** A name may contain dollar signs. */
const postgresWord = (sql: string, at: number) =>
  at + (/^[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*/.exec(sql.slice(at))?.[0].length ?? 1);
export const lexPostgres = lexerOf(
  [postgresString, between('"', '"'), dollarQuote, line("--"), block(true)],
  postgresWord,
);

/** https://dev.mysql.com/doc/refman/8.4/en/comments.html and …/string-literals.html; what is in `/*!` is code. */
export const lexMysql = lexerOf([
  between("'", "'", { backslash: true }),
  between('"', '"', { backslash: true }),
  between("`", "`"),
  line("#"),
  line("--", (next) => next === undefined || next <= " "),
  (sql, at) => (/^\/\*M?!/.test(sql.slice(at, at + 4)) ? undefined : block(false)(sql, at)),
]);

/** https://www.sqlite.org/lang_comment.html and …/lang_keywords.html */
export const lexSqlite = lexerOf([
  between("'", "'"),
  between('"', '"'),
  between("`", "`"),
  between("[", "]", { doubled: false }),
  line("--"),
  block(false, "end"),
]);

/**
 * https://learn.microsoft.com/sql/t-sql/language-elements/slash-star-comment-transact-sql and
 * https://learn.microsoft.com/sql/relational-databases/databases/database-identifiers
 */
export const lexSqlServer = lexerOf([between("'", "'"), between('"', '"'), between("[", "]"), line("--"), block(true)]);

/**
 * https://clickhouse.com/docs/reference/syntax, and `Lexer::nextTokenImpl` of its source: a heredoc begins at each `$` that belongs to no
 * name, and no name goes on after a number. `isNew` is with nested comments and typographic quotes.
 */
const clickHouse = (isNew: boolean): Lexer => {
  const word = (sql: string, at: number) => {
    let end = at;
    while (/[\w$]/.test(sql[end] ?? "")) end += 1;
    return end;
  };
  const number = (sql: string, at: number) => {
    const digits = /^\d[\d_]*(?:\.[\d_]*)?(?:[eE][+-]?[\d_]*)?/.exec(sql.slice(at))?.[0] ?? "";
    let end = at + digits.length;
    while (/\w/.test(sql[end] ?? "")) end += 1;
    return end;
  };
  const heredoc = (sql: string, at: number) => {
    const tagEnd = sql.indexOf("$", at + 1);
    if (tagEnd === -1) return undefined;
    const tag = sql.slice(at, tagEnd + 1);
    const end = sql.indexOf(tag, tagEnd + 1);
    return end === -1 ? undefined : end + tag.length;
  };
  const rules: Rule[] = [
    between("'", "'", { backslash: true }),
    between('"', '"', { backslash: true }),
    between("`", "`", { backslash: true }),
    ...(isNew
      ? [between("\u2018", "\u2019", { doubled: false }), between("\u201c", "\u201d", { doubled: false })]
      : []),
    line("--"),
    line("//"),
    line("#", (next) => next === " " || next === "!"),
    block(isNew),
    (sql, at) => (sql[at] === "$" ? heredoc(sql, at) : undefined),
  ];
  return lexerOf(rules, (sql, at) => {
    const character = sql[at] ?? "";
    if (/\d/.test(character)) return number(sql, at);
    return /[\w$]/.test(character) ? word(sql, at) : at + 1;
  });
};
export const lexClickHouse = clickHouse(true);
export const lexOldClickHouse = clickHouse(false);
