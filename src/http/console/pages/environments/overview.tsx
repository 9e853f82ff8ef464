import { createFactory } from "hono/factory";
import type { FC } from "hono/jsx";
import { directoryName, type Environment } from "../../../../../common/environment.ts";
import {
  GROUPS_COUNTED_MAX,
  KEY_ENDING_DAYS,
  KEY_UNUSED_DAYS,
  NEWEST_EVENTS_MAX,
} from "../../../../../common/limits.ts";
import { allowsRole } from "../../../../domain/credentials/rights.ts";
import type { EnvironmentOverview, NoticedKey } from "../../../../domain/user-groups/overview.ts";
import { admitAgain } from "../../../request/admit-caller.ts";
import { DayChart } from "../../components/day-chart.tsx";
import { Text, Time } from "../../components/text.tsx";
import type { EnvironmentEnv } from "../../console-env.ts";
import { environmentPath, withQuery } from "../../paths.ts";
import { refuseWithPage, respondWithPage } from "../../response/respond-with-page.tsx";

/** The overview of an environment: its groups, its size, its changes by the day, and the keys that somebody should look at. */
export const showOverview = createFactory<EnvironmentEnv>().createHandlers(async (c) => {
  const environment = c.get("environment");
  const read = await c.get("directory").overview(c.get("operator"));
  if (!read.ok) return refuseWithPage(c, read.failure);
  const failure = await admitAgain(c, read.value);
  if (failure) return refuseWithPage(c, failure);
  const overview = read.value;
  return respondWithPage(c, {
    title: directoryName(environment),
    children: (
      <>
        <Facts environment={environment} overview={overview} />
        <h2>Changes by the day</h2>
        {overview.changes.length === 0 ? (
          <p>Nothing has changed yet.</p>
        ) : (
          <>
            <DayChart days={overview.changes} />
            <p>
              <small>
                {overview.hasMoreChanges
                  ? `The newest ${NEWEST_EVENTS_MAX.toLocaleString("en")} changes. The first day may have more.`
                  : "All changes that are kept."}{" "}
                <a href={`${environmentPath(environment)}/events`}>Read them</a>
              </small>
            </p>
          </>
        )}
        <h2>API keys to look at</h2>
        <NoticedKeys environment={environment} keys={overview.keys} />
        {allowsRole(c.get("operator").role, "admin") && (
          <p>
            <a href={`${environmentPath(environment)}/erase`}>Erase this environment</a>
          </p>
        )}
      </>
    ),
  });
});

/** A count of groups; one that the overview has stopped counting has a plus sign. */
const countText = (count: number): string => {
  const bound = GROUPS_COUNTED_MAX.toLocaleString("en");
  return count > GROUPS_COUNTED_MAX ? `${bound}+` : count.toLocaleString("en");
};

/** A number of bytes in decimal units, for people. */
function sizeOf(bytes: number): string {
  const units = ["bytes", "kB", "MB", "GB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const value = bytes / 1000 ** power;
  return `${value < 10 && power > 0 ? value.toFixed(1) : Math.round(value)} ${units[power]}`;
}

const Facts: FC<{ environment: Environment; overview: EnvironmentOverview }> = ({ environment, overview }) => {
  const { groups, deletedGroups, bytes, bytesMax } = overview;
  const path = `${environmentPath(environment)}/groups`;
  return (
    <dl>
      <dt>Groups</dt>
      <dd>
        <a href={path}>{countText(groups)}</a>
      </dd>
      <dt>Deleted, can be restored</dt>
      <dd>
        <a href={withQuery(path, { state: "deleted" })}>{countText(deletedGroups)}</a>
      </dd>
      <dt>Size</dt>
      <dd>
        {sizeOf(bytes)} of {sizeOf(bytesMax)}{" "}
        <meter
          min={0}
          max={bytesMax}
          high={bytesMax * 0.8}
          value={bytes}
          aria-label="Size, of what the environment may have"
        />
      </dd>
    </dl>
  );
};

const NoticedKeys: FC<{ environment: Environment; keys: NoticedKey[] }> = ({ environment, keys }) =>
  keys.length === 0 ? (
    <p>
      None: no key was unused for {KEY_UNUSED_DAYS} days, and none ends within {KEY_ENDING_DAYS}.{" "}
      <a href={`${environmentPath(environment)}/keys`}>All keys</a>
    </p>
  ) : (
    <ul>
      {keys.map((key) => (
        <li>
          <a href={`${environmentPath(environment)}/keys`}>
            {key.id} <Text value={key.name} />
          </a>
          :{" "}
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
