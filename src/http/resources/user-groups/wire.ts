import type { EnvironmentTag } from "../../../../common/environment.ts";
import { purgeAtOf } from "../../../domain/days.ts";
import type { ShownGroup } from "../../../domain/feed/endings.ts";
import { type GroupWithToken, type RotatedWithToken, stateOf } from "../../../domain/user-groups/user-group.ts";
import type { GroupSnapshot, ListedGroup } from "../../../records.ts";
import { time } from "../times.ts";

/** A group by its published names. Each function gives exactly the fields that the answer to one call has. */

type WireNames = {
  teamId: "team_id";
  providedId: "provided_id";
  name: "name";
  mapping: "mapping";
  properties: "properties";
  suspendedAt: "state";
  suspendedReason: "suspended_reason";
  lastViewedOn: "last_viewed_on";
  createdAt: "created_at";
  updatedAt: "updated_at";
  deletedAt: "deleted_at";
};

/** What the JSON of a group has besides its record: the tag of its environment, and for how long a deletion can be undone. */
export type ListOptions = { tag: EnvironmentTag; undoMs: number };

/** A body with all these fields: a new field of a group does not compile until each answer has it. */
type Body<Field extends keyof WireNames> = Record<WireNames[Field], unknown> & Record<string, unknown>;

const parsed = (json: string | null): object | null => JSON.parse(json ?? "null");

/** Without a token the field is absent: the caller may not read it. */
const common = (group: Pick<GroupWithToken, "teamId" | "name" | "providedId">, token: string | undefined) => ({
  team_id: group.teamId,
  ...(token !== undefined && { token }),
  name: group.name,
  provided_id: group.providedId,
});

/** `user_group` in the answer to GET. */
export const getBody = (group: GroupWithToken, token: string | undefined) =>
  ({
    ...common(group, token),
    properties: parsed(group.properties),
  }) satisfies Body<Exclude<keyof GroupWithToken, "revision" | "nonce">>;

/** `user_group` in the answer to PUT. */
export const putBody = (group: GroupWithToken, token: string | undefined, tag: EnvironmentTag) => ({
  ...getBody(group, token),
  api_environment_tag: tag,
});

/** `user_group` in the answer to POST. */
export const postBody = (group: RotatedWithToken, token: string | undefined, tag: EnvironmentTag) => ({
  ...common(group, token),
  api_environment_tag: tag,
});

/** `user_group` as its viewers see it, without the token. */
export const viewBody = (group: GroupSnapshot, tag: EnvironmentTag) =>
  ({
    team_id: group.teamId,
    name: group.name,
    provided_id: group.providedId,
    properties: parsed(group.properties),
    mapping: parsed(group.mapping),
    api_environment_tag: tag,
  }) satisfies Body<Exclude<keyof GroupSnapshot, "validUntil">>;

const utf8 = new TextEncoder();

/**
 * The answer to a list, as JSON. Groups are encoded one by one, and `mapping` and `properties` are copied as stored JSON text:
 * parsing or joining a full page could exhaust the isolate's memory.
 */
export const listBody = (groups: ListedGroup[], options: ListOptions, nextCursor: string | null): Blob =>
  new Blob(['{"success":1,', ...groupsMember(groups, options), `,"next_cursor":${JSON.stringify(nextCursor)}}`]);

/** The answer to another call that lists groups, as JSON. Its `fields`, at least one, stand before the groups. */
export const bodyWithGroups = (fields: object, groups: ListedGroup[], options: ListOptions): Blob =>
  new Blob([JSON.stringify(fields).slice(0, -1), ",", ...groupsMember(groups, options), "}"]);

/** The member `user_groups` of a JSON object, in parts. */
function groupsMember(groups: ListedGroup[], options: ListOptions) {
  const rows = groups.map((group, index) => utf8.encode((index === 0 ? "" : ",") + listedGroup(group, options)));
  return ['"user_groups":[', ...rows, "]"];
}

function listedGroup(group: ShownGroup, { tag, undoMs }: ListOptions): string {
  const { deletedAt, suspendedAt, suspendedBy, deletedBy } = group;
  const fields = {
    team_id: JSON.stringify(group.teamId),
    provided_id: JSON.stringify(group.providedId),
    name: JSON.stringify(group.name),
    mapping: group.mapping ?? "null",
    properties: group.properties ?? "null",
    api_environment_tag: JSON.stringify(tag),
    state: JSON.stringify(stateOf(group)),
    suspended_at: suspendedAt === null ? undefined : JSON.stringify(time(suspendedAt)),
    suspended_reason: suspendedAt === null ? undefined : JSON.stringify(group.suspendedReason),
    suspended_by: JSON.stringify(suspendedBy),
    created_at: JSON.stringify(time(group.createdAt)),
    updated_at: JSON.stringify(time(group.updatedAt)),
    last_viewed_on: JSON.stringify(group.lastViewedOn),
    deleted_at: deletedAt === null ? undefined : JSON.stringify(time(deletedAt)),
    deleted_by: JSON.stringify(deletedBy),
    purge_at: deletedAt === null ? undefined : JSON.stringify(time(purgeAtOf(deletedAt, undoMs))),
  } satisfies Body<Exclude<keyof ListedGroup, "revision">>;
  const members = Object.entries(fields)
    .filter(([, json]) => json !== undefined)
    .map(([name, json]) => `"${name}":${json}`);
  return `{${members.join(",")}}`;
}

/** The answer with one group as a list shows it, and who suspended and deleted it, as JSON text. */
export const groupBody = (group: ShownGroup, options: ListOptions): string =>
  `{"success":1,"user_group":${listedGroup(group, options)}}`;
