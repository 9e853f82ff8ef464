import { createFactory } from "hono/factory";
import type { Child, FC } from "hono/jsx";
import type { Environment } from "../../../../../common/environment.ts";
import { stateOf } from "../../../../domain/user-groups/user-group.ts";
import { GROUP_STATES, type GroupState, type ListedGroup } from "../../../../records.ts";
import { cursorOf } from "../../../resources/cursor.ts";
import { ListQuery } from "../../../resources/user-groups-by-number/schemas.ts";
import { Badge } from "../../components/detail.tsx";
import { List, rowsBefore, type Tab } from "../../components/list.tsx";
import { Day, Text, Time } from "../../components/text.tsx";
import type { EnvironmentEnv } from "../../console-env.ts";
import { environmentPath, groupPath, withQuery } from "../../paths.ts";
import { admitAgain } from "../../request/admit-again.ts";
import { readPageQuery } from "../../request/page-query.ts";
import { refuseWithPage, respondWithPage } from "../../response/respond-with-page.tsx";

/** A page of a list, whose texts may be long, stays below 60 KB. */
const ROWS = "50";

/** The groups of an environment, by their state. */
export const listGroups = createFactory<EnvironmentEnv>().createHandlers(async (c) => {
  const environment = c.get("environment");
  const { fields, value: query, issues } = readPageQuery(c, ListQuery(), { defaults: { limit: ROWS }, own: ["from"] });
  const listed = query && (await c.get("directory").list(c.get("operator"), query));
  if (listed && !listed.ok) return refuseWithPage(c, listed.failure);
  const failure = listed && (await admitAgain(c, listed.value));
  if (failure) return refuseWithPage(c, failure);
  const { groups, next } = listed?.value ?? { groups: [], next: null };
  const { user_group_id_prefix: prefix, state, cursor } = fields;
  const path = `${environmentPath(environment)}/groups`;
  return respondWithPage(c, {
    title: "Groups",
    issues,
    children: (
      <List
        label="States"
        tabs={tabsOf(path, state)}
        isEmpty={groups.length === 0}
        empty={emptyText(state, next !== null)}
        paging={{
          path,
          fields: { user_group_id_prefix: prefix, state },
          cursor,
          nextCursor: next === null ? null : cursorOf({ start: next, prefix }),
          rows: groups.length,
          from: rowsBefore(c.req.query("from")),
        }}
      >
        <GroupTable environment={environment} groups={groups} />
      </List>
    ),
  });
});

const STATE_TABS: Record<GroupState, string> = { active: "Active", suspended: "Suspended", deleted: "Deleted" };

const tabsOf = (path: string, current: string | undefined): Tab[] => [
  { path, text: "All", isCurrent: current === undefined },
  ...GROUP_STATES.map((state) => ({
    path: withQuery(path, { state }),
    text: STATE_TABS[state],
    isCurrent: state === current,
  })),
];

function emptyText(state: string | undefined, goesOn: boolean): Child {
  if (goesOn) return "No groups on this page; the list goes on.";
  if (state === "deleted") return "No deleted groups. A deleted group can be restored from here, until it is purged.";
  if (state === "suspended") return "No group is suspended.";
  return "No groups yet. The integrator's backend creates them: the first call for a customer makes its group.";
}

/** A table of groups. */
export const GroupTable: FC<{ environment: Environment; groups: ListedGroup[] }> = ({ environment, groups }) => (
  <table>
    <thead>
      <tr>
        <th>Customer</th>
        <th class="fit">State</th>
        <th class="fit mid">Last viewed</th>
        <th class="fit low">Changed</th>
      </tr>
    </thead>
    <tbody>
      {groups.map((group) => (
        <tr>
          <td>
            <a href={groupPath(environment, group.teamId)}>
              <Text value={group.name} />
            </a>
            <code>
              <Text value={group.providedId} />
            </code>
          </td>
          <td class="fit">
            <Badge state={stateOf(group)} />
          </td>
          <td class="fit mid">
            <Day day={group.lastViewedOn} none="never" />
          </td>
          <td class="fit low">
            <Time at={group.deletedAt ?? group.updatedAt} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
);
