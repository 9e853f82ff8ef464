import { UsageError } from "../../common/command-error.ts";

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
