import { directoryName } from "../../../../../common/environment.ts";
import type { RequestContext } from "../../../app-env.ts";
import { admitAgain } from "../../../request/admit-caller.ts";
import { pathNumber } from "../../../request/query.ts";
import { historyCursorOf, parseHistoryCursor } from "../../../resources/cursor.ts";
import { HISTORY_CURSOR_MESSAGE, HistoryQuery } from "../../../resources/user-groups-by-number/wire.ts";
import { Feed, SearchedBackTo } from "../../components/events.tsx";
import { List } from "../../components/list.tsx";
import { Heading, plainText } from "../../components/text.tsx";
import type { EnvironmentEnv } from "../../console-env.ts";
import { environmentPath, groupPath } from "../../paths.ts";
import { readPageQuery } from "../../request/page-query.ts";
import { refuseWithPage, respondWithPage } from "../../response/respond-with-page.tsx";

const ROWS = "50";

/** All events of one group, newest first, also of a deleted or purged one. */
export async function showHistory(c: RequestContext<EnvironmentEnv>): Promise<Response> {
  const environment = c.get("environment");
  const feed = directoryName(environment);
  const teamId = pathNumber(c.req.param("team_id"));
  const { value, issues } = readPageQuery(c, HistoryQuery(), { defaults: { limit: ROWS } });
  const { cursor, limit } = value ?? { cursor: undefined, limit: Number(ROWS) };
  const from = cursor === undefined ? undefined : parseHistoryCursor(cursor, feed, teamId);
  if (cursor !== undefined && from === undefined) issues.push({ path: ["cursor"], message: HISTORY_CURSOR_MESSAGE });
  const read = await admitAgain(c, await c.get("directory").history(c.get("operator"), teamId, { from, limit }));
  if (!read.ok) return refuseWithPage(c, read.failure);
  const { events, next } = read.value;
  const path = groupPath(environment, teamId);
  // A purged group has no name any more.
  const id = events[0]?.providedId ?? String(teamId);
  return respondWithPage(c, {
    title: `Events of ${id}`,
    heading: <Heading words="Events of" value={id} />,
    issues,
    crumbs: [
      [`${environmentPath(environment)}/groups`, "Groups"],
      [path, plainText(id)],
    ],
    subline: <SearchedBackTo page={read.value} rows={limit} />,
    children: (
      <List
        label="Events"
        isEmpty={events.length === 0}
        empty={
          next === null
            ? "No events of this group are kept."
            : "No event of this group was found yet. The next page searches on."
        }
        paging={{
          path: `${path}/events`,
          fields: {},
          cursor,
          nextCursor: next === null ? null : historyCursorOf(feed, teamId, next),
          rows: 0,
        }}
      >
        <Feed events={events} environment={environment} />
      </List>
    ),
  });
}
