import type { Child, FC } from "hono/jsx";
import { DAY_MS } from "../../../../common/limits.ts";
import { dayOf } from "../../../domain/days.ts";

const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
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

/** The hour and minute of a time in UTC, below the heading of its day. */
export const Clock: FC<{ at: number }> = ({ at }) => (
  <time datetime={new Date(at).toISOString()} title={utcTime(at)}>
    {utcTime(at).slice("2026-01-31 ".length, "2026-01-31 09:00".length)}
  </time>
);

/** A day in UTC, such as 2026-01-31, as its distance from today. */
function relativeDay(day: string): string {
  const days = Math.round((Date.parse(dayOf(Date.now())) - Date.parse(day)) / DAY_MS);
  return days === 0 ? "today" : days === 1 ? "yesterday" : `${days} days ago`;
}

export const Day: FC<{ day: string | null; none: string }> = ({ day, none }) =>
  day === null ? (
    <small>{none}</small>
  ) : (
    <time datetime={day} title={`${day} UTC`}>
      {relativeDay(day)}
    </time>
  );

export const DayName: FC<{ day: string }> = ({ day }) => {
  const format = { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" } as const;
  return [new Date(day).toLocaleDateString("en-GB", format), " ", <small>{relativeDay(day)}</small>];
};

/** The parts of emoji that show nothing alone: the selector of a picture, what joins several into one, and the letters of a flag. */
const IN_EMOJI = [
  String.raw`(?<=\p{Extended_Pictographic})\ufe0f`,
  String.raw`(?<=[\d#*])\ufe0f(?=\u20e3)`,
  String.raw`(?<=\p{Extended_Pictographic}[\ufe0f\p{Emoji_Modifier}]?)\u200d(?=\p{Extended_Pictographic})`,
  String.raw`(?<=\u{1f3f4}[\u{e0030}-\u{e007a}]*)[\u{e0030}-\u{e007f}]`,
].join("|");
/**
 * Characters that show nothing, or move the text around them. Line breaks and tabs are left: only texts of several lines have them. So are
 * the parts of emoji.
 */
const INVISIBLE = String.raw`(?:(?![\n\t]|${IN_EMOJI})[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800])+`;
/** These, and blanks at the ends of a text. */
const UNSEEN = new RegExp(String.raw`(^\p{Zs}+|(?<!\p{Zs})\p{Zs}+$|${INVISIBLE})`, "u");
/** The same in SQL and JSON, where people see blanks at the ends of a line for what they are. */
const UNSEEN_IN_CODE = new RegExp(`(${INVISIBLE})`, "u");

const nameOf = (text: string): string =>
  [...text].map((each) => `U+${(each.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`).join(" ");

const marked = (text: string, unseen: RegExp): Child[] =>
  text.split(unseen).map((part, index) => (index % 2 === 0 ? part : <span class="hint">{`[${nameOf(part)}]`}</span>));

/** A text that somebody else wrote: isolated from the text around it, and with marks in place of characters that nobody sees. */
export const Text: FC<{ value: string; in?: "b" | "code" | "q" | "small" }> = ({ value, in: Element }) => {
  const isolated = <bdi>{marked(value, UNSEEN)}</bdi>;
  return Element ? <Element>{isolated}</Element> : isolated;
};

export const Heading: FC<{ words: string; value: string }> = ({ words, value }) => [words, " ", <Text value={value} />];

/** SQL or JSON that somebody else wrote, as it is. */
export const CodeText: FC<{ value: string }> = ({ value }) => <bdi>{marked(value, UNSEEN_IN_CODE)}</bdi>;

const SEGMENTER = new Intl.Segmenter("en");

/** The beginning of a text, of at most so many UTF-16 code units. What people see as one character is not divided. */
export function beginningOf(text: string, unitsMax: number): string {
  if (text.length <= unitsMax) return text;
  const [last] = [...SEGMENTER.segment(text.slice(0, unitsMax + 1))].slice(-1);
  return `${text.slice(0, last?.index)}…`;
}

/** A text that somebody else wrote without markup, for the title of a window, where nothing can be isolated. */
export const plainText = (value: string): string =>
  value
    .split(UNSEEN)
    .map((part, index) => (index % 2 === 0 ? part : `[${nameOf(part)}]`))
    .join("");
