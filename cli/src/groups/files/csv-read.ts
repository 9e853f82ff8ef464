/** Reads the groups of a CSV (RFC 4180). */
import { CsvError, parse } from "csv-parse/sync";
import { CommandError, UsageError } from "../../../../common/command-error.ts";
import { quoted } from "../../support/printable.ts";
import { OBJECT_FIELDS, unescapeFormula } from "./csv-cells.ts";
import { type Column, type ColumnOptions, columnsOf, hasIds } from "./csv-columns.ts";
import type { GroupLine } from "./group-line.ts";

/** A row of a spreadsheet. The header is row 1. */
export type GroupRow = { number: number; group: GroupLine };

/** Programs write one of them, whatever the C of CSV stands for. */
const DELIMITERS = [",", ";", "\t", "|"];
/** A first line that tells Excel the delimiter. No program shows it as a row. */
const SEPARATOR = /^"?sep=([^\w"\r\n])"?[\r\n]/i;
const PROBLEMS_SHOWN = 10;

/**
 * The groups of a CSV in UTF-8. All of it is checked before anything is imported.
 *
 * @throws CommandError with the rows that cannot be read, or repeat an id.
 */
export function readCsv(bytes: Buffer, options: ColumnOptions): GroupRow[] {
  const text = decoded(bytes);
  const delimiter = delimiterOf(text, options);
  const [headers = [], ...rows] = recordsOf(text, delimiter);
  const columns = columnsOf(headers.map(trimmed), options);
  const problems: string[] = options.skipsOthers ? [] : unnamed(headers.map(trimmed), rows);
  const groups: GroupRow[] = [];
  const rowOfId = new Map<string, number>();
  for (const [index, cells] of rows.entries()) {
    const number = index + 2;
    if (cells.every((cell) => cell === "")) continue;
    const problem = problemOf(cells, columns) ?? repetitionOf(idOf(cells, columns), number, rowOfId);
    if (problem !== undefined) problems.push(`row ${number}: ${problem}`);
    else groups.push({ number, group: groupOf(cells, columns) });
  }
  if (problems.length > 0) throw unreadable(problems);
  return groups;
}

/** The columns without a name that have a value. Spreadsheets write empty ones beside a table, which are ignored. */
const unnamed = (headers: readonly string[], rows: readonly (readonly string[])[]): string[] =>
  headers.flatMap((header, column) => {
    const row = header === "" ? rows.findIndex((cells) => (cells[column] ?? "").trim() !== "") : -1;
    return row === -1
      ? []
      : [`row ${row + 2}: column ${column + 1} has a value, and no name in row 1. Name it, or empty it.`];
  });

/** A header without the blanks that people leave around it. Those of a key belong to the key. */
const trimmed = (header: string): string =>
  OBJECT_FIELDS.some((field) => header.trimStart().startsWith(`${field}.`)) ? header.trimStart() : header.trim();

function unreadable(problems: string[]): CommandError {
  const more = problems.length > PROBLEMS_SHOWN ? [`and ${problems.length - PROBLEMS_SHOWN} more`] : [];
  const lines = ["The CSV cannot be imported, and nothing was changed:", ...problems.slice(0, PROBLEMS_SHOWN), ...more];
  return new CommandError(lines.join("\n"), { code: "invalid_csv" });
}

function decoded(bytes: Buffer): string {
  try {
    // It removes a byte order mark.
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new UsageError(
      "The CSV is not in UTF-8. Save it as “CSV UTF-8”, or convert it: iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW_FILE",
    );
  }
}

/** The delimiter with which the header has a column of ids: that of the first line, if it names one. */
function delimiterOf(text: string, options: ColumnOptions): string {
  const [, separator] = SEPARATOR.exec(text) ?? [];
  const found = (separator === undefined ? DELIMITERS : [separator]).find((delimiter) => {
    const [headers = []] = recordsOf(text, delimiter, 1);
    return hasIds(headers.map(trimmed), options);
  });
  if (found !== undefined) return found;
  throw new UsageError(
    "The first row of the CSV has no column user_group_id, between commas, semicolons, tabs or |. Name the column of your ids so, or give --column HEADER=user_group_id.",
  );
}

/** The cells of each row. Only commas and the like outside of quotes part them; U+2028 is no end of a row. */
function recordsOf(text: string, delimiter: string, to?: number): string[][] {
  try {
    return parse(text, {
      delimiter,
      record_delimiter: ["\r\n", "\n", "\r"],
      relax_column_count: true,
      from_line: SEPARATOR.test(text) ? 2 : 1,
      ...(to !== undefined && { to }),
    });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    // The delimiter of another attempt decides.
    if (to !== undefined) return [];
    const { lines = "?" } = error as CsvError & { lines?: number };
    throw new CommandError(
      `The CSV cannot be read from line ${lines} on, and nothing was changed: a quotation mark is missing, or not doubled, or in a cell that has none around it.`,
      { code: "invalid_csv" },
    );
  }
}

/** Why a row cannot be imported; `undefined` if it can. */
function problemOf(cells: readonly string[], columns: readonly (Column | undefined)[]): string | undefined {
  const counts = `it has ${cells.length} cells, and the header ${columns.length}.`;
  if (cells.slice(columns.length).some((cell) => cell.trim() !== ""))
    return `${counts} Put quotation marks around a text with the character that parts cells.`;
  if (cells.length < columns.findLastIndex(Boolean) + 1)
    return `${counts} If a spreadsheet has left out empty cells at the end, make a column the last one that is always filled.`;
  if (idOf(cells, columns) === "") return "it has no user_group_id.";
  const state = cells[columns.findIndex((column) => column?.field === "state")] ?? "";
  if (!["", "active", "suspended"].includes(state)) return "give the state active or suspended, or leave it empty.";
  return undefined;
}

const idOf = (cells: readonly string[], columns: readonly (Column | undefined)[]): string =>
  unescapeFormula(cells[columns.findIndex((column) => column?.field === "user_group_id")] ?? "");

function repetitionOf(id: string, number: number, rowOfId: Map<string, number>): string | undefined {
  const first = rowOfId.get(id);
  if (first !== undefined) return `it has the user_group_id ${quoted(id)}, as row ${first} does. Keep one of the two.`;
  rowOfId.set(id, number);
  return undefined;
}

/** The group of a row. An empty cell says nothing about its field. */
function groupOf(cells: readonly string[], columns: readonly (Column | undefined)[]): GroupLine {
  const filled = columns.flatMap((column, index) => {
    const cell = cells[index] ?? "";
    return column && cell !== "" ? [{ column, text: unescapeFormula(cell) }] : [];
  });
  const plain = filled.flatMap(({ column: { field, key }, text }) =>
    key === undefined ? [[field, text] as const] : [],
  );
  const { state, ...fields } = Object.fromEntries(plain);
  const objects = OBJECT_FIELDS.map((name) => {
    const keys = filled.flatMap(({ column: { field, key }, text }) =>
      field === name && key !== undefined ? [[key, text] as const] : [],
    );
    return [name, Object.fromEntries(keys)] as const;
  });
  return {
    fields: { ...fields, ...Object.fromEntries(objects.filter(([, value]) => Object.keys(value).length > 0)) },
    suspended: state === undefined ? undefined : state === "suspended",
    isPartial: true,
  };
}
