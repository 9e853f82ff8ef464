import type { Context } from "hono";
import { ok } from "../../domain/result.ts";
import type { AppEnv } from "../app-env.ts";
import { idempotencyOf } from "./idempotency.ts";
import { ifMatchOf } from "./if-match.ts";

/** Parses If-Match and Idempotency-Key. */
export async function conditionsOf(c: Context<AppEnv>, body: object) {
  const ifMatch = ifMatchOf(c);
  if (!ifMatch.ok) return ifMatch;
  const idempotency = await idempotencyOf(c, body);
  return idempotency.ok ? ok({ ifMatch: ifMatch.value, idempotency: idempotency.value }) : idempotency;
}
