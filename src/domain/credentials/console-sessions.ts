import {
  CONSOLE_FORMS_REMEMBERED_MAX,
  CONSOLE_SESSION_IDLE_SECONDS,
  CONSOLE_SESSION_NOTE_SECONDS,
  CONSOLE_SESSION_SECONDS_MAX,
  CONSOLE_SESSIONS_PER_OPERATOR_MAX,
} from "../../../common/limits.ts";
import { fail, ok, type Result } from "../../../common/result.ts";
import type { StoredConsoleSession } from "../../records.ts";
import type { ConsoleSessionStore } from "../../storage/console-session-store.ts";
import type { FailureOf } from "../failure.ts";
import type { ChangeLog } from "../feed/change-log.ts";
import type { PresentedConsoleSession } from "./caller.ts";
import { newestFormFirst } from "./console-cookie.ts";
import { sameBytes } from "./credential.ts";

/** A console session as its operator sees it. */
export type ListedConsoleSession = Pick<
  StoredConsoleSession,
  "id" | "createdAt" | "lastUsedAt" | "browser" | "address"
> & {
  expiresAt: number;
  isCurrent: boolean;
};

/** From where somebody has signed in: the name of the browser and the network of the client. */
export type SessionOrigin = { browser: string; address: string };

/** Whether a form was sent before, or is so old that it may have been. Neither is applied. The Worker of 1.0.0 reads `isRepeated` alone. */
export type NotedForm = { isRepeated: boolean; isTooOld: boolean };

type SessionFailure = FailureOf<"credential_expired" | "credential_revoked">;

/**
 * The sessions in which operators use the console. A session ends when it was not used for a while, after some hours at the latest,
 * and with the key by which its operator signed in, which the registry checks at each call.
 */
export class ConsoleSessions {
  readonly #store: ConsoleSessionStore;
  readonly #changes: ChangeLog;

  constructor(store: ConsoleSessionStore, changes: ChangeLog) {
    this.#store = store;
    this.#changes = changes;
  }

  /** The presented session, if it is valid now. Notes the time of its use, at most once a minute. */
  authenticate({ sessionHash, bootstrapMac }: PresentedConsoleSession): Result<StoredConsoleSession, SessionFailure> {
    const session = this.#store.findByHash(sessionHash);
    // A session that was ended has no row. Its cookie has a valid signature, so it was valid once.
    if (!session) return fail({ code: "credential_revoked" });
    const now = Date.now();
    if (!isLive(session, now)) return fail({ code: "credential_expired" });
    const isReplaced =
      session.operatorId === null &&
      (session.bootstrapMac === null || bootstrapMac === null || !sameBytes(session.bootstrapMac, bootstrapMac));
    if (isReplaced) return fail({ code: "credential_revoked" });
    if (this.#changes.notesUse && now - session.lastUsedAt >= CONSOLE_SESSION_NOTE_SECONDS * 1000)
      this.#store.setLastUsedAt(session.id, now);
    return ok(session);
  }

  /** Starts a session. When the operator has too many, the oldest one ends. */
  start(
    { sessionHash, bootstrapMac }: PresentedConsoleSession,
    operatorId: number | null,
    { browser = null, address = null }: { browser?: string | null; address?: string | null } = {},
  ): void {
    const now = Date.now();
    this.#store.deleteEnded({
      createdUpTo: now - CONSOLE_SESSION_SECONDS_MAX * 1000,
      usedUpTo: now - CONSOLE_SESSION_IDLE_SECONDS * 1000,
    });
    const mac = operatorId === null ? bootstrapMac : null;
    this.#store.insert({ hash: sessionHash, operatorId, bootstrapMac: mac, createdAt: now, browser, address });
    for (const { id } of this.#store.ofOperator(operatorId).slice(CONSOLE_SESSIONS_PER_OPERATOR_MAX))
      this.#store.delete(id);
  }

  /** The valid sessions of an operator, the newest first. */
  list({ sessionHash }: PresentedConsoleSession, operatorId: number | null): ListedConsoleSession[] {
    const now = Date.now();
    return this.#store
      .ofOperator(operatorId)
      .filter((session) => isLive(session, now))
      .map(({ id, hash, createdAt, lastUsedAt, browser, address }) => ({
        id,
        createdAt,
        lastUsedAt,
        browser,
        address,
        expiresAt: createdAt + CONSOLE_SESSION_SECONDS_MAX * 1000,
        isCurrent: sameBytes(hash, sessionHash),
      }));
  }

  /** Ends sessions of an operator: one by its number, the presented one, or all. */
  end({ sessionHash }: PresentedConsoleSession, operatorId: number | null, which: number | "current" | "all"): void {
    for (const { id, hash } of this.#store.ofOperator(operatorId))
      if (which === "all" || which === id || (which === "current" && sameBytes(hash, sessionHash)))
        this.#store.delete(id);
  }

  /**
   * Notes that a form of the session was sent. The newest ones are remembered, in order, so a form that is older than all of them may have
   * been sent and forgotten: it is refused. Release 1.0.0 keeps no order and forgets forms of any age. So a session of which it may have
   * forgotten one ends.
   */
  noteForm(presented: PresentedConsoleSession, formId: string): Result<NotedForm, SessionFailure> {
    const session = this.authenticate(presented);
    if (!session.ok) return session;
    const { id, formIds } = session.value;
    const sent = formIds === "" ? [] : formIds.split(" ");
    if (sent.includes(formId)) return ok({ isRepeated: true, isTooOld: false });
    const isFull = sent.length >= CONSOLE_FORMS_REMEMBERED_MAX;
    if (isFull && sent.toSorted(newestFormFirst).join(" ") !== formIds) {
      this.#store.delete(id);
      return fail({ code: "credential_revoked" });
    }
    const newest = [...sent, formId].sort(newestFormFirst).slice(0, CONSOLE_FORMS_REMEMBERED_MAX);
    if (!newest.includes(formId)) return ok({ isRepeated: true, isTooOld: true });
    this.#store.setFormIds(id, newest.join(" "));
    return ok({ isRepeated: false, isTooOld: false });
  }
}

const isLive = ({ createdAt, lastUsedAt }: StoredConsoleSession, now: number): boolean =>
  now < createdAt + CONSOLE_SESSION_SECONDS_MAX * 1000 && now < lastUsedAt + CONSOLE_SESSION_IDLE_SECONDS * 1000;
