import type { ACCESS } from "../../src/http/access.ts";

type Table = typeof ACCESS;

/** The name of a call that takes a body. */
export type RouteWithBody = { [Name in keyof Table]: Table[Name] extends { body: string } ? Name : never }[keyof Table];

/** Bodies that the schemas take. A token must be put in the place of `x`. */
export const BODIES: Record<RouteWithBody, object> = {
  "GET /api/user": { user_group_id: "acme" },
  "PUT /api/user": { user_group_id: "acme", name: "x" },
  "POST /api/user": { current_token: "x" },
  "DELETE /api/user": { current_token: "x" },
  "POST /api/user_groups": { user_group_id: "acme" },
  "PUT /api/user_groups/:team_id": { name: "x" },
  "DELETE /api/user_groups/:team_id": {},
  "POST /api/user_groups/:team_id/purge": {},
  "POST /api/user_groups/:team_id/rotate": {},
  "POST /api/user_groups/:team_id/restore": {},
  "POST /api/keys": { workspace: "acme", environment: "Testing", name: "x" },
  "DELETE /api/keys/:id": {},
  "POST /api/keys/:id/roll": {},
  "POST /api/operators": { name: "x", role: "viewer" },
  "DELETE /api/operators/:id": {},
  "POST /api/operators/:id/roll": {},
  "POST /api/credentials/explain": { credential: "x" },
  "DELETE /api/environments": {},
  "POST /api/restore": {},
  "POST /api/viewer_sessions": { user_group_id: "acme" },
  "POST /api/viewer_sessions/end": { user_group_id: "acme" },
  "POST /api/viewer/query": { sql: "SELECT {{user_group_id}}" },
};
