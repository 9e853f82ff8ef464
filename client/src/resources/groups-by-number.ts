import {
  type Call,
  type CallOptions,
  type Connection,
  ifMatchHeader,
  numberedPath,
  type Query,
  refuseUndefined,
} from "../transport/connection.ts";
import type { JsonObject } from "../transport/json.ts";
import { type OnceOptions, sendOnce } from "../transport/once.ts";
import { type PageInput, pagedList } from "../transport/paged-list.ts";
import { type Because, type Grace, reasonBodyOf } from "./credential.ts";
import {
  type Changes,
  type Condition,
  changesOf,
  conditionOf,
  type GroupState,
  type ListedGroup,
  type NumberedGroup,
  type Patch,
  toListedGroup,
  toNumberedGroup,
} from "./user-group.ts";

/** A group, by the service's own number of it. */
export type NumberInput = { teamId: number };

/** The group to get, by its number. */
export type GetInput = NumberInput & {
  /** With `"deleted"`, the group is looked for among the deleted ones; without it, among those that exist. */
  state?: "deleted" | undefined;
};

/** The group to delete, to suspend or to resume, by its number. */
export type RemoveByNumberInput = NumberInput & Condition & Because;

/** The deleted group to erase, by its number. */
export type PurgeInput = RemoveByNumberInput;

/** The group to change, by its number, and its new fields. */
export type UpdateByNumberInput<Properties extends object = JsonObject> = NumberInput & Changes<Properties> & Because;

/** The group to change, by its number, and what to merge into its fields. */
export type MergeInput<Properties extends object = JsonObject> = NumberInput & Patch<Properties> & Because;

/** The group whose token to replace, by its number. */
export type RotateByNumberInput = RemoveByNumberInput & Grace;

/** The deleted group to restore, by its number. */
export type RestoreInput = NumberInput &
  Condition &
  Because & {
    /** The id that the group gets, if another group has its own now. */
    newUserGroupId?: string | undefined;
    /** With `true`, the group gets a new token, and the old one stays revoked. */
    rotateToken?: boolean | undefined;
  };

/** Selects the groups to list; all that exist by default. */
export type ListInput = PageInput & {
  /** Lists only the group with exactly this id, or none. Not together with a `cursor`, a `prefix`, or `"deleted"`. */
  userGroupId?: string;
  /** Lists only the groups whose `userGroupId` starts with this text, case-sensitively. */
  prefix?: string;
  /**
   * Lists only the groups whose name or `userGroupId` contains each word of this text, without regard to case, accents and strokes. Not
   * together with a `userGroupId` or a `prefix`.
   */
  search?: string;
  /**
   * Lists only the groups that were last viewed before this day in UTC (a `Date`, or a text such as `2026-10-01`), or were never viewed
   * and created before it.
   */
  lastViewedBefore?: Date | string;
  /** Lists only the groups in this state. Deleted ones are listed only with `"deleted"`. */
  state?: GroupState;
};

/** Some groups, and the cursor of the next page; `null` on the last page. A page may be empty. */
export type GroupPage = { groups: ListedGroup[]; nextCursor: string | null };

const PATH = "/api/user_groups";

/** A day in UTC as the service takes it. */
const dayOf = (day: Date | string | undefined): string | undefined =>
  day instanceof Date ? day.toISOString().slice(0, "YYYY-MM-DD".length) : day;

/** The path of one group. */
const pathOf = ({ teamId }: NumberInput): string => numberedPath(PATH, "teamId", teamId);

export type GroupsByNumber = ReturnType<typeof groupsByNumber>;

/**
 * The calls on groups that both an API key and an operator may make. None of them shows a token. `environment` names the
 * environment, where the credential does not.
 */
