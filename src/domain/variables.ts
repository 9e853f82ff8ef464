import type { GroupSnapshot } from "./user-group.ts";

/** What dashboards and the SQL editor read: the group's id and name, and each of its properties as `user_group.<key>`. */
export function variablesOf(group: GroupSnapshot): Map<string, unknown> {
  const properties: object = JSON.parse(group.properties ?? "{}");
  return new Map<string, unknown>([
    ["user_group_id", group.providedId],
    ["user_group_name", group.name],
    ...Object.entries(properties).map(([key, value]): [string, unknown] => [`user_group.${key}`, value]),
  ]);
}
