import type { Actor, StoredEvent } from "../../records.ts";
import type { PresentedSession, PresentedToken } from "./caller.ts";
import type { FoundKey } from "./keys.ts";

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

/** A reason: since when, in milliseconds since 1970, and by whom, as far as the service knows. */
export type Reason = { name: ReasonName; since: number | null; by: Actor | null };

/** What a viewer presents, for `explainViewer`. */
export type PresentedViewer = ({ kind: "token" } & PresentedToken) | ({ kind: "session" } & PresentedSession);

/** A reason of which nothing more is known. */
export const reasonOf = (name: ReasonName, since: number | null = null): Reason => ({ name, since, by: null });

/** A reason that an event records, if the feed still has it. */
export const recordedReason = (
  name: ReasonName,
  event: StoredEvent | undefined,
  since = event?.at ?? null,
): Reason => ({
  name,
  since,
  by: event?.actor ?? null,
});

/** All reasons why a stored key is refused at `now`, and not only the first. */
export function reasonsOfKey({ key: { revokedAt, expiresAt }, ending }: FoundKey, now: number): Reason[] {
  return [
    ...(revokedAt !== null && revokedAt <= now ? [recordedReason("key_revoked", ending, revokedAt)] : []),
    ...(expiresAt !== null && expiresAt <= now ? [reasonOf("key_expired", expiresAt)] : []),
  ];
}
