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

/** A text that may be a credential. People paste credentials into any field. */
export const CREDENTIAL = /ug[kot]_[\w-]*|eyJ[\w-]+(?:\.[\w-]*)*/;

/** The texts that somebody has typed into a form, by the labels of its fields. A text that may contain a credential is left out. */
export const typedTexts = (form: URLSearchParams): [label: string, text: string][] =>
  Object.entries(WRITTEN_FIELDS)
    .map(([name, label]): [string, string] => [label, form.get(name) ?? ""])
    .filter(([, text]) => text.trim() !== "" && !CREDENTIAL.test(text));

/** Above this, the indentation of deeply nested objects would make a page many times as long as what is stored. */
const PRETTY_UNITS_MAX = 24_000;

/** A stored object with line breaks; empty for none, and as it is stored if the line breaks would make it too long. */
export function prettyJson(text: string | null): string {
  if (text === null) return "";
  const pretty = JSON.stringify(JSON.parse(text), null, 2);
  return pretty.length <= PRETTY_UNITS_MAX ? pretty : text;
}
