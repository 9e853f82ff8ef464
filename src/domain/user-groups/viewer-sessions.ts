import { fail, ok, type Result } from "../../../common/result.ts";
import type { GroupSnapshot, UserGroup } from "../../records.ts";
import type { Author, PresentedSession } from "../credentials/caller.ts";
import type { Keys } from "../credentials/keys.ts";
import type { FailureOf } from "../failure.ts";
import type { ChangeLog } from "../feed/change-log.ts";
import type { Ended, EndedSessions } from "./ended-sessions.ts";
import type { Groups, ViewFailure } from "./groups.ts";
import { snapshotFor, toPublicGroup } from "./user-group.ts";

/** The parts of a new session. `keyEndsAt` is when the key that mints it ends, or `null`. */
export type NewSession = {
  readAt: number;
  group: GroupSnapshot;
  generation: ArrayBuffer;
  keyEndsAt: number | null;
  /** The number of the newest event: what ends sessions later has a higher one. */
  seq: number;
  /** How many milliseconds before `readAt` the person's sessions were ended; `null` if no end is known. Only of a person. */
  viewerEndedMsAgo?: number | null;
};

/** Which sessions to end, by the id of their group. */
export type SessionsToEnd =
  | ({ kind: "session" } & PresentedSession)
  | { kind: "person"; providedId: string; viewerId: string }
  | { kind: "group"; providedId: string };

/** How a call names the group of sessions. */
export type SessionGroup = { providedId: string } | { teamId: number };

type Parts = { groups: Groups; keys: Keys; changes: ChangeLog; ended: EndedSessions };

/** The viewer sessions of one environment. Nothing is stored about a session until it is ended. */
export class ViewerSessions {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** The parts of a session for viewers of this group, or for its person `viewerId`, when the API key `keyId` mints it. */
  start(
    keyId: number | null,
    group: SessionGroup,
    viewerId: string | undefined,
  ): Result<NewSession, FailureOf<"user_group_not_found" | "user_group_suspended">> {
    const { groups, keys, changes, ended } = this.#parts;
    const found = this.#find(group);
    if (!found) return fail({ code: "user_group_not_found" });
    if (found.suspendedAt !== null) return fail({ code: "user_group_suspended" });
    const readAt = Date.now();
    groups.noteView(found, readAt);
    const snapshot = { ...toPublicGroup(found), validUntil: null };
    return ok({
      readAt,
      group: snapshot,
      generation: found.generation,
      keyEndsAt: keys.endOf(keyId),
      seq: changes.newestId,
      ...(viewerId !== undefined && { viewerEndedMsAgo: ended.msSinceEnd(found.teamId, viewerId, readAt) }),
    });
  }

  /** The group as the viewer with this session sees it. The key that minted the session must still be valid. */
  view(session: PresentedSession): Result<GroupSnapshot, ViewFailure> {
    return this.#isValid(session)
      ? this.#parts.groups.see(session.teamId, { generation: session.generation }, Date.now())
      : fail({ code: "credential_revoked" });
  }

  /** Ends one session, a person's, or all of a group's. A session that no longer views is left as it is. */
  end(author: Author, ending: SessionsToEnd): Result<undefined, FailureOf<"user_group_not_found">> {
    if (ending.kind !== "session")
      return this.endOfGroup(author, ending, ending.kind === "person" ? ending.viewerId : undefined);
    this.#endOne(author, ending);
    return ok(undefined);
  }

  /** Ends the sessions of the person `viewerId` of a group; without one, all of the group's. */
  endOfGroup(
    author: Author,
    named: SessionGroup,
    viewerId: string | undefined,
  ): Result<undefined, FailureOf<"user_group_not_found">> {
    const group = this.#find(named);
    if (!group) return fail({ code: "user_group_not_found" });
    if (viewerId === undefined) this.#parts.groups.endSessions(author, group);
    else this.#endFirstWithRoom(author, group, [{ viewer_id: viewerId }]);
    return ok(undefined);
  }

  #find(group: SessionGroup): UserGroup | undefined {
    const { groups } = this.#parts;
    return "teamId" in group ? groups.find(group.teamId) : groups.findByProvidedId(group.providedId);
  }

  #endOne(author: Author, session: PresentedSession): void {
    const { groups } = this.#parts;
    const { id, teamId, generation, viewerId: viewer_id } = session;
    // A deleted group can be restored, and its sessions with it.
    const group = groups.find(teamId) ?? groups.findDeleted(teamId);
    if (group && this.#isValid(session) && snapshotFor(group, { generation }, Date.now()))
      this.#endFirstWithRoom(author, group, [{ session_id: id }, ...(viewer_id === undefined ? [] : [{ viewer_id }])]);
  }

  /** Ends the first of these for which there is room, or else all sessions of the group. Those of a deleted group cannot end so. */
  #endFirstWithRoom(author: Author, group: UserGroup, candidates: Ended[]): void {
    const { groups, ended } = this.#parts;
    const fitting = candidates.find((each) => group.deletedAt !== null || ended.hasRoom(group.teamId, each));
    if (fitting) ended.end(author, group, fitting);
    else groups.endSessions(author, group);
  }

  /** Whether the key that minted a session is valid, and neither the session nor those of its person were ended. */
  #isValid(session: PresentedSession): boolean {
    return this.#parts.keys.findValid(session.keyId) !== undefined && !this.#parts.ended.endOf(session);
  }
}
