import { ACCESS, type Access } from "../../src/http/access.ts";
import { BODIES, type RouteWithBody } from "./bodies.ts";
import { inEnvironment } from "./states.ts";

/** The name of a call in the table: its method, and the pattern of its path. */
export type RouteName = keyof typeof ACCESS;

/** A call of the table of who may make which call. Numbers in its path are 1. */
export type Route = { name: RouteName; method: string; path: string; access: Access; body: object | undefined };

/** Every call of the table. */
export const ROUTES: Route[] = (Object.keys(ACCESS) as RouteName[]).map((name) => {
  const [method = "", pattern = ""] = name.split(" ");
  return {
    name,
    method,
    path: pattern.replace(/:\w+/, "1") + (name === "GET /api/viewer/check" ? "?audience=acme/Testing" : ""),
    access: ACCESS[name],
    body: name in BODIES ? BODIES[name as RouteWithBody] : undefined,
  };
});

/** The path of a call, with the environment in the query where an operator must name one, and its confirmation. */
export const operatorPath = ({ name, path, access }: Route, workspace = "acme"): string => {
  if (!access.environmentQuery) return path;
  const confirmation = name === "DELETE /api/environments" ? `&confirm=${workspace}/Testing` : "";
  return path + inEnvironment(workspace) + confirmation;
};
