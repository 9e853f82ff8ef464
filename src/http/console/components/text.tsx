import type { FC } from "hono/jsx";

/** A time in milliseconds since 1970, shown in UTC to the minute; the exact time is in its attributes. `none` stands for `null`. */
export const Time: FC<{ at: number | null; none?: string }> = ({ at, none = "–" }) => {
  if (at === null) return <>{none}</>;
  const iso = new Date(at).toISOString();
  return (
    <time datetime={iso} title={iso}>
      {`${iso.slice(0, 16).replace("T", " ")} UTC`}
    </time>
  );
};

/**
 * Characters that show nothing, or move the text around them, and blanks at the ends of a text. Line breaks and tabs are left: only
 * texts of several lines have them. So is the selector that makes a picture of the character before it.
 */
const UNSEEN =
  /(^ +|(?<! ) +$|(?:(?![\n\t]|(?<=\p{Extended_Pictographic})\ufe0f)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800])+)/u;

const nameOf = (text: string): string =>
  [...text].map((each) => `U+${(each.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`).join(" ");

/** A text that somebody else wrote: isolated from the text around it, and with marks in place of characters that nobody sees. */
export const Text: FC<{ value: string }> = ({ value }) => (
  <bdi>
    {value
      .split(UNSEEN)
      .map((part, index) => (index % 2 === 0 ? part : <span class="mark">{`[${nameOf(part)}]`}</span>))}
  </bdi>
);
