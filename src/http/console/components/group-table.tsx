import type { FC } from "hono/jsx";
import type { Environment } from "../../../../common/environment.ts";
import { stateOf } from "../../../domain/user-groups/user-group.ts";
import type { ListedGroup } from "../../../records.ts";
import { groupPath } from "../paths.ts";
import { Badge } from "./detail.tsx";
import { Day, Text, Time } from "./text.tsx";

/** The time in the last column: when all of them were deleted or suspended, otherwise when each was changed. */
function lastColumn(groups: ListedGroup[]): [heading: string, timeOf: (group: ListedGroup) => number | null] {
  if (groups.every(({ deletedAt }) => deletedAt !== null)) return ["Deleted", ({ deletedAt }) => deletedAt];
  if (groups.every(({ suspendedAt }) => suspendedAt !== null)) return ["Suspended", ({ suspendedAt }) => suspendedAt];
  return ["Edited", ({ updatedAt }) => updatedAt];
}

/** A table of groups. */
export const GroupTable: FC<{ environment: Environment; groups: ListedGroup[] }> = ({ environment, groups }) => {
  const [heading, timeOf] = lastColumn(groups);
  return (
    <table>
      <thead>
        <tr>
          <th>Customer</th>
          <th class="fit">State</th>
          <th class="fit mid">Last viewed</th>
          <th class="fit low">{heading}</th>
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
              <Time at={timeOf(group)} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
};
