import { type CallOptions, type Connection, ifMatchHeader, refuseUndefined } from "../transport/connection.ts";
import type { JsonObject } from "../transport/json.ts";
import { type OnceOptions, sendOnce } from "../transport/once.ts";
import type { Grace } from "./credential.ts";
import {
  type Changes,
  type Condition,
  changesOf,
  conditionOf,
  type EnsuredGroup,
  fieldsOf,
  type GroupFields,
  type RotatedGroup,
  toEnsuredGroup,
  toRotatedGroup,
  toUpdatedGroup,
  type UpdatedGroup,
} from "./user-group.ts";

/** A group, by your own id of it. */
type IdInput = { userGroupId: string };

/** The group to get, and its fields if it has to be created. */
export type EnsureInput<Properties extends object = JsonObject> = IdInput & GroupFields<Properties>;

/** The group to suspend or to resume, by its id. */
export type SuspendInput = IdInput & Condition;

/** The group to change, and its new fields. */
export type UpdateInput<Properties extends object = JsonObject> = IdInput & Changes<Properties>;

/** A group, by its current token. */
type TokenInput = {
  /**
   * The group's token, as `ensure` returned it. `undefined`, which `ensure` returns to an API key without `tokens:read`, is a
   * `TypeError`.
   */
  currentToken: string | undefined;
};

/** The token to replace. */
export type RotateInput = TokenInput & Grace;

/** The group to delete, by its token. */
export type RemoveInput = TokenInput & {
  /** Guards: nothing is deleted unless the group has this id, and its mapping has this data source. */
  userGroupId?: string;
  dataSourceProvidedId?: string;
};

const PATH = "/api/user";

export type GroupsById = ReturnType<typeof groupsById>;

/** The calls of an API key on groups by their id or token. */
export function groupsById(connection: Connection) {
  const put = async (input: UpdateInput<object>, options?: CallOptions): Promise<UpdatedGroup> => {
    const body = { user_group_id: input.userGroupId, ...changesOf(input) };
    const retryable = input.ifMatch === undefined && input.newUserGroupId === undefined;
    const call = { path: PATH, body, headers: ifMatchHeader(input), retryable };
    return toUpdatedGroup(await connection.send({ method: "PUT", ...call }, options));
  };

  return {
    /**
     * Gets the group with this id, or creates it. It never changes a group that exists. If the response to the first try is
     * lost and a retry succeeds, `created` may be false although this call created the group.
     *
     * The group has its `token` if the API key has the scope `tokens:read`. A key without `groups:write` only gets groups, and
     * creates none.
     *
     * @example
     * const { created, group } = await groups.ensure({ userGroupId: "ensured", properties: { region: "eu" } });
     * console.info(created, group.properties);
     * // true { region: 'eu' }
     */
    async ensure<Properties extends object>(
      input: EnsureInput<Properties>,
      options?: CallOptions,
    ): Promise<{ created: boolean; group: EnsuredGroup }> {
      const body = { user_group_id: input.userGroupId, ...fieldsOf(input) };
      const response = await connection.send({ method: "GET", path: PATH, body }, options);
      return { created: response.body.oneOf("new_user_group", [true, false]), group: toEnsuredGroup(response) };
    },

    /**
     * Changes the fields that are given; `null` clears. With `ifMatch` or `newUserGroupId` it is not retried, because the
     * success of a first try would make the second one fail: after a lost response, look with `ensure`. Without them, a retry
     * overwrites what another caller changed in the same fields between the tries; use `ifMatch` to prevent that.
     *
     * @example
     * const { group } = await groups.ensure({ userGroupId: "updated" });
     * const { name } = await groups.update({ userGroupId: "updated", name: "Updated Inc.", ifMatch: group.etag });
     * console.info(name);
     * // Updated Inc.
     */
    async update<Properties extends object>(
      input: UpdateInput<Properties>,
      options?: CallOptions,
    ): Promise<UpdatedGroup> {
      return put(input, options);
    },

    /**
     * Suspends the group: its viewers are refused with `user_group_suspended` until it is resumed, and all other calls work.
     * With `ifMatch` it is not retried, as `update`.
     *
     * @example
     * await groups.ensure({ userGroupId: "overdue" });
     * await groups.suspend({ userGroupId: "overdue" });
     * const refused = groups.mintSession({ userGroupId: "overdue" });
     * console.info(await refused.catch(({ code }: UserGroupServiceError) => code));
     * // user_group_suspended
     * await groups.resume({ userGroupId: "overdue" });
     */
    suspend(input: SuspendInput, options?: CallOptions): Promise<UpdatedGroup> {
      return put({ userGroupId: input.userGroupId, ...conditionOf(input), suspended: true }, options);
    },

    /**
     * Ends the suspension of the group. Its viewers see it again, with the same token.
     *
     * @example
     * await groups.ensure({ userGroupId: "paid again" });
     * await groups.suspend({ userGroupId: "paid again" });
     * await groups.resume({ userGroupId: "paid again" });
     * console.info((await groups.mintSession({ userGroupId: "paid again" })).expiresInSeconds);
     * // 300
     */
    resume(input: SuspendInput, options?: CallOptions): Promise<UpdatedGroup> {
      return put({ userGroupId: input.userGroupId, ...conditionOf(input), suspended: false }, options);
    },

    /**
     * Replaces the current token by a new one. The old one is refused from then on, or after its grace. It fails with
     * `token_superseded` if the group has another current token.
     *
     * @example
     * const { group } = await groups.ensure({ userGroupId: "rotated" });
     * const rotated = await groups.rotateToken({ currentToken: group.token, graceSeconds: 600 });
     * console.info(rotated.token === group.token);
     * // false
     */
    async rotateToken(input: RotateInput, options?: OnceOptions): Promise<RotatedGroup> {
      const secret = tokenOf(input);
      const body = { current_token: secret, grace_seconds: input.graceSeconds };
      return toRotatedGroup(await sendOnce(connection, { method: "POST", path: PATH, body, secret }, options));
    },

    /**
     * Deletes the group that has this current token. It fails with `user_group_mismatch`, and deletes nothing, if a guard does
     * not hold. `restore` brings the group back by its number.
     *
     * @example
     * const { group } = await groups.ensure({ userGroupId: "removed" });
     * await groups.remove({ currentToken: group.token, userGroupId: "removed" });
     * console.info((await groups.get({ teamId: group.teamId, state: "deleted" })).state);
     * // deleted
     */
    async remove(input: RemoveInput, options?: OnceOptions): Promise<void> {
      const secret = tokenOf(input);
      refuseUndefined(input, ["userGroupId", "dataSourceProvidedId"]);
      const { userGroupId, dataSourceProvidedId } = input;
      const body = { current_token: secret, user_group_id: userGroupId, data_source_provided_id: dataSourceProvidedId };
      await sendOnce(connection, { method: "DELETE", path: PATH, body, secret }, options);
    },
  };
}

function tokenOf({ currentToken }: TokenInput): string {
  if (currentToken === undefined)
    throw new TypeError(
      "currentToken is undefined. Only an API key with write access or the scope tokens:read gets tokens: use such a key.",
    );
  return currentToken;
}
