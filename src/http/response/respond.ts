import { ANSWER_HELD_BYTES_MIN, ANSWER_PIECE_BYTES, ANSWER_PIECE_SECONDS_MAX } from "../../../common/limits.ts";
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

/**
 * Returns `body`, of `bytes` bytes, as a stream that keeps the place of its request until the client has taken all of it. So clients that
 * read nothing fill no memory: their further requests wait. A client that takes it too slowly loses its connection.
 */
export function holdPlace(c: RequestContext, body: ReadableStream<Uint8Array>, bytes: number): ReadableStream {
  const place = c.get("place");
  if (!place) return body;
  c.set("place", undefined);
  const pieces = Math.ceil(bytes / ANSWER_PIECE_BYTES);
  place.grow(pieces - 1);
  const { readable, writable } = new FixedLengthStream(bytes);
  const signal = AbortSignal.timeout(pieces * ANSWER_PIECE_SECONDS_MAX * 1000);
  // The runtime passes the bytes on without JavaScript. A client that goes away is no error.
  const taken = body.pipeTo(writable, { signal }).catch(() => undefined);
  c.executionCtx.waitUntil(taken.then(place.leave));
  return readable;
}
