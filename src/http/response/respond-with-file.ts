import { ANSWER_HELD_BYTES_MIN } from "../../../common/limits.ts";
import type { AppEnv, RequestContext } from "../app-env.ts";
import { clientAddress } from "../request/client-address.ts";
import { CALLERS } from "../request/places.ts";
import { refuse } from "./failures.ts";
import { holdPlace } from "./hold-place.ts";

/**
 * Responds with a file of `public/`, its own headers and `headers`. If the Worker was deployed without the file, it refuses with
 * `route_not_found`, or responds with the file `missing` and the same status.
 */
export async function respondWithFile(
  c: RequestContext<AppEnv>,
  file: string,
  headers: Record<string, string>,
  missing?: string,
): Promise<Response> {
  const place = await CALLERS.take(`file ${clientAddress(c)}`);
  if (!place) return refuse(c, { code: "overloaded" });
  c.set("place", place);
  const found = await c.env.ASSETS.fetch(new Request(new URL(file, c.req.url), c.req.raw));
  const isFound = found.ok || found.status === 304;
  // Without the request's headers: it asks whether another file has changed.
  const asset =
    isFound || !missing ? found : await c.env.ASSETS.fetch(new URL(missing, c.req.url), { method: c.req.method });
  if (!asset.ok && !isFound) return refuse(c, { code: "route_not_found" });
  if (!isFound) c.set("failureCode", "route_not_found");
  const all = new Headers(c.get("headers"));
  for (const [name, value] of [...asset.headers, ...Object.entries(headers)]) all.set(name, value);
  const bytes = Number(asset.headers.get("Content-Length"));
  // Of a compressed file, the runtime may pass on other bytes than these.
  const isHeld = bytes >= ANSWER_HELD_BYTES_MIN && !asset.headers.has("Content-Encoding");
  const body = asset.body && isHeld ? holdPlace(c, asset.body, bytes) : asset.body;
  return new Response(body, { status: isFound ? asset.status : 404, headers: all });
}
