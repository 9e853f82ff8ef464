import type { GroupSnapshot } from "../../records.ts";

/** What a session says of the person who looks at the page. */
export type Person = { viewerId?: string | undefined; viewerProperties?: object | undefined };

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
