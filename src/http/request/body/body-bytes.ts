import {
  BODY_BUFFER_BYTES_MIN,
  BODY_BYTES_MAX,
  BODY_DROPPED_BYTES_MAX,
  BODY_FIRST_READ_SECONDS_MAX,
  BODY_PIECE_BYTES_MAX,
  BODY_SECONDS_MAX,
  RESTORE_BYTES_MAX,
  SIGN_IN_BYTES_MAX,
  SIGN_IN_SECONDS_MAX,
  UNFINISHED_BODIES_MAX,
  UNFINISHED_BODIES_OF_CREDENTIAL_MAX,
  UNFINISHED_SIGN_INS_MAX,
  UNFINISHED_SIGN_INS_OF_ADDRESS_MAX,
} from "../../../../common/limits.ts";
import { fail, ok, type Result } from "../../../../common/result.ts";
import { concat } from "../../../domain/bytes.ts";
import type { FailureOf } from "../../../domain/failure.ts";
import { TimeoutError, withTimeout } from "../../../domain/with-timeout.ts";
import { joined, Places } from "../places.ts";

type BytesFailure = FailureOf<
  "body_timeout" | "body_too_large" | "malformed_json" | "unsupported_media_type" | "rate_limited" | "overloaded"
>;

/** The unfinished bodies that this isolate reads, of each sender and of all, and how a sender with too many is refused. */
type Unfinished = { ofSender: Places; ofAll: Places; refusal: FailureOf<"rate_limited" | "overloaded"> };

/** Who sends a body: the bounds of its size and time, and where it is counted while it is unfinished. */
export type Sender = { bytesMax?: number; secondsMax: number; unfinished: Unfinished };

/** A caller with a credential. */
export const WITH_CREDENTIAL: Sender = {
  secondsMax: BODY_SECONDS_MAX,
  unfinished: {
    ofSender: new Places({ placesMax: UNFINISHED_BODIES_OF_CREDENTIAL_MAX }),
    ofAll: new Places({ placesMax: UNFINISHED_BODIES_MAX }),
    refusal: { code: "rate_limited" },
  },
};

/** Somebody who signs in, by the client's address: without a credential, nobody takes the places of those who have one. */
export const WITHOUT_CREDENTIAL: Sender = {
  bytesMax: SIGN_IN_BYTES_MAX,
  secondsMax: SIGN_IN_SECONDS_MAX,
  unfinished: {
    ofSender: new Places({ placesMax: UNFINISHED_SIGN_INS_OF_ADDRESS_MAX }),
    ofAll: new Places({ placesMax: UNFINISHED_SIGN_INS_MAX }),
    refusal: { code: "overloaded" },
  },
};

/**
 * Reads the whole body of JSON, or of another type, within the bounds of its size and time, and of the number of unfinished bodies. Returns no
 * bytes for a request without a body. `name` is that under which the sender is counted.
 */
export async function readBytes(
  request: Request,
  name: string,
  { bodyType }: { bodyType?: BodyType },
  sender: Sender = WITH_CREDENTIAL,
): Promise<Result<Uint8Array, BytesFailure>> {
  if (!request.body) return ok(new Uint8Array());
  const { bytesMax = bodyType === "ndjson" ? RESTORE_BYTES_MAX : BODY_BYTES_MAX } = sender;
  const reader = request.body.getReader({ mode: "byob" });
  const bytes = await readWithin(reader, name, { ...sender, bytesMax: expectedBytes(request, bytesMax) });
  const hasBody = bytes.ok ? bytes.value.byteLength > 0 : bytes.failure.code === "body_too_large";
  const isReadable = isAccepted(request.headers.get("Content-Type"), bodyType) && !isEncoded(request);
  return hasBody && !isReadable ? fail({ code: "unsupported_media_type" }) : bytes;
}

/** Whether a body is compressed, or encoded otherwise (RFC 9110, section 8.4). */
const isEncoded = (request: Request): boolean =>
  !/^(?:\s|,|identity)*$/i.test(request.headers.get("Content-Encoding") ?? "");

/** A call that takes merge patches takes JSON too. */
const isAccepted = (contentType: string | null, bodyType: BodyType = "json"): boolean =>
  isOfType(contentType, bodyType) || (bodyType === "merge-patch" && isOfType(contentType, "json"));

/** The media types of bodies: a merge patch is that of RFC 7396, and a form one without files. */
const MEDIA_TYPES = {
  json: "application/json",
  "merge-patch": "application/merge-patch+json",
  ndjson: "application/x-ndjson",
  form: "application/x-www-form-urlencoded",
};
type BodyType = keyof typeof MEDIA_TYPES;

/** Whether the header `Content-Type` names this media type, with parameters or without. */
export const isOfType = (contentType: string | null | undefined, type: BodyType): boolean =>
  contentType?.split(";", 1)[0]?.trim().toLowerCase() === MEDIA_TYPES[type];

