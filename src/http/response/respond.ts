import type { RequestContext } from "../app-env.ts";

/** Responds with `body` as JSON, the request's headers and `headers`. */
export const respond = (
  c: RequestContext,
  body: object,
  headers: Record<string, string> = {},
  status = 200,
): Response => respondWithJson(c, JSON.stringify(body), headers, status);

/**
 * Responds with a body that is JSON text already. The headers go into the Response together: set one by one through Hono's
 * context, they would first fill a Headers object, which the Response then copies.
 */
export const respondWithJson = (
  c: RequestContext,
  json: string | Blob,
  headers: Record<string, string> = {},
  status = 200,
): Response =>
  new Response(json, { status, headers: { ...c.get("headers"), "Content-Type": "application/json", ...headers } });
