import type { GroupSnapshot } from "../records.ts";

/**
 * The variables of dashboards and the SQL editor: the group's id and name, and each of its properties as `user_group.<key>`.
 * A caller that has parsed the group's properties already gives them as `properties`.
 */
export function variablesOf(
  group: GroupSnapshot,
  properties: object | null = JSON.parse(group.properties ?? "null"),
): Record<string, unknown> {
  const variables: Record<string, unknown> = { user_group_id: group.providedId, user_group_name: group.name };
  for (const [key, value] of Object.entries(properties ?? {})) variables[`user_group.${key}`] = value;
  return variables;
}
