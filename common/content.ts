import { MAPPING_ENTRIES_MAX, PROPERTIES_BYTES_MAX, TEXT_UNITS_MAX } from "./limits.ts";

/**
 * The fields that integrators give to a group. Checks, tables, answers, sessions, leases, backups, imports, pages and commands derive
 * from this table, or do not compile if a field is missing there.
 *
 * `column` is the field's published name, and that of its column; requests alone call `provided_id` `user_group_id`. A `text` has one
 * line and at most `max` UTF-16 units, a `mapping` maps texts to texts and has at most `max` entries, and an `object` is any JSON
 * object of at most `max` bytes. A field that a later release adds must be nullable, because existing groups have no value of it.
 */
export const CONTENT = {
  providedId: { column: "provided_id", kind: "text", max: TEXT_UNITS_MAX, isNullable: false },
  name: { column: "name", kind: "text", max: TEXT_UNITS_MAX, isNullable: false },
  mapping: { column: "mapping", kind: "mapping", max: MAPPING_ENTRIES_MAX, isNullable: true },
  properties: { column: "properties", kind: "object", max: PROPERTIES_BYTES_MAX, isNullable: true },
} as const satisfies Record<string, FieldSpec>;

type FieldSpec = { column: string; kind: "text" | "mapping" | "object"; max: number; isNullable: boolean };

type Content = typeof CONTENT;
export type ContentField = keyof Content;
/** A field besides the id. */
export type GroupField = Exclude<ContentField, "providedId">;

export const CONTENT_FIELDS = Object.keys(CONTENT) as ContentField[];
export const GROUP_FIELDS = CONTENT_FIELDS.filter((field) => field !== "providedId");

/** A field as it is stored. JSON stays text, because almost no code reads its content, and unparsed text cannot change. */
export type StoredValue<Field extends ContentField> = Content[Field]["isNullable"] extends true
  ? string | null
  : string;

/** A field as answers and sessions have it. */
export type PublishedValue<Field extends ContentField> = Content[Field]["kind"] extends "text"
  ? StoredValue<Field>
  : object | null;

/** What `Values` has of some fields, by their published names. */
export type ByColumn<Values extends { [Field in ContentField]?: unknown }> = {
  [Field in keyof Values & ContentField as Content[Field]["column"]]: Values[Field];
};

/** The names of the columns by the names of the fields. */
export const COLUMNS = Object.fromEntries(CONTENT_FIELDS.map((field) => [field, CONTENT[field].column])) as {
  [Field in ContentField]: Content[Field]["column"];
};
