import { UsageError } from "../../common/command-error.ts";

/** The number of an item, which becomes a part of a path; `undefined` for any other text. */
export const itemNumber = (text: string): number | undefined =>
  /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;

/** A reader for an option that is a whole number from 1 to `most`. It throws a UsageError for anything else. */
export const wholeNumberReader =
  (name: string, most: number) =>
  (text: string): number => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : 0;
    if (value < 1 || value > most) throw new UsageError(`Give --${name} as a whole number from 1 to ${most}.`);
    return value;
  };
