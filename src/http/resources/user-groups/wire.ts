import * as z from "zod/mini";
import {
  type ByColumn,
  COLUMNS,
  CONTENT,
  CONTENT_FIELDS,
  type ContentField,
  GROUP_FIELDS,
  type GroupField,
  type StoredValue,
} from "../../../../common/content.ts";
import type { EnvironmentTag } from "../../../../common/environment.ts";
import { BODY_BYTES_MAX, TEXT_UNITS_MAX } from "../../../../common/limits.ts";
import { utf8 } from "../../../domain/bytes.ts";
import { purgeAtOf } from "../../../domain/days.ts";
import type { ShownGroup } from "../../../domain/feed/endings.ts";
import { isObject } from "../../../domain/json.ts";
import { jsonOfStored, publishedContent } from "../../../domain/user-groups/published-content.ts";
import {
  entriesRefusal,
  type GroupWithToken,
  type RotatedWithToken,
  stateOf,
  type UserGroupChanges,
  type UserGroupDraft,
} from "../../../domain/user-groups/user-group.ts";
import type { GroupContent, GroupSnapshot, ListedGroup, PublicGroup } from "../../../records.ts";
import type { SnakeCase } from "../../../storage/group-store.ts";
import {
  describeText,
  Grace,
  isText,
  JsonObject,
  Label,
  label,
  lazy,
  type Payload,
  ProvidedId,
  refuseValue,
  time,
  transformed,
  withMeta,
} from "../fields.ts";

const TOKEN_MESSAGE =
  "Give the current token of the user group. POST rotates it and DELETE deletes its group; GET creates a group.";

const Credential = lazy(() => z.string(TOKEN_MESSAGE).check(z.minLength(1, TOKEN_MESSAGE)));

/** Refuses too many entries, and entries that are not text. In a patch, null removes an entry, and the directory counts the rest. */
function checkEntries(payload: Payload, mapping: object, entriesMax: number, isPatch: boolean): void {
  const entries = Object.entries(mapping);
  const message = isPatch ? undefined : entriesRefusal(entries.length, entriesMax);
  if (message) refuseValue(payload, message);
  for (const [key, dataSource] of entries) {
    if (!isText(key)) refuseValue(payload, `Let the key be ${describeText()}.`, [key]);
    const isRemoved = isPatch && dataSource === null;
    if (!isRemoved && !isText(dataSource)) refuseValue(payload, `Give ${describeText()}.`, [key]);
  }
}

// Checked by hand rather than with z.record, which drops a key named __proto__.
const mappingOf = (entriesMax: number, isPatch: boolean) =>
  withMeta(
    transformed(z.unknown(), (value, payload) => {
      if (!isObject(value)) return refuseValue(payload, "Give an object from schema ids to data source ids, or null.");
      checkEntries(payload, value, entriesMax, isPatch);
      return JSON.stringify(value);
    }),
    {
      type: "object",
      ...(!isPatch && { maxProperties: entriesMax }),
      propertyNames: { minLength: 1, maxLength: TEXT_UNITS_MAX },
      additionalProperties: { type: isPatch ? ["string", "null"] : "string", minLength: 1, maxLength: TEXT_UNITS_MAX },
    },
  );

/** A value of a field, except null, as its column has it: of a mapping and an object the JSON text. */
export function valueSchema(field: ContentField, isPatch = false): z.ZodMiniType<string> {
  const { column, kind, max, isNullable } = CONTENT[field];
  if (kind === "text") return label(max);
  if (kind === "mapping") return mappingOf(max, isPatch);
  // The directory checks the bounds of what a patch is merged to: only it has the group.
  return JsonObject(isPatch ? BODY_BYTES_MAX : max, column, isNullable);
}

type FieldSchemas = ByColumn<{ [Field in GroupField]: z.ZodMiniOptional<z.ZodMiniType<StoredValue<Field>>> }>;

/** The fields of a group in a body; as a patch, those of a merge patch (RFC 7396). */
const fieldsOf = (isPatch: boolean) =>
  Object.fromEntries(
    GROUP_FIELDS.map((field) => {
      const { column, isNullable } = CONTENT[field];
      const value = valueSchema(field, isPatch);
      const schema = z.optional(isNullable ? z.nullable(value) : value);
      return [column, schema];
    }),
  ) as FieldSchemas;

/** The fields of a body by their published names. */
type GivenFields = { [Name in keyof FieldSchemas]?: z.output<FieldSchemas[Name]> };

/** The content that a body gives. A field that it leaves out is `undefined`. */
export function contentIn(body: GivenFields): Omit<UserGroupDraft, "providedId"> {
  const given: Record<string, unknown> = body;
  return Object.fromEntries(GROUP_FIELDS.map((field) => [field, given[CONTENT[field].column]]));
}

/** The changes that the body of an update gives. */
export const changesIn = (body: z.output<z.ZodMiniObject<ReturnType<typeof Changes>>>): UserGroupChanges => ({
  newProvidedId: body.new_user_group_id,
  suspended: body.suspended,
  ...contentIn(body),
});

/** GET /api/user, POST /api/user_groups */
export const EnsureBody = lazy(() => z.strictObject({ user_group_id: ProvidedId(), ...fieldsOf(false) }));

const changesOf = (isPatch: boolean) => ({
  new_user_group_id: z.optional(Label()),
  ...fieldsOf(isPatch),
  suspended: z.optional(z.boolean("Give true or false.")),
});

/** The fields of an update. */
export const Changes = lazy(() => changesOf(false));
/** The fields of an update by a merge patch. */
export const Patch = lazy(() => changesOf(true));

/** PUT /api/user */
export const UpdateBody = lazy(() => z.strictObject({ user_group_id: ProvidedId(), ...Changes() }));

/** POST /api/user */
export const RotateBody = lazy(() => z.strictObject({ current_token: Credential(), grace_seconds: Grace() }));

/** DELETE /api/user */
export const RemoveBody = lazy(() =>
  z.strictObject({
    current_token: Credential(),
    user_group_id: z.optional(Label()),
    data_source_provided_id: z.optional(z.string("Give the id of a data source, a string.")),
  }),
);

/** A group by its published names. Each function gives exactly the fields that the answer to one call has. */

/** The published names of what lists show of a group besides its content. */
type ListedName = SnakeCase<Exclude<keyof ListedGroup, ContentField | "revision">>;

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
