import { createMiddleware } from "hono/factory";
import type * as z from "zod/mini";
import type { FailureOf } from "../domain/failure.ts";
import { BODY_BYTES_MAX, BODY_DRAINED_BYTES_MAX } from "../domain/limits.ts";
import { fail, type Result } from "../domain/result.ts";
import type { Access } from "../domain/user-group.ts";
import type { AppEnv } from "./app-env.ts";
import { vet } from "./authenticate.ts";
import { findInexact } from "./exact-json.ts";
import { refuse } from "./refusals.ts";
import { validate } from "./validate.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

type BodyFailure = FailureOf<
  "body_required" | "unsupported_media_type" | "body_too_large" | "malformed_json" | "invalid_body"
>;

/**
 * Reads the body as JSON of `schema`, for `c.req.valid("json")`. Where integrators need `access`, a body that is refused
 * costs the one directory call that the request had anyway: whoever has no valid key with it hears of the key, and nothing
 * of the body. With `optional`, no body stands for an object without fields.
 */
export const jsonBody = <Schema extends z.ZodMiniType>(
  schema: () => Schema,
  { access, optional = false }: { access?: Access; optional?: boolean } = {},
) =>
  createMiddleware<AppEnv, string, { in: { json: z.input<Schema> }; out: { json: z.output<Schema> } }>(
    async (c, next) => {
      // Reading fails where the client hangs up before the end: what has come of the body means nothing.
      const bytes = await readBytes(c.req.raw).catch(() => null);
      const read =
        bytes === null
          ? fail({ code: "malformed_json" as const })
          : readJson(bytes, c.req.header("Content-Type"), schema());
      const body = !read.ok && read.failure.code === "body_required" && optional ? validate(schema(), {}) : read;
      if (!body.ok) return refuse(c, (await vet(c, access)) ?? body.failure);
      c.req.addValidatedData("json", body.value as object);
      return next();
    },
  );

function readJson<Schema extends z.ZodMiniType>(
  bytes: Uint8Array | undefined,
  contentType: string | undefined,
  schema: Schema,
): Result<z.output<Schema>, BodyFailure> {
  if (bytes?.length === 0) return fail({ code: "body_required" });
  if (!/^\s*application\/json\s*(;|$)/i.test(contentType ?? "")) return fail({ code: "unsupported_media_type" });
  if (!bytes) return fail({ code: "body_too_large" });

  const json = parseObject(bytes);
  if (!json) return fail({ code: "malformed_json" });

  return validate(schema, json.value, findInexact(json.text, json.value));
}

/**
 * The whole body, or `undefined` when it exceeds the limit, whatever its Content-Length says. A length within the limit only
 * chooses the faster way to read it. What is too much is read to its end and dropped: a body left half read resets the
 * connection before the client has seen the refusal.
 */
async function readBytes(request: Request): Promise<Uint8Array | undefined> {
  if (Number(request.headers.get("Content-Length") ?? Number.NaN) <= BODY_BYTES_MAX) {
    const bytes = new Uint8Array(await request.arrayBuffer());
    return bytes.length <= BODY_BYTES_MAX ? bytes : undefined;
  }
  if (!request.body) return new Uint8Array();
  const bytes = new Uint8Array(BODY_BYTES_MAX);
  let length = 0;
  for await (const chunk of request.body) {
    if (length + chunk.length <= BODY_BYTES_MAX) bytes.set(chunk, length);
    length += chunk.length;
    if (length > BODY_DRAINED_BYTES_MAX) return undefined;
  }
  return length <= BODY_BYTES_MAX ? bytes.subarray(0, length) : undefined;
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
