import type { Clause } from "./clauses.ts";

/**
 * Variables that are a whole term of ORDER BY. Such a parameter has one value for all rows, so it sorts nothing. SQL Server and DuckDB
 * refuse the query; other databases run it.
 */

/** How deep brackets are searched for ORDER BY. */
const BRACKETS_DEPTH_MAX = 50;

/** Brackets that contain no others, with the word before them. */
const BRACKETS = /(?<!\w)(\w*)[([]([^()[\]]*)[)\]]/g;
/** The terms of ORDER BY, without what may come after them. */
const ORDER_BY =
  /\border by\b(.*?)(?=\b(?:limit|offset|fetch|for|rows|range|groups|order|union|intersect|except|option|settings|format|with)\b|;|$)/gi;
/** A variable by its number, with a cast. */
const VARIABLE = String.raw`\{\{\d+\}\}(?: ?:: ?[\w.]+(?:\{\})*)?`;
/** A term, or several of which optional clauses leave one. */
const TERM = new RegExp(`^(?: *${VARIABLE}(?: asc| desc)?(?: nulls (?:first|last))?)+ *$`, "i");
const IN_BRACKETS = new RegExp(`^ *(${VARIABLE})(?: as .+)? *$`, "i");
/** The words before parentheses that leave a value as it is. */
const NO_CHANGE = /^(?:by|cast|try_cast)?$/i;

/** The names of the variables that are a whole term of ORDER BY, each once. */
export function findConstantTerms(clauses: Clause[]): string[] {
  const { sql, names } = flatten(clauses);
  const found = new Set<string>();
  const search = (level: string) => {
    for (const number of constantsIn(level)) found.add(names[number] ?? "");
  };
  let rest = sql;
  for (let depth = 0; depth < BRACKETS_DEPTH_MAX; depth += 1)
    rest = rest.replaceAll(BRACKETS, (_, word: string, inside: string) => {
      search(inside);
      const variable = NO_CHANGE.test(word) ? IN_BRACKETS.exec(inside)?.[1] : undefined;
      return variable ? `${/by/i.test(word) ? word : ""} ${variable}` : `${word}{}`;
    });
  search(rest);
  return [...found];
}

/** The SQL on one line, with the number of a variable in the place of its name, without comments and what is quoted. */
function flatten(clauses: Clause[]): { sql: string; names: string[] } {
  const names: string[] = [];
  const texts = clauses.flatMap(({ pieces }) => [
    ...pieces.map((piece) => {
      if (piece.kind === "variable") return `{{${names.push(piece.name) - 1}}}`;
      if (piece.quoted === undefined) return piece.text;
      return piece.quoted === "comment" ? " " : " q ";
    }),
    " ",
  ]);
  return { sql: texts.join("").replaceAll(/\s+/g, " ").replaceAll(" (", "("), names };
}

/** The numbers of the variables that are a whole term of ORDER BY in a text without brackets. */
const constantsIn = (sql: string): number[] =>
  [...sql.matchAll(ORDER_BY)]
    .flatMap(([, terms = ""]) => terms.split(","))
    .filter((term) => TERM.test(term))
    .flatMap((term) => [...term.matchAll(/\{\{(\d+)\}\}/g)].map(([, number]) => Number(number)));
