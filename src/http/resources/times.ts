import type { StoredKey } from "../../records.ts";

/** A time in milliseconds since 1970 as ISO 8601 in UTC; `null` stays null. */
export const time = (milliseconds: number | null) =>
  milliseconds === null ? null : new Date(milliseconds).toISOString();

/** The times of an API key or of an operator, as answers have them. */
export const timesOf = (key: StoredKey) => ({
  created_at: time(key.createdAt),
  expires_at: time(key.expiresAt),
  last_used_at: time(key.lastUsedAt),
  revoked_at: time(key.revokedAt),
});
