/**
 * What an integrator's server does around viewer sessions, `user-group-service/server`: the endpoint from which pages get them, and
 * the check of those that pages present. It uses only what Node 20 and newer, Deno, Bun and Workers have.
 */

export type { MintSessionInput, ViewerSession } from "./resources/viewer-session.ts";
export type { NodeRequest } from "./server/frameworks.ts";
export { expressHandler, expressSession, fastifyHandler, fastifySession } from "./server/frameworks.ts";
export {
  type FindUser,
  type RequireSessionOptions,
  requireSession,
  type SessionCheck,
} from "./server/require-session.ts";
export { type SessionHandler, type SessionHandlerOptions, sessionHandler } from "./server/session-handler.ts";
export { type SignOutHandler, type SignOutHandlerOptions, signOutHandler } from "./server/sign-out-handler.ts";
export type { VerifiedSession } from "./server/verified-session.ts";
export type { JsonObject, JsonValue } from "./transport/json.ts";
