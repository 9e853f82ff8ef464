import type { FC } from "hono/jsx";
import type { Environment } from "../../../../common/environment.ts";
import { stateOf } from "../../../domain/user-groups/user-group.ts";
import type { ListedGroup } from "../../../records.ts";
import { groupPath } from "../paths.ts";
import { Badge } from "./detail.tsx";
import { Day, Text, Time } from "./text.tsx";

/** A table of groups. */
export const GroupTable: FC<{ environment: Environment; groups: ListedGroup[] }> = ({ environment, groups }) => (
  <table>
    <thead>
      <tr>
        <th>Customer</th>
        <th class="fit">State</th>
        <th class="fit mid">Last viewed</th>
        <th class="fit low">{groups.every(({ deletedAt }) => deletedAt !== null) ? "Deleted" : "Changed"}</th>
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
