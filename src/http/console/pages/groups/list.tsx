import { createFactory } from "hono/factory";
import type { FC } from "hono/jsx";
import type { Environment } from "../../../../../common/environment.ts";
import { stateOf } from "../../../../domain/user-groups/user-group.ts";
import { GROUP_STATES, type ListedGroup } from "../../../../records.ts";
import { listGroups as findGroups } from "../../../operations/user-groups.ts";
import { admitAgain } from "../../../request/admit-caller.ts";
import { listCursorOf } from "../../../resources/cursor.ts";
import { ListQuery } from "../../../resources/user-groups-by-number/schemas.ts";
import { Select, TextField } from "../../components/fields.tsx";
import { Filter } from "../../components/form.tsx";
import { Paging } from "../../components/paging.tsx";
import { Text, Time } from "../../components/text.tsx";
import { Wide } from "../../components/wide.tsx";
import type { EnvironmentEnv } from "../../console-env.ts";
import { environmentPath, groupPath } from "../../paths.ts";
import { readPageQuery } from "../../request/page-query.ts";
import { refuseWithPage, respondWithPage } from "../../response/respond-with-page.tsx";

/** A page of a list, whose texts may be long, stays below 60 KB. */
const ROWS = "50";

/** The groups of an environment, filtered by the beginning of their ids and by their state. */
export const listGroups = createFactory<EnvironmentEnv>().createHandlers(async (c) => {
  const environment = c.get("environment");
  const { fields, value: query, issues } = readPageQuery(c, ListQuery(), { defaults: { limit: ROWS } });
  const listed = query && (await findGroups(c.get("directory"), c.get("operator"), query));
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
      <>
        <Filter action={path}>
          <TextField name="user_group_id_prefix" label="Id begins with" value={prefix} issues={issues} />
          <Select
            name="state"
            label="State"
            value={state}
            options={[["", "active and suspended"], ...GROUP_STATES.map((each): [string, string] => [each, each])]}
            issues={issues}
          />
        </Filter>
        {groups.length > 0 ? (
          <GroupTable environment={environment} groups={groups} />
        ) : (
          <p>{next === null ? "No groups." : "No groups on this page; the list goes on."}</p>
        )}
        <Paging
          path={path}
          fields={{ user_group_id_prefix: prefix, state }}
          cursor={cursor}
          nextCursor={listCursorOf(next, prefix)}
        />
      </>
    ),
  });
});

const GroupTable: FC<{ environment: Environment; groups: ListedGroup[] }> = ({ environment, groups }) => (
  <Wide label="Groups">
    <table>
      <thead>
        <tr>
          <th class="number">Number</th>
          <th>Id</th>
          <th>Name</th>
          <th>State</th>
          <th>Last viewed</th>
          <th>Updated</th>
        </tr>
      </thead>
      <tbody>
        {groups.map((group) => (
          <tr>
            <td class="number">{group.teamId}</td>
            <td>
              <a href={groupPath(environment, group.teamId)}>
                <Text value={group.providedId} />
              </a>
            </td>
            <td>
              <Text value={group.name} />
            </td>
            <td>{stateOf(group)}</td>
            <td class="nowrap">{group.lastViewedOn ?? "–"}</td>
            <td>
              <Time at={group.updatedAt} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </Wide>
);
