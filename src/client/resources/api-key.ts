import type { PageInput } from "../transport/paged-list.ts";
import type { ResponseBody } from "../transport/response-body.ts";
import { type Environment, type LocationHint, toEnvironment } from "./environment.ts";

/** What an API key may do; docs/operating.md lists the calls of each scope. */
export type Scope =
  | "groups:read"
  | "groups:write"
  | "groups:delete"
  | "tokens:read"
  | "tokens:rotate"
  | "sessions:create"
  | "events:read";

/** A key to issue. Without `expiresInSeconds` it never expires. Give `access` or `scopes`, not both. */
export type IssueKeyInput = Environment & {
  name: string;
  /** `"write"` is all scopes, and the default; `"read"` is `groups:read` and `events:read`. */
  access?: "read" | "write" | undefined;
  /** What the key may do, and nothing else. */
  scopes?: readonly Scope[] | undefined;
  expiresInSeconds?: number | undefined;
  /** Where to place the environment, near its callers. Only the first key of an environment may have it. */
  location?: LocationHint | undefined;
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
  /** `null` for a key that was issued with `scopes`. */
  access: "read" | "write" | null;
  /** What the key may do. A newer service may have more scopes than `Scope`. */
  scopes: string[];
  createdAt: string;
  expiresAt: string | null;
  lastUsedAt: string | null;
  revokedAt: string | null;
};

/** Selects the keys of an environment; all of them by default. */
export type KeysInput = Environment & PageInput;

/** Some keys, and the cursor of the next page; `null` on the last page. */
export type KeyPage = { keys: ApiKey[]; nextCursor: string | null };

/** A key with its secret text, which the service shows only here. */
export type IssuedKey = { apiKey: ApiKey; key: string };

/** The body of the call that issues a key. */
export const issueKeyBody = ({ expiresInSeconds, ...input }: IssueKeyInput) => ({
  workspace: input.workspace,
  environment: input.environment,
  name: input.name,
  access: input.access,
  scopes: input.scopes,
  expires_in_seconds: expiresInSeconds,
  location: input.location,
});

export const toApiKey = (key: ResponseBody): ApiKey => ({
  id: key.number("id"),
  ...toEnvironment(key),
  name: key.text("name"),
  access: key.oneOfOrNull("access", ["read", "write"]),
  scopes: key.texts("scopes"),
  createdAt: key.text("created_at"),
  expiresAt: key.textOrNull("expires_at"),
  lastUsedAt: key.textOrNull("last_used_at"),
  revokedAt: key.textOrNull("revoked_at"),
});

export const toIssuedKey = (body: ResponseBody): IssuedKey => ({
  apiKey: toApiKey(body.object("api_key")),
  key: body.text("key"),
});
