import type { GroupSnapshot } from "../../records.ts";

/**
 * The variables of dashboards and the SQL editor: the group's id and name, each of its properties as `user_group.<key>`, and
 * the viewer's id if the session has one. A caller that has parsed the group's properties already gives them as `properties`.
 */
export function variablesOf(
  group: GroupSnapshot,
  viewerId: string | undefined,
  properties: object | null = JSON.parse(group.properties ?? "null"),
): Record<string, unknown> {
  const variables: Record<string, unknown> = { user_group_id: group.providedId, user_group_name: group.name };
  if (viewerId !== undefined) variables.viewer_id = viewerId;
  for (const [key, value] of Object.entries(properties ?? {})) variables[`user_group.${key}`] = value;
  return variables;
}
