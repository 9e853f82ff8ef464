import { CONTENT } from "../../../../common/content.ts";
import { JSON_FIELDS, labelOf, TEXT_FIELDS } from "../components/content.ts";

/** The fields of forms in which people write, with their labels. None of them takes a secret. */
const WRITTEN: Record<string, string> = {
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
  Object.entries(WRITTEN)
    .map(([name, label]): [string, string] => [label, form.get(name) ?? ""])
    .filter(([, text]) => text.trim() !== "" && !CREDENTIAL.test(text));
