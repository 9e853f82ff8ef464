import { ANSWER_HELD_BYTES_MIN } from "../../../common/limits.ts";
import type { AppEnv, RequestContext } from "../app-env.ts";
import { clientAddress } from "../request/client-address.ts";
import { CALLERS } from "../request/places.ts";
import { refuse } from "./failures.ts";
import { holdPlace } from "./hold-place.ts";

/**
 * Responds with a file of `public/`, its own headers and `headers`. Refuses with `route_not_found` if the Worker was deployed
 * without the file.
 */
export async function respondWithFile(
  c: RequestContext<AppEnv>,
  file: string,
  headers: Record<string, string>,
): Promise<Response> {
  const place = await CALLERS.take(`file ${clientAddress(c)}`);
  if (!place) return refuse(c, { code: "overloaded" });
  c.set("place", place);
  const asset = await c.env.ASSETS.fetch(new Request(new URL(file, c.req.url), c.req.raw));
  if (!asset.ok && asset.status !== 304) return refuse(c, { code: "route_not_found" });
  const all = new Headers(c.get("headers"));
  for (const [name, value] of [...asset.headers, ...Object.entries(headers)]) all.set(name, value);
  const bytes = Number(asset.headers.get("Content-Length"));
  // Of a compressed file, the runtime may pass on other bytes than these.
  const isHeld = bytes >= ANSWER_HELD_BYTES_MIN && !asset.headers.has("Content-Encoding");
  const body = asset.body && isHeld ? holdPlace(c, asset.body, bytes) : asset.body;
  return new Response(body, { status: asset.status, headers: all });
}
