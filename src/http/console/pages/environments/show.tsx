import type { FC } from "hono/jsx";
import { directoryName, type Environment } from "../../../../../common/environment.ts";
import { DAY_MS, KEY_ENDING_DAYS, KEY_UNUSED_DAYS } from "../../../../../common/limits.ts";
import { eventMsOf } from "../../../../../common/settings/settings.ts";
import { allowsRole } from "../../../../domain/credentials/rights.ts";
import { dayOf } from "../../../../domain/days.ts";
import type { EnvironmentOverview, NoticedKey } from "../../../../domain/user-groups/overview.ts";
import type { RequestContext } from "../../../app-env.ts";
import { admitAgain } from "../../../request/admit-caller.ts";
import { Facts, Menu, Split } from "../../components/detail.tsx";
import { Feed } from "../../components/events.tsx";
import { countText } from "../../components/list.tsx";
import { Text, Time } from "../../components/text.tsx";
import type { EnvironmentEnv } from "../../console-env.ts";
import { environmentPath, keyPath, withQuery } from "../../paths.ts";
import { refuseWithPage, respondWithPage } from "../../response/respond-with-page.tsx";

const EVENTS_SHOWN = 8;

/** The overview of an environment: its groups, its size, its changes by the day, and the keys that somebody should look at. */
export async function showOverview(c: RequestContext<EnvironmentEnv>): Promise<Response> {
  const environment = c.get("environment");
  const read = await admitAgain(c, await c.get("directory").overview(c.get("operator")));
  if (!read.ok) return refuseWithPage(c, read.failure);
  const overview = read.value;
  const newest = await c.get("directory").listNewestEvents(c.get("operator"), { limit: EVENTS_SHOWN });
  const isAdmin = allowsRole(c.get("operator").role, "admin");
  const path = environmentPath(environment);
  return respondWithPage(c, {
    title: directoryName(environment),
    actions: isAdmin && (
      <>
        <a class="button primary" href={`${path}/keys/issue`}>
          Issue a key
        </a>
        <Menu text="More" label="More changes of this environment">
          <ul>
            <li>
              <a class="danger" href={`${path}/erase`}>
                Erase this environment
                <small>for good, with all its groups</small>
              </a>
            </li>
          </ul>
        </Menu>
      </>
    ),
    children: (
      <Split facts={<EnvironmentFacts path={path} overview={overview} />}>
        <h2>Changes by the day</h2>
        <DayChart days={overview.changes} hasMore={overview.hasMoreChanges} keptMs={eventMsOf(c.env)} />
        <h2>API keys to look at</h2>
        <NoticedKeys environment={environment} keys={overview.keys} />
        <h2>Latest changes</h2>
        <Feed events={newest.ok ? newest.value.events : []} environment={environment} hasGroups />
        <p>
          <a href={`${path}/events`}>All events</a>
        </p>
      </Split>
    ),
  });
}

/** A number of bytes in decimal units, for people. */
function sizeOf(bytes: number): string {
  const units = ["bytes", "kB", "MB", "GB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const value = bytes / 1000 ** power;
  return `${value < 10 && power > 0 ? value.toFixed(1) : Math.round(value)} ${units[power]}`;
}

const EnvironmentFacts: FC<{ path: string; overview: EnvironmentOverview }> = ({ path, overview }) => {
  const { groups, deletedGroups, bytes, bytesMax } = overview;
  return (
    <>
      <h2>About</h2>
      <Facts
        facts={[
          ["Groups", <a href={`${path}/groups`}>{countText(groups)}</a>],
          [
            "Deleted, can be restored",
            <a href={withQuery(`${path}/groups`, { state: "deleted" })}>{countText(deletedGroups)}</a>,
          ],
          [
            "Size",
            <>
              {sizeOf(bytes)} of {sizeOf(bytesMax)}
              <br />
              <meter
                min={0}
                max={bytesMax}
                high={bytesMax * 0.8}
                value={bytes}
                aria-label="Size, of what the environment may have"
              />
            </>,
          ],
        ]}
      />
    </>
  );
};

const NoticedKeys: FC<{ environment: Environment; keys: NoticedKey[] }> = ({ environment, keys }) =>
  keys.length === 0 ? (
    <p class="hint">
      None: no key was unused for {KEY_UNUSED_DAYS} days, and none ends within {KEY_ENDING_DAYS}.{" "}
      <a href={`${environmentPath(environment)}/keys`}>All keys</a>
    </p>
  ) : (
    <ul>
      {keys.map((key) => (
        <li>
          <a href={keyPath(environment, key.id)}>
            <Text value={key.name} />
          </a>{" "}
          {"endsAt" in key ? (
            <>
              ends <Time at={key.endsAt} />
            </>
          ) : (
            <>
              not used since <Time at={key.unusedSince} />
            </>
          )}
        </li>
      ))}
    </ul>
  );

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
const DayChart: FC<Counts> = (counts) => {
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
