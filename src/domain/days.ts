/** A text in the form of a day. The calendar may not have that day. */
export const DAY_FORMAT = /^\d{4}-\d\d-\d\d$/;

/** The day of a time in UTC, as YYYY-MM-DD. */
export const dayOf = (time: number): string => new Date(time).toISOString().slice(0, "YYYY-MM-DD".length);

/** When a group that was deleted at `deletedAt` is purged. */
export const purgeAtOf = (deletedAt: number, undoMs: number): number => deletedAt + undoMs;
