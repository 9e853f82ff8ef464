/**
 * How databases read SQL text: their strings, quoted identifiers, comments and dollar quotes, in which a placeholder would not be a
 * placeholder. The sources are the vendors' grammars:
 *
 * - PostgreSQL: https://www.postgresql.org/docs/current/sql-syntax-lexical.html
 * - MySQL: https://dev.mysql.com/doc/refman/8.4/en/string-literals.html and …/comments.html
 * - SQLite: https://www.sqlite.org/lang_keywords.html and …/lang_comment.html
 * - SQL Server: https://learn.microsoft.com/sql/t-sql/language-elements/slash-star-comment-transact-sql,
 *   https://learn.microsoft.com/sql/relational-databases/databases/database-identifiers, and the lexer of
 *   https://github.com/microsoft/SqlScriptDOM
 * - ClickHouse: https://clickhouse.com/docs/reference/syntax, and `src/Parsers/Lexer.cpp` of https://github.com/ClickHouse/ClickHouse
 */

/** A text that is one token: its first characters, how it begins, and where it ends, or `undefined` if it is not closed. */
export type Quoted = {
  first: string;
  begin: RegExp;
  endOf: (template: string, at: number) => number | undefined;
  name: string;
};

/** Something that makes a template refused, and why. */
type Refused<What> = What & { reason: string };

export type Syntax = {
  quoted: Quoted[];
  /** Text without a special meaning, as one token. */
  plain: RegExp;
  /** What no template may contain outside of quoted texts. */
  foreign: Refused<{ begin: RegExp }>[];
  /** Quoted texts on which databases, their versions or their drivers disagree. */
  ambiguous: Refused<{ is: (text: string) => boolean }>[];
  /** Text next to a variable with which its placeholder, or the value in its place, could be read as something else. */
  beside: Refused<{ before?: RegExp; after?: RegExp }>[];
  /** What other databases that take the same placeholders read as one token. */
  others?: Quoted[][];
};

/** A name after its first character. Most databases read every character outside ASCII as a letter. */
const NAME = "[A-Za-z_\\u0080-\\u{10ffff}][A-Za-z0-9_\\u0080-\\u{10ffff}]*";

/** Where the match of a sticky `pattern` at `at` ends, or `undefined` without a match. */
export function findEnd(pattern: RegExp, template: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(template) ? pattern.lastIndex : undefined;
}

const quotedText = (name: string, first: string, begin: RegExp, whole: RegExp): Quoted => ({
  first,
  begin,
  endOf: (template, at) => findEnd(whole, template, at),
  name,
});

