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
