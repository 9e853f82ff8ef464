import { escapeInvisible } from "./printable.ts";

/** The width of each column: that of its widest cell. */
export const widthsOf = (rows: readonly (readonly string[])[]): number[] =>
  (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => escapeInvisible(row[column] ?? "").length)));

/** One row, its cells padded to these widths. */
export const lineOf = (cells: readonly string[], widths: readonly number[]): string =>
  cells
    .map((cell, column) => escapeInvisible(cell).padEnd(widths[column] ?? 0))
    .join("  ")
    .trimEnd();

export function tableOf(rows: readonly (readonly string[])[]): string {
  const widths = widthsOf(rows);
  return rows.map((row) => lineOf(row, widths)).join("\n");
}

/** The items as a table of these fields, with a hyphen for `null`. */
export const tableOfItems = (fields: readonly string[], items: readonly Record<string, unknown>[]): string =>
  tableOf([fields, ...items.map((item) => fields.map((field) => String(item[field] ?? "-")))]);
