import { createFactory } from "hono/factory";
import type { FC } from "hono/jsx";
import { directoryName, type Environment } from "../../../../../common/environment.ts";
import { KEY_ENDING_DAYS, KEY_UNUSED_DAYS } from "../../../../../common/limits.ts";
import { eventMsOf } from "../../../../../common/settings/settings.ts";
import { allowsRole } from "../../../../domain/credentials/rights.ts";
import type { EnvironmentOverview, NoticedKey } from "../../../../domain/user-groups/overview.ts";
import { admitAgain } from "../../../request/admit-caller.ts";
import { DayChart } from "../../components/day-chart.tsx";
import { Facts, Menu, Split } from "../../components/detail.tsx";
import { Feed } from "../../components/events.tsx";
import { countText } from "../../components/list.tsx";
import { Text, Time } from "../../components/text.tsx";
import type { EnvironmentEnv } from "../../console-env.ts";
import { environmentPath, keyPath, withQuery } from "../../paths.ts";
import { refuseWithPage, respondWithPage } from "../../response/respond-with-page.tsx";

const EVENTS_SHOWN = 8;

/** The overview of an environment: its groups, its size, its changes by the day, and the keys that somebody should look at. */
export const showOverview = createFactory<EnvironmentEnv>().createHandlers(async (c) => {
  const environment = c.get("environment");
  const read = await c.get("directory").overview(c.get("operator"));
  if (!read.ok) return refuseWithPage(c, read.failure);
  const failure = await admitAgain(c, read.value);
  if (failure) return refuseWithPage(c, failure);
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
});

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
