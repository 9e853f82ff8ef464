/** Finds the group that the arguments of a command name. */
import type { EnvironmentClient, ListedGroup, NumberedGroup } from "../../../client/src/index.ts";
import { CommandError, UsageError } from "../../../common/command-error.ts";
import { LIST_ITEMS_MAX } from "../../../common/limits.ts";
import { hasCode } from "../service-access.ts";
import { quoted } from "../support/printable.ts";

/** Names one group, by the service's number or the integrator's id. */
export type GroupName = { teamId: number } | { userGroupId: string };

/** The name of the group in the arguments. @throws UsageError unless there is exactly one. */
export function groupNameOf(teamId: number | undefined, id: string | undefined): GroupName {
  if ((teamId === undefined) === (id === undefined))
    throw new UsageError("Name one group: by its number, as list shows it, or with --id.");
  return id !== undefined ? { userGroupId: id } : { teamId: teamId ?? 0 };
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

async function find(client: EnvironmentClient, name: GroupName): Promise<ListedGroup | undefined> {
  if ("teamId" in name) return foundOrNot(client.get(name));
  const { groups } = await client.listPage({ userGroupId: name.userGroupId });
  return groups[0];
}

/** The group, or `undefined` if there is none. */
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
