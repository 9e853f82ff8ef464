import type { FC } from "hono/jsx";
import type { Environment } from "../../../../common/environment.ts";
import { stateOf } from "../../../domain/user-groups/user-group.ts";
import type { ListedGroup } from "../../../records.ts";
import { groupPath } from "../paths.ts";
import { Badge } from "./detail.tsx";
import { Named } from "./events.tsx";
import { Table } from "./list.tsx";
import { Day, Text, Time } from "./text.tsx";

/** The time in the last column: when all of them were deleted or suspended, otherwise when each was changed. */
function lastColumn(groups: ListedGroup[]): [heading: string, timeOf: (group: ListedGroup) => number | null] {
  if (groups.every(({ deletedAt }) => deletedAt !== null)) return ["Deleted", ({ deletedAt }) => deletedAt];
  if (groups.every(({ suspendedAt }) => suspendedAt !== null)) return ["Suspended", ({ suspendedAt }) => suspendedAt];
  return ["Edited", ({ updatedAt }) => updatedAt];
}

export const GroupTable: FC<{ environment: Environment; groups: ListedGroup[] }> = ({ environment, groups }) => {
  const [heading, timeOf] = lastColumn(groups);
  return (
    <Table
      rows={groups}
      columns={[
        [
          "Customer",
          "",
          ({ teamId, name, providedId }) => [
            <Named path={groupPath(environment, teamId)} name={name} />,
            <Text in="code" value={providedId} />,
          ],
        ],
        ["State", "fit", (group) => <Badge state={stateOf(group)} />],
        ["Last viewed", "fit mid", ({ lastViewedOn }) => <Day day={lastViewedOn} none="never" />],
        [heading, "fit low", (group) => <Time at={timeOf(group)} />],
      ]}
    />
  );
};
