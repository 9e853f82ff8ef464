import type { ApiKey } from "../../../client/src/index.ts";

/** Which valid keys to list: those that nobody has used for this time, and those that end within it; in seconds. */
export type KeyFilter = { unusedFor?: number; endingWithin?: number };

/** Whether a key is listed. Without a filter all keys are, revoked and expired ones included. `now` is in milliseconds. */
export const keyFilter =
  ({ unusedFor, endingWithin }: KeyFilter, now: number) =>
  ({ createdAt, lastUsedAt, expiresAt, revokedAt }: ApiKey): boolean => {
    if (unusedFor === undefined && endingWithin === undefined) return true;
    // A rolled key is valid until the end of its grace, which `revokedAt` says.
    const ends = [expiresAt, revokedAt].filter((at) => at !== null).map((at) => Date.parse(at));
    const end = Math.min(...ends, Number.POSITIVE_INFINITY);
    if (end <= now) return false;
    const isUnused = unusedFor === undefined || Date.parse(lastUsedAt ?? createdAt) <= now - unusedFor * 1000;
    return isUnused && (endingWithin === undefined || end <= now + endingWithin * 1000);
  };
