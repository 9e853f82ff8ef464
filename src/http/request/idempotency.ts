import type { Context } from "hono";
import { routePath } from "hono/route";
import type { FailureOf } from "../../domain/failure.ts";
import { fail, ok, type Result } from "../../domain/result.ts";
import type { IdempotencyRecord } from "../../domain/user-groups/responses.ts";
import { IDEMPOTENCY_KEY_UNITS_MAX } from "../../limits.ts";
import type { AppEnv } from "../app-env.ts";

const VISIBLE_ASCII = new RegExp(`^[\\x21-\\x7e]{1,${IDEMPOTENCY_KEY_UNITS_MAX}}$`);

const utf8 = new TextEncoder();

/**
 * Reads the header `Idempotency-Key` (as in the IETF draft "The Idempotency-Key HTTP Header Field"); `undefined` without it.
 * `body` is the parsed body, so that the order of its fields does not matter. The key of an operator is the operator's own; those
 * of API keys belong to the environment, so that a call can be repeated with the successor of its key. Only hashes leave the
 * Worker.
 */
export async function idempotencyOf(
  c: Context<AppEnv>,
  body: object,
): Promise<Result<IdempotencyRecord | undefined, FailureOf<"invalid_body">>> {
  const key = c.req.header("Idempotency-Key");
  if (key === undefined) return ok(undefined);
  if (!VISIBLE_ASCII.test(key)) {
    const message = `Send 1 to ${IDEMPOTENCY_KEY_UNITS_MAX} visible ASCII characters, or leave the header out.`;
    return fail({ code: "invalid_body", issues: [{ path: ["Idempotency-Key"], message }] });
  }
  const digest = (text: string) => crypto.subtle.digest("SHA-256", utf8.encode(text));
  const caller = c.get("caller");
  const request = { ...c.req.param(), ...body };
  return ok({
    key: await digest(caller.kind === "operator" ? `operator ${caller.id} ${key}` : key),
    request: await digest(`${c.req.method} ${routePath(c, -1)} ${JSON.stringify(request)}`),
    signingId: c.get("ring").signingId,
  });
}

/** Marks the answer to a repeated call. */
export function markReplay(c: Context<AppEnv>, { isReplay }: { isReplay: boolean }): void {
  if (isReplay) c.get("headers")["Idempotent-Replayed"] = "true";
}
