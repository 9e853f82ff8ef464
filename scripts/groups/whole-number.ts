import { CommandError } from "../command.ts";

/** The value of an option that is a number from 1 to `most`. */
export function wholeNumber(text: string, name: string, most: number): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > most) throw new CommandError(`Give --${name} as a whole number from 1 to ${most}.`);
  return value;
}
