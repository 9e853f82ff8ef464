import fc from "fast-check";
import { describe, expect, inject, it } from "vitest";
import { type BoundQuery, bindTemplate, droppedClauses } from "../../src/domain/sql/template.ts";
import { PLACEHOLDER_STYLES, type PlaceholderStyle } from "../../src/domain/sql/tokens.ts";
import {
  type Lexer,
  lexClickHouse,
  lexMysql,
  lexOldClickHouse,
  lexPostgres,
  lexSqlite,
  lexSqlServer,
} from "../support/node/sql-lexers.ts";

/**
 * Templates of any pieces, read as each database reads them that takes the placeholders: no placeholder is in a string, a quoted
 * identifier or a comment, and no parameter is that of a dropped clause.
 */

const { minutes, seed } = inject("effort");
const TEMPLATES = minutes > 0 ? 100_000 : 4000;

/** Which databases run the SQL of a style, and how its placeholders look. */
const READERS: Record<PlaceholderStyle, { lexers: Record<string, Lexer>; placeholder: RegExp }> = {
  "?": {
    lexers: {
      MySQL: lexMysql,
      SQLite: lexSqlite,
      PostgreSQL: lexPostgres,
      "SQL Server": lexSqlServer,
      ClickHouse: lexClickHouse,
      "old ClickHouse": lexOldClickHouse,
    },
    placeholder: /\?/g,
  },
  $1: { lexers: { PostgreSQL: lexPostgres }, placeholder: /\$\d+/g },
  "%s": { lexers: { MySQL: lexMysql, PostgreSQL: lexPostgres }, placeholder: /%s/g },
  "@p1": { lexers: { "SQL Server": lexSqlServer }, placeholder: /@p\d+/g },
  "{p1:String}": {
    lexers: { ClickHouse: lexClickHouse, "old ClickHouse": lexOldClickHouse },
    placeholder: /\{p\d+:[\w()]+\}/g,
  },
};

const QUOTES = [
  "'",
  '"',
  "`",
  "[",
  "]",
  "\u2018",
  "\u2019",
  "\u201c",
  "E'",
  "N'",
  "x'",
  "'''",
  "$$",
  "$q$",
  "$",
  "1a$q$",
];
const COMMENTS = ["--", "-- ", "--(*", "/*", "*/", "/*!", "#", "# ", "#!", "//", "\n", "\r\n"];
const WHOLE = [
  "'a'",
  "'it''s'",
  '"b"',
  "`c`",
  "[d]",
  "[e]]",
  "]]]",
  "-- f\n",
  "/* g */",
  "/* /* h */ */",
  "$q$i$q$",
  "'\\'",
  "E'a'",
  "E'a'\n",
  "\n'\\'",
  "'\\\\'",
];
const OTHER = [
  "\\",
  "-",
  "/",
  "*",
  " ",
  " ",
  "a",
  "e",
  "1",
  ".",
  ",",
  "(",
  ")",
  "{",
  "}",
  "@@x",
  ":",
  ":a",
  "?",
  "||",
  "\u2028",
  "\u0085",
  "\u00a0",
];
const VARIABLES = [" {{v}} ", " {{w}} ", "{{v}}", "({{list}})", "[{{list}}]", " {{gone}} "];
const pieces = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...VARIABLES) },
  { weight: 1, arbitrary: fc.constantFrom("[[", "]]", " [[ ", " ]] ", "[[x {{gone}} {{v}}]]", "[[ {{w}} ]]") },
  { weight: 3, arbitrary: fc.constantFrom(...QUOTES) },
  { weight: 3, arbitrary: fc.constantFrom(...COMMENTS) },
  { weight: 4, arbitrary: fc.constantFrom(...WHOLE) },
  { weight: 4, arbitrary: fc.constantFrom(...OTHER) },
);
/** Pieces, with a blank after some of them. */
const soupOf = (maxLength: number) =>
  fc
    .array(fc.tuple(pieces, fc.constantFrom("", "", " ")), { maxLength })
    .map((parts) => parts.map((part) => part.join("")).join(""));
