import { type EnvironmentClient, environmentClient } from "./environment-client.ts";
import { type ApiKeys, apiKeysOf } from "./resources/api-key.ts";
import { type Caller, whoami } from "./resources/caller.ts";
import { type Environment, type Environments, environmentQuery, environmentsOf } from "./resources/environment.ts";
import { type FeedReader, feedReader } from "./resources/event.ts";
import { type Credentials, credentialsOf } from "./resources/explained-credential.ts";
import { type Operators, operatorsOf } from "./resources/operator.ts";
import { type CallOptions, type Connection, type ConnectionOptions, connectionOf } from "./transport/connection.ts";
import { serverProtocol } from "./transport/server-protocol.ts";

/** The service's address, and the operator's credential. */
export type OperatorClientOptions = ConnectionOptions & {
  /** The key of an operator, `ugo_…`, or the bootstrap token: the service's `OPERATOR_TOKEN`. */
  operatorKey: string;
};

export interface OperatorClient extends ApiKeys, Operators, Environments, Credentials, FeedReader {}

/**
 * The calls of an operator: API keys, operators and environments. The methods of events read the deployment's own feed;
 * `inEnvironment` leads to the groups and the feed of one environment.
 *
 * @example
 * import { OperatorClient } from "user-group-service/client";
 *
 * const operator = new OperatorClient({ url: "http://localhost:8787", operatorKey: process.env.OPERATOR_KEY ?? "" });
 * const environment = { workspace: "examples", environment: "Testing" } as const;
 * const { apiKey } = await operator.issueKey({ ...environment, name: "reader", access: "read" });
 * for await (const { name } of operator.listKeys(environment)) console.info(name);
 * // reader
 * await operator.revokeKey({ ...environment, id: apiKey.id, reason: "It was an example." });
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the constructor assigns the calls that the interface declares.
export class OperatorClient {
  readonly #connection: Connection;

  constructor({ operatorKey, ...options }: OperatorClientOptions) {
    const connection = connectionOf(options, "operatorKey", operatorKey, serverProtocol);
    this.#connection = connection;
    const calls: ApiKeys & Operators & Environments & Credentials & FeedReader = {
      ...apiKeysOf(connection),
      ...operatorsOf(connection),
      ...environmentsOf(connection),
      ...credentialsOf(connection),
      ...feedReader(connection),
    };
    Object.assign(this, calls);
  }

  /** Gets the name and the role of this operator. */
  whoami(options?: CallOptions): Promise<Caller> {
    return whoami(this.#connection, options);
  }

  /**
   * Returns the calls of one environment.
   *
   * @example
   * const { groups: found } = await operator
   *   .inEnvironment({ workspace: "demo", environment: "Testing" })
   *   .listPage({ userGroupId: "never created" });
   * console.info(found.length);
   * // 0
   */
  inEnvironment(environment: Environment): EnvironmentClient {
    return environmentClient(this.#connection, environmentQuery(environment));
  }
}
