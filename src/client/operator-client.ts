import {
  type ApiKey,
  type IssuedKey,
  type IssueKeyInput,
  issueKeyBody,
  type KeyPage,
  type KeysInput,
  type RollKeyInput,
  toApiKey,
  toIssuedKey,
} from "./resources/api-key.ts";
import { type Caller, whoami } from "./resources/caller.ts";
import {
  type Environment,
  type EnvironmentPage,
  type EnvironmentsInput,
  environmentQuery,
  type ListedEnvironment,
  toListedEnvironment,
} from "./resources/environment.ts";
import { FeedReader } from "./resources/feed-reader.ts";
import { EnvironmentClient } from "./resources/groups-by-number.ts";
import {
  type IssuedOperator,
  type IssueOperatorInput,
  type Operator,
  type OperatorPage,
  type OperatorsInput,
  type RollOperatorInput,
  toIssuedOperator,
  toOperator,
} from "./resources/operator.ts";
import {
  type CallOptions,
  Connection,
  type ConnectionOptions,
  numberedPath,
  type Query,
} from "./transport/connection.ts";
import { itemsOf, nextCursorOf, type PageInput } from "./transport/paged-list.ts";
import { serverProtocol } from "./transport/server-protocol.ts";

/** The service's address, and the operator's credential. */
export type OperatorClientOptions = ConnectionOptions & {
  /** The key of an operator, `ugo_…`, or the bootstrap token: the service's `OPERATOR_TOKEN`. */
  operatorKey: string;
};

const KEYS = "/api/keys";
const OPERATORS = "/api/operators";

/**
 * The calls of an operator: API keys, operators and environments. The methods of events read the deployment's own feed;
 * `inEnvironment` leads to the groups and the feed of one environment.
 */
export class OperatorClient extends FeedReader {
  readonly #connection: Connection;

  constructor({ operatorKey, ...options }: OperatorClientOptions) {
    const connection = new Connection(options, "operatorKey", operatorKey, serverProtocol);
    super(connection);
    this.#connection = connection;
  }

