/**
 * The SQL with which an integrator's backend becomes one of its customers. Only what it assigns is read, and `ug prove` makes the same
 * assignments itself: the SQL never runs.
 */
import { UsageError } from "../../common/command-error.ts";

/** A setting, or `role`, and its value. One that is not local outlives the transaction. */
type Assignment = { name: string; value: string; isLocal: boolean };

export type Setup = {
  /** The option that gave the SQL, such as `the first --as`. */
  option: string;
  assignments: Assignment[];
  /** The first words of each statement that is not of the grammar. */
  unknown: string[];
};

const TEXT = "'(?:[^']|'')*'";
const QUOTED = '"(?:[^"]|"")+"';
const NAME = `(?:[A-Za-z_][\\w$]*|${QUOTED})`;
/** What is the same text as a value; PostgreSQL reads 007 as 7. */
const NUMBER = "-?(?:0|[1-9]\\d*)(?:\\.\\d+)?";
/** Quoted texts and comments, in which a semicolon ends nothing, and everything else. */
const PART = new RegExp(`${TEXT}|${QUOTED}|--[^\\n\\r]*|/\\*(?:(?!/\\*)[\\s\\S])*?\\*/|;|[\\s\\S]`, "g");
/** `SET [LOCAL] x.y = constant`, `SET [LOCAL] ROLE name`, `SET [LOCAL] search_path = a, b`, `SET [LOCAL] TIME ZONE name`. */
const SET = new RegExp(
  `^set\\s+(?<local>local\\s+)?(?:session\\s+)?(?:(?<zone>time\\s+zone)|(?<role>role)|(?<name>${NAME}(?:\\.${NAME})*)\\s*(?:=|\\bto\\b))` +
    `\\s*(?:=|\\bto\\b)?\\s*(?<value>${TEXT}|(?!default\\b)${NAME}|${NUMBER})(?<more>(?:\\s*,\\s*(?:${TEXT}|${NAME}))*)$`,
  "i",
);
/** `set_config('x.y', constant, true)`, with or without a name for its result. */
const CALL = `(?:pg_catalog\\s*\\.\\s*)?set_config\\s*\\(\\s*(?<name>${TEXT})\\s*,\\s*(?<value>${TEXT})\\s*,\\s*(?<local>true|false)\\s*\\)(?:\\s*as\\s+${NAME})?\\s*`;
const SELECT = new RegExp(`^select\\s+((?:${CALL.replaceAll(/\?<\w+>/g, "?:")}(?:,\\s*(?=\\w)|$))+)$`, "i");
/** Settings of PostgreSQL itself that change no answer of a policy. */
const HARMLESS = /^(?:search_path|timezone|application_name|[a-z_]+_timeout)$/;
/** Statements that would end the transaction in which the prover works. */
const TRANSACTION = /^(?:begin|start|commit|end|rollback|abort|savepoint|release|prepare\s+transaction)\b/i;

/** A name as PostgreSQL folds it: letters of ASCII alone. */
export const lowerCase = (name: string): string => name.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** A text or a name without its quotes; a name without quotes is in lower case. */
function unquoted(written: string): string {
  const quote = written[0] ?? "";
  return `'"`.includes(quote) ? written.slice(1, -1).replaceAll(quote + quote, quote) : lowerCase(written);
}

const isComment = (part: string): boolean => /^(?:--|\/\*)/.test(part);

/** SQL in one line, without its comments; undefined if a quoted text has lines. */
export function oneLineOf(sql: string): string | undefined {
  const parts = [...sql.matchAll(PART)].map(([part]) => (isComment(part) || /^\s$/.test(part) ? " " : part));
  return parts.some((part) => part.includes("\n")) ? undefined : parts.join("").trim();
}

function statementsOf(sql: string): string[] {
  const statements = [""];
  for (const [part] of sql.matchAll(PART))
    if (part === ";") statements.push("");
    else statements[statements.length - 1] += isComment(part) ? " " : part;
  return statements.map((statement) => statement.trim()).filter((statement) => statement !== "");
}

/** What a statement assigns; nothing if it is harmless, and undefined if it is not of the grammar. */
function assignmentsOf(statement: string): Assignment[] | undefined {
  const { zone, role, name, local, value = "", more } = SET.exec(statement)?.groups ?? {};
  if (zone) return [];
  const isLocal = local !== undefined;
  const set = role ?? name;
  if (set) {
    const parts = [...set.matchAll(new RegExp(NAME, "g"))].map(([part]) => unquoted(part));
    return assigned({ name: parts.join("."), value: unquoted(value), isLocal }, more !== "");
  }
  const calls = SELECT.exec(statement)?.[1]?.matchAll(new RegExp(CALL, "gi"));
  const found = [...(calls ?? [])].map(({ groups: { name = "", value = "", local = "" } = {} }) =>
    assigned({ name: unquoted(name), value: unquoted(value), isLocal: lowerCase(local) === "true" }),
  );
  return found.length > 0 && found.every((each) => each !== undefined) ? found.flat() : undefined;
}

function assigned(assignment: Assignment, isList = false): Assignment[] | undefined {
  const name = lowerCase(assignment.name);
  if (HARMLESS.test(name)) return [];
  return !isList && (name === "role" || name.includes(".")) ? [{ ...assignment, name }] : undefined;
}

/** What a person recognizes of a statement, without the values in it. */
const beginningOf = (statement: string): string =>
  statement
    .replaceAll(new RegExp(`${TEXT}|\\d+`, "g"), "…")
    .replaceAll(/\s+/g, " ")
    .slice(0, 40);

/** Reads the SQL of a customer. @throws UsageError if it is empty, or begins or ends a transaction. */
export function readSetup(sql: string, option: string): Setup {
  const statements = statementsOf(sql);
  if (statements.length === 0)
    throw new UsageError(`The SQL of ${option} is empty. Give what your backend runs for a customer.`);
  if (statements.some((statement) => TRANSACTION.test(statement)))
    throw new UsageError(
      `Leave BEGIN, COMMIT and ROLLBACK out of the SQL of ${option}: ug prove begins a transaction itself.`,
    );
  const read = statements.map((statement) => ({ statement, assignments: assignmentsOf(statement) }));
  return {
    option,
    assignments: read.flatMap(({ assignments = [] }) => assignments),
    unknown: read.filter(({ assignments }) => !assignments).map(({ statement }) => beginningOf(statement)),
  };
}
