import type { ServiceResponse } from "../transport/connection.ts";
import type { JsonObject, JsonProperties } from "../transport/json.ts";
import type { EnvironmentTag, ResponseBody } from "../transport/response-body.ts";
import { type Actor, actorOrNull } from "./caller.ts";

/** Maps the ids of your schemas to data sources. */
export type Mapping = Record<string, string>;

/**
 * The fields of a group besides its id. A field that is left out stays as it is; `null` clears it. `properties` is any
 * object that JSON can hold, of a `type` or an `interface` of yours.
 */
export type GroupFields<Properties extends object = JsonObject> = {
  name?: string | undefined;
  mapping?: Mapping | null | undefined;
  properties?: (Properties & JsonProperties<Properties>) | null | undefined;
};

/** Makes a change conditional. */
export type Condition = {
  /** The `etag` that the group had when you read it: the call fails with `revision_mismatch` if it has changed since. */
  ifMatch?: string;
};

/** The condition of an input that has more, if it has one. */
export const conditionOf = (input: Condition): Condition => ("ifMatch" in input ? { ifMatch: input.ifMatch } : {});

/** What a call may change in a group. */
export type Changes<Properties extends object> = GroupFields<Properties> &
  Condition & {
    newUserGroupId?: string | undefined;
    /** With `true`, viewers of the group are refused until a `false`. */
    suspended?: boolean | undefined;
  };

/** A value to merge: null removes, an object is merged, and all else replaces (RFC 7396). */
type Merged<Value> = Value extends readonly unknown[]
  ? Value
  : Value extends object
    ? { [Name in keyof Value]?: Merged<Value[Name]> | null }
    : Value;

/** What a merge patch may change in a group. */
export type Patch<Properties extends object> = Omit<Changes<object>, "mapping" | "properties"> & {
  /** Entries to set, and with `null` to remove; `null` in place of the object clears the mapping. */
  mapping?: Record<string, string | null> | null | undefined;
  /** Keys to set, and with `null` to remove, at any depth; `null` in place of the object clears the properties. */
  properties?: Merged<Properties> | null | undefined;
};

/** The fields that each call on one group returns. */
type CommonFields = {
  /** The service's own number of the group, which is unique in its environment and never reused. */
  teamId: number;
  userGroupId: string;
  name: string;
  /** For `ifMatch` of the next update. */
  etag: string;
};

/** A group as `ensure` returns it. */
export type EnsuredGroup = CommonFields & {
  /**
   * The group's credential: a dashboard that presents it shows this group's data. It is always there for an API key with the
   * scope `tokens:read`, and never for one without it.
   */
  token?: string | undefined;
  properties: JsonObject | null;
};

/** A group as `update` returns it. */
export type UpdatedGroup = EnsuredGroup & { apiEnvironmentTag: EnvironmentTag };

/** A group as `rotateToken` returns it, with the new token. */
export type RotatedGroup = CommonFields & { token: string; apiEnvironmentTag: EnvironmentTag };

/** A group as its viewers see it, without the token. */
export type ViewedGroup = {
  teamId: number;
  userGroupId: string;
  name: string;
  mapping: Mapping | null;
  properties: JsonObject | null;
  apiEnvironmentTag: EnvironmentTag;
};

const STATES = ["active", "suspended", "deleted"] as const;

/** Whether viewers see a group, are refused with `user_group_suspended`, or find none. */
export type GroupState = (typeof STATES)[number];

/** A group in a list, without the token. Times are ISO 8601 in UTC. */
export type ListedGroup = ViewedGroup & {
  state: GroupState;
  /** Since when the group is suspended; only of a suspended one. */
  suspendedAt?: string;
  /** What the call that suspended the group gave as its reason, or `null`; only of a suspended one. */
  suspendedReason?: string | null;
  /** The day of the last view or of the last new session, in UTC as YYYY-MM-DD, or `null`. */
  lastViewedOn: string | null;
  createdAt: string;
  /** When the content or the token last changed. Suspending, resuming, deleting and restoring do not count. */
  updatedAt: string;
  /** When it was deleted; only of a deleted group. */
  deletedAt?: string;
  /** Until when it can be restored; only of a deleted group. */
  purgeAt?: string;
};

