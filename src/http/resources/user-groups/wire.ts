import { COLUMNS, CONTENT_FIELDS, type ContentField } from "../../../../common/content.ts";
import type { EnvironmentTag } from "../../../../common/environment.ts";
import { purgeAtOf } from "../../../domain/days.ts";
import type { ShownGroup } from "../../../domain/feed/endings.ts";
import { jsonOfStored, publishedContent } from "../../../domain/user-groups/published-content.ts";
import { type GroupWithToken, type RotatedWithToken, stateOf } from "../../../domain/user-groups/user-group.ts";
import type { GroupContent, GroupSnapshot, ListedGroup, PublicGroup } from "../../../records.ts";
import { time } from "../times.ts";

/** A group by its published names. Each function gives exactly the fields that the answer to one call has. */

/** The published names of what lists show of a group besides its content. */
type WireNames = {
  teamId: "team_id";
  suspendedAt: "state";
  suspendedReason: "suspended_reason";
  lastViewedOn: "last_viewed_on";
  createdAt: "created_at";
  updatedAt: "updated_at";
  deletedAt: "deleted_at";
};
type ListedName = WireNames[Exclude<keyof ListedGroup, ContentField | "revision">];

/** What the JSON of a group has besides its record: the tag of its environment, and for how long a deletion can be undone. */
export type ListOptions = { tag: EnvironmentTag; undoMs: number };

/** `user_group` in the answer to GET. The token is absent if the caller may not read it. */
export const getBody = (group: GroupWithToken, token: string | undefined) => ({
  ...identity(group, token),
  ...publishedContent(group),
});

const identity = ({ teamId, name, providedId }: Identity, token: string | undefined) => ({
  team_id: teamId,
  ...(token !== undefined && { token }),
  name,
  provided_id: providedId,
});

type Identity = Pick<PublicGroup, "teamId" | "name" | "providedId">;

/** `user_group` in the answer to PUT. */
export const putBody = (group: GroupWithToken, token: string | undefined, tag: EnvironmentTag) => ({
  ...getBody(group, token),
  api_environment_tag: tag,
});

/** `user_group` in the answer to POST. */
export const postBody = (group: RotatedWithToken, token: string | undefined, tag: EnvironmentTag) => ({
  ...identity(group, token),
  api_environment_tag: tag,
});

/** `user_group` as its viewers see it, without the token. */
export function viewBody(group: GroupSnapshot, tag: EnvironmentTag) {
  const { name, provided_id, properties, ...content } = publishedContent(group);
  return { team_id: group.teamId, name, provided_id, properties, ...content, api_environment_tag: tag };
}

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
    ...contentAsJson(group),
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
  } satisfies Record<ListedName, unknown> & Record<string, string | undefined>;
  const members = Object.entries(fields)
    .filter(([, json]) => json !== undefined)
    .map(([name, json]) => `"${name}":${json}`);
  return `{${members.join(",")}}`;
}

/** The content of a group by its published names, as JSON text. */
const contentAsJson = (group: GroupContent): Record<string, string> =>
  Object.fromEntries(CONTENT_FIELDS.map((field) => [COLUMNS[field], jsonOfStored(field, group[field])]));

/** The answer with one group as a list shows it, and who suspended and deleted it, as JSON text. */
export const groupBody = (group: ShownGroup, options: ListOptions): string =>
  `{"success":1,"user_group":${listedGroup(group, options)}}`;
