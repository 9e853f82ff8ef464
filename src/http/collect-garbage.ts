import { GARBAGE_ANSWERS_MIN, GARBAGE_DELAY_MS, GARBAGE_SECONDS_MIN } from "../../common/limits.ts";
import type { RequestContext } from "./app-env.ts";

let answers = 0;
let collectedAt = 0;

/**
 * Collects garbage after many answers, where the runtime offers `gc`, as `ug serve` lets it. What workerd holds for an answered request is
 * freed with the request's objects, but V8 does not know its size, and sees no reason to collect them: a second burst of requests would
 * add to the memory of the first one.
 */
export function collectGarbage({ executionCtx }: Pick<RequestContext, "executionCtx">): void {
  const gc: unknown = Reflect.get(globalThis, "gc");
  answers += 1;
  if (typeof gc !== "function" || answers < GARBAGE_ANSWERS_MIN) return;
  const now = Date.now();
  if (now - collectedAt < GARBAGE_SECONDS_MIN * 1000) return;
  answers = 0;
  collectedAt = now;
  executionCtx.waitUntil(scheduler.wait(GARBAGE_DELAY_MS).then(() => gc()));
}
