/** What the commands on groups share: their options, and the form of their output. */
import type { ListedGroup } from "../../../client/src/index.ts";
import { type Output, whereOf } from "../command.ts";
import type { ServiceOptions } from "../service-access.ts";
import { quoted } from "../support/printable.ts";
import { tableOfItems } from "../support/table.ts";
import { toWire } from "../wire.ts";

/** The options of a command on one group. */
export type Options = ServiceOptions & { id?: string };

/** A group, so that a person recognizes it. */
export const described = ({ teamId, userGroupId, name }: ListedGroup): string =>
  `group ${teamId}, ${quoted(userGroupId)}, named ${quoted(name)}`;

/** A command line to type, in the same environment. Never with `npx`, which outside of a clone runs a package of another author. */
export const commandLine = (options: ServiceOptions, command: string) => `ug groups ${command}${whereOf(options)}`;

export const outputOf = (group: ListedGroup, text: string): Output => ({
  body: { success: 1, user_group: toWireGroup(group) },
  text: `${tableOfGroups([group])}\n\n${text}`,
});

/** A group with the names of a list on the wire. */
export function toWireGroup({ teamId, userGroupId, ...group }: ListedGroup): Record<string, unknown> {
  const { etag: _, ...fields } = toWire({ teamId, providedId: userGroupId, ...group });
  return fields;
}

const FIELDS = ["team_id", "provided_id", "name", "state", "created_at", "updated_at", "last_viewed_on"];

export function tableOfGroups(groups: readonly ListedGroup[]): string {
  const ofDeleted = groups.some(({ state }) => state === "deleted") ? ["deleted_at", "purge_at"] : [];
  const ofSuspended = groups.some(({ state }) => state === "suspended") ? ["suspended_at", "suspended_reason"] : [];
  return tableOfItems([...FIELDS, ...ofSuspended, ...ofDeleted], groups.map(toWireGroup));
}
