import type { Actor } from "../../records.ts";
import type { FailureOf } from "../failure.ts";
import { allowsRole, type Role } from "./rights.ts";

/** A key whose signature the Worker has checked. Whether it is still valid, only its Durable Object knows. */
export type PresentedKey = { id: number; nonceHash: ArrayBuffer };

/** A group token whose signature the Worker has checked. `id` is the number of its group. */
export type PresentedToken = { id: number; nonce: Uint8Array };

/** A viewer session whose signature the Worker has checked. */
export type PresentedSession = {
  id: string;
  teamId: number;
  generation: Uint8Array;
  keyId: number;
  viewerId?: string | undefined;
  /** The number of the newest event when the session was minted. */
  seq: number;
};

/** The request by which somebody calls, and why, if the call says so. */
export type Cause = { requestId: string; reason?: string | undefined };

/** Who makes a change, and why. */
export type Author = Cause & { actor: Actor };

/** An operator whom the registry has admitted for this call. The one without an id is the bootstrap token. */
export type Operator = {
  kind: "operator";
  id: number | null;
  name: string;
  role: Role;
  expiresAt: number | null;
} & Cause;

/** The operator who has called, for the log. */
export type By = { operator: Operator };

/** The name of the bootstrap token, which no other operator may have. */
export const BOOTSTRAP_NAME = "bootstrap";

/** The operator of the bootstrap token. */
export const BOOTSTRAP: Omit<Operator, keyof Cause> = {
  kind: "operator",
  id: null,
  name: BOOTSTRAP_NAME,
  role: "admin",
  expiresAt: null,
};

/** Who calls a directory, and why: an API key, which the directory checks, or an operator. */
export type Caller = ({ kind: "api_key" } & PresentedKey & Cause) | Operator;

/** Why a caller may not give a group this id, if it may not. The id decides whose data the group's token shows. */
export const renameRefusal = (
  caller: Caller,
  newProvidedId: string | undefined,
): FailureOf<"insufficient_access"> | undefined =>
  newProvidedId !== undefined && caller.kind === "operator" && !allowsRole(caller.role, "admin")
    ? { code: "insufficient_access", required_role: "admin" }
    : undefined;

/**
 * A session of the console whose signature the Worker has checked: the SHA-256 of its cookie, and an HMAC of the bootstrap token as it
 * is now, or `null` where there is none.
 */
export type PresentedConsoleSession = { sessionHash: ArrayBuffer; bootstrapMac: ArrayBuffer | null };

/** The address of an operator, from an assertion of the company's proxy that the Worker has verified. */
type PresentedEmail = { email: string };

/**
 * Who calls the registry: the key of an operator, the bootstrap token, which the Worker has compared, a session of the console, or an
 * address, by which a session starts.
 */
export type PresentedOperator = Cause & {
  key: PresentedKey | PresentedConsoleSession | PresentedEmail | "bootstrap";
};

/** Under which name the lists of an operator take turns. */
export const callerName = ({ key }: PresentedOperator): string => {
  if (key === "bootstrap") return key;
  if ("email" in key) return key.email;
  return "sessionHash" in key ? new Uint8Array(key.sessionHash).toHex() : String(key.id);
};

/** The operator as the author of a change. */
export const authorOf = ({ id, name, ...cause }: Operator): Author => ({
  actor: { kind: "operator", id, name },
  ...causeOf(cause),
});

/** The cause of a call without what else the caller is. */
export const causeOf = ({ requestId, reason }: Cause): Cause => ({ requestId, reason });
