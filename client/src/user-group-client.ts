import { type EnvironmentClient, environmentClient } from "./environment-client.ts";
import { type Caller, whoami } from "./resources/caller.ts";
import { type GroupsById, groupsById } from "./resources/groups-by-id.ts";
import { type MintSessionInput, mintSession, type ViewerSession } from "./resources/viewer-session.ts";
import {
  type CallOptions,
  type Connection,
  type ConnectionOptions,
  connectionOf,
  refuseUndefined,
} from "./transport/connection.ts";
import { serverProtocol } from "./transport/server-protocol.ts";
import { ViewerClient } from "./viewer-client.ts";

/** The service's address, and the API key of one environment. */
export type UserGroupClientOptions = ConnectionOptions & {
  /** A secret of your server. It must never reach a browser. */
  apiKey: string;
};

export interface UserGroupClient extends GroupsById, EnvironmentClient {}

/**
 * The user groups of one environment, for servers that have its API key.
 *
 * @example
 * import { UserGroupClient } from "user-group-service/client";
 *
 * const groups = new UserGroupClient({ url: "http://localhost:8787", apiKey: process.env.API_KEY ?? "" });
 * const { group } = await groups.ensure({ userGroupId: "example", name: "Example Inc." });
 * console.info(group.name);
 * // Example Inc.
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the constructor assigns the calls that the interface declares.
export class UserGroupClient {
  readonly #connection: Connection;
  readonly #options: ConnectionOptions;

  constructor({ apiKey, ...options }: UserGroupClientOptions) {
    this.#options = options;
    this.#connection = connectionOf(options, "apiKey", apiKey, serverProtocol);
    const calls: GroupsById & EnvironmentClient = {
      ...groupsById(this.#connection),
      ...environmentClient(this.#connection),
    };
    Object.assign(this, calls);
  }

  /**
   * Mints a short-lived viewer session for a page. It creates no group, and changes nothing.
   *
   * @example
   * await groups.ensure({ userGroupId: "minting" });
   * const session = await groups.mintSession({ userGroupId: "minting", viewerId: "jane", viewerProperties: { store: 7 } });
   * console.info(session.expiresInSeconds);
   * // 300
   */
  mintSession(input: MintSessionInput, options?: CallOptions): Promise<ViewerSession> {
    return mintSession(this.#connection, input, options);
  }

  /**
   * The calls of a page that has presented this session to your server. They have the session's rights, and not your API key's. Name
   * the environment, `audience`: a session of another one is then refused with `audience_mismatch`, and not taken for the customer
   * who has the same id in yours.
   *
   * @example
   * await groups.ensure({ userGroupId: "presented", properties: { plan: "gold" } });
   * const { token } = await groups.mintSession({ userGroupId: "presented" });
   * const { variables } = await groups.asViewer({ session: token, audience: "demo/Testing" }).view();
   * console.info(variables["user_group.plan"]);
   * // gold
   */
  asViewer(input: { session: string; audience?: string }): ViewerClient {
    refuseUndefined(input, ["audience"]);
    const { session, ...audience } = input;
    return new ViewerClient({ ...this.#options, token: session, ...audience });
  }

  /**
   * Gets the name, the environment and the scopes of the API key.
   *
   * @example
   * const { kind, workspace, environment } = await groups.whoami();
   * console.info(kind, workspace, environment);
   * // api_key demo Testing
   */
  whoami(options?: CallOptions): Promise<Caller> {
    return whoami(this.#connection, options);
  }
}
