import { type CallOptions, type Connection, ifMatchHeader, numberedPath, type Query } from "../transport/connection.ts";
import type { JsonObject } from "../transport/json.ts";
import { type OnceOptions, sendOnce } from "../transport/once.ts";
import { itemsOf, nextCursorOf } from "../transport/paged-list.ts";
import { FeedReader } from "./feed-reader.ts";
import {
  fieldsOf,
  type GroupFields,
  type GroupState,
  type ListedGroup,
  type NumberedGroup,
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
export type RemoveByNumberInput = NumberInput & {
  /** The `etag` that the group had when you read it: the call fails with `revision_mismatch` if it has changed since. */
  ifMatch?: string | undefined;
};

/** The group to change, by its number, and its new fields. */
export type UpdateByNumberInput<Properties extends object = JsonObject> = GroupFields<Properties> &
  RemoveByNumberInput & {
    newUserGroupId?: string | undefined;
    /** With `true`, viewers of the group are refused until a `false`. */
    suspended?: boolean | undefined;
  };

/** The group whose token to replace, by its number. */
export type RotateByNumberInput = RemoveByNumberInput & {
  /** For how many seconds the old token stays valid for viewers; 0 by default, 604800 (a week) at most. */
  graceSeconds?: number | undefined;
};

/** The deleted group to restore, by its number. */
export type RestoreInput = NumberInput & {
  /** The id that the group gets, if another group has its own now. */
  newUserGroupId?: string | undefined;
  /** With `true`, the group gets a new token, and the old one stays revoked. */
  rotateToken?: boolean | undefined;
};

/** Selects the groups to list; all that exist by default. */
export type ListInput = {
  /** Starts after the page that had this `nextCursor`. */
  cursor?: string | undefined;
  /** Lists only the group with exactly this id, or none. Not together with a `cursor`, a `prefix`, or `"deleted"`. */
  userGroupId?: string | undefined;
  /** Lists only the groups whose `userGroupId` starts with this text, case-sensitively. */
  prefix?: string | undefined;
  /** Lists only the groups in this state. Deleted ones are listed only with `"deleted"`, and not together with a `prefix`. */
  state?: GroupState | undefined;
  /** The `limit` of one page, 1 to 1000; 100 by default. */
  pageSize?: number | undefined;
};

/** Some groups, and the cursor of the next page; `null` on the last page. A page may be empty. */
export type GroupPage = { groups: ListedGroup[]; nextCursor: string | null };

const PATH = "/api/user_groups";

/** The path of one group. */
const pathOf = ({ teamId }: NumberInput): string => numberedPath(PATH, "teamId", teamId);

/**
 * The calls of one environment that both an API key and an operator may make. None of them shows a token. An operator gets
 * this from `inEnvironment`; a `UserGroupClient` is one, so a function that takes an `EnvironmentClient` works for both.
 */
export class EnvironmentClient extends FeedReader {
  readonly #connection: Connection;
  readonly #query: Query;

  /** `query` names the environment, where the credential does not. */
  constructor(connection: Connection, query: Query = {}) {
    super(connection, query);
    this.#connection = connection;
    this.#query = query;
  }

  /** Gets one page of the environment's groups, in the order of `list`. */
  async listPage(
    { cursor, userGroupId, prefix, state, pageSize }: ListInput = {},
    { signal }: CallOptions = {},
  ): Promise<GroupPage> {
    const filters = { user_group_id: userGroupId, user_group_id_prefix: prefix, state };
    const query = { ...this.#query, cursor, limit: pageSize?.toString(), ...filters };
    const call = { method: "GET", path: PATH, query, retryable: true } as const;
    const response = await this.#connection.send(call, signal);
    const groups = response.body.objects("user_groups").map(toListedGroup);
    return { groups, nextCursor: nextCursorOf(response, cursor) };
  }

  /**
   * Yields all groups of the environment, and requests the next page when the one before is used up. They are ordered by
   * `teamId`, or by `userGroupId` when a `prefix` is given; a group that is renamed during such a list may be missing or
   * appear twice.
   */
  list(input: ListInput = {}, options: CallOptions = {}): AsyncGenerator<ListedGroup, void, undefined> {
    const pageAfter = async (cursor: string | undefined) => {
      const { groups, nextCursor } = await this.listPage({ ...input, cursor }, options);
      return { items: groups, nextCursor };
    };
    return itemsOf(input.cursor, pageAfter, options);
  }

  /** Gets a group by its number, without its token. It never creates one, and finds a deleted one only if asked for it. */
  async get(input: GetInput, { signal }: CallOptions = {}): Promise<NumberedGroup> {
    const query = { ...this.#query, state: input.state };
    const call = { method: "GET", path: pathOf(input), query, retryable: true } as const;
    return toNumberedGroup(await this.#connection.send(call, signal));
  }

  /**
   * Changes the fields that are given; `null` clears. With `ifMatch` it is not retried, because the success of a first try
   * would make the second one fail: after a lost response, look with `get`.
   */
  async updateByNumber<Properties extends object>(
    input: UpdateByNumberInput<Properties>,
    { signal }: CallOptions = {},
  ): Promise<NumberedGroup> {
    const response = await this.#connection.send(
      {
        method: "PUT",
        path: pathOf(input),
        query: this.#query,
        body: { new_user_group_id: input.newUserGroupId, ...fieldsOf(input), suspended: input.suspended },
        headers: ifMatchHeader(input),
        retryable: input.ifMatch === undefined,
      },
      signal,
    );
    return toNumberedGroup(response);
  }

  /**
   * Suspends the group: its viewers are refused with `user_group_suspended` until it is resumed, and all other calls work.
   * With `ifMatch` it is not retried, as `updateByNumber`.
   */
  suspendByNumber({ teamId, ifMatch }: RemoveByNumberInput, options: CallOptions = {}): Promise<NumberedGroup> {
    return this.updateByNumber({ teamId, ifMatch, suspended: true }, options);
  }

  /** Ends the suspension of the group. Its viewers see it again, with the same token. */
  resumeByNumber({ teamId, ifMatch }: RemoveByNumberInput, options: CallOptions = {}): Promise<NumberedGroup> {
    return this.updateByNumber({ teamId, ifMatch, suspended: false }, options);
  }

  /**
   * Replaces the current token, and does not show the new one: an integrator gets it with `ensure`. The old one is refused
   * from then on, or after its grace.
   */
  async rotateTokenByNumber(input: RotateByNumberInput, options: OnceOptions = {}): Promise<NumberedGroup> {
    const response = await sendOnce(
      this.#connection,
      {
        method: "POST",
        path: `${pathOf(input)}/rotate`,
        query: this.#query,
        body: { grace_seconds: input.graceSeconds },
        headers: ifMatchHeader(input),
      },
      options,
    );
    return toNumberedGroup(response);
  }

  /** Deletes the group, and returns it as it can be restored until its `purgeAt`. */
  async removeByNumber(input: RemoveByNumberInput, options: OnceOptions = {}): Promise<NumberedGroup> {
    const call = {
      method: "DELETE",
      path: pathOf(input),
      query: this.#query,
      headers: ifMatchHeader(input),
    } as const;
    return toNumberedGroup(await sendOnce(this.#connection, call, options));
  }

  /**
   * Restores a deleted group as it was, with its token. A group that exists stays as it is. It fails with
   * `user_group_id_taken` if another group has the id, and changes nothing then.
   */
  async restore(input: RestoreInput, options: OnceOptions = {}): Promise<NumberedGroup> {
    const response = await sendOnce(
      this.#connection,
      {
        method: "POST",
        path: `${pathOf(input)}/restore`,
        query: this.#query,
        body: { new_user_group_id: input.newUserGroupId, rotate_token: input.rotateToken },
      },
      options,
    );
    return toNumberedGroup(response);
  }

  /**
   * Erases a deleted group now, and for good. It is not retried after a lost response, because a second try would fail with
   * `user_group_not_found`: repeat it, and take that error for a success.
   */
  async purge(input: NumberInput, { signal }: CallOptions = {}): Promise<void> {
    const call = { method: "POST", path: `${pathOf(input)}/purge`, query: this.#query, retryable: false } as const;
    await this.#connection.send(call, signal);
  }
}
