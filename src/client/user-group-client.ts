import { type CallOptions, Connection, type ConnectionOptions, printable } from "./connection.ts";
import type { JsonObject } from "./json.ts";
import {
  type EnsuredGroup,
  ensuredGroup,
  type ListedGroup,
  listedGroup,
  type Mapping,
  type RotatedGroup,
  rotatedGroup,
  type UpdatedGroup,
  updatedGroup,
} from "./user-group.ts";

/** Where the service is, and the API key of one environment. */
export type UserGroupClientOptions = ConnectionOptions & {
  /** The secret of your server. It never belongs in a browser. */
  apiKey: string;
};

/** What a rotation and a delete take besides what they send. */
export type OnceOptions = CallOptions & {
  /**
   * By which the service knows a repetition and gives it the first one's answer, for a day. A random one by default, so
   * that the client's own tries count as one; give your own to repeat the call later, or from another process.
   */
  idempotencyKey?: string | undefined;
};

/** What a group has besides its id. A field that is left out stays as it is; `null` clears it. */
export type GroupFields = {
  name?: string | undefined;
  mapping?: Mapping | null | undefined;
  properties?: JsonObject | null | undefined;
};

/** The group to get, and what it is made of when there is none. */
export type EnsureInput = GroupFields & { userGroupId: string };

/** The group to change, and how. */
export type UpdateInput = GroupFields & {
  userGroupId: string;
  newUserGroupId?: string | undefined;
  /** The `etag` of the group as it was seen: the update fails with `revision_mismatch` if it has changed since. */
  ifMatch?: string | undefined;
};

/** The token to replace. */
export type RotateInput = {
  currentToken: string;
  /** For how long pages with the old token keep working; 0 by default, a week at most. */
  graceSeconds?: number | undefined;
};

/** The group to delete, by its token. */
export type RemoveInput = {
  currentToken: string;
  /** Guards: the group must have this id, and this data source in its mapping, or nothing is deleted. */
  userGroupId?: string | undefined;
  dataSourceProvidedId?: string | undefined;
};

/** Selects the groups to list; all of them by default. */
export type ListInput = {
  /** Lists only the groups whose `userGroupId` starts with this text, case-sensitively. */
  prefix?: string | undefined;
  /** The `limit` of one page, 1 to 1000; 100 by default. */
  pageSize?: number | undefined;
};

const PATH = "/api/user";

/** The user groups of one environment, for servers that hold its API key. */
export class UserGroupClient {
  readonly #connection: Connection;

  constructor({ apiKey, ...options }: UserGroupClientOptions) {
    this.#connection = new Connection(options, "apiKey", apiKey);
  }

  /**
   * Gets the group, or creates it when there is none with this id; on one that is there it changes nothing. When a try was
   * lost on its way and the next one got through, `created` may be false although this very call created the group.
   */
  async ensure(input: EnsureInput, { signal }: CallOptions = {}): Promise<{ created: boolean; group: EnsuredGroup }> {
    const body = { user_group_id: input.userGroupId, ...fieldsOf(input) };
    const answered = await this.#connection.send({ method: "GET", path: PATH, body, repeatable: true }, signal);
    return { created: answered.body.boolean("new_user_group"), group: ensuredGroup(answered) };
  }

  /**
   * Changes the fields that are given; `null` clears. It is repeated only where that comes to the same: with `ifMatch` or
   * `newUserGroupId` the second try would be refused because of the first one's success, so after a lost answer look with
   * `ensure`. Without them, what another changed in the same fields between two tries is overwritten, as it
   * would be by a call made a moment later; use `ifMatch` where it must not be.
   */
  async update(input: UpdateInput, { signal }: CallOptions = {}): Promise<UpdatedGroup> {
    const { userGroupId, newUserGroupId, ifMatch } = input;
    const body = { user_group_id: userGroupId, new_user_group_id: newUserGroupId, ...fieldsOf(input) };
    const headers = ifMatch === undefined ? {} : { "If-Match": printable("ifMatch", ifMatch) };
    const repeatable = ifMatch === undefined && newUserGroupId === undefined;
    return updatedGroup(await this.#connection.send({ method: "PUT", path: PATH, body, headers, repeatable }, signal));
  }

  /** Trades the current token for a new one. The old one is dead from then on, or after its grace. */
  async rotateToken(input: RotateInput, options: OnceOptions = {}): Promise<RotatedGroup> {
    const body = { current_token: input.currentToken, grace_seconds: input.graceSeconds };
    return rotatedGroup(await this.#sendOnce("POST", body, input.currentToken, options));
  }

  /** Deletes the group whose current token this is, if the guards hold. */
  async remove(input: RemoveInput, options: OnceOptions = {}): Promise<void> {
    const body = {
      current_token: input.currentToken,
      user_group_id: input.userGroupId,
      data_source_provided_id: input.dataSourceProvidedId,
    };
    await this.#sendOnce("DELETE", body, input.currentToken, options);
  }

  /**
   * Yields all groups of the environment, and requests the next page when the one before is used up. They are ordered by
   * `teamId`, or by `userGroupId` when a `prefix` is given; a group that is renamed during such a list may be missing or
   * come twice.
   */
  async *list(
    { prefix, pageSize }: ListInput = {},
    { signal }: CallOptions = {},
  ): AsyncGenerator<ListedGroup, void, undefined> {
    let cursor: string | null = null;
    do {
      const query: Record<string, string | undefined> = {
        cursor: cursor ?? undefined,
        limit: pageSize?.toString(),
        user_group_id_prefix: prefix,
      };
      const call = { method: "GET", path: "/api/user_groups", query, repeatable: true } as const;
      const { body, unexpected } = await this.#connection.send(call, signal);
      for (const group of body.objects("user_groups").map(listedGroup)) {
        yield group;
        signal?.throwIfAborted();
      }
      const next = body.textOrNull("next_cursor");
      if (next !== null && next === cursor) throw unexpected("leads to the same page again");
      cursor = next;
    } while (cursor !== null);
  }

  #sendOnce(method: "POST" | "DELETE", body: Record<string, unknown>, secret: string, options: OnceOptions) {
    const key = options.idempotencyKey ?? crypto.randomUUID();
    const headers = { "Idempotency-Key": printable("idempotencyKey", key) };
    return this.#connection.send({ method, path: PATH, body, headers, repeatable: true, secret }, options.signal);
  }
}

const fieldsOf = ({ name, mapping, properties }: GroupFields) => ({ name, mapping, properties });
