import { DAY_MS, DAYS_MAX, UNDO_DAYS_DEFAULT } from "../limits.ts";

/**
 * Parses a variable that is a number of days, fractions allowed, to milliseconds. A text that is none, or blank, counts as
 * the default. More than `DAYS_MAX` counts as that, because a time in the far future is no valid date.
 */
export function daysToMs(text: string | undefined, defaultDays: number): number {
  const days = Number(text?.trim() || Number.NaN);
  return (days >= 0 && Number.isFinite(days) ? Math.min(days, DAYS_MAX) : defaultDays) * DAY_MS;
}

/** The day of a time in UTC, as YYYY-MM-DD. */
export const dayOf = (time: number): string => new Date(time).toISOString().slice(0, "YYYY-MM-DD".length);

/** For how long a deleted group can be restored. */
export const undoMsOf = ({ UNDO_DAYS }: Pick<Env, "UNDO_DAYS">): number => daysToMs(UNDO_DAYS, UNDO_DAYS_DEFAULT);

/** When a group that was deleted at `deletedAt` is purged. */
export const purgeAtOf = (deletedAt: number, undoMs: number): number => deletedAt + undoMs;
