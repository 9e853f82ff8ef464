import type { MintedSession } from "../../operations/viewer-sessions.ts";
import { time } from "../times.ts";

/** `session`, whose token is shown only here. */
export const sessionBody = ({ token, issuedAtSeconds, expiresAtSeconds, maxStaleSeconds }: MintedSession) => ({
  token,
  expires_at: time(expiresAtSeconds * 1000),
  expires_in_seconds: expiresAtSeconds - issuedAtSeconds,
  max_stale_seconds: maxStaleSeconds,
});
