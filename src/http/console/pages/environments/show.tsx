import type { FC } from "hono/jsx";
import { directoryName, type Environment } from "../../../../../common/environment.ts";
import { KEY_ENDING_DAYS, KEY_UNUSED_DAYS } from "../../../../../common/limits.ts";
import { allowsRole } from "../../../../domain/credentials/rights.ts";
import type { EnvironmentOverview, NoticedKey } from "../../../../domain/user-groups/overview.ts";
import { admitAgain } from "../../../request/admit-caller.ts";
import { ButtonLink, Facts, Links, Menu, Split } from "../../components/detail.tsx";
import { Feed, linesOf, Named } from "../../components/events.tsx";
import { countText } from "../../components/list.tsx";
import { Time } from "../../components/text.tsx";
import type { EnvironmentCall } from "../../console-env.ts";
import { environmentPath, eventsPath, keyPath, withQuery } from "../../paths.ts";
import { refuseWithPage, respondWithPage } from "../../response/respond-with-page.tsx";

const ERASE = ["Erase this environment", <small>for good, with all its groups</small>];

/** How many lines of changes the page has, and how many changes it reads for them. */
const LINES_SHOWN = 8;
const EVENTS_READ = 40;

/** The overview of an environment: its groups, its latest changes, and the keys that somebody should look at. */
export async function showOverview(c: EnvironmentCall): Promise<Response> {
  const environment = c.get("environment");
  const read = await admitAgain(c, await c.get("directory").overview(c.get("operator")));
  if (!read.ok) return refuseWithPage(c, read.failure);
  const overview = read.value;
  const query = { limit: EVENTS_READ, withNames: true };
  const newest = await c.get("directory").listNewestEvents(c.get("operator"), query);
  const { events = [], names, next = null } = newest.ok ? newest.value : {};
  const named = events.map((event) => ({ ...event, environment, groupName: names?.[event.teamId ?? 0] }));
  const lines = linesOf(named);
  const isCut = next !== null && lines.length <= LINES_SHOWN;
  const isAdmin = allowsRole(c.get("operator").role, "admin");
  const path = environmentPath(environment);
  return respondWithPage(c, {
    title: directoryName(environment),
    actions: isAdmin && (
      <>
        <ButtonLink path={`${path}/keys/issue`} text="Issue a key" tone="primary" />
        <Menu text="More" label="More changes of this environment">
          <Links links={[{ path: `${path}/erase`, text: ERASE, class: "danger" }]} />
        </Menu>
      </>
    ),
    children: (
      <Split facts={<EnvironmentFacts path={path} overview={overview} />}>
        <h2>API keys to look at</h2>
        <NoticedKeys environment={environment} keys={overview.keys} />
        <h2>Latest changes</h2>
        <Feed lines={lines.slice(0, LINES_SHOWN)} known={{ environment: true }} isCut={isCut} />
        <p>
          <a href={eventsPath(environment)}>All events</a>
        </p>
      </Split>
    ),
  });
}

/** A number of bytes in gigabytes: a size is shown from the half of what an environment may have. */
const sizeOf = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`;

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
            bytes < bytesMax / 2 ? undefined : (
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
              </>
            ),
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
      {keys.map((key) => {
        const [words, at] = "endsAt" in key ? [" ends ", key.endsAt] : [" not used since ", key.unusedSince];
        return (
          <li>
            <Named path={keyPath(environment, key.id)} name={key.name} />
            {words}
            <Time at={at} />
          </li>
        );
      })}
    </ul>
  );
