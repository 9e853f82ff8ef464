import { createMiddleware } from "hono/factory";
import type * as z from "zod/mini";
import type { FailureOf } from "../../../domain/failure.ts";
import { fail, type Result } from "../../../domain/result.ts";
import type { CallEnv, RequestContext } from "../../app-env.ts";
import { refuseRequest } from "../../response/refuse-request.ts";
import { isMergePatch } from "./body-bytes.ts";
import { findInexact } from "./exact-json.ts";
import { validate } from "./validate.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Parses the body, whose bytes were read before the caller was admitted, as JSON of `schema`, for `c.req.valid("json")`; a merge
 * patch by `patchSchema`.
 */
export const jsonBody = <Schema extends z.ZodMiniType>(
  schema: () => Schema,
  patchSchema?: () => z.ZodMiniType<z.output<Schema>>,
) =>
  createMiddleware<CallEnv, string, { in: { json: z.input<Schema> }; out: { json: z.output<Schema> } }>(
    async (c, next) => {
      const { body: bytes, access } = c.var;
      const isPatch = patchSchema && isMergePatch(c.req.header("Content-Type"));
      const expected = isPatch ? patchSchema() : schema();
      const body = parseBody(bytes, expected, access.body === "optional");
      if (!body.ok) return refuseRequest(c, body.failure);
      c.set("fields", body.value as object);
      setReason(c, body.value as { reason?: string });
      c.req.addValidatedData("json", body.value as object);
      return next();
    },
  );

/** Gives the reason of a call to its caller, for the event of its change. */
function setReason(c: RequestContext<CallEnv>, { reason }: { reason?: string }): void {
  if (reason === undefined) return;
  const { caller, operator, presentedOperator } = c.var;
  if (caller) c.set("caller", { ...caller, reason });
  if (operator) c.set("operator", { ...operator, reason });
  if (presentedOperator) c.set("presentedOperator", { ...presentedOperator, reason });
}

/** Where the body is optional, no body counts as an object without fields. */
function parseBody<Schema extends z.ZodMiniType>(
  bytes: Uint8Array,
  schema: Schema,
  isOptional: boolean,
): Result<z.output<Schema>, FailureOf<"body_required" | "malformed_json" | "invalid_body">> {
  if (bytes.byteLength === 0) return isOptional ? validate(schema, {}) : fail({ code: "body_required" });
  const json = parseObject(bytes);
  if (!json) return fail({ code: "malformed_json" });
  return validate(schema, json.value, findInexact(json.text, json.value));
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
