import { fail, ok, type Result } from "../../../common/result.ts";
import type { UserGroup } from "../../records.ts";
import type { FailureOf } from "../failure.ts";
import { etagOf } from "./user-group.ts";

/** The states in which a change is allowed: those with one of these entity tags, or any (`"*"`). */
export type IfMatch = "*" | string[];

/** What proxies that compress a response add to its tag: Apache, Caddy and Jetty. No tag of this service ends so. */
const ENCODING = /-{1,2}(?:gzip|br|deflate|zstd)"$/;

/** One element of the list: an entity tag, or nothing (RFC 9110, sections 5.6.1 and 8.8.3). */
const ELEMENT = /[\t ]*(?:(?:W\/)?("[!#-~\u0080-\u{10ffff}]*")[\t ]*)?(?:,|$)/guy;

/**
 * Parses the header `If-Match` (RFC 9110, section 13.1.1); `undefined` if it is no list of entity tags. A weak tag counts as
 * the strong one, and one with the name of an encoding as the one without, because proxies that compress a response change its tag so.
 */
export function parseIfMatch(header: string): IfMatch | undefined {
  if (header.trim() === "*") return "*";
  const elements = [...header.matchAll(ELEMENT)];
  const length = elements.reduce((sum, [text]) => sum + text.length, 0);
  const tags = elements.flatMap(([, tag]) => tag?.replace(ENCODING, '"') ?? []);
  return length === header.length && tags.length > 0 ? tags : undefined;
}

export type StateFailure = FailureOf<"user_group_not_found" | "revision_mismatch">;

/** The group, if there is one, in a state that `ifMatch` allows. Without the header every state is allowed. */
export function inState(group: UserGroup | undefined, ifMatch: IfMatch | undefined): Result<UserGroup, StateFailure> {
  if (!group) return fail({ code: "user_group_not_found" });
  const isAllowed = ifMatch === undefined || ifMatch === "*" || ifMatch.includes(etagOf(group));
  return isAllowed ? ok(group) : fail({ code: "revision_mismatch" });
}
