import { ENDING_EVENTS_EXAMINED_MAX } from "../../../common/limits.ts";
import { ok, type Result } from "../../../common/result.ts";
import type { Actor, EventType, ListedGroup, StoredEvent } from "../../records.ts";
import type { EventStore } from "../../storage/event-store.ts";
import type { Admitted } from "../credentials/admission.ts";
import { firstSince } from "./event.ts";

/** Who suspended and who deleted a group, for callers who may read events; `null` if its event is no longer kept. */
export type Endings = { suspendedBy?: Actor | null; deletedBy?: Actor | null };

/** A group in the answer to a call by its number. */
export type ShownGroup = ListedGroup & Endings;

/** Adds to a group who has suspended and deleted it, if the caller may read events. */
export function withEndings<Group extends ListedGroup, Failure>(
  store: EventStore,
  { may }: Admitted,
  found: Result<Group, Failure>,
): Result<Group & Endings, Failure> {
  return found.ok && may("events:read") ? ok({ ...found.value, ...endingsOf(store, found.value) }) : found;
}

/** Finds who has suspended and deleted the group, where it is. */
export const endingsOf = (store: EventStore, { teamId, suspendedAt, deletedAt }: ListedGroup): Endings => ({
  ...(suspendedAt !== null && {
    suspendedBy: endingOf(store, teamId, "user_group.suspended", suspendedAt)?.actor ?? null,
  }),
  ...(deletedAt !== null && { deletedBy: endingOf(store, teamId, "user_group.deleted", deletedAt)?.actor ?? null }),
});

/**
 * The group's last event with this type from a time on, if it is kept. No event is before the change that it records, and several can have
 * one time: those of a millisecond, and all others while a clock that was put back catches up.
 */
export function endingOf(store: EventStore, teamId: number, type: EventType, since: number): StoredEvent | undefined {
  const [newest] = store.pageBefore({ before: Number.MAX_SAFE_INTEGER, from: 1 }, 1);
  // The newest event may be that of a change which this call has made.
  if (newest?.teamId === teamId && newest.type === type && newest.at >= since) return newest;
  const [oldest] = store.oldest(1);
  if (!newest || !oldest || oldest.at > since) return undefined;
  const from = firstSince(store, since, { oldest: oldest.id, newest: newest.id });
  const first = store.findOfType("first", teamId, type, { from, before: from + ENDING_EVENTS_EXAMINED_MAX });
  if (!first) return undefined;
  const after = firstSince(store, first.at + 1, { oldest: first.id, newest: newest.id });
  const before = Math.min(after, first.id + ENDING_EVENTS_EXAMINED_MAX);
  return store.findOfType("last", teamId, type, { from: first.id, before }) ?? first;
}
