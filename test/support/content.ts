import { COLUMNS, CONTENT_FIELDS, type ContentField, GROUP_FIELDS, type PublishedValue } from "../../common/content.ts";

/** Two values of each field of a group, as JSON has them, which no other field has. A field without them does not compile. */
const VALUES: { [Field in ContentField]: Record<"before" | "after", NonNullable<PublishedValue<Field>>> } = {
  providedId: { before: "initech", after: "initrode" },
  name: { before: "Initech Inc.", after: "Initrode Ltd." },
  mapping: { before: { sales: "warehouse-7" }, after: { stock: "warehouse-8" } },
  properties: { before: { region: "eu" }, after: { plans: ["pro", null], deep: { a: 1 } } },
};

export type When = "before" | "after";

/** The name of a field in the body of an update. */
export const nameInUpdate = (field: ContentField): string =>
  field === "providedId" ? "new_user_group_id" : COLUMNS[field];

export const valueOfField = (field: ContentField, when: When): unknown => VALUES[field][when];

/** The content of a group as answers have it. */
export const content = (when: When): Record<string, unknown> =>
  Object.fromEntries(CONTENT_FIELDS.map((field) => [COLUMNS[field], VALUES[field][when]]));

/** The body of a call that creates a group with this content. */
export const creating = (when: When): Record<string, unknown> => ({
  user_group_id: VALUES.providedId[when],
  ...Object.fromEntries(GROUP_FIELDS.map((field) => [COLUMNS[field], VALUES[field][when]])),
});

/** The content in an answer. */
export const contentOf = (group: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(CONTENT_FIELDS.map((field) => [COLUMNS[field], group[COLUMNS[field]]]));

/** The fields besides the id by the client's names. */
export const clientFields = (when: When): Record<string, unknown> =>
  Object.fromEntries(GROUP_FIELDS.map((field) => [field, VALUES[field][when]]));
