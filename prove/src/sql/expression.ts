/** Judges the text of a policy, as PostgreSQL writes it back, without its literals. */

/** Replaces all literals but the empty one by the same text, so that no word in them counts. Quoted names stay. */
const withoutLiterals = (sql: string): string =>
  sql.replaceAll(/[eE]?'(?:[^']|'')*'/g, (literal) => (literal === "''" ? literal : "'…'"));

/** What identifies the caller: a setting, or the role. */
const CALLER = /\bcurrent_setting\s*\(|\b(?:current_user|session_user|current_role)\b|\bpg_has_role\s*\(/i;

const escaped = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);

/** A call of one of these functions, with or without its schema. */
const callOf = (names: readonly string[]): RegExp =>
  names.length === 0 ? /(?!)/ : new RegExp(`(?<![\\w$])"?(?:${names.map(escaped).join("|")})"?\\s*\\(`, "i");

/** The text between the parenthesis at `open` and the one that closes it. */
function within(sql: string, open: number): string {
  let depth = 0;
  for (let at = open; at < sql.length; at += 1) {
    if (sql[at] === "(") depth += 1;
    if (sql[at] === ")") depth -= 1;
    if (depth === 0) return sql.slice(open + 1, at);
  }
  return sql.slice(open + 1);
}

/** Splits at a separator that stands in no parentheses. */
function splitAt(sql: string, separator: RegExp): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < sql.length; at += 1) {
    if (sql[at] === "(" || sql[at] === "[") depth += 1;
    if (sql[at] === ")" || sql[at] === "]") depth -= 1;
    separator.lastIndex = at;
    const match = depth === 0 ? separator.exec(sql) : null;
    if (!match) continue;
    parts.push(sql.slice(start, at));
    start = at + match[0].length;
    at = start - 1;
  }
  return [...parts, sql.slice(start)];
}

/** Removes parentheses around the whole. */
function unwrapped(sql: string): string {
  const text = sql.trim();
  return text.startsWith("(") && within(text, 0).length === text.length - 2 ? unwrapped(text.slice(1, -1)) : text;
}

/** The alternatives of a condition, each of which is enough. */
function alternativesOf(sql: string): string[] {
  const parts = splitAt(unwrapped(sql), /\s+OR\s+/iy);
  return parts.length === 1 ? [unwrapped(sql)] : parts.flatMap(alternativesOf);
}

/** The conditions that must all hold. */
function conjunctsOf(sql: string): string[] {
  const parts = splitAt(unwrapped(sql), /\s+AND\s+/iy);
  return parts.length === 1 ? [unwrapped(sql)] : parts.flatMap(conjunctsOf);
}

/** The parts of a condition that AND or OR joins, with their literals. */
export function conditionPartsOf(sql: string): { kind: "and" | "or" | "one"; parts: string[] } {
  const text = unwrapped(sql);
  // A word in a literal joins nothing.
  const masked = text.replaceAll(/'(?:[^']|'')*'/g, (literal) => "'".padEnd(literal.length - 1, "_").concat("'"));
  for (const [kind, separator] of [
    ["or", /\s+OR\s+/iy],
    ["and", /\s+AND\s+/iy],
  ] as const) {
    let at = 0;
    const parts = splitAt(masked, separator).map((part) => {
      const start = masked.indexOf(part, at);
      at = start + part.length;
      return text.slice(start, at);
    });
    if (parts.length > 1) return { kind, parts };
  }
  return { kind: "one", parts: [text] };
}

/** What the names in an expression mean. */
export type Names = {
  /** The table that a policy is of. */
  table: string;
  columns: readonly string[];
  /** Columns in which texts that differ are equal, because of their type or collation. */
  foldedColumns: readonly string[];
  /** The functions that depend on the caller, by their names without schema. */
  callerFunctions: readonly string[];
};

/** Whether an expression or a function depends on the caller. */
export const dependsOnCaller = (sql: string, callerFunctions: readonly string[]): boolean => {
  const text = withoutLiterals(sql);
  return CALLER.test(text) || callOf(callerFunctions).test(text);
};

/** How an alternative of a condition lets rows of other customers through. */
export type Weakness = "open" | "ignores_caller" | "ignores_row" | "inexact";

