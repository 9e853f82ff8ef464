import type { Issue } from "../../../common/issue.ts";
import { PROPERTIES_BYTES_MAX } from "../../../common/limits.ts";
import { fail, ok, type Result } from "../../../common/result.ts";
import type { GroupContent } from "../../records.ts";
import type { FailureOf } from "../failure.ts";
import { isObject } from "../json.ts";
import { entriesRefusal, sizeRefusal } from "./content-bounds.ts";
import type { UserGroupChanges } from "./user-group.ts";

/**
 * The changes of a merge patch (RFC 7396), in which `mapping` and `properties` are patches of what the group has, as the changes
 * that replace it. Refuses what a group may not have after that.
 */
export function mergedChanges(
  group: GroupContent,
  { mapping, properties, ...changes }: UserGroupChanges,
): Result<UserGroupChanges, FailureOf<"invalid_body">> {
  const merged = { mapping: merge(group.mapping, mapping), properties: merge(group.properties, properties) };
  const tooMany = typeof mapping === "string" && entriesRefusal(Object.keys(JSON.parse(merged.mapping ?? "{}")).length);
  const tooLarge =
    typeof properties === "string" && sizeRefusal("properties", merged.properties ?? "", PROPERTIES_BYTES_MAX);
  const issues: Issue[] = [
    ...(tooMany ? [{ path: ["mapping"], message: tooMany }] : []),
    ...(tooLarge ? [{ path: ["properties"], message: tooLarge }] : []),
  ];
  return issues.length > 0 ? fail({ code: "invalid_body", issues }) : ok({ ...changes, ...merged });
}

/** The JSON text that a patch, as JSON text, makes of another; `undefined` and `null` are changes already. */
const merge = (json: string | null, patch: string | null | undefined): string | null | undefined =>
  typeof patch === "string" ? JSON.stringify(merged(JSON.parse(json ?? "null"), JSON.parse(patch))) : patch;

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
