import type { RequestContext } from "../app-env.ts";

/**
 * An answer in JSON with the request's headers and `headers`. They go into the Response together: set one by one through
 * Hono's context, they would first fill a Headers object, which the Response then copies.
 */
export const respond = (
  c: RequestContext,
  body: object,
  headers: Record<string, string> = {},
  status = 200,
): Response =>
  new Response(JSON.stringify(body), {
    status,
    headers: { ...c.get("headers"), "Content-Type": "application/json", ...headers },
  });

/** An answer whose body is JSON text already. */
export const respondWithJson = (
  c: RequestContext,
  json: string | Blob,
  headers: Record<string, string> = {},
): Response => new Response(json, { headers: { ...c.get("headers"), "Content-Type": "application/json", ...headers } });
