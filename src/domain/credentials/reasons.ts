import { ENDING_EVENTS_EXAMINED_MAX } from "../../../common/limits.ts";
import type { Actor, EventType, StoredEvent, UserGroup } from "../../records.ts";
import type { EventStore } from "../../storage/event-store.ts";
import { endingOf } from "../feed/endings.ts";
import type { EndedSessions } from "../user-groups/ended-sessions.ts";
import type { Groups } from "../user-groups/groups.ts";
import { snapshotFor } from "../user-groups/user-group.ts";
import type { PresentedSession, PresentedToken } from "./caller.ts";
import { sameBytes } from "./credential.ts";
import type { FoundKey, Keys } from "./keys.ts";

/** Why a credential is refused, by a name that has one code and one message. */
export type ReasonName =
  | "unsigned"
  | "key_unknown"
  | "environment_unknown"
  | "key_revoked"
  | "key_expired"
  | "session_expired"
  | "session_ended"
  | "sessions_ended"
  | "minter_ended"
  | "superseded"
  | "group_unknown"
  | "group_deleted"
  | "suspended"
  | "other_environment"
  | "other_origin"
  | "secret_in_browser"
  | "token_in_browser";

/** A reason: since when, in milliseconds since 1970, by whom, and why in their words, as far as its event is known. */
export type Reason = { name: ReasonName; since: number | null; by: Actor | null; why?: string | undefined };

/** What a viewer presents, for `explainViewer`. */
export type PresentedViewer = ({ kind: "token" } & PresentedToken) | ({ kind: "session" } & PresentedSession);

/** A reason of which nothing more is known. */
export const reasonOf = (name: ReasonName, since: number | null = null): Reason => ({ name, since, by: null });

/** A reason that an event records, if the feed still has it. */
const recordedReason = (name: ReasonName, event: StoredEvent | undefined, since = event?.at ?? null): Reason => ({
  name,
  since,
  by: event?.actor ?? null,
  why: event?.details.reason,
});

/** All reasons why a stored key is refused at `now`, and not only the first. */
export function reasonsOfKey({ key: { revokedAt, expiresAt }, ending }: FoundKey, now: number): Reason[] {
  return [
    ...(revokedAt !== null && revokedAt <= now ? [recordedReason("key_revoked", ending, revokedAt)] : []),
    ...(expiresAt !== null && expiresAt <= now ? [reasonOf("key_expired", expiresAt)] : []),
  ];
}

type Parts = { groups: Groups; keys: Keys; ended: EndedSessions; stores: { events: EventStore } };
type Of<Kind extends PresentedViewer["kind"]> = Extract<PresentedViewer, { kind: Kind }>;

/** All reasons why the directory refuses a viewer at `now`. It only reads: it notes no view and no use of a key. */
export function reasonsOfViewer(parts: Parts, viewer: PresentedViewer, now: number): Reason[] {
  const teamId = viewer.kind === "token" ? viewer.id : viewer.teamId;
  const group = parts.groups.find(teamId) ?? parts.groups.findDeleted(teamId);
  return [
    ...(viewer.kind === "session" ? [...reasonsOfMinter(parts, viewer, now), ...reasonsOfEnd(parts, viewer)] : []),
    ...(group ? reasonsOfGroup(parts, group, viewer, now) : [reasonOf("group_unknown")]),
  ];
}

/** The end of the API key that minted a session. */
function reasonsOfMinter({ keys }: Parts, { keyId }: Of<"session">, now: number): Reason[] {
  const [found] = keys.find([keyId]);
  if (!found) return [reasonOf("minter_ended")];
  const [end] = reasonsOfKey(found, now);
  return end ? [{ ...end, name: "minter_ended" }] : [];
}

/** The end of the session itself, or of its person's. The number of an end is that of its event. */
function reasonsOfEnd({ ended, stores: { events } }: Parts, session: Of<"session">): Reason[] {
  const end = ended.endOf(session);
  if (!end) return [];
  const [event] = events.page(end.id - 1, 1);
  return [recordedReason("session_ended", event?.id === end.id ? event : undefined, end.endedAt)];
}

function reasonsOfGroup({ stores: { events } }: Parts, group: UserGroup, viewer: PresentedViewer, now: number) {
  const presented = viewer.kind === "token" ? { nonce: viewer.nonce } : { generation: viewer.generation };
  const { deletedAt, suspendedAt, suspendedReason } = group;
  const ending = (name: "group_deleted" | "suspended", type: EventType, since: number) =>
    recordedReason(name, endingOf(events, group.teamId, type, since), since);
  const isCurrent = snapshotFor(group, presented, now) !== undefined;
  return [
    ...(isCurrent ? [] : [viewer.kind === "token" ? supersession(events, group, viewer) : endOfAll(events, viewer)]),
    ...(deletedAt === null ? [] : [ending("group_deleted", "user_group.deleted", deletedAt)]),
    ...(suspendedAt === null
      ? []
      : [{ ...ending("suspended", "user_group.suspended", suspendedAt), why: suspendedReason ?? undefined }]),
  ];
}

/** The last rotation, or the end of its grace if that has ended this token. Of an older token, it may be a rotation before that one. */
function supersession(
  events: EventStore,
  { teamId, graceNonce, graceEndsAt }: UserGroup,
  { nonce }: Of<"token">,
): Reason {
  const newest = events.newestOfGroup(teamId, ENDING_EVENTS_EXAMINED_MAX);
  const rotation = newest.find(({ type }) => type === "user_group.token_rotated");
  const hadGrace = graceNonce !== null && sameBytes(graceNonce, nonce);
  return recordedReason("superseded", rotation, hadGrace ? graceEndsAt : rotation?.at);
}

/** The first change after the mint that ended all sessions of the group. */
function endOfAll(events: EventStore, { teamId, seq }: Of<"session">): Reason {
  const range = { from: seq + 1, before: seq + 1 + ENDING_EVENTS_EXAMINED_MAX };
  return recordedReason("sessions_ended", events.ofGroup(teamId, range).find(endsAll));
}

const endsAll = ({ type, details }: StoredEvent): boolean =>
  type === "user_group.token_rotated" ||
  (type === "viewer_sessions.ended" && details.session_id === undefined && details.viewer_id === undefined);
