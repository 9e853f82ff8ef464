/** Finds the group that the arguments of a command name. */
import type { EnvironmentClient, ListedGroup, NumberedGroup } from "../../../client/src/index.ts";
import { CommandError, UsageError } from "../../../common/command-error.ts";
import { LIST_ITEMS_MAX } from "../../../common/limits.ts";
import { itemNumber } from "../option-values.ts";
import { hasCode } from "../service-access.ts";
import { quoted } from "../support/printable.ts";

/** Names one group, by the service's number or the integrator's id. */
export type GroupName = { teamId: number } | { userGroupId: string };

/** The group that the argument of a command names, by its number or else its id, or --id. @throws UsageError unless exactly one does */
export function groupNameOf(named: string | undefined, id: string | undefined): GroupName {
  if ((named === undefined) === (id === undefined))
    throw new UsageError("Name one group: by its number or its user_group_id, or with --id.");
  const teamId = named === undefined ? undefined : itemNumber(named);
  return teamId === undefined ? { userGroupId: id ?? named ?? "" } : { teamId };
}

/** The group that exists with this name, or else the deleted one. */
export const findAny = async (client: EnvironmentClient, name: GroupName): Promise<ListedGroup> =>
  (await find(client, name)) ?? (await findDeleted(client, name)) ?? Promise.reject(missing(name));

export const findExisting = async (client: EnvironmentClient, name: GroupName): Promise<ListedGroup> =>
  (await find(client, name)) ?? Promise.reject(missing(name));

/** The deleted group, if there is one. Several may have had one id. */
export async function findDeleted(client: EnvironmentClient, name: GroupName): Promise<ListedGroup | undefined> {
  if ("teamId" in name) return foundOrNot(client.get({ ...name, state: "deleted" }));
  const found: ListedGroup[] = [];
  for await (const group of client.list({ state: "deleted", pageSize: LIST_ITEMS_MAX }))
    if (group.userGroupId === name.userGroupId) found.push(group);
  if (found.length > 1)
    throw new CommandError(
      `Several deleted groups had this id. Name one by its number: ${found.map(({ teamId }) => teamId).join(", ")}.`,
    );
  return found[0];
}

const find = (client: EnvironmentClient, name: GroupName): Promise<ListedGroup | undefined> =>
  "teamId" in name ? foundOrNot(client.get(name)) : findById(client, name.userGroupId);

/** The group that exists with this id. */
export const findById = async (client: EnvironmentClient, userGroupId: string): Promise<ListedGroup | undefined> =>
  (await client.listPage({ userGroupId })).groups[0];

/** The group with this number, whether it exists or is deleted. */
export const findByNumber = async (client: EnvironmentClient, teamId: number): Promise<NumberedGroup | undefined> =>
  (await foundOrNot(client.get({ teamId }))) ?? (await foundOrNot(client.get({ teamId, state: "deleted" })));

const foundOrNot = (call: Promise<NumberedGroup>): Promise<NumberedGroup | undefined> =>
  call.catch((error: unknown) => {
    if (hasCode(error, "user_group_not_found")) return undefined;
    throw error;
  });

const missing = (name: GroupName): CommandError =>
  new CommandError(
    "teamId" in name
      ? `There is no group ${name.teamId} in this environment. List the groups, and those with --state deleted.`
      : `There is no group with the id ${quoted(name.userGroupId)} in this environment. Ids are case-sensitive: list the groups.`,
    { code: "user_group_not_found" },
  );
