/** Conversion between the cells of a CSV and values. */
import { CONTENT, GROUP_FIELDS } from "../../../../common/content.ts";

const columnsOf = (isText: boolean): string[] =>
  GROUP_FIELDS.filter((field) => (CONTENT[field].kind === "text") === isText).map((field) => CONTENT[field].column);

/** The published names of the fields that are texts, each of which has one column. */
export const TEXT_FIELDS = columnsOf(true);
/** Those of the fields that have a column for each key. */
export const OBJECT_FIELDS = columnsOf(false);
/** Fields of a listed group that are not fields of a call: the service decides them. An import ignores them. */
export const IGNORED: readonly string[] = [
  "team_id",
  "suspended_at",
  "suspended_reason",
  "last_viewed_on",
  "created_at",
  "updated_at",
  "deleted_at",
  "purge_at",
  "api_environment_tag",
];

/**
 * The characters with which a spreadsheet begins a formula, their full-width forms, and those that it skips before a formula (OWASP, "CSV
 * Injection").
 */
const FORMULA = "[=+\\-@\\uff1d\\uff0b\\uff0d\\uff20\\t\\r\\n]";
const TO_ESCAPE = new RegExp(`^(?='*${FORMULA})`);
const ESCAPED = new RegExp(`^'(?='*${FORMULA})`);

/** A text with an apostrophe before it, if a spreadsheet could take it for a formula, or for such an escaped text. */
export const escapeFormula = (text: string): string => text.replace(TO_ESCAPE, "'");

/** The text that `escapeFormula` escaped. */
export const unescapeFormula = (cell: string): string => cell.replace(ESCAPED, "");

/** The text of a value of `mapping` or `properties`: JSON for all but texts. One that is missing is empty. */
export const cellOf = (value: unknown): string =>
  typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value);

/** Whether an import of this cell into a new group results in the same value. */
export const isKept = (value: unknown): boolean => typeof value === "string" && value !== "";
