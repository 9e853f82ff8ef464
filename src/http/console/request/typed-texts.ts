import { WRITTEN_FIELDS } from "../components/content.ts";

/** A text that may be a credential. People paste credentials into any field. */
export const CREDENTIAL = /ug[kot]_[\w-]*|eyJ[\w-]+(?:\.[\w-]*)*/;

/** The texts that somebody has typed into a form, by the labels of its fields. A text that may contain a credential is left out. */
export const typedTexts = (form: URLSearchParams): [label: string, text: string][] =>
  Object.entries(WRITTEN_FIELDS)
    .map(([name, label]): [string, string] => [label, form.get(name) ?? ""])
    .filter(([, text]) => text.trim() !== "" && !CREDENTIAL.test(text));
