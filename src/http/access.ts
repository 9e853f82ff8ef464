import type { LadderRole, Scope } from "../domain/credentials/rights.ts";

/** Who may make a call. A kind of caller without an entry here may not make it. */
export type Access = {
  /** An API key with this scope, or with any. */
  scope?: Scope | "any";
  /** An operator with this role, or a higher one. */
  role?: LadderRole;
  /** Whether an operator with the role `backup` may make the call, too. */
  isForBackups?: true;
  /** Whether an operator must ("required") or may ("optional") name the environment in the query. */
  environmentQuery?: "required" | "optional";
  /** Whether viewers may make the call, with a session or a group token. */
  isForViewers?: true;
  /** Whether the call reads or writes much at once, and has the limit of lists. */
  isList?: true;
  /** Whether the call takes fields in its query, besides the environment. Without it they are refused. */
  hasQuery?: true;
  /** Whether the call takes a body of JSON. Without it the body is not read. */
  body?: "required" | "optional";
  /** Whether a HEAD is answered as this GET. Hono would answer it by running the GET, which on some paths creates. */
  takesHead?: true;
  /** A media type that the body may have besides JSON (a merge patch, RFC 7396), or must have instead (a page of a backup). */
  bodyType?: "merge-patch" | "ndjson";
};

/** A call that reads or writes much at once, and takes fields in its query. */
const LIST = { isList: true, hasQuery: true } as const;

/** A change that an operator makes in the environment of the query, with a body that may be left out. */
const MANAGED = { environmentQuery: "required", body: "optional" } as const;

/**
 * Who may make which call below /api, by its method and the pattern of its path. A route without an entry does not compile
 * (app.ts).
 */
export const ACCESS = {
  "GET /api/user": { scope: "groups:read", body: "required" },
  "PUT /api/user": { scope: "groups:write", body: "required" },
  "POST /api/user": { scope: "tokens:rotate", body: "required" },
  "DELETE /api/user": { scope: "groups:delete", body: "required" },

  "GET /api/user_groups": { ...LIST, scope: "groups:read", role: "viewer", environmentQuery: "required" },
  "POST /api/user_groups": { scope: "groups:read", body: "required" },
  "GET /api/user_groups/:team_id": {
    scope: "groups:read",
    role: "viewer",
    environmentQuery: "required",
    hasQuery: true,
  },
  "GET /api/user_groups/:team_id/events": {
    ...LIST,
    scope: "events:read",
    role: "viewer",
    environmentQuery: "required",
  },
  "PUT /api/user_groups/:team_id": {
    scope: "groups:write",
    role: "support",
    environmentQuery: "required",
    body: "required",
    bodyType: "merge-patch",
  },
  "DELETE /api/user_groups/:team_id": { ...MANAGED, scope: "groups:delete", role: "admin" },
  "POST /api/user_groups/:team_id/rotate": { ...MANAGED, scope: "tokens:rotate", role: "support" },
  "POST /api/user_groups/:team_id/restore": { ...MANAGED, scope: "groups:write", role: "support" },
  "POST /api/user_groups/:team_id/purge": { ...MANAGED, scope: "groups:delete", role: "admin" },
  "GET /api/events": { ...LIST, scope: "events:read", role: "viewer", environmentQuery: "optional" },

  "GET /api/keys": { ...LIST, role: "viewer", environmentQuery: "required" },
  "POST /api/keys": { role: "admin", body: "required" },
  "DELETE /api/keys/:id": { ...MANAGED, role: "admin" },
  "POST /api/keys/:id/roll": { ...MANAGED, role: "admin" },

  "GET /api/operators": { ...LIST, role: "viewer" },
  "POST /api/operators": { role: "admin", body: "required" },
  "DELETE /api/operators/:id": { role: "admin", body: "optional" },
  "POST /api/operators/:id/roll": { role: "admin", body: "optional" },
  "POST /api/credentials/explain": { role: "viewer", body: "required" },
  "GET /api/environments": { ...LIST, role: "viewer", isForBackups: true },
  "DELETE /api/environments": { ...MANAGED, role: "admin", hasQuery: true },

  "GET /api/backup": { ...LIST, role: "admin", isForBackups: true, environmentQuery: "optional" },
  "POST /api/restore": { ...LIST, role: "admin", environmentQuery: "optional", body: "required", bodyType: "ndjson" },

  "POST /api/viewer_sessions": { scope: "sessions:create", body: "required" },
  "POST /api/viewer_sessions/end": {
    scope: "sessions:create",
    role: "support",
    environmentQuery: "required",
    body: "required",
  },
  "GET /api/whoami": { scope: "any", role: "viewer", isForBackups: true, isForViewers: true },
  "GET /api/viewer": { isForViewers: true, hasQuery: true },
  "GET /api/viewer/check": { isForViewers: true, hasQuery: true, takesHead: true },
  "POST /api/viewer/query": { isForViewers: true, body: "required" },
} as const satisfies Record<string, Access>;

/** The routes of a Hono schema whose paths are in `Paths`, by method and pattern, such as `GET /api/user`. */
export type RoutesOf<Schema, Paths extends string = string> = {
  [Path in keyof Schema & Paths]: `${Uppercase<MethodOf<keyof Schema[Path]>>} ${Path}`;
}[keyof Schema & Paths];
type MethodOf<Key> = Key extends `$${infer Method}` ? Method : never;

/** The credentials that a call takes, as the message to a caller without one names them. */
export function acceptedCredentials({ scope, role, isForViewers }: Access): string {
  const kinds = [
    ...(scope ? ["an API key, ugk_…"] : []),
    ...(role ? ["the key of an operator, ugo_…"] : []),
    ...(isForViewers ? ["a viewer session", "the token of a user group, ugt_…"] : []),
  ];
  return kinds.join(", or ");
}

/** The table's entry for a call, if it has one. */
export const accessOf = (method: string, pattern: string): Access | undefined => {
  // A HEAD reaches a route that takes it as the GET that it stands for (RFC 9110, section 9.3.2).
  const route = `${method === "HEAD" ? "GET" : method} ${pattern}`;
  return isListed(route) ? ACCESS[route] : undefined;
};

const isListed = (route: string): route is keyof typeof ACCESS => Object.hasOwn(ACCESS, route);
