import type { Child, FC } from "hono/jsx";
import { DAY_MS } from "../../../../common/limits.ts";
import { dayOf } from "../../../domain/days.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** The units of a distance in time, each with the milliseconds from which it is used. */
const UNITS: [from: number, unit: string, ms: number][] = [
  [330 * DAY_MS, "year", 365 * DAY_MS],
  [60 * DAY_MS, "month", 30.44 * DAY_MS],
  [DAY_MS, "day", DAY_MS],
  [HOUR_MS, "hour", HOUR_MS],
  [MINUTE_MS, "minute", MINUTE_MS],
];

/** A time as people say it: "3 days ago", "in 9 days". */
export function relativeTime(at: number, now: number): string {
  const distance = Math.abs(at - now);
  const [, unit, ms] = UNITS.find(([from]) => distance >= from) ?? [];
  if (unit === undefined || ms === undefined) return at > now ? "in less than a minute" : "just now";
  // What is to come is rounded: a key that was issued for a week a moment ago ends in 7 days.
  const count = Math.max(1, at > now ? Math.round(distance / ms) : Math.floor(distance / ms));
  const text = `${count} ${unit}${count === 1 ? "" : "s"}`;
  return at > now ? `in ${text}` : `${text} ago`;
}

/** A time in UTC to the minute. */
export const utcTime = (at: number): string => `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`;

/** A time in milliseconds since 1970, as its distance from now. Its attributes have it in UTC. `none` stands for `null`. */
export const Time: FC<{ at: number | null; none?: string }> = ({ at, none = "–" }) =>
  at === null ? (
    <small>{none}</small>
  ) : (
    <time datetime={new Date(at).toISOString()} title={utcTime(at)}>
      {relativeTime(at, Date.now())}
    </time>
  );

/** A day in UTC, such as 2026-01-31, as its distance from today. */
export const Day: FC<{ day: string | null; none: string }> = ({ day, none }) => {
  if (day === null) return <small>{none}</small>;
  const days = Math.round((Date.parse(dayOf(Date.now())) - Date.parse(day)) / DAY_MS);
  return (
    <time datetime={day} title={`${day} UTC`}>
      {days === 0 ? "today" : days === 1 ? "yesterday" : `${days} days ago`}
    </time>
  );
};

/**
 * Characters that show nothing, or move the text around them. Line breaks and tabs are left: only texts of several lines have them. So is
 * the selector that makes a picture of the character before it.
 */
const INVISIBLE = String.raw`(?:(?![\n\t]|(?<=\p{Extended_Pictographic})\ufe0f)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800])+`;
/** These, and blanks at the ends of a text. */
const UNSEEN = new RegExp(`(^ +|(?<! ) +$|${INVISIBLE})`, "u");
/** The same in SQL and JSON, where people see blanks at the ends of a line for what they are. */
const UNSEEN_IN_CODE = new RegExp(`(${INVISIBLE})`, "u");

const nameOf = (text: string): string =>
  [...text].map((each) => `U+${(each.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`).join(" ");

const marked = (text: string, unseen: RegExp): Child[] =>
  text.split(unseen).map((part, index) => (index % 2 === 0 ? part : <span class="hint">{`[${nameOf(part)}]`}</span>));

/** A text that somebody else wrote: isolated from the text around it, and with marks in place of characters that nobody sees. */
export const Text: FC<{ value: string }> = ({ value }) => <bdi>{marked(value, UNSEEN)}</bdi>;

/** A heading of words and a text that somebody else wrote. */
export const Heading: FC<{ words: string; value: string }> = ({ words, value }) => (
  <>
    {words} <Text value={value} />
  </>
);

/** SQL or JSON that somebody else wrote, as it is. */
export const CodeText: FC<{ value: string }> = ({ value }) => <bdi>{marked(value, UNSEEN_IN_CODE)}</bdi>;

/** The same without markup, for the title of a window, where nothing can be isolated. */
export const plainText = (value: string): string =>
  value
    .split(UNSEEN)
    .map((part, index) => (index % 2 === 0 ? part : `[${nameOf(part)}]`))
    .join("");
