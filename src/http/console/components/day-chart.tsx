import type { FC } from "hono/jsx";
import { DAY_MS } from "../../../../common/limits.ts";
import { dayOf } from "../../../domain/days.ts";

const DAYS_SHOWN = 30;
/** In units of the SVG's viewBox. */
const HEIGHT = 60;
const BAR = 10;
const UNCOUNTED_HEIGHT = 4;

type Day = { day: string; count: number };

type Counts = {
  /** The days with changes, in UTC, oldest first. */
  days: Day[];
  /** Whether there are older changes, which were not counted. */
  hasMore: boolean;
  /** How long changes are kept, in milliseconds. */
  keptMs: number;
};

/** Each of the last days up to today. A day that was not counted has no count, and the first one that was may have more. */
export function lastDays({ days, hasMore, keptMs }: Counts, now: number): { day: string; count: number | undefined }[] {
  const counts = new Map(days.map(({ day, count }) => [day, count]));
  const first = [dayOf(now - keptMs), ...(hasMore && days[0] ? [days[0].day] : [])].toSorted().at(-1) ?? "";
  return Array.from({ length: DAYS_SHOWN }, (_, index) => {
    const day = dayOf(now - (DAYS_SHOWN - 1 - index) * DAY_MS);
    return { day, count: day < first ? undefined : (counts.get(day) ?? 0) };
  });
}

/** How many changes there were on each of the last days, as bars. Each has its day and count as a title, and a table has them too. */
export const DayChart: FC<Counts> = (counts) => {
  const shown = lastDays(counts, Date.now());
  const most = Math.max(1, ...shown.map(({ count }) => count ?? 0));
  const [first, last] = [shown[0]?.day, shown.at(-1)?.day];
  const width = DAYS_SHOWN * BAR;
  const uncounted = shown.filter(({ count }) => count === undefined).length;
  const note = uncounted > 0 ? `, ${uncounted} days not counted` : "";
  return (
    <figure class="chart">
      <svg
        viewBox={`0 0 ${width} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Changes by the day from ${first} to ${last}, at most ${most} on one day${note}`}
      >
        {shown.map(({ day, count }, index) => {
          const height =
            count === undefined ? UNCOUNTED_HEIGHT : count === 0 ? 0 : Math.max(2, (count / most) * (HEIGHT - 2));
          return (
            <rect
              x={index * BAR}
              y={HEIGHT - height}
              width={BAR - 2}
              height={height}
              class={count === undefined ? "uncounted" : ""}
            >
              <title>{`${day}: ${count ?? "not counted"}`}</title>
            </rect>
          );
        })}
        <line x1="0" y1={HEIGHT} x2={width} y2={HEIGHT} />
      </svg>
      <figcaption>
        <span>{first}</span>
        <span>{`highest bar: ${most}${note}`}</span>
        <span>today</span>
      </figcaption>
      <DayTable days={shown} />
    </figure>
  );
};

const DayTable: FC<{ days: ReturnType<typeof lastDays> }> = ({ days }) => (
  <details>
    <summary>As a table</summary>
    <table>
      <thead>
        <tr>
          <th>Day</th>
          <th class="number">Changes</th>
        </tr>
      </thead>
      <tbody>
        {days
          .filter(({ count }) => count !== 0)
          .map(({ day, count }) => (
            <tr>
              <td>{day}</td>
              <td class="number">{count ?? "not counted"}</td>
            </tr>
          ))}
      </tbody>
    </table>
  </details>
);
