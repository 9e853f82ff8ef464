/**
 * The client's part for pages, `user-group-service/viewer`. Its bundle is one file, of at most 4 KiB when it is compressed.
 */

export type { ViewedGroup } from "./resources/user-group.ts";
export type { CallOptions, ConnectionOptions, Fetch } from "./transport/connection.ts";
export type { JsonObject, JsonValue } from "./transport/json.ts";
export type { MintedSession, SessionFunction } from "./transport/session-connection.ts";
export {
  type ErrorCode,
  type Issue,
  type RefusalCode,
  UserGroupServiceError,
} from "./transport/user-group-service-error.ts";
export {
  type BindQueryInput,
  type BoundQuery,
  type CurrentSession,
  type CurrentSessionInput,
  type NamedBindQueryInput,
  type NamedBoundQuery,
  type QueryValue,
  type View,
  ViewerClient,
  type ViewerClientOptions,
  type ViewInput,
} from "./viewer-client.ts";
