import type { Command } from "commander";
import type { GroupFields, JsonObject } from "../../../client/src/index.ts";
import { UsageError } from "../../../common/command-error.ts";
import { CONTENT, GROUP_FIELDS, type GroupField } from "../../../common/content.ts";
import { parseExact } from "../../../common/exact-json.ts";

/** The options that give the fields of a group, by the names of the fields. */
export type ContentOptions = { [Field in GroupField]?: string };

const optionOf = (field: GroupField): string => `--${CONTENT[field].column.replaceAll("_", "-")}`;

/** The options, for messages. */
export const CONTENT_OPTIONS = GROUP_FIELDS.map(optionOf);
/** The fields whose options take JSON. */
export const JSON_OPTIONS = GROUP_FIELDS.filter((field) => CONTENT[field].kind !== "text").map(optionOf);

/** Adds an option for each field. */
export const withContent = (command: Command): Command =>
  GROUP_FIELDS.reduce((each, field) => {
    const { column, kind, isNullable } = CONTENT[field];
    const { about, empty } = WORDS[kind];
    const clearing = isNullable ? `, or ${empty} to clear it` : "";
    const argument = kind === "text" ? column : "json";
    return each.option(`${optionOf(field)} <${argument}>`, about + clearing);
  }, command);

const WORDS = {
  text: { about: "the new value", empty: "an empty text" },
  mapping: { about: "an object of schema ids and data sources", empty: "null" },
  object: { about: "an object", empty: "null" },
};

/** The fields that the options give. @throws UsageError for JSON that cannot be kept exactly */
export const contentIn = (options: ContentOptions): GroupFields =>
  Object.fromEntries(
    GROUP_FIELDS.flatMap((field) => {
      const text = options[field];
      return text === undefined ? [] : [[field, valueIn(field, text)]];
    }),
  );

function valueIn(field: GroupField, text: string): string | JsonObject | null {
  const { kind, isNullable } = CONTENT[field];
  if (kind !== "text") return objectOrNull(optionOf(field), text);
  return isNullable && text === "" ? null : text;
}

/** The value of an option that is a JSON object, or `null` to clear a field. @throws UsageError if it cannot be kept exactly */
export function objectOrNull(option: string, text: string): JsonObject | null {
  const { value, issues } = parseExact(text);
  const [issue] = issues;
  if (issue) throw new UsageError(`${option} cannot be kept exactly: ${issue.path.join(".")}: ${issue.message}`);
  if (value === null) return null;
  if (typeof value !== "object" || Array.isArray(value))
    throw new UsageError(`Give ${option} as a JSON object, such as '{"a":"b"}', or as null to clear it.`);
  return value as JsonObject;
}
