import {
  type ByColumn,
  CONTENT,
  CONTENT_FIELDS,
  type ContentField,
  GROUP_FIELDS,
  type GroupField,
  type PublishedValue,
} from "../../../common/content.ts";
import type { GroupContent } from "../../records.ts";
import { isObject } from "../json.ts";

/** The content of a group, or a part of it, as answers and sessions have it: by its published names and with its JSON parsed. */
type Published<Fields> = ByColumn<{ [Field in Fields & ContentField]: PublishedValue<Field> }>;

/** The content of a group in a session, which has the id as another claim. */
export type SessionContent = Published<GroupField>;

export function publishedContent<Content extends Partial<GroupContent>>(content: Content): Published<keyof Content> {
  const published: Record<string, unknown> = {};
  for (const field of CONTENT_FIELDS) {
    const value = content[field];
    if (value === undefined) continue;
    const { column, kind } = CONTENT[field];
    published[column] = kind === "text" ? value : JSON.parse(value ?? "null");
  }
  return published as Published<keyof Content>;
}

/** A stored value as JSON text. A group of a release before the field has no value of it. */
export const jsonOfStored = (field: ContentField, value: string | null | undefined): string =>
  CONTENT[field].kind === "text" ? JSON.stringify(value ?? null) : (value ?? "null");

/** The content by the names and in the form of its columns. */
export function storedContent(published: SessionContent): Pick<GroupContent, GroupField> {
  const values: Record<string, unknown> = published;
  const stored: { [Field in GroupField]?: unknown } = {};
  for (const field of GROUP_FIELDS) {
    const value = values[CONTENT[field].column];
    stored[field] = isObject(value) ? JSON.stringify(value) : value;
  }
  return stored as Pick<GroupContent, GroupField>;
}

/** Whether a value has all that a viewer's answer needs: a session of another release may lack a field. */
export const isSessionContent = (value: unknown): value is SessionContent =>
  isObject(value) && GROUP_FIELDS.every((field) => isPublished(field, Reflect.get(value, CONTENT[field].column)));

function isPublished(field: GroupField, value: unknown): boolean {
  const { kind, max, isNullable } = CONTENT[field];
  if (value === null) return isNullable;
  return kind === "text" ? typeof value === "string" && value.length > 0 && value.length <= max : isObject(value);
}
