import { it } from "vitest";
import { daysToMs } from "../../src/domain/days.ts";
import { DAY_MS, DAYS_MAX } from "../../src/limits.ts";

it.for([
  ["30", 30],
  ["0.25", 0.25],
  ["0", 0],
  [" 2 ", 2],
  ["", 7],
  [" ", 7],
  ["\n", 7],
  [undefined, 7],
  ["-1", 7],
  ["NaN", 7],
  ["Infinity", 7],
  ["ten", 7],
  ["1 day", 7],
  ["36501", DAYS_MAX],
  ["1e300", DAYS_MAX],
] as const)("parses %j to %d days, where 7 are the default", ([text, days], { expect }) => {
  expect(daysToMs(text, 7)).toBe(days * DAY_MS);
});
