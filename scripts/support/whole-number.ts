import { CommandError } from "../command.ts";

/** The number of an item, which becomes a part of a path; `undefined` for any other text. */
export const itemNumber = (text: string): number | undefined =>
  /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;

/** The value of an option that is a number from 1 to `most`. */
export function wholeNumber(text: string, name: string, most: number): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > most) throw new CommandError(`Give --${name} as a whole number from 1 to ${most}.`);
  return value;
}
