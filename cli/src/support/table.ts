import { escapeInvisible } from "./printable.ts";

/** What terminals show in two columns: emoji, and the ranges of Markus Kuhn's wcwidth for the scripts of East Asia. */
const WIDE =
  /^(?:\p{RGI_Emoji}|[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}])/v;
const characters = new Intl.Segmenter();

/** The columns of a text in a terminal. Marks and joined emoji belong to the character before them. */
const widthOf = (text: string): number =>
  /^[\x20-\x7e]*$/.test(text)
    ? text.length
    : [...characters.segment(text)].reduce((width, { segment }) => width + (WIDE.test(segment) ? 2 : 1), 0);

/** The width of each column: that of its widest cell. */
export const widthsOf = (rows: readonly (readonly string[])[]): number[] =>
  (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => widthOf(escapeInvisible(row[column] ?? "")))));

/** One row, its cells padded to these widths. */
export const lineOf = (cells: readonly string[], widths: readonly number[]): string =>
  cells
    .map(escapeInvisible)
    .map((cell, column) => cell + " ".repeat(Math.max(0, (widths[column] ?? 0) - widthOf(cell))))
    .join("  ")
    .trimEnd();

export function tableOf(rows: readonly (readonly string[])[]): string {
  const widths = widthsOf(rows);
  return rows.map((row) => lineOf(row, widths)).join("\n");
}

/**
 * The items as a table of these fields, with a hyphen for `null`. On a terminal with fewer columns than that, each item is a block with a
 * line for each field, so that no line of short values breaks.
 */
export function tableOfItems(
  fields: readonly string[],
  items: readonly Record<string, unknown>[],
  columns = process.stdout.columns || Number.POSITIVE_INFINITY,
): string {
  const rows = items.map((item) => fields.map((field) => String(item[field] ?? "-")));
  const width = widthsOf([fields, ...rows]).reduce((sum, each) => sum + each + 2, -2);
  if (width <= columns || rows.length === 0) return tableOf([fields, ...rows]);
  const blocks = rows.map((row) => row.map((cell, index) => `${fields[index]}: ${escapeInvisible(cell)}`).join("\n"));
  return blocks.join("\n\n");
}
