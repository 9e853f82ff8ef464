import { CONTENT, type ContentField, GROUP_FIELDS, type GroupField } from "../../../../common/content.ts";

type Kind = (typeof CONTENT)[ContentField]["kind"];
type FieldOf<Of extends Kind> = {
  [Field in GroupField]: (typeof CONTENT)[Field]["kind"] extends Of ? Field : never;
}[GroupField];

const fieldsOf = <Of extends Kind>(kind: Of) =>
  GROUP_FIELDS.filter((field): field is FieldOf<Of> => CONTENT[field].kind === kind);

/** The fields of a group on its pages, in their order: short ones first. */
export const TEXT_FIELDS = fieldsOf("text");
export const JSON_FIELDS = [...fieldsOf("object"), ...fieldsOf("mapping")];

/** What a field is called on pages. */
export function labelOf(field: ContentField): string {
  const words = field === "providedId" ? "id" : CONTENT[field].column.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The fields of forms in which people write, with their labels. None of them takes a secret. */
export const WRITTEN_FIELDS: Readonly<Record<string, string>> = {
  workspace: "Workspace",
  new_user_group_id: "Id",
  ...Object.fromEntries([...TEXT_FIELDS, ...JSON_FIELDS].map((field) => [CONTENT[field].column, labelOf(field)])),
  sql: "SQL template",
  values: "values",
  viewer_id: "viewer_id",
  viewer_properties: "viewer_properties",
  reason: "Reason",
};
