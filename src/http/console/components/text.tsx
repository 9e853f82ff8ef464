import type { FC } from "hono/jsx";

/** A time in UTC, to the minute; the whole time is in its attributes. */
export const Time: FC<{ at: number | null; none?: string }> = ({ at, none = "–" }) => {
  if (at === null) return <>{none}</>;
  const iso = new Date(at).toISOString();
  return (
    <time datetime={iso} title={iso}>
      {`${iso.slice(0, 16).replace("T", " ")} UTC`}
    </time>
  );
};

/** Characters that show nothing, or move the text around them; but for line breaks and tabs, which only texts of several lines have. */
const UNSEEN = /((?:(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u3164\u2800])+)/u;

const nameOf = (text: string): string =>
  [...text].map((each) => `U+${(each.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`).join(" ");

/** A text of an integrator: isolated, and with marks in the place of characters that nobody sees. */
export const Text: FC<{ value: string }> = ({ value }) => (
  <bdi>
    {value
      .split(UNSEEN)
      .map((part, index) => (index % 2 === 0 ? part : <span class="mark">{`[${nameOf(part)}]`}</span>))}
  </bdi>
);