/**
 * A body is unfinished if it is longer than the first read, or if that read does not return all of it. So a burst of short
 * bodies is not counted, although their reads overlap.
 */
async function readWithin(
  reader: ReadableStreamBYOBReader,
  name: string,
  { bytesMax, secondsMax, unfinished }: Required<Sender>,
): Promise<Result<Uint8Array, BytesFailure>> {
  const deadline = Date.now() + secondsMax * 1000;
  // One byte more than the body may have, to see whether it has more.
  const size = Math.min(BODY_BUFFER_BYTES_MIN, bytesMax + 1);
  let reading: Promise<Uint8Array> | undefined;
  if (bytesMax < size) {
    reading = readPiece(reader, size);
    const first = await withTimeout(reading, BODY_FIRST_READ_SECONDS_MAX).catch(() => undefined);
    if (first && first.byteLength < size) return ok(first);
  }

  return counted(unfinished, name, () => {
    const rest = readUpTo(reader, reading ?? readPiece(reader, size), bytesMax + 1);
    return readUnfinished(reader, rest, { bytesMax, deadline });
  });
}

/** Runs `read` and counts it meanwhile, or refuses a sender. */
async function counted<Failure>(
  { ofSender, ofAll, refusal }: Unfinished,
  sender: string,
  read: () => Promise<Result<Uint8Array, Failure>>,
): Promise<Result<Uint8Array, Failure | Unfinished["refusal"]>> {
  const placeOfSender = ofSender.takeFree(sender);
  if (!placeOfSender) return fail(refusal);
  const placeOfAll = ofAll.takeFree("");
  try {
    return placeOfAll ? await read() : fail({ code: "overloaded" });
  } finally {
    joined(placeOfSender, placeOfAll).leave();
  }
}

/**
 * A connection that breaks before the end of the body leaves truncated JSON. A body that is too large is read for a while
 * longer and dropped, because a connection closed in the middle of a body would hide the refusal from the client.
 */
async function readUnfinished(
  reader: ReadableStreamBYOBReader,
  reading: Promise<Uint8Array>,
  { bytesMax, deadline }: { bytesMax: number; deadline: number },
): Promise<Result<Uint8Array, FailureOf<"body_timeout" | "body_too_large" | "malformed_json">>> {
  const secondsLeft = () => (deadline - Date.now()) / 1000;
  try {
    const body = await withTimeout(reading, secondsLeft());
    if (body.byteLength <= bytesMax) return ok(body);
  } catch (error) {
    return fail({ code: error instanceof TimeoutError ? "body_timeout" : "malformed_json" });
  }
  await withTimeout(dropRest(reader), secondsLeft()).catch(() => undefined);
  return fail({ code: "body_too_large" });
}

/**
 * The length that the body can have at most: its Content-Length, because a buffer for the longest body slows down small ones.
 * A longer body, which HTTP rules out, counts as too large.
 */
function expectedBytes(request: Request, bytesMax: number): number {
  const length = Number(request.headers.get("Content-Length") ?? bytesMax);
  return length >= 0 && length <= bytesMax ? length : bytesMax;
}

/**
 * Reads up to `bytesMax` bytes. Each piece is as long as all before it, up to a bound, so that the memory of a body follows what
 * has arrived of it.
 */
async function readUpTo(
  reader: ReadableStreamBYOBReader,
  first: Promise<Uint8Array>,
  bytesMax: number,
): Promise<Uint8Array> {
  const pieces = [await first];
  let length = pieces[0]?.byteLength ?? 0;
  let hasMore = length === BODY_BUFFER_BYTES_MIN;
  while (hasMore && length < bytesMax) {
    const size = Math.min(length, BODY_PIECE_BYTES_MAX, bytesMax - length);
    const piece = await readPiece(reader, size);
    pieces.push(piece);
    length += piece.byteLength;
    hasMore = piece.byteLength === size;
  }
  return pieces.length === 1 && pieces[0] ? pieces[0] : concat(...pieces);
}

/**
 * Reads up to `bytes` bytes. `readAtLeast` (Workers, "ReadableStreamBYOBReader") joins small chunks outside of
 * JavaScript: a body sent byte by byte costs a sixth of the CPU that reading it chunk by chunk would.
 */
async function readPiece(reader: ReadableStreamBYOBReader, bytes: number): Promise<Uint8Array> {
  const { value } = await reader.readAtLeast(bytes, new Uint8Array(bytes));
  return value ?? new Uint8Array();
}

async function dropRest(reader: ReadableStreamBYOBReader): Promise<void> {
  let left = BODY_DROPPED_BYTES_MAX - BODY_BYTES_MAX;
  for (let length = 1; left > 0 && length > 0; left -= length)
    length = (await readPiece(reader, BODY_BYTES_MAX)).byteLength;
}
