import type { AppEnv, RequestContext } from "../app-env.ts";
import { refuse } from "./failures.ts";

/**
 * Responds with a file of `public/`, its own headers and `headers`. Refuses with `route_not_found` if the Worker was deployed
 * without the file.
 */
export async function respondWithFile(
  c: RequestContext<AppEnv>,
  file: string,
  headers: Record<string, string>,
): Promise<Response> {
  const asset = await c.env.ASSETS.fetch(new Request(new URL(file, c.req.url), c.req.raw));
  if (!asset.ok && asset.status !== 304) return refuse(c, { code: "route_not_found" });
  const all = new Headers(c.get("headers"));
  for (const [name, value] of [...asset.headers, ...Object.entries(headers)]) all.set(name, value);
  return new Response(asset.body, { status: asset.status, headers: all });
}
