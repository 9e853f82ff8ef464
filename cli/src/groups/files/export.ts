import { pipeline } from "node:stream/promises";
import { CommandError } from "../../../../common/command-error.ts";
import { onSystemError } from "../../support/errors.ts";
import { jsonLineOf } from "../../support/printable.ts";
import { Progress } from "../progress.ts";
import { cellOf, escapeFormula, isKept, OBJECT_FIELDS, TEXT_FIELDS } from "./csv-cells.ts";
import { listedGroups, type Service } from "./group-calls.ts";

type Groups = AsyncIterable<Record<string, unknown>[]>;

/** Writes the groups to standard output, as they are read: each as one line of JSON, page by page, or all as a CSV of this form. */
export async function exportGroups(service: Service, filters: Record<string, string>, csv?: CsvForm): Promise<void> {
  // On a terminal that shows the lines themselves, a progress line would disturb them.
  using progress = new Progress(0, process.stderr.isTTY && !process.stdout.isTTY);
  const pages = async function* () {
    let exported = 0;
    for await (const groups of listedGroups(service, filters)) {
      yield groups;
      exported += groups.length;
      progress.update(exported, `${exported} exported`);
    }
  };
  const failureOf = (code: string) =>
    new CommandError(
      code === "EPIPE"
        ? "Standard output was closed before the export was complete."
        : `Standard output could not be written, so the export is not complete: ${code}.`,
    );
  await pipeline(csv ? csvOf(pages(), csv) : jsonLines(pages()), process.stdout, { end: false }).catch(
    onSystemError(failureOf),
  );
}

async function* jsonLines(pages: Groups) {
  for await (const groups of pages) for (const group of groups) yield `${jsonLineOf(group)}\n`;
}

/** The format for programs. Some spreadsheets need a byte order mark to read umlauts, and semicolons. */
export type CsvForm = { delimiter: string; bom: boolean };

/** All groups are in memory until the columns are known. */
const GROUPS_MAX = 200_000;
const ROWS_AT_ONCE = 1_000;

/** A group: the cells of its columns with one value, and those of its fields with keys, by the fields and the keys. */
type Row = { cells: string[]; objects: Map<string, Map<string, string>> };

/** The CSV of the groups. @throws CommandError for more groups than it can keep in memory. */
export async function* csvOf(pages: Groups, { delimiter, bom }: CsvForm): AsyncGenerator<string, void, undefined> {
  const { rows, otherValues } = await collected(pages);
  const columns = OBJECT_FIELDS.flatMap((field) => keysOf(rows, field).map((key) => ({ field, key })));
  const header = [
    "user_group_id",
    ...TEXT_FIELDS,
    "state",
    "team_id",
    ...columns.map(({ field, key }) => `${field}.${key}`),
  ];
  yield (bom ? "\ufeff" : "") + recordOf(header, delimiter);
  for (let start = 0; start < rows.length; start += ROWS_AT_ONCE)
    yield rows
      .slice(start, start + ROWS_AT_ONCE)
      .map(({ cells, objects }) => [...cells, ...columns.map(({ field, key }) => objects.get(field)?.get(key) ?? "")])
      .map((cells) => recordOf(cells.map(escapeFormula), delimiter))
      .join("");
  if (otherValues > 0)
    console.error(
      `Values that are not texts, or are empty: ${otherValues}. An import of this CSV changes none of them in groups that exist, and makes texts of them in new ones. NDJSON keeps them.`,
    );
}

/** The record of these cells with its end, by RFC 4180. */
function recordOf(cells: readonly string[], delimiter: string): string {
  const quoted = (cell: string) =>
    /["\r\n]/.test(cell) || cell.includes(delimiter) ? `"${cell.replaceAll('"', '""')}"` : cell;
  return `${cells.map(quoted).join(delimiter)}\r\n`;
}

async function collected(pages: Groups) {
  const rows: Row[] = [];
  let otherValues = 0;
  for await (const groups of pages) {
    for (const group of groups) {
      const entries = OBJECT_FIELDS.map((field) => [field, Object.entries(Object(group[field]))] as const);
      otherValues += entries.flatMap(([, each]) => each).filter(([, value]) => !isKept(value)).length;
      const cells = ["provided_id", ...TEXT_FIELDS, "state", "team_id"].map((field) => cellOf(group[field] ?? ""));
      rows.push({ cells, objects: new Map(entries.map(([field, each]) => [field, cellsOf(each)])) });
    }
    if (rows.length > GROUPS_MAX)
      throw new CommandError(`A CSV has at most ${GROUPS_MAX} groups. Give a --prefix, or export them as NDJSON.`, {
        code: "too_many_groups",
      });
  }
  return { rows, otherValues };
}

const cellsOf = (entries: [string, unknown][]) => new Map(entries.map(([key, value]) => [key, cellOf(value)]));

const keysOf = (rows: readonly Row[], field: string): string[] =>
  [...new Set(rows.flatMap(({ objects }) => [...(objects.get(field)?.keys() ?? [])]))].toSorted();
