import { UsageError } from "../../common/command-error.ts";

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

/** The seconds of a duration such as `90d`, in whole seconds, minutes, hours or days. @throws UsageError for another form. */
export function readSeconds(duration: string): number {
  const [, count, unit = ""] = /^(\d{1,9})([smhd])$/.exec(duration) ?? [];
  if (!count) throw new UsageError("Give a time as a number and s, m, h or d, such as 90d.");
  return Number(count) * (UNIT_SECONDS[unit] ?? 0);
}

/** The days of a duration in whole days, such as `30d`. @throws UsageError for another form. */
export function readDays(duration: string): number {
  if (!duration.endsWith("d")) throw new UsageError("Give a time in whole days, such as 30d.");
  return readSeconds(duration) / (UNIT_SECONDS.d ?? 1);
}

/** Adds the value of an option that may be repeated to those before it. */
export const collected = (value: string, before: readonly string[] = []): string[] => [...before, value];
