import { DAY_MS } from "../limits.ts";

/** Parses a variable that is a number of days, fractions allowed, to milliseconds. A text that is none counts as the default. */
export function daysToMs(text: string | undefined, defaultDays: number): number {
  const days = Number(text || Number.NaN);
  return (days >= 0 && Number.isFinite(days) ? days : defaultDays) * DAY_MS;
}