/** Comparisons that hold for more than one id, such as those that begin with it. */
const INEXACT =
  /~~|(?<![<>!=~@])~\*?(?!~)|\bsimilar\s+to\b|\b(?:starts_with|strpos|lower|upper|initcap|btrim|ltrim|rtrim|substr|substring|position)\s*\(|"(?:left|right|substring|position)"\s*\(/i;

/** What can be true of one id alone, unless a pattern says otherwise. */
const EXACT = /(?<![<>!])=|\bin\b|\bany\b|\bexists\b|\bdistinct from\b|@>|<@/i;

/** Whether a part names one of these columns of the policy's table. In a subquery, their names have the table's before them. */
const mentions = (part: string, table: string, columns: readonly string[]): boolean =>
  columns.some((column) =>
    new RegExp(`(?<![\\w$.':"])(?:"?${escaped(table)}"?\\.)?"?${escaped(column)}"?(?![\\w$(.])`).test(part),
  );

/** Whether a function gets the row, which may then compare it. */
const isGivenRow = (part: string, { table, columns }: Names): boolean =>
  [...part.matchAll(/[\w"]\(/g)].some(({ index }) => mentions(within(part, index + 1), table, columns));

/** Whether a condition about the row and the caller can hold for similar ids too. */
const isInexact = (part: string, names: Names): boolean =>
  INEXACT.test(part) ||
  !(EXACT.test(part) || isGivenRow(part, names)) ||
  mentions(part, names.table, names.foldedColumns);

/** How one alternative fails to bind a row to the caller; `undefined` if it binds it. */
function weaknessOf(alternative: string, names: Names): Weakness | undefined {
  if (/^true$/i.test(alternative)) return "open";
  if (/^(?:false|null(?:::boolean)?)$/i.test(alternative)) return undefined;
  if (!dependsOnCaller(alternative, names.callerFunctions)) return "ignores_caller";
  const binding = conjunctsOf(alternative).filter(
    (part) => dependsOnCaller(part, names.callerFunctions) && mentions(part, names.table, names.columns),
  );
  // An alternative may be nested: (a OR true) AND b.
  const strict = binding.filter((part) => {
    const inner = alternativesOf(part);
    return inner.length === 1 || inner.every((each) => weaknessOf(each, names) === undefined);
  });
  if (strict.length === 0) return "ignores_row";
  return strict.every((part) => isInexact(part, names)) ? "inexact" : undefined;
}

/** The weaknesses of a condition: each of its alternatives must bind the row to the caller. */
export const weaknessesOf = (condition: string, names: Names): Weakness[] => [
  ...new Set(alternativesOf(withoutLiterals(condition)).flatMap((each) => weaknessOf(each, names) ?? [])),
];

/** Whether a condition or a function gives a missing setting a meaning: a value, or the right to see everything. */
export function allowsMissingSetting(sql: string, callerFunctions: readonly string[]): boolean {
  const text = withoutLiterals(sql).replaceAll(/\s+/g, " ");
  return (
    hasDefault(text, callerFunctions) ||
    admitsNull(text, callerFunctions) ||
    admitsEmpty(text, callerFunctions) ||
    // NULL IS NOT DISTINCT FROM NULL: rows without a customer.
    (/ is (?:not )?distinct from /i.test(text) && dependsOnCaller(text, callerFunctions))
  );
}

/** `coalesce(current_setting(…), 'default')`. A default of false or NULL is harmless. */
const hasDefault = (text: string, callerFunctions: readonly string[]): boolean =>
  [...text.matchAll(/\bcoalesce\s*\(/gi)].some(({ index, 0: call }) => {
    const values = splitAt(within(text, index + call.length - 1), /\s*,\s*/y).map((value) => unwrapped(value));
    const last = values.at(-1) ?? "";
    const isHarmless = /^(?:false|null)(?:::[\w ]+)?$/i.test(last) || dependsOnCaller(last, callerFunctions);
    return !isHarmless && values.some((value) => dependsOnCaller(value, callerFunctions));
  });

/** `current_setting(…) IS NULL OR …`, and the same with CASE. */
function admitsNull(text: string, callerFunctions: readonly string[]): boolean {
  if (!/\bor\b|\bthen true\b/i.test(text)) return false;
  return [...text.matchAll(/ is null\b/gi)].some(({ index }) =>
    dependsOnCaller(operandBefore(text, index), callerFunctions),
  );
}

/** `current_setting(…) = '' OR …`. A setting that was set once is an empty text in later transactions. */
const admitsEmpty = (text: string, callerFunctions: readonly string[]): boolean =>
  /\bor\b|\bthen true\b/i.test(text) &&
  [...text.matchAll(/ = ''/g)].some(({ index }) => dependsOnCaller(operandBefore(text, index), callerFunctions));

/** What stands before an operator: back to the parenthesis, comma or keyword that opens it. */
function operandBefore(text: string, end: number): string {
  let depth = 0;
  for (let at = end - 1; at >= 0; at -= 1) {
    if (text[at] === ")") depth += 1;
    if (text[at] === "(") depth -= 1;
    if (depth < 0) return text.slice(at + 1, end);
    if (depth === 0 && /^(?:or|and|when|where|not)\s/i.test(text.slice(at)) && /\s/.test(text[at - 1] ?? " "))
      return text.slice(at, end);
  }
  return text.slice(0, end);
}