export function groupsByNumber(connection: Connection, environment: Query) {
  const groups = pagedList(connection, { path: PATH, field: "user_groups", toItem: toListedGroup });
  const filtersOf = (input: ListInput) => {
    refuseUndefined(input, ["userGroupId", "prefix", "search", "lastViewedBefore", "state"]);
    const { userGroupId, prefix, search, lastViewedBefore, state } = input;
    const filters = { user_group_id: userGroupId, user_group_id_prefix: prefix, search, state };
    return { ...environment, ...filters, last_viewed_before: dayOf(lastViewedBefore) };
  };
  const change = async (call: Call, options?: OnceOptions): Promise<NumberedGroup> =>
    toNumberedGroup(await sendOnce(connection, { ...call, query: environment }, options));

  const put = async (
    input: UpdateByNumberInput<object> | MergeInput<object>,
    type: Pick<Call, "contentType">,
    options?: CallOptions,
  ): Promise<NumberedGroup> => {
    const request = {
      path: pathOf(input),
      query: environment,
      body: { ...changesOf(input), reason: input.reason },
      headers: ifMatchHeader(input),
    };
    const retryable = input.ifMatch === undefined;
    return toNumberedGroup(await connection.send({ method: "PUT", ...request, ...type, retryable }, options));
  };

  return {
    /**
     * Gets one page of the environment's groups, in the order of `list`.
     *
     * @example
     * const { groups: found, nextCursor } = await groups.listPage({ userGroupId: "never created" });
     * console.info(found, nextCursor);
     * // [] null
     */
    async listPage(input: ListInput = {}, options?: CallOptions): Promise<GroupPage> {
      const { items, nextCursor } = await groups.page(input, options, filtersOf(input));
      return { groups: items, nextCursor };
    },

    /**
     * Yields all groups of the environment, and requests the next page when the one before is used up. They are ordered by
     * `teamId`, or by `userGroupId` when a `prefix` of groups that exist is given; a group that is renamed during such a list may be missing or
     * appear twice.
     *
     * @example
     * for (const userGroupId of ["list-a", "list-b"]) await groups.ensure({ userGroupId });
     * for await (const { userGroupId, state } of groups.list({ prefix: "list-" })) console.info(userGroupId, state);
     * // list-a active
     * // list-b active
     *
     * await groups.ensure({ userGroupId: "list-c", name: "Café Zürich" });
     * for await (const { userGroupId } of groups.list({ search: "zurich" })) console.info(userGroupId);
     * // list-c
     */
    list(input: ListInput = {}, options?: CallOptions): AsyncGenerator<ListedGroup, void, undefined> {
      return groups.items(input, options, filtersOf(input));
    },

    /**
     * Gets a group by its number, without its token. It never creates one, and finds a deleted one only if asked for it.
     *
     * @example
     * const { group } = await groups.ensure({ userGroupId: "numbered" });
     * console.info((await groups.get({ teamId: group.teamId })).userGroupId);
     * // numbered
     */
    async get(input: GetInput, options?: CallOptions): Promise<NumberedGroup> {
      const query = { ...environment, state: input.state };
      return toNumberedGroup(await connection.send({ method: "GET", path: pathOf(input), query }, options));
    },

    /**
     * Changes the fields that are given; `null` clears. With `ifMatch` it is not retried, because the success of a first try
     * would make the second one fail: after a lost response, look with `get`.
     *
     * @example
     * const { group } = await groups.ensure({ userGroupId: "to rename" });
     * const { userGroupId } = await groups.updateByNumber({ teamId: group.teamId, newUserGroupId: "renamed" });
     * console.info(userGroupId);
     * // renamed
     */
    async updateByNumber<Properties extends object>(
      input: UpdateByNumberInput<Properties>,
      options?: CallOptions,
    ): Promise<NumberedGroup> {
      return put(input, {}, options);
    },

    /**
     * Merges `mapping` and `properties` into what the group has, where `updateByNumber` replaces them; `null` removes (RFC 7396). So
     * callers who change different keys do not undo each other's changes.
     *
     * @example
     * const { group } = await groups.ensure({ userGroupId: "merged", properties: { plan: "gold", seats: 3 } });
     * const { properties } = await groups.mergeByNumber({ teamId: group.teamId, properties: { seats: 4 } });
     * console.info(properties);
     * // { plan: 'gold', seats: 4 }
     */
    async mergeByNumber<Properties extends object>(
      input: MergeInput<Properties>,
      options?: CallOptions,
    ): Promise<NumberedGroup> {
      return put(input, { contentType: "application/merge-patch+json" }, options);
    },

    /**
     * Suspends the group: its viewers are refused with `user_group_suspended` until it is resumed, and all other calls work.
     * With `ifMatch` it is not retried, as `updateByNumber`.
     *
     * @example
     * const { group } = await groups.ensure({ userGroupId: "unpaid" });
     * const { state, suspendedReason } = await groups.suspendByNumber({ teamId: group.teamId, reason: "no payment" });
     * console.info(state, suspendedReason);
     * // suspended no payment
     */
    suspendByNumber(input: RemoveByNumberInput, options?: CallOptions): Promise<NumberedGroup> {
      const { teamId, reason } = input;
      return put({ teamId, ...conditionOf(input), reason, suspended: true }, {}, options);
    },

    /** Ends the suspension of the group. Its viewers see it again, with the same token. */
    resumeByNumber(input: RemoveByNumberInput, options?: CallOptions): Promise<NumberedGroup> {
      const { teamId, reason } = input;
      return put({ teamId, ...conditionOf(input), reason, suspended: false }, {}, options);
    },

    /**
     * Replaces the current token, and does not show the new one: an integrator gets it with `ensure`. The old one is refused
     * from then on, or after its grace.
     */
    async rotateTokenByNumber(input: RotateByNumberInput, options?: OnceOptions): Promise<NumberedGroup> {
      const body = { grace_seconds: input.graceSeconds, reason: input.reason };
      return change({ method: "POST", path: `${pathOf(input)}/rotate`, body, headers: ifMatchHeader(input) }, options);
    },

    /**
     * Deletes the group, and returns it as it can be restored until its `purgeAt`.
     *
     * @example
     * const { group } = await groups.ensure({ userGroupId: "left" });
     * const { state, purgeAt } = await groups.removeByNumber({ teamId: group.teamId, reason: "They left." });
     * console.info(state, purgeAt !== undefined);
     * // deleted true
     */
    async removeByNumber(input: RemoveByNumberInput, options?: OnceOptions): Promise<NumberedGroup> {
      const call = { path: pathOf(input), body: reasonBodyOf(input), headers: ifMatchHeader(input) };
      return change({ method: "DELETE", ...call }, options);
    },

    /**
     * Restores a deleted group as it was, with its token. A group that exists stays as it is. It fails with
     * `user_group_id_taken` if another group has the id, and changes nothing then.
     *
     * @example
     * const { group } = await groups.ensure({ userGroupId: "restored" });
     * await groups.removeByNumber({ teamId: group.teamId, reason: "by mistake" });
     * console.info((await groups.restore({ teamId: group.teamId })).state);
     * // active
     */
    async restore(input: RestoreInput, options?: OnceOptions): Promise<NumberedGroup> {
      const body = { new_user_group_id: input.newUserGroupId, rotate_token: input.rotateToken, reason: input.reason };
      return change({ method: "POST", path: `${pathOf(input)}/restore`, body, headers: ifMatchHeader(input) }, options);
    },

    /**
     * Erases a deleted group now, and for good. It is not retried after a lost response, because a second try would fail with
     * `user_group_not_found`: repeat it, and take that error for a success.
     *
     * @example
     * const { group } = await groups.ensure({ userGroupId: "erased" });
     * await groups.removeByNumber({ teamId: group.teamId });
     * await groups.purge({ teamId: group.teamId, reason: "They asked for it." });
     */
    async purge(input: PurgeInput, options?: CallOptions): Promise<void> {
      const call = { path: `${pathOf(input)}/purge`, body: reasonBodyOf(input), headers: ifMatchHeader(input) };
      await connection.send({ method: "POST", ...call, query: environment }, options);
    },
  };
}
