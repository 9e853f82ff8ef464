import { type CallOptions, Connection, type ConnectionOptions } from "./connection.ts";
import type { EnvironmentTag, ResponseBody } from "./response-body.ts";
import { serverProtocol } from "./server-protocol.ts";

/** The service's address, and the operator's credential. */
export type OperatorClientOptions = ConnectionOptions & {
  /** The service's `OPERATOR_TOKEN`. */
  operatorToken: string;
};

/** One environment of a workspace; `null` is the one without a tag. */
export type Environment = { workspace: string; environment: EnvironmentTag };

/** A key to issue. Without `expiresInSeconds` it never expires. */
export type IssueKeyInput = Environment & {
  name: string;
  /** `"write"` by default; a key with read access sees groups without their tokens, and changes none. */
  access?: "read" | "write" | undefined;
  expiresInSeconds?: number | undefined;
};

/** A key to replace. */
export type RollKeyInput = Environment & {
  id: number;
  /** For how many seconds the old key stays valid; 0 by default, 604800 (a week) at most. */
  graceSeconds?: number | undefined;
};

/** An API key without its text. Times are ISO 8601 in UTC; a `revokedAt` in the future is the end of a grace. */
export type ApiKey = Environment & {
  id: number;
  name: string;
  access: "read" | "write";
  createdAt: string;
  expiresAt: string | null;
  lastUsedAt: string | null;
  revokedAt: string | null;
};

/** A key with its secret text, which the service shows only here. */
export type IssuedKey = { apiKey: ApiKey; key: string };

/** The API keys of all environments, for the service's operator. */
export class OperatorClient {
  readonly #connection: Connection;

  constructor({ operatorToken, ...options }: OperatorClientOptions) {
    this.#connection = new Connection(options, "operatorToken", operatorToken, serverProtocol);
  }

  /** Issues a key. It is not retried after a lost response: `listKeys`, and revoke the key that nobody has. */
  async issueKey(input: IssueKeyInput, { signal }: CallOptions = {}): Promise<IssuedKey> {
    const { workspace, environment, name, access, expiresInSeconds } = input;
    const body = { workspace, environment, name, access, expires_in_seconds: expiresInSeconds };
    const { body: issued } = await this.#connection.send(
      { method: "POST", path: "/api/keys", body, retryable: false },
      signal,
    );
    return toIssuedKey(issued);
  }

  /** Lists all keys of the environment, including those that are revoked or expired. */
  async listKeys(environment: Environment, { signal }: CallOptions = {}): Promise<ApiKey[]> {
    const call = { method: "GET", path: "/api/keys", query: queryOf(environment), retryable: true } as const;
    const { body } = await this.#connection.send(call, signal);
    return body.objects("api_keys").map(toApiKey);
  }

  /** Revokes a key at once. A second revocation changes nothing. */
  async revokeKey(input: Environment & { id: number }, { signal }: CallOptions = {}): Promise<void> {
    const path = pathOf(input.id);
    const call = { method: "DELETE", path, query: queryOf(input), retryable: true } as const;
    await this.#connection.send(call, signal);
  }

  /** Issues a key to replace one, which stays valid for the grace. It is not retried after a lost response. */
  async rollKey(input: RollKeyInput, { signal }: CallOptions = {}): Promise<IssuedKey> {
    const { body } = await this.#connection.send(
      {
        method: "POST",
        path: `${pathOf(input.id)}/roll`,
        query: queryOf(input),
        body: { grace_seconds: input.graceSeconds },
        retryable: false,
      },
      signal,
    );
    return toIssuedKey(body);
  }
}

/** The path of one key. An unchecked id such as `../user` would send the operator's token to another route. */
function pathOf(id: number): string {
  if (!Number.isSafeInteger(id) || id < 1)
    throw new TypeError("Give id as a positive whole number, as listKeys shows it.");
  return `/api/keys/${id}`;
}

const queryOf = ({ workspace, environment }: Environment) => ({ workspace, environment: environment ?? "untagged" });

const toIssuedKey = (body: ResponseBody): IssuedKey => ({
  apiKey: toApiKey(body.object("api_key")),
  key: body.text("key"),
});

const toApiKey = (key: ResponseBody): ApiKey => ({
  id: key.number("id"),
  workspace: key.text("workspace"),
  environment: key.environment("environment"),
  name: key.text("name"),
  access: key.oneOf("access", ["read", "write"]),
  createdAt: key.text("created_at"),
  expiresAt: key.textOrNull("expires_at"),
  lastUsedAt: key.textOrNull("last_used_at"),
  revokedAt: key.textOrNull("revoked_at"),
});
