/** What the commands on groups share: their input, and the form of their output. */
import type { EnvironmentClient, ListedGroup } from "../../../client/src/index.ts";
import { CommandError } from "../../../common/command-error.ts";
import { announce, type Output, type ServiceOptions } from "../command.ts";
import { describedTarget, type Target } from "../contexts/context-store.ts";
import { quoted } from "../support/printable.ts";
import { tableOfItems } from "../support/table.ts";
import { toWire } from "../wire.ts";

/** The client, the options and the arguments of one command. */
export type Task<Values = object> = {
  client: EnvironmentClient;
  values: Values;
  /** The number that was typed, if the command takes a group. */
  number: number | undefined;
  /** The options that name the deployment and the environment, as a shell takes them. */
  where: string;
  target: Target;
};

/**
 * Says what a command will do, and to which deployment.
 *
 * @throws CommandError with the command line that does it, unless the user has confirmed it with --yes.
 */
export function requireYesTo(
  {
    target,
    where,
    values,
  }: Pick<Task<Pick<ServiceOptions, "json"> & { yes?: boolean }>, "target" | "where" | "values">,
  what: string,
  command: string,
): void {
  if (!values.yes)
    throw new CommandError(
      `This would ${what}, at ${describedTarget(target)}. Nothing was changed. To do it: ${commandLine({ where }, `${command} --yes`)}`,
      { code: "not_confirmed" },
    );
  announce({ target, ...values }, what);
}

/** A group, so that a person recognizes it. */
export const described = ({ teamId, userGroupId, name }: ListedGroup): string =>
  `group ${teamId}, ${quoted(userGroupId)}, named ${quoted(name)}`;

/** A command line to type, in the same environment. Never with `npx`, which outside of a clone runs a package of another author. */
export const commandLine = ({ where }: Pick<Task, "where">, command: string): string => `ug groups ${command}${where}`;

/** The output of a command on one group. */
export const outputOf = (group: ListedGroup, text: string): Output => ({
  body: { success: 1, user_group: toWireGroup(group) },
  text: `${tableOfGroups([group])}\n\n${text}`,
});

/** A group with the names of a list on the wire. */
export function toWireGroup({ teamId, userGroupId, ...group }: ListedGroup): Record<string, unknown> {
  const { etag: _, ...fields } = toWire({ teamId, providedId: userGroupId, ...group });
  return fields;
}

/** The groups as a table for people. */
export function tableOfGroups(groups: readonly ListedGroup[]): string {
  const ofDeleted = groups.some(({ state }) => state === "deleted") ? ["deleted_at", "purge_at"] : [];
  const ofSuspended = groups.some(({ state }) => state === "suspended") ? ["suspended_at", "suspended_reason"] : [];
  const fields = [
    "team_id",
    "provided_id",
    "name",
    "state",
    "created_at",
    "updated_at",
    "last_viewed_on",
    ...ofSuspended,
    ...ofDeleted,
  ];
  return tableOfItems(fields, groups.map(toWireGroup));
}
