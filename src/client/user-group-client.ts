import { type CallOptions, Connection, type ConnectionOptions, headerValue } from "./connection.ts";
import type { ChangeEvent, EventPage } from "./event.ts";
import { EventFeed, type EventsInput, eventsOf, type FollowInput } from "./event-feed.ts";
import type { JsonObject, JsonProperties } from "./json.ts";
import { serverProtocol } from "./server-protocol.ts";
import {
  type EnsuredGroup,
  type ListedGroup,
  type Mapping,
  type RotatedGroup,
  toEnsuredGroup,
  toListedGroup,
  toRotatedGroup,
  toUpdatedGroup,
  type UpdatedGroup,
} from "./user-group.ts";
import { type MintSessionInput, mintBody, toViewerSession, type ViewerSession } from "./viewer-session.ts";

/** The service's address, and the API key of one environment. */
export type UserGroupClientOptions = ConnectionOptions & {
  /** A secret of your server. It must never reach a browser. */
  apiKey: string;
};

/** The options of a rotation and of a delete. */
export type OnceOptions = CallOptions & {
  /**
   * The service recognizes a retry by this key, and repeats its first response for a day. The default is a random key, which
   * covers the client's own retries; give your own to retry the call later, or from another process.
   */
  idempotencyKey?: string | undefined;
};

/**
 * The fields of a group besides its id. A field that is left out stays as it is; `null` clears it. `properties` is any
 * object that JSON can hold, of a `type` or an `interface` of yours.
 */
export type GroupFields<Properties extends object = JsonObject> = {
  name?: string | undefined;
  mapping?: Mapping | null | undefined;
  properties?: (Properties & JsonProperties<Properties>) | null | undefined;
};

/** The group to get, and its fields if it has to be created. */
export type EnsureInput<Properties extends object = JsonObject> = GroupFields<Properties> & { userGroupId: string };

/** The group to change, and its new fields. */
export type UpdateInput<Properties extends object = JsonObject> = GroupFields<Properties> & {
  userGroupId: string;
  newUserGroupId?: string | undefined;
  /** The `etag` that the group had when you read it: the update fails with `revision_mismatch` if it has changed since. */
  ifMatch?: string | undefined;
};

/** The token to replace. */
export type RotateInput = {
  /**
   * The group's token, as `ensure` returned it. `undefined`, which `ensure` returns to an API key with read access, is a
   * `TypeError`.
   */
  currentToken: string | undefined;
  /** For how many seconds the old token stays valid for viewers; 0 by default, 604800 (a week) at most. */
  graceSeconds?: number | undefined;
};

/** The group to delete, by its token. */
export type RemoveInput = {
  /** As in `RotateInput`. */
  currentToken: string | undefined;
  /** Guards: nothing is deleted unless the group has this id, and its mapping has this data source. */
  userGroupId?: string | undefined;
  dataSourceProvidedId?: string | undefined;
};

/** The group to get, by the service's own number of it. */
export type GetInput = { teamId: number };

/** Selects the groups to list; all of them by default. */
export type ListInput = {
  /** Lists only the groups whose `userGroupId` starts with this text, case-sensitively. */
  prefix?: string | undefined;
  /** The `limit` of one page, 1 to 1000; 100 by default. */
  pageSize?: number | undefined;
};

const PATH = "/api/user";

/** The user groups of one environment, for servers that have its API key. */
export class UserGroupClient {
  readonly #connection: Connection;
  readonly #feed: EventFeed;

  constructor({ apiKey, ...options }: UserGroupClientOptions) {
    this.#connection = new Connection(options, "apiKey", apiKey, serverProtocol);
    this.#feed = new EventFeed(this.#connection);
  }

  /**
   * Gets the group with this id, or creates it. It never changes a group that exists. If the response to the first try is
   * lost and a retry succeeds, `created` may be false although this call created the group.
   *
   * The group has its `token` if the API key has write access. A key with read access only gets groups, without their tokens,
   * and creates none.
   */
  async ensure<Properties extends object>(
    input: EnsureInput<Properties>,
    { signal }: CallOptions = {},
  ): Promise<{ created: boolean; group: EnsuredGroup }> {
    const body = { user_group_id: input.userGroupId, ...fieldsOf(input) };
    const response = await this.#connection.send({ method: "GET", path: PATH, body, retryable: true }, signal);
    return { created: response.body.boolean("new_user_group"), group: toEnsuredGroup(response) };
  }

