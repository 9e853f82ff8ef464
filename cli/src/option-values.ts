import { UsageError } from "../../common/command-error.ts";
import { millisecondsFrom } from "../../common/rfc-3339.ts";

/** The number of an item, which becomes a part of a path; `undefined` for any other text. */
export const itemNumber = (text: string): number | undefined =>
  /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;

/** A reader for the text of an option. It throws a UsageError with the sentence for a text of which `parse` makes nothing. */
export const reader =
  <Value>(parse: (text: string) => Value | undefined, sentence: string) =>
  (text: string): Value => {
    const value = parse(text);
    if (value === undefined) throw new UsageError(sentence);
    return value;
  };

/** The whole number in a text; `undefined` for any other text, and above `most`. */
export const wholeNumber = (text: string, most: number): number | undefined =>
  /^\d{1,15}$/.test(text) && Number(text) <= most ? Number(text) : undefined;

/** A reader for an option that is a whole number from 1 to `most`. */
export const wholeNumberReader = (name: string, most: number) =>
  reader((text) => wholeNumber(text, most) || undefined, `Give --${name} as a whole number from 1 to ${most}.`);

/** Reads the number of a key, an operator or a group. */
export const readId = reader(itemNumber, "Give the number as a positive whole number, as list shows it.");

const UNIT_SECONDS: Record<string, number> = { s: 1, m: 60, h: 60 * 60, d: 24 * 60 * 60 };

const AGE = /^(\d{1,9})([smhd])$/;

/** The seconds of a duration such as `90d`, in whole seconds, minutes, hours or days. @throws UsageError for another form. */
export function readSeconds(duration: string): number {
  const [, count, unit = ""] = AGE.exec(duration) ?? [];
  if (!count) throw new UsageError("Give a time as a number and s, m, h or d, such as 90d.");
  return Number(count) * (UNIT_SECONDS[unit] ?? 0);
}

/** The days of a duration in whole days, such as `30d`. @throws UsageError for another form. */
export function readDays(duration: string): number {
  if (!duration.endsWith("d")) throw new UsageError("Give a time in whole days, such as 30d.");
  return readSeconds(duration) / (UNIT_SECONDS.d ?? 1);
}

/**
 * A reader for an option that is a point in time: of RFC 3339 with its zone, a date, which begins in UTC, or an age. Nothing else, which
 * `Date` would take for another day, or for a time in the zone of this machine.
 */
export const timeReader = (name: string) =>
  reader((text) => {
    const age = AGE.test(text) ? Date.now() - readSeconds(text) * 1000 : undefined;
    const time = new Date(age ?? millisecondsFrom(/^[\d-]{10}$/.test(text) ? `${text}T00:00:00Z` : text));
    return Number.isNaN(time.getTime()) ? undefined : time;
  }, `Give --${name} as a time with its zone such as 2026-01-31T09:00:00Z or 2026-01-31T10:00:00+01:00, a date such as 2026-01-31, which begins in UTC, or an age such as 30m, 12h or 7d.`);

/** Adds the value of an option that may be repeated to those before it. */
export const collected = (value: string, before: readonly string[] = []): string[] => [...before, value];
