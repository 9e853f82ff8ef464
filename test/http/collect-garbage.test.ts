import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { expect, it, onTestFinished, vi } from "vitest";
import { GARBAGE_ANSWERS_MIN, GARBAGE_SECONDS_MIN } from "../../common/limits.ts";
import { collectGarbage } from "../../src/http/collect-garbage.ts";
import { call } from "../support/client.ts";
import { NOW } from "../support/clock.ts";

it("collects garbage after 1,000 answers, where the runtime offers it, and not twice in 3 seconds", async () => {
  vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
  const gc = vi.fn();
  vi.stubGlobal("gc", gc);
  onTestFinished(() => void vi.unstubAllGlobals());
  const answer = async (count: number) => {
    const executionCtx = createExecutionContext();
    for (let left = count; left > 0; left -= 1) collectGarbage({ executionCtx });
    await waitOnExecutionContext(executionCtx);
    return gc.mock.calls.length;
  };
  expect(await answer(GARBAGE_ANSWERS_MIN)).toBe(1);
  expect(await answer(GARBAGE_ANSWERS_MIN)).toBe(1);

  vi.setSystemTime(NOW.getTime() + GARBAGE_SECONDS_MIN * 1000);
  expect(await answer(1)).toBe(2);

  vi.setSystemTime(NOW.getTime() + 2 * GARBAGE_SECONDS_MIN * 1000);
  expect(await answer(GARBAGE_ANSWERS_MIN - 1)).toBe(2);
  await call("GET", "/api/ready");
  expect(gc).toHaveBeenCalledTimes(3);
});
