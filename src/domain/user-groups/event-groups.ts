import { LIST_BYTES_MAX, LIST_ITEMS_MAX } from "../../../common/limits.ts";
import type { ListedGroup } from "../../records.ts";
import type { GroupStore } from "../../storage/group-store.ts";
import type { EventPage } from "../feed/event.ts";
import type { Read } from "../turns.ts";
import { bytesOf, toListedGroup } from "./user-group.ts";

/**
 * Adds to a page of events the present state of each group that it names, once, in the order in which the events name them.
 * Deleted and purged groups are left out. The page ends before the event whose group would make it exceed what one answer may
 * hold, and has more then.
 */
export function addGroups(store: GroupStore, { page, share }: Read<EventPage>): Read<EventPage> {
  const seen = new Set<number | null>([null]);
  const groups: ListedGroup[] = [];
  let bytes = 0;
  const end = page.events.findIndex(({ teamId }) => {
    if (teamId === null || seen.has(teamId)) return false;
    seen.add(teamId);
    const group = store.findByTeamId(teamId);
    if (!group) return false;
    bytes += bytesOf(group) + (group.suspendedReason?.length ?? 0);
    if (bytes > LIST_BYTES_MAX) return true;
    groups.push(toListedGroup(group));
    return false;
  });
  const read = { page: { ...cutBefore(page, end), groups }, share };
  return { ...read, share: Math.min(1, share + Math.max(seen.size / LIST_ITEMS_MAX, bytes / LIST_BYTES_MAX)) };
}

/** The page up to and without the event at this index; the whole page for -1. No single group exceeds the bound. */
function cutBefore(page: EventPage, index: number): EventPage {
  const last = page.events[index - 1];
  if (!last) return page;
  return { events: page.events.slice(0, index), next: { ...page.next, after: last.id }, hasMore: true };
}
