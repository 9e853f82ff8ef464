import type { Answer, EnvironmentTag } from "./answer.ts";
import { type CallOptions, Connection, type ConnectionOptions } from "./connection.ts";

/** Where the service is, and what shows that you are its operator. */
export type OperatorClientOptions = ConnectionOptions & {
  /** The service's `OPERATOR_TOKEN`. */
  operatorToken: string;
};

/** One environment of a workspace; `null` is the one without a tag. */
export type Environment = { workspace: string; environment: EnvironmentTag };

/** A key to make. Without `expiresInSeconds` it never ends by itself. */
export type IssueKeyInput = Environment & {
  name: string;
  /** `"write"` by default; a key to read sees groups and changes none. */
  access?: "read" | "write" | undefined;
  expiresInSeconds?: number | undefined;
};

/** A key to replace. */
export type RollKeyInput = Environment & {
  id: number;
  /** For how long the old key stays good; 0 by default, a week at most. */
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

/** A key with its text, which is shown this once. */
export type IssuedKey = { apiKey: ApiKey; key: string };

/** The API keys of all environments, for the service's operator. */
export class OperatorClient {
  readonly #connection: Connection;

  constructor({ operatorToken, ...options }: OperatorClientOptions) {
    this.#connection = new Connection(options, "operatorToken", operatorToken);
  }

  /** Makes a key. After a lost answer it is not made again: `listKeys`, and revoke the one that nobody has. */
  async issueKey(input: IssueKeyInput, { signal }: CallOptions = {}): Promise<IssuedKey> {
    const { workspace, environment, name, access, expiresInSeconds } = input;
    const body = { workspace, environment, name, access, expires_in_seconds: expiresInSeconds };
    const answered = await this.#connection.send(
      { method: "POST", path: "/api/keys", body, repeatable: false },
      signal,
    );
    return issuedKey(answered.body);
  }

  /** All keys of the environment, those that are no longer good included. */
  async listKeys(environment: Environment, { signal }: CallOptions = {}): Promise<ApiKey[]> {
    const call = { method: "GET", path: "/api/keys", query: queryOf(environment), repeatable: true } as const;
    const { body } = await this.#connection.send(call, signal);
    return body.objects("api_keys").map(apiKey);
  }

  /** Makes a key useless at once. A second time changes nothing. */
  async revokeKey(input: Environment & { id: number }, { signal }: CallOptions = {}): Promise<void> {
    const path = pathOf(input.id);
    const call = { method: "DELETE", path, query: queryOf(input), repeatable: true } as const;
    await this.#connection.send(call, signal);
  }

  /** Makes a key in the place of one that stays good for the grace. After a lost answer it is not made again. */
  async rollKey(input: RollKeyInput, { signal }: CallOptions = {}): Promise<IssuedKey> {
    const { body } = await this.#connection.send(
      {
        method: "POST",
        path: `${pathOf(input.id)}/roll`,
        query: queryOf(input),
        body: { grace_seconds: input.graceSeconds },
        repeatable: false,
      },
      signal,
    );
    return issuedKey(body);
  }
}

/** The path of one key. An unchecked id such as `../user` would send the operator's token to another route. */
function pathOf(id: number): string {
  if (!Number.isSafeInteger(id) || id < 1)
    throw new TypeError("Give id as a whole number from 1 on, as listKeys shows it.");
  return `/api/keys/${id}`;
}

const queryOf = ({ workspace, environment }: Environment) => ({ workspace, environment: environment ?? "untagged" });

const issuedKey = (body: Answer): IssuedKey => ({ apiKey: apiKey(body.object("api_key")), key: body.text("key") });

const apiKey = (key: Answer): ApiKey => ({
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
