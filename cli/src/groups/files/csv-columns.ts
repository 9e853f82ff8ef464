/** The columns of a CSV of groups. */
import { UsageError } from "../../../../common/command-error.ts";
import { quoted } from "../../support/printable.ts";
import { IGNORED, OBJECT_FIELDS, TEXT_FIELDS } from "./csv-cells.ts";

/** The field of a group that a column is about, by the name that a call has for it; a key of it for fields with keys. */
export type Column = { field: string; key?: string };

/** How to read the header: other names of columns, and whether to skip those that are no fields. */
export type ColumnOptions = { renamed: Renamed; skipsOthers: boolean };

/** The fields of columns with other headers, by these headers. */
type Renamed = ReadonlyMap<string, string>;

/** The fields of the columns with one value. */
const FIELDS = new Map([
  ["user_group_id", "user_group_id"],
  ["provided_id", "user_group_id"],
  ["state", "state"],
  ...TEXT_FIELDS.map((field) => [field, field] as const),
]);
const NAMES = [...FIELDS.keys(), ...OBJECT_FIELDS.map((field) => `${field}.KEY`)]
  .filter((name) => name !== "provided_id")
  .join(", ");

/** The column with this header; `undefined` if it is no field of a group. */
function columnNamed(header: string): Column | undefined {
  const [, prefix = "", key] = /^([^.]+)\.(.+)$/s.exec(header) ?? [];
  if (key !== undefined && OBJECT_FIELDS.includes(prefix)) return { field: prefix, key };
  const field = FIELDS.get(header);
  return field === undefined ? undefined : { field };
}

const nameOf = ({ field, key }: Column): string => (key === undefined ? field : `${field}.${key}`);

/** Adds one `HEADER=FIELD` to those before it. @throws UsageError unless it has this form. */
export function readRenamed(text: string, others: Renamed = new Map()): Renamed {
  const at = text.lastIndexOf("=");
  const field = text.slice(at + 1);
  if (at < 1 || !columnNamed(field))
    throw new UsageError(`Give --column as HEADER=FIELD, where FIELD is one of ${NAMES}.`);
  return new Map([...others, [text.slice(0, at), field]]);
}

/** Whether a header has ids, with which each CSV of groups begins to make sense. */
export const hasIds = (headers: readonly string[], { renamed }: ColumnOptions): boolean =>
  headers.some((header) => columnNamed(renamed.get(header) ?? header)?.field === "user_group_id");

/**
 * The columns of a header, `undefined` for those to skip.
 *
 * @throws UsageError for a column that is no field, and for two of one field.
 */
export function columnsOf(headers: readonly string[], { renamed, skipsOthers }: ColumnOptions): (Column | undefined)[] {
  const missing = [...renamed.keys()].filter((header) => !headers.includes(header));
  if (missing.length > 0) throw new UsageError(`The CSV has no column ${missing.map(quoted).join(", ")}.`);
  const columns = headers.map((header) => columnNamed(renamed.get(header) ?? header));
  const unknown = headers.filter((header, index) => header !== "" && !columns[index] && !IGNORED.includes(header));
  if (unknown.length > 0 && !skipsOthers)
    throw new UsageError(
      `Columns that are no fields of a group: ${unknown.map(quoted).join(", ")}. Rename them to one of ${NAMES}; name the field of each with ` +
        "--column HEADER=FIELD, or skip them all with --skip-other-columns.",
    );
  const names = columns.flatMap((column) => (column ? nameOf(column) : []));
  const repeated = names.filter((name, index) => names.indexOf(name) !== index);
  if (repeated.length > 0)
    throw new UsageError(
      `Several columns are about ${[...new Set(repeated)].map(quoted).join(", ")}. Keep one of them.`,
    );
  return columns;
}
