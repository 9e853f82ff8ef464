/** The SQL with which an integrator's backend becomes one of its customers. */
import { UsageError } from "../../../common/command-error.ts";

/** What SQL is made of: quoted texts and comments, in which a semicolon ends nothing, and everything else. */
const PART =
  /[eE]'(?:[^'\\]|\\[\s\S]|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$[\s\S]*?\$\1\$|--[^\n]*|\/\*[\s\S]*?\*\/|;|[^;'"$/eE-]+|[\s\S]/g;

/** Statements that would end the transaction in which the prover works. */
const ENDS_TRANSACTION = /^\s*(?:begin|start|commit|end|rollback|abort|savepoint|release|prepare\s+transaction)\b/i;

/** Splits SQL into its statements, without comments. @throws UsageError if one of them begins or ends a transaction. */
export function statementsOf(sql: string, option: string): string[] {
  const statements = [""];
  for (const [part] of sql.matchAll(PART)) {
    if (part === ";") statements.push("");
    else statements[statements.length - 1] += /^(?:--|\/\*)/.test(part) ? " " : part;
  }
  const written = statements.map((statement) => statement.trim()).filter((statement) => statement !== "");
  if (written.length === 0)
    throw new UsageError(`The SQL of ${option} is empty. Give what your backend runs for a customer.`);
  if (written.some((statement) => ENDS_TRANSACTION.test(statement)))
    throw new UsageError(
      `Leave BEGIN, COMMIT and ROLLBACK out of the SQL of ${option}: ug prove begins a transaction itself.`,
    );
  return written;
}

/** The names of the settings of the application that SQL reads or sets, such as `app.customer`. */
export function settingNamesIn(sql: string): string[] {
  const calls = sql.matchAll(/\b(?:current_setting|set_config)\s*\(\s*'([\w$]+(?:\.[\w$]+)+)'/gi);
  const statements = sql.matchAll(/\bset\s+(?:local\s+|session\s+)?"?([\w$]+(?:"?\."?[\w$]+)+)"?\s*(?:=|to\b)/gi);
  return [...calls, ...statements].map(([, name = ""]) => name.replaceAll('"', "").toLowerCase());
}

/** Each word, name or text in SQL that could be the name of a role. */
export const wordsIn = (sql: string): string[] =>
  [...sql.matchAll(/"((?:[^"]|"")+)"|'((?:[^']|'')+)'|([\w$]+)/g)].map(
    ([, name, text, word]) => name?.replaceAll('""', '"') ?? text ?? word?.toLowerCase() ?? "",
  );
