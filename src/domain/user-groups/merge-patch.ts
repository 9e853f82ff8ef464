import { CONTENT, GROUP_FIELDS, type GroupField } from "../../../common/content.ts";
import type { Issue } from "../../../common/issue.ts";
import { fail, ok, type Result } from "../../../common/result.ts";
import type { GroupContent } from "../../records.ts";
import type { FailureOf } from "../failure.ts";
import { isObject } from "../json.ts";
import { entriesRefusal, sizeRefusal, type UserGroupChanges } from "./user-group.ts";

/**
 * The changes of a merge patch (RFC 7396), in which mappings and objects are patches of what the group has, as the changes that replace
 * it. Refuses what a group may not have after that.
 */
export function mergedChanges(
  group: GroupContent,
  changes: UserGroupChanges,
): Result<UserGroupChanges, FailureOf<"invalid_body">> {
  const replacing = { ...changes };
  const issues: Issue[] = [];
  for (const field of GROUP_FIELDS) {
    const patch = changes[field];
    if (CONTENT[field].kind === "text" || typeof patch !== "string") continue;
    const json = merge(group[field], patch);
    const message = boundRefusal(field, json);
    if (message) issues.push({ path: [CONTENT[field].column], message });
    replacing[field] = json;
  }
  return issues.length > 0 ? fail({ code: "invalid_body", issues }) : ok(replacing);
}

/** Why a field may not be this JSON, if it may not. */
function boundRefusal(field: GroupField, json: string): string | undefined {
  const { column, kind, max } = CONTENT[field];
  return kind === "mapping"
    ? entriesRefusal(Object.keys(JSON.parse(json)).length, max)
    : sizeRefusal(column, json, max);
}

/** The JSON text that a patch makes of another. */
const merge = (json: string | null, patch: string): string =>
  JSON.stringify(merged(JSON.parse(json ?? "null"), JSON.parse(patch)));

/** The algorithm of RFC 7396, section 2. A map takes every name, `__proto__` too. */
function merged(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const members = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) members.delete(name);
    else members.set(name, merged(members.get(name), value));
  }
  return Object.fromEntries(members);
}
