import type { ResponseBody } from "../transport/response-body.ts";

/** The life of a key. Times are ISO 8601 in UTC; a `revokedAt` in the future is the end of a grace. */
export type Lifetime = {
  createdAt: string;
  expiresAt: string | null;
  lastUsedAt: string | null;
  revokedAt: string | null;
};

/** How long a replaced credential stays valid. */
export type Grace = {
  /** For how many seconds the old token or key stays valid; 0 by default, 604800 (a week) at most. */
  graceSeconds?: number | undefined;
};

/** Why a call is made. */
export type Because = {
  /** For the people who read the events: 1 to 255 UTF-16 code units, with no secret and nothing that must be forgotten. */
  reason?: string | undefined;
};

/** The body of a call that takes nothing but a reason. */
export const reasonBodyOf = ({ reason }: Because): { reason: string } | undefined =>
  reason === undefined ? undefined : { reason };

export const toLifetime = (key: ResponseBody): Lifetime => ({
  createdAt: key.text("created_at"),
  expiresAt: key.textOrNull("expires_at"),
  lastUsedAt: key.textOrNull("last_used_at"),
  revokedAt: key.textOrNull("revoked_at"),
});
