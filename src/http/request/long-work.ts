import { LONG_WORK_PAUSE_MS, PLACE_SECONDS_MAX, WAITING_FOR_TURN_MAX } from "../../../common/limits.ts";
import { fail, type Result } from "../../../common/result.ts";
import type { FailureOf } from "../../domain/failure.ts";
import type { CallContext } from "../app-env.ts";
import { Places } from "./places.ts";

const turns = new Places({ placesMax: 1, waitingMax: WAITING_FOR_TURN_MAX, secondsMax: PLACE_SECONDS_MAX });

/**
 * Runs `work` at once if it is short. An isolate does long work one at a time, of environments in turn and of their groups in turn, with a pause
 * after each in which other requests run. `share` is how long it is: 0 if it is short, and 1 if it is as long as the bounds allow.
 */
export async function inTurn<Value, Failure>(
  c: CallContext,
  share: number,
  work: () => Result<Value, Failure>,
): Promise<Result<Value, Failure | FailureOf<"overloaded">>> {
  if (share === 0) return work();
  const turn = await turns.take("", c.get("branch"));
  if (!turn) return fail({ code: "overloaded" });
  c.executionCtx.waitUntil(scheduler.wait(Math.ceil(LONG_WORK_PAUSE_MS * share)).then(turn.leave));
  return work();
}
