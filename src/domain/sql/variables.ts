import type { GroupSnapshot } from "../../records.ts";

/** What a session says of the person who looks at the page. */
export type Person = { viewerId?: string | undefined; viewerProperties?: object | undefined };

/** A value that a page gives for a template: one, or a list of one type. */
export type QueryValue = string | number | boolean | null | (string | number | boolean)[];

/** The names that some group can have. Any other name is an error, which must not drop a filter. */
export const NAME_OF_GROUP = /^user_group(?:_id|_name|\..+)$/s;
/** The names that restrict a view to one person. A clause with one of them is never dropped, or one would see everybody's rows. */
export const NAME_OF_PERSON = /^viewer(?:_id$|\.)/;
/** The name of a value of the page, and its variable. */
export const VALUE_NAME = /^[a-z][a-z0-9_]{0,39}$/;
export const NAME_OF_VALUE = /^value\.[a-z][a-z0-9_]{0,39}$/;

/**
 * The variables of dashboards and the SQL editor: the group's id and name, each of its properties as `user_group.<key>`, and
 * from a session the viewer's id and each of the viewer's own properties as `viewer.<key>`. A caller that has parsed the
 * group's properties already gives them as `properties`.
 */
export function variablesOf(
  group: Pick<GroupSnapshot, "providedId" | "name" | "properties">,
  { viewerId, viewerProperties }: Person,
  properties: object | null = JSON.parse(group.properties ?? "null"),
): Record<string, unknown> {
  const variables: Record<string, unknown> = { user_group_id: group.providedId, user_group_name: group.name };
  if (viewerId !== undefined) variables.viewer_id = viewerId;
  for (const [key, value] of Object.entries(properties ?? {})) variables[`user_group.${key}`] = value;
  for (const [key, value] of Object.entries(viewerProperties ?? {})) variables[`viewer.${key}`] = value;
  return variables;
}

/**
 * The variables of a template: those of the group and the person, and each value of the page as `value.<name>`. An empty list counts as
 * missing, because no list of SQL is empty.
 */
export function templateVariables(
  group: Pick<GroupSnapshot, "providedId" | "name" | "properties">,
  person: Person,
  values: Record<string, QueryValue> = {},
): Map<string, unknown> {
  const variables = new Map(Object.entries(variablesOf(group, person)));
  for (const [name, value] of Object.entries(values))
    if (!Array.isArray(value) || value.length > 0) variables.set(`value.${name}`, value);
  return variables;
}
