import type { FC } from "hono/jsx";
import { DAY_MS } from "../../../../common/limits.ts";

const DAYS_SHOWN_MIN = 30;
const DAYS_SHOWN_MAX = 60;
/** In units of the SVG's viewBox. */
const HEIGHT = 120;
const BAR = 10;

type Day = { day: string; count: number };

/** The 30 to 60 days up to the last one, also those without a count. `days` has at least one. */
function allDays(days: Day[]): Day[] {
  const counts = new Map(days.map(({ day, count }) => [day, count]));
  const [first, last] = [Date.parse(days[0]?.day ?? ""), Date.parse(days.at(-1)?.day ?? "")];
  const length = Math.min(DAYS_SHOWN_MAX, Math.max(DAYS_SHOWN_MIN, (last - first) / DAY_MS + 1));
  return Array.from({ length }, (_, index) => {
    const day = new Date(last - (length - 1 - index) * DAY_MS).toISOString().slice(0, 10);
    return { day, count: counts.get(day) ?? 0 };
  });
}

/** How many changes there were on each day, as bars. Each bar has its day and count as a title, and a table has them too. */
export const DayChart: FC<{ days: Day[] }> = ({ days }) => {
  const shown = allDays(days);
  const most = Math.max(...shown.map(({ count }) => count));
  const first = shown[0]?.day;
  const last = shown.at(-1)?.day;
  const width = shown.length * BAR;
  return (
    <figure class="chart">
      <svg
        viewBox={`0 0 ${width} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Changes by the day from ${first} to ${last}, at most ${most} on one day`}
      >
        {shown.map(({ day, count }, index) => {
          const height = count === 0 ? 0 : Math.max(2, (count / most) * (HEIGHT - 2));
          return (
            <rect x={index * BAR} y={HEIGHT - height} width={BAR - 2} height={height}>
              <title>{`${day}: ${count}`}</title>
            </rect>
          );
        })}
        <line x1="0" y1={HEIGHT} x2={width} y2={HEIGHT} />
      </svg>
      <figcaption>
        <span>{first}</span>
        <span>{`highest bar: ${most}`}</span>
        <span>{last}</span>
      </figcaption>
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
            {shown
              .filter(({ count }) => count > 0)
              .map(({ day, count }) => (
                <tr>
                  <td>{day}</td>
                  <td class="number">{count}</td>
                </tr>
              ))}
          </tbody>
        </table>
      </details>
    </figure>
  );
};