const STRING = quotedText("string", "'", /'/y, /'(?:[^']|'')*'/y);
const IDENTIFIER = quotedText("quoted identifier", '"', /"/y, /"(?:[^"]|"")*"/y);
const BACKQUOTED = quotedText("quoted identifier", "`", /`/y, /`(?:[^`]|``)*`/y);
const DASHES = quotedText("comment", "-", /--/y, /--[^\n]*/y);
const COMMENT = quotedText("comment", "/", /\/\*/y, /\/\*[\s\S]*?\*\//y);
const HASH = quotedText("comment after #", "#", /#/y, /#[^\n]*/y);
const DOLLAR_QUOTED = quotedText(
  "dollar-quoted string",
  "$",
  new RegExp(`\\$(?:${NAME})?\\$`, "uy"),
  new RegExp(`(\\$(?:${NAME})?\\$)[\\s\\S]*?\\1`, "uy"),
);
const E_STRING = quotedText("string", "eE", /[eE]'/y, /[eE]'(?:[^'\\]|\\[\s\S]|'')*'/y);

const POSTGRES = [E_STRING, STRING, IDENTIFIER, BACKQUOTED, DASHES, COMMENT, DOLLAR_QUOTED];
const SQLITE_BRACKETS = quotedText("quoted identifier", "[", /\[(?!\[)/y, /\[[^\]]*\]/y);

/** A comment that contains others. */
const NESTED_COMMENT: Quoted = { first: "/", begin: /\/\*/y, endOf: endOfNestedComment, name: "comment" };
const SQL_SERVER = [
  STRING,
  IDENTIFIER,
  // `]]` is a bracket of the name.
  quotedText("identifier in brackets", "[", /\[(?!\[)/y, /\[(?:[^\]]|\]\])*\](?!\])/y),
  DASHES,
  NESTED_COMMENT,
];

const CLICKHOUSE = [
  quotedText("string", "'", /'/y, /'(?:[^'\\]|\\[\s\S]|'')*'/y),
  quotedText("quoted identifier", '"', /"/y, /"(?:[^"\\]|\\[\s\S]|"")*"/y),
  quotedText("quoted identifier", "`", /`/y, /`(?:[^`\\]|\\[\s\S]|``)*`/y),
  // Newer versions take typographic quotes, too.
  quotedText("string", "\u2018", /\u2018/y, /\u2018[^\u2019]*\u2019/y),
  quotedText("quoted identifier", "\u201c", /\u201c/y, /\u201c[^\u201d]*\u201d/y),
  DASHES,
  quotedText("comment", "#", /#[ !]/y, /#[^\n]*/y),
  quotedText("comment", "/", /\/\//y, /\/\/[^\n]*/y),
  NESTED_COMMENT,
  // A `$` after a letter belongs to a name, but one after a number begins a heredoc, even in `1a$b$`.
  quotedText("heredoc", "$", /(?<=(?:^|[^\w$])(?:\d[\w.]*)?)\$\w*\$/y, /(\$\w*\$)[\s\S]*?\1/y),
];

function endOfNestedComment(template: string, at: number): number | undefined {
  const brackets = /\/\*|\*\//g;
  brackets.lastIndex = at;
  let depth = 0;
  for (let match = brackets.exec(template); match; match = brackets.exec(template)) {
    depth += match[0] === "/*" ? 1 : -1;
    if (depth === 0) return brackets.lastIndex;
  }
  return undefined;
}

/** A whole name is one token, because the `$` that a name may contain begins no dollar quote. */
const PLAIN =
  /[A-Za-z_\u0080-\u{10ffff}][A-Za-z0-9_$\u0080-\u{10ffff}]*|[^A-Za-z_\u0080-\u{10ffff}'"`/\-$?#{}[\]:@]+|::/uy;
/** With the global variables of SQL Server, such as `@@DATEFIRST`. */
const SQL_SERVER_PLAIN = new RegExp(`@@${NAME}|${PLAIN.source}`, "uy");
/** Without typographic quotes and `$`. */
const CLICKHOUSE_PLAIN = /[\w\u0080-\u2017\u201a\u201b\u201e-\u{10ffff}]+|[^\w\u0080-\u{10ffff}'"`/\-$#{}[\]]+/uy;

const PLACEHOLDER = "A placeholder in the template itself would take the value of another one. Use a {{variable}}.";
const DOLLAR = {
  begin: /\$/y,
  reason: "A dollar sign may begin a string in some databases. Remove it, or use a variable for this text.",
};
/** The placeholders of databases: `?`, `?1`, `$1`, `$a`, `:a`, `@a`. */
const NAMED = { begin: /[$:@][\w\u0080-\u{10ffff}]/uy, reason: PLACEHOLDER };
const OPERATORS = `${PLACEHOLDER} For the operators of jsonb, write jsonb_exists(j, {{value.key}}), jsonb_exists_any or jsonb_exists_all.`;
/** PostgreSQL has slices such as `[1:i]`, and operators with `?`, which its drivers leave alone. */
const POSTGRES_FOREIGN = [
  { begin: /\?(?![|&]|\s*(?:'|\{\{))/y, reason: OPERATORS },
  {
    begin: /(?<![\w")}\u0080-\u{10ffff}]|(?<!\])\]|(?<!\[)\[(?=:\d)):[\w\u0080-\u{10ffff}]/uy,
    reason: `${PLACEHOLDER} For a slice of an array, put spaces around the colon: [1 : 2].`,
  },
  { begin: /[$@][\w\u0080-\u{10ffff}]/uy, reason: PLACEHOLDER },
];
const CLICKHOUSE_FOREIGN = [
  // All but the beginning of a map, such as {'a': 1}.
  { begin: /\{(?!\s*['\d}])/y, reason: PLACEHOLDER },
  { begin: /#/y, reason: "A number sign begins a comment only before a space. Remove it, or put a space after it." },
  DOLLAR,
];

const BACKSLASH = {
  is: (text: string) => (/^[eE]?['"]/.test(text) && /\\['"]/.test(text)) || /^`.*\\`/s.test(text),
  reason:
    "Databases disagree on a backslash before a quote. Double the quote instead, or use a variable for this text.",
};
const DASHES_WITHOUT_SPACE = {
  is: (text: string) => /^--[^\t-\r ]/.test(text),
  reason: "Databases disagree on a comment without a space after its two dashes. Add a space.",
};
const DOLLAR_QUOTES = {
  is: (text: string) => text.startsWith("$"),
  reason: "Databases disagree on dollar quotes: MySQL reads names, SQLite reads placeholders. Use single quotes.",
};
const SPECIAL_COMMENT = {
  is: (text: string) => text.startsWith("/*") && /^M?!|\/\*/.test(text.slice(2)),
  reason:
    "Databases disagree on nested comments, and on comments that begin with an exclamation mark. Use a plain comment.",
};
const QUESTION_MARK = {
  // mysql's and mysql2's `query` write the values into the SQL themselves.
  is: (text: string) => text.includes("?"),
  reason: "Some drivers replace a question mark here with a value. Remove it, or use a variable for this text.",
};
/** Quotes and comments in a text that some databases read as SQL. */
const readAsSql = (begins: RegExp) => ({
  is: (text: string) =>
    (begins.test(text) && /['"]|--|\/\*|\$[^\s$]*\$/.test(text)) || (text.startsWith("[") && text.includes("#")),
  reason: "Some databases read quotes and comments in this text as SQL. Remove them from it.",
});
const CLICKHOUSE_AMBIGUOUS = [
  {
    is: (text: string) => text.startsWith("/*") && text.includes("/*", 2),
    reason: "Versions of ClickHouse disagree on nested comments. Use a plain comment.",
  },
  {
    is: (text: string) => /^[\u2018\u201c]/.test(text),
    reason: "Versions of ClickHouse disagree on typographic quotes. Use straight ones.",
  },
];

const BESIDE = [
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
];
/** pg-promise's modifiers; `$1^` and `$1:raw` put a value into the SQL text without quotes. */
const MODIFIER = {
  after: /^(?:[\^~#]|:(?!:))/,
  reason:
    "Some drivers read the character after this variable as a modifier. Put a space before and after that character.",
};
/** In SQL Server a name may contain `#`, and that of a parameter, too. */
const HASH_IN_NAME = { before: /#$/, after: /^#/, reason: BESIDE[0]?.reason ?? "" };

/** What templates may contain with each style of placeholders. */
export const SYNTAX = {
  // MySQL, MariaDB, SQLite, DuckDB, and all others over ODBC and JDBC.
  "?": {
    quoted: [...POSTGRES, SQLITE_BRACKETS, HASH],
    plain: PLAIN,
    foreign: [{ begin: /\?/y, reason: OPERATORS }, NAMED, DOLLAR],
    ambiguous: [BACKSLASH, QUESTION_MARK, DASHES_WITHOUT_SPACE, SPECIAL_COMMENT, DOLLAR_QUOTES, readAsSql(/^[[#`]/)],
    beside: BESIDE,
    others: [SQL_SERVER, CLICKHOUSE],
  },
  $1: {
    quoted: POSTGRES,
    plain: PLAIN,
    foreign: POSTGRES_FOREIGN,
    ambiguous: [SPECIAL_COMMENT, readAsSql(/^`/)],
    beside: [...BESIDE, MODIFIER],
  },
  // PostgreSQL and MySQL. It cannot be SQL Server, whose names in brackets are arrays of PostgreSQL.
  "%s": {
    quoted: [...POSTGRES, HASH],
    plain: PLAIN,
    foreign: POSTGRES_FOREIGN,
    ambiguous: [BACKSLASH, DASHES_WITHOUT_SPACE, SPECIAL_COMMENT, DOLLAR_QUOTES, readAsSql(/^[[#`]/)],
    beside: BESIDE,
  },
  "@p1": {
    quoted: SQL_SERVER,
    plain: SQL_SERVER_PLAIN,
    foreign: [{ begin: /\?/y, reason: PLACEHOLDER }, NAMED],
    ambiguous: [
      {
        is: (text: string) => text.startsWith("--(*"),
        reason: "SQL Server may read this comment as an escape of ODBC. Put a space after its two dashes.",
      },
    ],
    beside: [...BESIDE, HASH_IN_NAME],
  },
  "{p1:String}": {
    quoted: CLICKHOUSE,
    plain: CLICKHOUSE_PLAIN,
    foreign: CLICKHOUSE_FOREIGN,
    ambiguous: CLICKHOUSE_AMBIGUOUS,
    beside: BESIDE,
  },
} satisfies Record<string, Syntax>;
