import type { GroupStore } from "../storage/group-store.ts";
import { LIST_BYTES_MAX, LIST_ROWS_MAX, LIST_ROWS_PER_READ } from "./limits.ts";
import type { GroupFilter, ListedGroup } from "./user-group.ts";

/** Asks for the groups behind the number `after` that `filter` lets through, at most `limit`. */
export type GroupPageQuery = { after: number; limit: number; filter: GroupFilter };

/** Some groups, and the number behind which the next page begins; `null` stands for the end. */
export type GroupPage = { groups: ListedGroup[]; next: number | null };

const utf8 = new TextEncoder();

/**
 * Reads one page. It ends at its limit, or earlier, where it has looked at as many groups or holds as many bytes as one
 * call may, perhaps without any group: only `next` tells whether there are more. Numbers are never given again, and new ones
 * are the highest, so whatever comes and goes between pages, no group that stays is missed or told twice.
 */
export function readPage(store: GroupStore, { after, limit, filter }: GroupPageQuery): GroupPage {
  const groups: ListedGroup[] = [];
  let bytes = 0;
  let last = after;
  for (let read = 0; read < LIST_ROWS_MAX; read += LIST_ROWS_PER_READ) {
    const examined = store.page(last, filter, LIST_ROWS_PER_READ);
    for (const { matches, ...group } of examined) {
      if (matches) {
        bytes += bytesOf(group);
        if (bytes > LIST_BYTES_MAX) return { groups, next: last };
        groups.push(group);
      }
      last = group.teamId;
      if (groups.length === limit) return { groups, next: store.hasBehind(last) ? last : null };
    }
    if (examined.length < LIST_ROWS_PER_READ) return { groups, next: null };
  }
  return { groups, next: store.hasBehind(last) ? last : null };
}

const bytesOf = ({ providedId, name, mapping, properties }: ListedGroup): number =>
  utf8.encode(providedId + name + (mapping ?? "") + (properties ?? "")).length;
