import { createMiddleware } from "hono/factory";
import type * as z from "zod/mini";
import { attempt } from "../../../../common/attempt.ts";
import { parseExact } from "../../../../common/exact-json.ts";
import { BODY_BYTES_MAX, BODY_PARSED_AT_ONCE_BYTES_MAX } from "../../../../common/limits.ts";
import { fail, type Result } from "../../../../common/result.ts";
import { utf8Text } from "../../../domain/bytes.ts";
import type { FailureOf } from "../../../domain/failure.ts";
import { isObject } from "../../../domain/json.ts";
import type { CallContext, CallEnv } from "../../app-env.ts";
import { refuseRequest } from "../../response/failures.ts";
import { inTurn } from "../long-work.ts";
import { isOfType } from "./body-bytes.ts";
import { bounded, validate } from "./validate.ts";

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
      const bytes = c.get("body");
      const isPatch = patchSchema && isOfType(c.req.header("Content-Type"), "merge-patch");
      const expected = isPatch ? patchSchema() : schema();
      const share = bytes.byteLength <= BODY_PARSED_AT_ONCE_BYTES_MAX ? 0 : bytes.byteLength / BODY_BYTES_MAX;
      const body = await inTurn(c, share, () => parseBody(bytes, expected, c.get("access").body === "optional"));
      if (!body.ok) return refuseRequest(c, body.failure);
      c.set("fields", body.value as object);
      setReason(c, body.value as { reason?: string });
      c.req.addValidatedData("json", body.value as object);
      return next();
    },
  );

/** Gives the reason of a call to its caller, for the event of its change. */
function setReason(c: CallContext, { reason }: { reason?: string }): void {
  if (reason === undefined) return;
  const [caller, operator, presentedOperator] = [c.get("caller"), c.get("operator"), c.get("presentedOperator")];
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
  const text = attempt(() => utf8Text.decode(bytes));
  // Only an object has fields with issues. It begins after JSON's blanks (RFC 8259, section 2).
  if (text === undefined || !/^[ \t\n\r]*\{/.test(text)) return fail({ code: "malformed_json" });
  const { value, issues } = parseExact(text);
  if (isObject(value)) return validate(schema, value, issues);
  return fail(issues.length > 0 ? { code: "invalid_body", issues: bounded(issues) } : { code: "malformed_json" });
}
