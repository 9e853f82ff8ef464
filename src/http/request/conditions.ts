import { createMiddleware } from "hono/factory";
import { IDEMPOTENCY_KEY_UNITS_MAX } from "../../../common/limits.ts";
import { sha256, utf8 } from "../../domain/bytes.ts";
import { type IfMatch, parseIfMatch } from "../../domain/user-groups/entity-tag.ts";
import type { Conditions, IdempotencyRecord } from "../../domain/user-groups/responses.ts";
import type { CallEnv, CallerEnv, RequestContext } from "../app-env.ts";
import { refuseField } from "../response/failures.ts";

const VISIBLE_ASCII = new RegExp(`^[\\x21-\\x7e]{1,${IDEMPOTENCY_KEY_UNITS_MAX}}$`);

const digest = (text: string): Promise<ArrayBuffer> => sha256(utf8.encode(text));

type IfMatchEnv = CallEnv & { Variables: { ifMatch: IfMatch | undefined } };

/** Parses the header `If-Match`; `undefined` without it. */
export const ifMatch = createMiddleware<IfMatchEnv>(async (c, next) => {
  const header = c.req.header("If-Match");
  const parsed = header === undefined ? undefined : parseIfMatch(header);
  if (header !== undefined && !parsed)
    return refuseField(c, "If-Match", 'Send the ETag as it came, with its quotes, such as "1.2", or *.');
  c.set("ifMatch", parsed);
  return next();
});

type IdempotencyEnv = CallerEnv & { Variables: { idempotency: IdempotencyRecord | undefined } };

/**
 * Reads the header `Idempotency-Key` (as in the IETF draft "The Idempotency-Key HTTP Header Field"); `undefined` without it.
 * It hashes the parsed fields of the body, so that their order does not matter. An operator's key belongs to that operator; an
 * API key's belongs to the environment, so that a call can be retried with the successor of its API key. Only hashes leave the
 * Worker.
 */
export const idempotencyKey = createMiddleware<IdempotencyEnv>(async (c, next) => {
  const key = c.req.header("Idempotency-Key");
  if (key === undefined) {
    c.set("idempotency", undefined);
    return next();
  }
  if (!VISIBLE_ASCII.test(key)) {
    const message = `Send 1 to ${IDEMPOTENCY_KEY_UNITS_MAX} visible ASCII characters, or leave the header out.`;
    return refuseField(c, "Idempotency-Key", message);
  }
  const caller = c.get("caller");
  const request = { ...c.req.param(), ...c.get("fields") };
  c.set("idempotency", {
    key: await digest(caller.kind === "operator" ? `operator ${caller.id} ${key}` : key),
    request: await digest(`${c.req.method} ${c.get("pattern")} ${JSON.stringify(request)}`),
    signingId: c.get("ring").signingId,
  });
  return next();
});

/** The conditions of a call that takes both headers. */
export const conditionsOf = (c: RequestContext<IfMatchEnv & IdempotencyEnv>): Conditions => ({
  ifMatch: c.get("ifMatch"),
  idempotency: c.get("idempotency"),
});

/** Marks the answer to a repeated call. */
export function markReplay(c: RequestContext, { isReplay }: { isReplay: boolean }): void {
  if (isReplay) c.get("headers")["Idempotent-Replayed"] = "true";
}
