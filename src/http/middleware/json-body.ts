import { createMiddleware } from "hono/factory";
import type * as z from "zod/mini";
import type { FailureOf } from "../../domain/failure.ts";
import { fail, ok, type Result } from "../../domain/result.ts";
import { TimeoutError, withTimeout } from "../../domain/with-timeout.ts";
import { BODY_BYTES_MAX, BODY_DROPPED_BYTES_MAX, BODY_SECONDS_MAX } from "../../limits.ts";
import type { AppEnv } from "../app-env.ts";
import { checkCaller } from "../check-caller.ts";
import { findInexact } from "../exact-json.ts";
import { refuse } from "../failures.ts";
import { validate } from "./validate.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

type ReadFailure = FailureOf<"body_required" | "body_timeout" | "body_too_large" | "malformed_json">;
type BodyFailure = ReadFailure | FailureOf<"unsupported_media_type" | "invalid_body">;

/**
 * Reads the body as JSON of `schema`, for `c.req.valid("json")`. The directory checks an API key before a body is refused, so
 * that a caller without a valid key gets the authentication error and learns nothing about the body. With `optional`, a call
 * without a body counts as an object without fields.
 */
export const jsonBody = <Schema extends z.ZodMiniType>(
  schema: () => Schema,
  { optional = false }: { optional?: boolean } = {},
) =>
  createMiddleware<AppEnv, string, { in: { json: z.input<Schema> }; out: { json: z.output<Schema> } }>(
    async (c, next) => {
      const bytes = await readBytes(c.req.raw);
      const read = readJson(bytes, c.req.header("Content-Type"), schema());
      const body = !read.ok && read.failure.code === "body_required" && optional ? validate(schema(), {}) : read;
      if (!body.ok) return refuse(c, (await checkCaller(c)) ?? body.failure);
      c.req.addValidatedData("json", body.value as object);
      return next();
    },
  );

function readJson<Schema extends z.ZodMiniType>(
  bytes: Result<Uint8Array, ReadFailure>,
  contentType: string | undefined,
  schema: Schema,
): Result<z.output<Schema>, BodyFailure> {
  const hasBody = bytes.ok || bytes.failure.code === "body_too_large";
  if (hasBody && !/^\s*application\/json\s*(;|$)/i.test(contentType ?? ""))
    return fail({ code: "unsupported_media_type" });
  if (!bytes.ok) return bytes;

  const json = parseObject(bytes.value);
  if (!json) return fail({ code: "malformed_json" });

  return validate(schema, json.value, findInexact(json.text, json.value));
}

/**
 * Reads the whole body within its bounds of size and time. A connection that breaks before the end of the body leaves JSON
 * without its end. A body that is too large is read on for a while and dropped, because a connection closed in the middle of
 * a body would hide the refusal from the client.
 */
async function readBytes(request: Request): Promise<Result<Uint8Array, ReadFailure>> {
  if (!request.body) return fail({ code: "body_required" });
  const reader = request.body.getReader({ mode: "byob" });
  const deadline = Date.now() + BODY_SECONDS_MAX * 1000;
  try {
    // One byte more than the body may have, to see whether it has more.
    const bytesMax = expectedBytes(request);
    const body = await withTimeout(readBlock(reader, bytesMax + 1), BODY_SECONDS_MAX);
    if (body.byteLength === 0) return fail({ code: "body_required" });
    if (body.byteLength <= bytesMax) return ok(body);
  } catch (error) {
    return fail({ code: error instanceof TimeoutError ? "body_timeout" : "malformed_json" });
  }
  await withTimeout(dropRest(reader), (deadline - Date.now()) / 1000).catch(() => undefined);
  return fail({ code: "body_too_large" });
}

/**
 * How long a body can be: as long as its Content-Length says, because a buffer for the longest body slows down small ones. A
 * body that is longer than that, which HTTP rules out, counts as too large.
 */
function expectedBytes(request: Request): number {
  const length = Number(request.headers.get("Content-Length") ?? BODY_BYTES_MAX);
  return length >= 0 && length <= BODY_BYTES_MAX ? length : BODY_BYTES_MAX;
}

/**
 * Reads so many bytes, or up to the end. `readAtLeast` (Workers, "ReadableStreamBYOBReader") joins small chunks outside of
 * JavaScript: a body sent byte by byte costs a sixth of the CPU that reading it chunk by chunk would.
 */
async function readBlock(reader: ReadableStreamBYOBReader, bytes: number): Promise<Uint8Array> {
  const { value } = await reader.readAtLeast(bytes, new Uint8Array(bytes));
  return value ?? new Uint8Array();
}

async function dropRest(reader: ReadableStreamBYOBReader): Promise<void> {
  let left = BODY_DROPPED_BYTES_MAX - BODY_BYTES_MAX;
  for (let length = 1; left > 0 && length > 0; left -= length)
    length = (await readBlock(reader, BODY_BYTES_MAX)).byteLength;
}

function parseObject(bytes: Uint8Array): { text: string; value: object } | undefined {
  try {
    const text = utf8.decode(bytes);
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { text, value } : undefined;
  } catch {
    return undefined;
  }
}
