import { ANSWER_HELD_BYTES_MIN } from "../../../common/limits.ts";
import type { RequestContext } from "../app-env.ts";
import { holdPlace } from "./hold-place.ts";

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
  respondWithText(c, json, { ...c.get("headers"), "Content-Type": "application/json", ...headers }, status);

/** Responds with a text and `headers`. The place of the request is kept until the client has taken a long one. */
export function respondWithText(
  c: RequestContext,
  text: string | Blob,
  headers: Record<string, string>,
  status = 200,
): Response {
  const size = typeof text === "string" ? text.length : text.size;
  if (size < ANSWER_HELD_BYTES_MIN) return new Response(text, { status, headers });
  const blob = typeof text === "string" ? new Blob([text]) : text;
  return new Response(holdPlace(c, blob.stream(), blob.size), { status, headers });
}