  /**
   * Changes the fields that are given; `null` clears. With `ifMatch` or `newUserGroupId` it is not retried, because the
   * success of a first try would make the second one fail: after a lost response, look with `ensure`. Without them, a retry
   * overwrites what another caller changed in the same fields between the tries; use `ifMatch` to prevent that.
   */
  async update<Properties extends object>(
    input: UpdateInput<Properties>,
    { signal }: CallOptions = {},
  ): Promise<UpdatedGroup> {
    const { userGroupId, newUserGroupId, ifMatch } = input;
    const body = { user_group_id: userGroupId, new_user_group_id: newUserGroupId, ...fieldsOf(input) };
    const headers = ifMatch === undefined ? {} : { "If-Match": headerValue("ifMatch", ifMatch) };
    const retryable = ifMatch === undefined && newUserGroupId === undefined;
    return toUpdatedGroup(await this.#connection.send({ method: "PUT", path: PATH, body, headers, retryable }, signal));
  }

  /** Replaces the current token by a new one. The old one is refused from then on, or after its grace. */
  async rotateToken(input: RotateInput, options: OnceOptions = {}): Promise<RotatedGroup> {
    const currentToken = tokenOf(input);
    const body = { current_token: currentToken, grace_seconds: input.graceSeconds };
    return toRotatedGroup(await this.#sendOnce("POST", body, currentToken, options));
  }

  /** Deletes the group that has this current token, if the guards hold. */
  async remove(input: RemoveInput, options: OnceOptions = {}): Promise<void> {
    const currentToken = tokenOf(input);
    const body = {
      current_token: currentToken,
      user_group_id: input.userGroupId,
      data_source_provided_id: input.dataSourceProvidedId,
    };
    await this.#sendOnce("DELETE", body, currentToken, options);
  }

  /**
   * Yields all groups of the environment, and requests the next page when the one before is used up. They are ordered by
   * `teamId`, or by `userGroupId` when a `prefix` is given; a group that is renamed during such a list may be missing or
   * appear twice.
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
      const call = { method: "GET", path: "/api/user_groups", query, retryable: true } as const;
      const { body, unexpected } = await this.#connection.send(call, signal);
      for (const group of body.objects("user_groups").map(toListedGroup)) {
        yield group;
        signal?.throwIfAborted();
      }
      const next = body.textOrNull("next_cursor");
      if (next !== null && next === cursor) throw unexpected("leads to the same page again");
      cursor = next;
    } while (cursor !== null);
  }

  /** Gets a group by its number, without its token. It never creates one. */
  async get({ teamId }: GetInput, { signal }: CallOptions = {}): Promise<ListedGroup> {
    if (!Number.isSafeInteger(teamId) || teamId < 1)
      throw new TypeError("Give teamId as a positive whole number, as list and events show it.");
    const call = { method: "GET", path: `/api/user_groups/${teamId}`, retryable: true } as const;
    const { body } = await this.#connection.send(call, signal);
    return toListedGroup(body.object("user_group"));
  }

  /** Mints a short-lived viewer session for a page. It creates no group, and changes nothing. */
  async mintSession(input: MintSessionInput, { signal }: CallOptions = {}): Promise<ViewerSession> {
    const call = { method: "POST", path: "/api/viewer_sessions", body: mintBody(input), retryable: true } as const;
    return toViewerSession(await this.#connection.send(call, signal));
  }

  /** Gets one page of the environment's events, oldest first. Keep `nextCursor`: later it leads to the events after it. */
  eventPage(input: EventsInput = {}, options: CallOptions = {}): Promise<EventPage> {
    return this.#feed.page(input, options);
  }

  /** Gets the cursor after the newest event. */
  async latestEventCursor(options: CallOptions = {}): Promise<string> {
    return (await this.#feed.page({ cursor: "latest" }, options)).nextCursor;
  }

  /** Yields the environment's events, oldest first, and ends after the newest. It requests pages as they are needed. */
  events(input: EventsInput = {}, options: CallOptions = {}): AsyncGenerator<ChangeEvent, void, undefined> {
    return eventsOf(this.#feed.pages(input, options), options);
  }

  /**
   * Yields the environment's events, and waits for more after the newest, until its signal is aborted or the loop is left.
   * Each event is yielded once and in order, also if the service restarts: temporary failures (a lost connection, a timeout,
   * a 429, 502, 503 or 504) are tried again with a growing wait. Other failures end it, such as `cursor_expired`.
   */
  follow(input: FollowInput = {}, options: CallOptions = {}): AsyncGenerator<ChangeEvent, void, undefined> {
    return eventsOf(this.#feed.followPages(input, options), options);
  }

  /**
   * Yields pages as `follow` yields events. To continue after a restart of your own process, store `nextCursor` once you
   * have handled the page. A page may be empty.
   */
  followPages(input: FollowInput = {}, options: CallOptions = {}): AsyncGenerator<EventPage, void, undefined> {
    return this.#feed.followPages(input, options);
  }

  #sendOnce(method: "POST" | "DELETE", body: Record<string, unknown>, secret: string, options: OnceOptions) {
    const key = options.idempotencyKey ?? crypto.randomUUID();
    const headers = { "Idempotency-Key": headerValue("idempotencyKey", key) };
    return this.#connection.send({ method, path: PATH, body, headers, retryable: true, secret }, options.signal);
  }
}

const fieldsOf = ({ name, mapping, properties }: GroupFields<object>) =>
  ({ name, mapping, properties }) satisfies Record<keyof GroupFields<object>, unknown>;

function tokenOf({ currentToken }: { currentToken: string | undefined }): string {
  if (currentToken === undefined)
    throw new TypeError("currentToken is undefined. Only an API key with write access gets tokens: use such a key.");
  return currentToken;
}
