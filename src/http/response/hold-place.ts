import { ANSWER_PIECE_BYTES, ANSWER_PIECE_SECONDS_MAX } from "../../../common/limits.ts";
import type { RequestContext } from "../app-env.ts";

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