const around = (open: string, close: string) => soupOf(3).map((inside) => `${open}${inside}${close}`);
const parts = fc.oneof(
  { weight: 6, arbitrary: soupOf(4) },
  { weight: 2, arbitrary: soupOf(2).map((inside) => `[[${inside} {{gone}} ${inside}]]`) },
  { weight: 2, arbitrary: soupOf(2).map((inside) => ` [[${inside} {{v}} ]] `) },
  around("'", "'"),
  around('"', '"'),
  around("`", "`"),
  around("[", "]"),
  around("$q$", "$q$"),
  around("/*", "*/"),
  around("-- ", "\n"),
  around("# ", "\n"),
);

/** A template whose variables have names of their own. */
const templates = fc.array(parts, { minLength: 1, maxLength: 5 }).map((texts) => {
  let number = 0;
  return texts.join("").replace(/\{\{(v|w|list|gone)\}\}/g, (_, kind: string) => `{{value.${kind}${number++}}}`);
});

/** The values of the template's variables, each of which contains its variable's name. A group lacks the `gone` ones, unless they `have` a value. */
function variablesIn(template: string, have: boolean): Map<string, unknown> {
  const variables = new Map<string, unknown>();
  for (const [, name = ""] of template.matchAll(/\{\{(value\.\w+)\}\}/g)) {
    if (name.includes("gone") && !have) continue;
    variables.set(name, name.includes("list") ? [name, `${name} too`] : name);
  }
  return variables;
}

/** The variables whose values are parameters. An item of a list names its variable, too. */
const namesIn = (params: BoundQuery["params"]) => [
  ...new Set(
    Object.values(params)
      .flat()
      .map((value) => String(value).replace(" too", "")),
  ),
];

/** What stands outside of quoted texts, with a blank in the place of each. */
function groundOf(sql: string, lexer: Lexer): string | undefined {
  const ranges = lexer(sql);
  if (!ranges) return undefined;
  let at = 0;
  const texts = ranges.map(({ start, end }) => {
    const text = sql.slice(at, start);
    at = end;
    return text;
  });
  return [...texts, sql.slice(at)].join(" ");
}

describe.for(PLACEHOLDER_STYLES)("a template with placeholders %s", (style) => {
  const { lexers, placeholder } = READERS[style];
  const sqlOf = ({ sql }: BoundQuery) => (style === "%s" ? sql.replaceAll("%%", "%") : sql);

  it("has no value in a string, a name, a comment or a dropped clause, for each database", () => {
    const tally = { bound: 0, dropped: 0, read: Object.fromEntries(Object.keys(lexers).map((name) => [name, 0])) };
    fc.assert(
      fc.property(templates, fc.boolean(), (template, have) => {
        const variables = variablesIn(template, have);
        const bound = bindTemplate(template, variables, style);
        if (!bound.ok) return;
        const { dropped, params } = bound.value;
        const names = namesIn(params);
        if (names.length === 0) return;
        tally.bound++;
        if (dropped.length > 0) tally.dropped++;
        const sql = sqlOf(bound.value);
        for (const [name, lexer] of Object.entries(lexers)) {
          const ground = groundOf(sql, lexer);
          if (ground === undefined) continue;
          tally.read[name] = (tally.read[name] ?? 0) + 1;
          expect([...ground.matchAll(placeholder)].length, `${name} reads ${JSON.stringify(sql)}`).toBe(
            Object.values(params).length,
          );
        }
        // Each variable occurs once: those that are no parameters are those of dropped clauses.
        const clauses = droppedClauses(template, variables, style).map(({ start, end }) => template.slice(start, end));
        const lost = clauses.flatMap((clause) => [...variablesIn(clause, true).keys()]);
        expect([...names, ...lost].sort(), template).toEqual([...variablesIn(template, true).keys()].sort());
        expect(lost, template).toEqual(expect.arrayContaining(dropped));
      }),
      { numRuns: TEMPLATES, seed },
    );
    // Most templates are refused. Without enough others, the test would prove nothing.
    if (minutes > 0) console.info(style, TEMPLATES, JSON.stringify(tally));
    expect(tally.bound).toBeGreaterThan(TEMPLATES / 50);
    expect(tally.dropped).toBeGreaterThan(0);
    for (const read of Object.values(tally.read)) expect(read).toBeGreaterThan(tally.bound / 2);
  });
});
