import { type CallOptions, type Connection, ifMatchHeader, numberedPath, type Query } from "./connection.ts";
import { FeedReader } from "./feed-reader.ts";
import type { JsonObject } from "./json.ts";
import { itemsOf, nextCursorOf } from "./paging.ts";
import {
  fieldsOf,
  type GroupFields,
  type ListedGroup,
  type NumberedGroup,
  toListedGroup,
  toNumberedGroup,
} from "./user-group.ts";

/** The group, by the service's own number of it. */
export type GetInput = { teamId: number };

/** The group to delete, by the service's own number of it. */
export type RemoveByNumberInput = GetInput & {
  /** The `etag` that the group had when you read it: the call fails with `revision_mismatch` if it has changed since. */
  ifMatch?: string | undefined;
};

/** The group to change, by its number, and its new fields. */
export type UpdateByNumberInput<Properties extends object = JsonObject> = GroupFields<Properties> &
  RemoveByNumberInput & { newUserGroupId?: string | undefined };

/** The group whose token to replace, by its number. */
export type RotateByNumberInput = RemoveByNumberInput & {
  /** For how many seconds the old token stays valid for viewers; 0 by default, 604800 (a week) at most. */
  graceSeconds?: number | undefined;
};

/** Selects the groups to list; all of them by default. */
export type ListInput = {
  /** Starts after the page that had this `nextCursor`. */
  cursor?: string | undefined;
  /** Lists only the groups whose `userGroupId` starts with this text, case-sensitively. */
  prefix?: string | undefined;
  /** The `limit` of one page, 1 to 1000; 100 by default. */
  pageSize?: number | undefined;
};

/** Some groups, and the cursor of the next page; `null` on the last page. A page may be empty. */
export type GroupPage = { groups: ListedGroup[]; nextCursor: string | null };

const PATH = "/api/user_groups";

/** The path of one group. */
const pathOf = ({ teamId }: GetInput): string => numberedPath(PATH, "teamId", teamId);

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
  async listPage({ cursor, prefix, pageSize }: ListInput = {}, { signal }: CallOptions = {}): Promise<GroupPage> {
    const query = { ...this.#query, cursor, limit: pageSize?.toString(), user_group_id_prefix: prefix };
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

  /** Gets a group by its number, without its token. It never creates one. */
  async get(input: GetInput, { signal }: CallOptions = {}): Promise<NumberedGroup> {
    const call = { method: "GET", path: pathOf(input), query: this.#query, retryable: true } as const;
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
        body: { new_user_group_id: input.newUserGroupId, ...fieldsOf(input) },
        headers: ifMatchHeader(input),
        retryable: input.ifMatch === undefined,
      },
      signal,
    );
    return toNumberedGroup(response);
  }

  /**
   * Replaces the current token, and does not show the new one: an integrator gets it with `ensure`. The old one is refused
   * from then on, or after its grace. It is not retried after a lost response: a second rotation would end a grace.
   */
  async rotateTokenByNumber(input: RotateByNumberInput, { signal }: CallOptions = {}): Promise<NumberedGroup> {
    const response = await this.#connection.send(
      {
        method: "POST",
        path: `${pathOf(input)}/rotate`,
        query: this.#query,
        body: { grace_seconds: input.graceSeconds },
        headers: ifMatchHeader(input),
        retryable: false,
      },
      signal,
    );
    return toNumberedGroup(response);
  }

  /**
   * Deletes the group. It is not retried after a lost response, because a second try would fail with `user_group_not_found`:
   * repeat it, and take that error for a success.
   */
  async removeByNumber(input: RemoveByNumberInput, { signal }: CallOptions = {}): Promise<void> {
    await this.#connection.send(
      {
        method: "DELETE",
        path: pathOf(input),
        query: this.#query,
        headers: ifMatchHeader(input),
        retryable: false,
      },
      signal,
    );
  }
}
