import { ENDED_SESSION_SECONDS, ENDED_SESSIONS_MAX, ENDED_SESSIONS_PER_SWEEP_MAX } from "../../../common/limits.ts";
import type { EndedSession, StoredEvent } from "../../records.ts";
import { EndedSessionStore } from "../../storage/ended-session-store.ts";
import type { Chore } from "../chores.ts";
import type { Author, PresentedSession } from "../credentials/caller.ts";
import type { ChangeLog } from "../feed/change-log.ts";

/** What ends, as its event says: one session, or all of a person in a group. */
export type Ended = { session_id: string } | { viewer_id: string };
type GroupName = { teamId: number; providedId: string };

/**
 * The sessions of one environment that were ended without their group's token. No clock decides: a person's sessions end that
 * were minted before the event of the end. Nothing is kept for longer than a session can live.
 */
export class EndedSessions {
  readonly #store: EndedSessionStore;
  readonly #changes: ChangeLog;
  /** The number of rows, once it was counted. */
  #count: number | undefined;

  constructor(sql: SqlStorage, changes: ChangeLog) {
    this.#store = new EndedSessionStore(sql);
    this.#changes = changes;
  }

  /** The end of the session, or else that of all of its person's so far. */
  endOf({ id, teamId, viewerId, seq }: Omit<PresentedSession, "generation" | "keyId">): EndedSession | undefined {
    const ended = this.#store.find(id);
    if (ended || viewerId === undefined) return ended;
    const ofPerson = this.#store.find(nameOfPerson(teamId, viewerId));
    return ofPerson && ofPerson.id > seq ? ofPerson : undefined;
  }

  /** How many milliseconds before `now` a person's sessions so far were ended; `null` if no end of them is known. */
  msSinceEnd(teamId: number, viewerId: string, now: number): number | null {
    const ofPerson = this.#store.find(nameOfPerson(teamId, viewerId));
    return ofPerson ? Math.max(0, now - ofPerson.endedAt) : null;
  }

  /** Whether an end may be stored: while there is room, or if it takes the place of an earlier one. */
  hasRoom(teamId: number, ended: Ended): boolean {
    this.#count ??= this.#store.count();
    return this.#count < ENDED_SESSIONS_MAX || this.#store.find(nameOf(teamId, ended)) !== undefined;
  }

  /** Ends one session, or a person's. */
  end(author: Author, group: GroupName, ended: Ended): void {
    const now = Date.now();
    const id = this.#changes.newestId + 1;
    const name = nameOf(group.teamId, ended);
    const isNew = this.#store.find(name) === undefined;
    const event = { type: "viewer_sessions.ended", group, details: ended } as const;
    this.#changes.commit(author, event, () => this.#store.put({ id, name, endedAt: now }));
    if (this.#count !== undefined && isNew) this.#count += 1;
    this.#changes.schedule(now + ENDED_SESSION_SECONDS * 1000);
  }

  /** Deletes ends that are older than any session. */
  readonly sweep: Chore = {
    name: "delete ended sessions",
    dueAt: () => {
      const [oldest] = this.#store.oldest(1);
      return oldest && forgottenAt(oldest);
    },
    run: (now) => {
      const last = this.#store.oldest(ENDED_SESSIONS_PER_SWEEP_MAX).findLast((row) => forgottenAt(row) <= now);
      if (last) this.#store.deleteUpTo(last.id);
      this.#count = undefined;
    },
  };
}

const forgottenAt = ({ endedAt }: EndedSession): number => endedAt + ENDED_SESSION_SECONDS * 1000;

/** The name by which an end is stored. */
const nameOf = (teamId: number, ended: Ended): string =>
  "session_id" in ended ? ended.session_id : nameOfPerson(teamId, ended.viewer_id);

/** The stored name of the session or person that an event has ended; `undefined` for all sessions of a group. */
export const nameOfEnded = ({ teamId, details }: Pick<StoredEvent, "teamId" | "details">): string | undefined => {
  const { session_id: sessionId, viewer_id: viewerId } = details;
  return sessionId ?? (viewerId === undefined || teamId === null ? undefined : nameOfPerson(teamId, viewerId));
};

/** No UUID begins with a bracket, so it is no session's id. */
const nameOfPerson = (teamId: number, viewerId: string): string => JSON.stringify([teamId, viewerId]);
