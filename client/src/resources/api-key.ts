import { type CallOptions, type Connection, numberedPath, refuseUndefined } from "../transport/connection.ts";
import { type PageInput, pagedList } from "../transport/paged-list.ts";
import type { ResponseBody } from "../transport/response-body.ts";
import { type Because, type Grace, type Lifetime, reasonBodyOf, toLifetime } from "./credential.ts";
import {
  checkEnvironment,
  type Environment,
  environmentQuery,
  type LocationHint,
  toEnvironment,
} from "./environment.ts";

/** What an API key may do; docs/operators/access.md lists the calls of each scope. */
export type Scope =
  | "groups:read"
  | "groups:write"
  | "groups:delete"
  | "tokens:read"
  | "tokens:rotate"
  | "sessions:create"
  | "events:read";

/** A key to issue. Without `expiresInSeconds` it never expires. Give `access` or `scopes`, not both. */
export type IssueKeyInput = Environment &
  Because & {
    name: string;
    /** `"write"` is all scopes, and the default; `"read"` is `groups:read` and `events:read`. */
    access?: "read" | "write" | undefined;
    /** What the key may do, and nothing else. */
    scopes?: readonly Scope[] | undefined;
    expiresInSeconds?: number;
    /** Where to place the environment, near its callers. Only the first key of an environment may have it. */
    location?: LocationHint | undefined;
  };

/** A key to revoke. */
export type RevokeKeyInput = Environment & Because & { id: number };

/** A key to replace. */
export type RollKeyInput = Grace & RevokeKeyInput;

/** An API key without its text. */
export type ApiKey = Environment &
  Lifetime & {
    id: number;
    name: string;
    /** `null` for a key that was issued with `scopes`. */
    access: "read" | "write" | null;
    /** What the key may do. A newer service may have more scopes than `Scope`. */
    scopes: string[];
  };

/** Selects the keys of an environment; all of them by default. */
export type KeysInput = Environment & PageInput;

/** Some keys, and the cursor of the next page; `null` on the last page. */
export type KeyPage = { keys: ApiKey[]; nextCursor: string | null };

/** A key with its secret text, which the service shows only here. */
export type IssuedKey = { apiKey: ApiKey; key: string };

const toApiKey = (key: ResponseBody): ApiKey => ({
  id: key.number("id"),
  ...toEnvironment(key),
  name: key.text("name"),
  access: key.textOrNull("access") === null ? null : key.oneOf("access", ["read", "write"]),
  scopes: key.texts("scopes"),
  ...toLifetime(key),
});

const toIssuedKey = (body: ResponseBody): IssuedKey => ({
  apiKey: toApiKey(body.object("api_key")),
  key: body.text("key"),
});

const PATH = "/api/keys";

export type ApiKeys = ReturnType<typeof apiKeysOf>;

/** The calls of an operator on the API keys of environments. */
export function apiKeysOf(connection: Connection) {
  const keys = pagedList(connection, { path: PATH, field: "api_keys", toItem: toApiKey });

  return {
    /**
     * Issues a key. It is not retried after a lost response: find the key with `listKeys`, and revoke it, since nobody has
     * its text.
     *
     * @example
     * const environment = { workspace: "issuing", environment: "Testing" } as const;
     * const { apiKey, key } = await operator.issueKey({ ...environment, name: "pages", scopes: ["sessions:create"] });
     * console.info(apiKey.name, key.slice(0, 12));
     * // pages ugk_testing_
     */
    async issueKey(input: IssueKeyInput, options?: CallOptions): Promise<IssuedKey> {
      refuseUndefined(input, ["expiresInSeconds"]);
      // Each of the two decides alone.
      if (input.access === undefined && input.scopes === undefined) refuseUndefined(input, ["access", "scopes"]);
      checkEnvironment(input);
      const { expiresInSeconds, workspace, environment, name, access, scopes, location, reason } = input;
      const fields = { workspace, environment, name, access, scopes, location, reason };
      const body = { ...fields, expires_in_seconds: expiresInSeconds };
      return toIssuedKey((await connection.send({ method: "POST", path: PATH, body }, options)).body);
    },

    /** Gets one page of the environment's keys. */
    async keyPage(input: KeysInput, options?: CallOptions): Promise<KeyPage> {
      const { items, nextCursor } = await keys.page(input, options, environmentQuery(input));
      return { keys: items, nextCursor };
    },

    /**
     * Yields all keys of the environment, including those that are revoked or expired, and requests the next page when the
     * one before is used up.
     */
    listKeys(input: KeysInput, options?: CallOptions): AsyncGenerator<ApiKey, void, undefined> {
      return keys.items(input, options, environmentQuery(input));
    },

    /**
     * Revokes a key at once. A second revocation changes nothing.
     *
     * @example
     * const environment = { workspace: "revoking", environment: "Testing" } as const;
     * const { apiKey } = await operator.issueKey({ ...environment, name: "leaked" });
     * await operator.revokeKey({ ...environment, id: apiKey.id, reason: "It was in a log." });
     * for await (const { revokedAt } of operator.listKeys(environment)) console.info(revokedAt !== null);
     * // true
     */
    async revokeKey(input: RevokeKeyInput, options?: CallOptions): Promise<void> {
      const call = {
        path: numberedPath(PATH, "id", input.id),
        query: environmentQuery(input),
        body: reasonBodyOf(input),
      };
      await connection.send({ method: "DELETE", ...call, retryable: true }, options);
    },

    /**
     * Issues a key to replace one, which stays valid for the grace. It is not retried after a lost response.
     *
     * @example
     * const environment = { workspace: "rolling", environment: "Testing" } as const;
     * const { apiKey } = await operator.issueKey({ ...environment, name: "yearly" });
     * const successor = await operator.rollKey({ ...environment, id: apiKey.id, graceSeconds: 600 });
     * console.info(successor.apiKey.name, successor.apiKey.id > apiKey.id);
     * // yearly true
     */
    async rollKey(input: RollKeyInput, options?: CallOptions): Promise<IssuedKey> {
      const path = `${numberedPath(PATH, "id", input.id)}/roll`;
      const call = {
        path,
        query: environmentQuery(input),
        body: { grace_seconds: input.graceSeconds, reason: input.reason },
      };
      return toIssuedKey((await connection.send({ method: "POST", ...call }, options)).body);
    },
  };
}
