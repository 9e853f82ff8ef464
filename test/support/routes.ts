import { ACCESS, type Access } from "../../src/http/access.ts";
import { inEnvironment } from "./states.ts";

/** The name of a call in the table: its method, and the pattern of its path. */
export type RouteName = keyof typeof ACCESS;

/** A call of the table of who may make which call. Numbers in its path are 1. */
export type Route = { name: RouteName; method: string; path: string; access: Access; body: object | undefined };

/** Bodies that the schemas take. A token must be put in the place of `x`. */
const BODIES: Partial<Record<RouteName, object>> = {
  "GET /api/user": { user_group_id: "acme" },
  "PUT /api/user": { user_group_id: "acme", name: "x" },
  "POST /api/user": { current_token: "x" },
  "DELETE /api/user": { current_token: "x" },
  "POST /api/user_groups": { user_group_id: "acme" },
  "PUT /api/user_groups/:team_id": { name: "x" },
  "POST /api/user_groups/:team_id/rotate": {},
  "POST /api/user_groups/:team_id/restore": {},
  "POST /api/keys": { workspace: "acme", environment: "Testing", name: "x" },
  "POST /api/keys/:id/roll": {},
  "POST /api/operators": { name: "x", role: "viewer" },
  "POST /api/operators/:id/roll": {},
  "POST /api/viewer_sessions": { user_group_id: "acme" },
  "POST /api/viewer/query": { sql: "SELECT {{user_group_id}}" },
};

/** Every call of the table. */
export const ROUTES: Route[] = (Object.keys(ACCESS) as RouteName[]).map((name) => {
  const [method = "", pattern = ""] = name.split(" ");
  return { name, method, path: pattern.replace(/:\w+/, "1"), access: ACCESS[name], body: BODIES[name] };
});

/** The path of a call, with the environment in the query where an operator must name one. */
export const operatorPath = ({ path, access }: Route, workspace = "acme"): string =>
  access.names ? path + inEnvironment(workspace) : path;