  /** Gets the name and the role of this operator. */
  whoami(options: CallOptions = {}): Promise<Caller> {
    return whoami(this.#connection, options);
  }

  /** Returns the calls of one environment. */
  inEnvironment(environment: Environment): EnvironmentClient {
    return new EnvironmentClient(this.#connection, environmentQuery(environment));
  }

  /** Gets one page of the deployment's environments. */
  async environmentPage(input: EnvironmentsInput = {}, options: CallOptions = {}): Promise<EnvironmentPage> {
    const { response, nextCursor } = await this.#page("/api/environments", input, options);
    return { environments: response.body.objects("environments").map(toListedEnvironment), nextCursor };
  }

  /** Yields all environments of the deployment, and requests the next page when the one before is used up. */
  environments(
    input: EnvironmentsInput = {},
    options: CallOptions = {},
  ): AsyncGenerator<ListedEnvironment, void, undefined> {
    const pageAfter = async (cursor: string | undefined) => {
      const { environments, nextCursor } = await this.environmentPage({ ...input, cursor }, options);
      return { items: environments, nextCursor };
    };
    return itemsOf(input.cursor, pageAfter, options);
  }

  /** Issues a key. It is not retried after a lost response: `listKeys`, and revoke the key that nobody has. */
  async issueKey(input: IssueKeyInput, { signal }: CallOptions = {}): Promise<IssuedKey> {
    const call = { method: "POST", path: KEYS, body: issueKeyBody(input), retryable: false } as const;
    const { body } = await this.#connection.send(call, signal);
    return toIssuedKey(body);
  }

  /** Gets one page of the environment's keys. */
  async keyPage(input: KeysInput, options: CallOptions = {}): Promise<KeyPage> {
    const { response, nextCursor } = await this.#page(KEYS, input, options, environmentQuery(input));
    return { keys: response.body.objects("api_keys").map(toApiKey), nextCursor };
  }

  /**
   * Yields all keys of the environment, including those that are revoked or expired, and requests the next page when the one
   * before is used up.
   */
  listKeys(input: KeysInput, options: CallOptions = {}): AsyncGenerator<ApiKey, void, undefined> {
    const pageAfter = async (cursor: string | undefined) => {
      const { keys, nextCursor } = await this.keyPage({ ...input, cursor }, options);
      return { items: keys, nextCursor };
    };
    return itemsOf(input.cursor, pageAfter, options);
  }

  /** Revokes a key at once. A second revocation changes nothing. */
  async revokeKey(input: Environment & { id: number }, { signal }: CallOptions = {}): Promise<void> {
    const path = numberedPath(KEYS, "id", input.id);
    await this.#connection.send({ method: "DELETE", path, query: environmentQuery(input), retryable: true }, signal);
  }

  /** Issues a key to replace one, which stays valid for the grace. It is not retried after a lost response. */
  async rollKey(input: RollKeyInput, { signal }: CallOptions = {}): Promise<IssuedKey> {
    const { body } = await this.#connection.send(
      {
        method: "POST",
        path: `${numberedPath(KEYS, "id", input.id)}/roll`,
        query: environmentQuery(input),
        body: { grace_seconds: input.graceSeconds },
        retryable: false,
      },
      signal,
    );
    return toIssuedKey(body);
  }

  /** Issues the key of a new operator. It is not retried after a lost response: `listOperators`, and revoke that one. */
  async issueOperator(input: IssueOperatorInput, { signal }: CallOptions = {}): Promise<IssuedOperator> {
    const { name, role, expiresInSeconds } = input;
    const body = { name, role, expires_in_seconds: expiresInSeconds };
    const call = { method: "POST", path: OPERATORS, body, retryable: false } as const;
    return toIssuedOperator((await this.#connection.send(call, signal)).body);
  }

  /** Gets one page of the operators. */
  async operatorPage(input: OperatorsInput = {}, options: CallOptions = {}): Promise<OperatorPage> {
    const { response, nextCursor } = await this.#page(OPERATORS, input, options);
    return { operators: response.body.objects("operators").map(toOperator), nextCursor };
  }

  /**
   * Yields all operators, including those that are revoked or expired, and requests the next page when the one before is used
   * up. The bootstrap token is not among them.
   */
  listOperators(input: OperatorsInput = {}, options: CallOptions = {}): AsyncGenerator<Operator, void, undefined> {
    const pageAfter = async (cursor: string | undefined) => {
      const { operators, nextCursor } = await this.operatorPage({ ...input, cursor }, options);
      return { items: operators, nextCursor };
    };
    return itemsOf(input.cursor, pageAfter, options);
  }

  /** Revokes an operator's key at once. A second revocation changes nothing. */
  async revokeOperator({ id }: { id: number }, { signal }: CallOptions = {}): Promise<void> {
    const path = numberedPath(OPERATORS, "id", id);
    await this.#connection.send({ method: "DELETE", path, retryable: true }, signal);
  }

  /**
   * Issues a key to replace an operator's, which stays valid for the grace. The successor has another id and the same name,
   * role and expiry. It is not retried after a lost response.
   */
  async rollOperator({ id, graceSeconds }: RollOperatorInput, { signal }: CallOptions = {}): Promise<IssuedOperator> {
    const path = `${numberedPath(OPERATORS, "id", id)}/roll`;
    const call = { method: "POST", path, body: { grace_seconds: graceSeconds }, retryable: false } as const;
    return toIssuedOperator((await this.#connection.send(call, signal)).body);
  }

  async #page(path: string, { cursor, pageSize }: PageInput, { signal }: CallOptions, environment: Query = {}) {
    const query = { ...environment, cursor, limit: pageSize?.toString() };
    const response = await this.#connection.send({ method: "GET", path, query, retryable: true }, signal);
    return { response, nextCursor: nextCursorOf(response, cursor) };
  }
}