/** A group as a call by its number returns it, without the token. */
export type NumberedGroup = ListedGroup & {
  /**
   * Who has suspended and who has deleted the group; `null` if its event is no longer kept. An API key gets it with the scope
   * `events:read`.
   */
  suspendedBy?: Actor | null;
  deletedBy?: Actor | null;
  /** For `ifMatch` of the next change. */
  etag: string;
};

const identityOf = (group: ResponseBody) => ({
  teamId: group.number("team_id"),
  userGroupId: group.text("provided_id"),
  name: group.text("name"),
});

function etagOf({ headers, unexpected }: ServiceResponse): string {
  const etag = headers.get("ETag");
  if (etag === null) throw unexpected("has no ETag");
  // A proxy that compresses a response weakens its ETag, which If-Match cannot use. The ETag names the group's revision, and
  // compression does not change that, so the strong form is still right.
  return etag.replace(/^W\//, "");
}

const commonFieldsOf = (response: ServiceResponse): CommonFields => ({
  ...identityOf(response.body.object("user_group")),
  etag: etagOf(response),
});

const environmentOf = ({ body }: ServiceResponse) => ({
  apiEnvironmentTag: body.object("user_group").environment("api_environment_tag"),
});

export function toEnsuredGroup(response: ServiceResponse): EnsuredGroup {
  const group = response.body.object("user_group");
  return {
    ...commonFieldsOf(response),
    ...(group.has("token") && { token: group.text("token") }),
    properties: group.jsonOrNull("properties"),
  };
}

export const toUpdatedGroup = (response: ServiceResponse): UpdatedGroup => ({
  ...toEnsuredGroup(response),
  ...environmentOf(response),
});

export const toRotatedGroup = (response: ServiceResponse): RotatedGroup => ({
  ...commonFieldsOf(response),
  token: response.body.object("user_group").text("token"),
  ...environmentOf(response),
});

export const toViewedGroup = (group: ResponseBody): ViewedGroup => ({
  ...identityOf(group),
  mapping: group.textsOrNull("mapping"),
  properties: group.jsonOrNull("properties"),
  apiEnvironmentTag: group.environment("api_environment_tag"),
});

export const toListedGroup = (group: ResponseBody): ListedGroup => ({
  ...toViewedGroup(group),
  state: group.oneOf("state", STATES),
  ...(group.has("suspended_at") && {
    suspendedAt: group.text("suspended_at"),
    suspendedReason: group.textOrNull("suspended_reason"),
  }),
  lastViewedOn: group.textOrNull("last_viewed_on"),
  createdAt: group.text("created_at"),
  updatedAt: group.text("updated_at"),
  ...(group.has("deleted_at") && { deletedAt: group.text("deleted_at") }),
  ...(group.has("purge_at") && { purgeAt: group.text("purge_at") }),
});

export function toNumberedGroup(response: ServiceResponse): NumberedGroup {
  const group = response.body.object("user_group");
  return {
    ...toListedGroup(group),
    ...(group.has("suspended_by") && { suspendedBy: actorOrNull(group, "suspended_by") }),
    ...(group.has("deleted_by") && { deletedBy: actorOrNull(group, "deleted_by") }),
    etag: etagOf(response),
  };
}

/** The fields of a group, in the wire's names. */
export const fieldsOf = ({
  name,
  mapping,
  properties,
}: GroupFields<object> | Patch<object>): Record<keyof GroupFields<object>, unknown> => ({ name, mapping, properties });

/** The changes of a group, in the wire's names. */
export const changesOf = ({ newUserGroupId, suspended, ...fields }: Changes<object> | Patch<object>): object => ({
  new_user_group_id: newUserGroupId,
  ...fieldsOf(fields),
  suspended,
});
