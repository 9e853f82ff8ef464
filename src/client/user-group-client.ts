import { type Caller, whoami } from "./resources/caller.ts";
import { EnvironmentClient } from "./resources/groups-by-number.ts";
import {
  type EnsuredGroup,
  fieldsOf,
  type GroupFields,
  type RotatedGroup,
  toEnsuredGroup,
  toRotatedGroup,
  toUpdatedGroup,
  type UpdatedGroup,
} from "./resources/user-group.ts";
import { type MintSessionInput, mintBody, toViewerSession, type ViewerSession } from "./resources/viewer-session.ts";
import { type CallOptions, Connection, type ConnectionOptions, ifMatchHeader } from "./transport/connection.ts";
import type { JsonObject } from "./transport/json.ts";
import { type OnceOptions, sendOnce } from "./transport/once.ts";
import { serverProtocol } from "./transport/server-protocol.ts";

/** The service's address, and the API key of one environment. */
export type UserGroupClientOptions = ConnectionOptions & {
  /** A secret of your server. It must never reach a browser. */
  apiKey: string;
};

/** The group to get, and its fields if it has to be created. */
export type EnsureInput<Properties extends object = JsonObject> = GroupFields<Properties> & { userGroupId: string };

/** The group to suspend or to resume, by its id. */
export type SuspendInput = {
  userGroupId: string;
  /** The `etag` that the group had when you read it: the call fails with `revision_mismatch` if it has changed since. */
  ifMatch?: string | undefined;
};

/** The group to change, and its new fields. */
export type UpdateInput<Properties extends object = JsonObject> = GroupFields<Properties> &
  SuspendInput & {
    newUserGroupId?: string | undefined;
    /** With `true`, viewers of the group are refused until a `false`. */
    suspended?: boolean | undefined;
  };

/** The token to replace. */
export type RotateInput = {
  /**
   * The group's token, as `ensure` returned it. `undefined`, which `ensure` returns to an API key without `tokens:read`, is a
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

const PATH = "/api/user";

/** The user groups of one environment, for servers that have its API key. */
export class UserGroupClient extends EnvironmentClient {
  readonly #connection: Connection;

  constructor({ apiKey, ...options }: UserGroupClientOptions) {
    const connection = new Connection(options, "apiKey", apiKey, serverProtocol);
    super(connection);
    this.#connection = connection;
  }

  /**
   * Gets the group with this id, or creates it. It never changes a group that exists. If the response to the first try is
   * lost and a retry succeeds, `created` may be false although this call created the group.
   *
   * The group has its `token` if the API key has the scope `tokens:read`. A key without `groups:write` only gets groups, and
   * creates none.
   */
  async ensure<Properties extends object>(
    input: EnsureInput<Properties>,
    { signal }: CallOptions = {},
  ): Promise<{ created: boolean; group: EnsuredGroup }> {
    const body = { user_group_id: input.userGroupId, ...fieldsOf(input) };
    const response = await this.#connection.send({ method: "GET", path: PATH, body, retryable: true }, signal);
    return { created: response.body.oneOf("new_user_group", [true, false]), group: toEnsuredGroup(response) };
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
    const { userGroupId, newUserGroupId, suspended, ifMatch } = input;
    const body = { user_group_id: userGroupId, new_user_group_id: newUserGroupId, ...fieldsOf(input), suspended };
    const headers = ifMatchHeader(input);
    const retryable = ifMatch === undefined && newUserGroupId === undefined;
    return toUpdatedGroup(await this.#connection.send({ method: "PUT", path: PATH, body, headers, retryable }, signal));
  }

  /**
   * Suspends the group: its viewers are refused with `user_group_suspended` until it is resumed, and all other calls work.
   * With `ifMatch` it is not retried, as `update`.
   */
  suspend({ userGroupId, ifMatch }: SuspendInput, options: CallOptions = {}): Promise<UpdatedGroup> {
    return this.update({ userGroupId, ifMatch, suspended: true }, options);
  }

  /** Ends the suspension of the group. Its viewers see it again, with the same token. */
  resume({ userGroupId, ifMatch }: SuspendInput, options: CallOptions = {}): Promise<UpdatedGroup> {
    return this.update({ userGroupId, ifMatch, suspended: false }, options);
  }

  /** Replaces the current token by a new one. The old one is refused from then on, or after its grace. */
  async rotateToken(input: RotateInput, options: OnceOptions = {}): Promise<RotatedGroup> {
    const currentToken = tokenOf(input);
    const body = { current_token: currentToken, grace_seconds: input.graceSeconds };
    const call = { method: "POST", path: PATH, body, secret: currentToken } as const;
    return toRotatedGroup(await sendOnce(this.#connection, call, options));
  }

  /** Deletes the group that has this current token, if the guards hold. `restore` brings it back by its number. */
  async remove(input: RemoveInput, options: OnceOptions = {}): Promise<void> {
    const currentToken = tokenOf(input);
    const body = {
      current_token: currentToken,
      user_group_id: input.userGroupId,
      data_source_provided_id: input.dataSourceProvidedId,
    };
    await sendOnce(this.#connection, { method: "DELETE", path: PATH, body, secret: currentToken }, options);
  }

  /** Mints a short-lived viewer session for a page. It creates no group, and changes nothing. */
  async mintSession(input: MintSessionInput, { signal }: CallOptions = {}): Promise<ViewerSession> {
    const call = { method: "POST", path: "/api/viewer_sessions", body: mintBody(input), retryable: true } as const;
    return toViewerSession(await this.#connection.send(call, signal));
  }

  /** Gets the name, the environment and the scopes of the API key. */
  whoami(options: CallOptions = {}): Promise<Caller> {
    return whoami(this.#connection, options);
  }
}

function tokenOf({ currentToken }: { currentToken: string | undefined }): string {
  if (currentToken === undefined)
    throw new TypeError(
      "currentToken is undefined. Only an API key with write access or the scope tokens:read gets tokens: use such a key.",
    );
  return currentToken;
}
