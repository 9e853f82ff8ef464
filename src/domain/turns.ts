import { DIRECTORY_SECONDS_MAX, LIST_PAUSE_MS, READS_WAITING_MAX } from "../../common/limits.ts";
import { fail, ok, type Result } from "../../common/result.ts";
import type { FailureOf } from "./failure.ts";

/** What a list returns, and how much it has read, as a share of a full page. */
export type Read<Page> = { page: Page; share: number };

/** One turn of a call that takes several: its page after the last one, and how much the turn has read, as a share of a full page. */
export type Step<Page> = { page: Page | undefined; share: number };

/** A page, and whether it has waited for another read, and not only for the pause after one. */
export type Waited<Page> = Page & { hasWaited: boolean };

export type TurnFailure = FailureOf<"rate_limited" | "directory_unavailable">;
/** A read that waits since a time in milliseconds. `run` returns the share that it has read. */
type Waiting = { since: number; run: () => number; drop: () => void };
type Clock = { now: () => number; wait: (milliseconds: number) => Promise<void> };

const CLOCK: Clock = { now: () => Date.now(), wait: (milliseconds) => scheduler.wait(milliseconds) };

/**
 * Lets long reads take turns: one at a time, with a pause after each in which other calls of the object run. Callers take
 * turns too, so that one caller with many reads in flight does not keep the others waiting.
 */
export class Turns {
  /** Waiting reads by caller. The caller whose turn is next comes first. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #clock: Clock;
  #isRunning = false;

  constructor(clock = CLOCK) {
    this.#clock = clock;
  }

  /**
   * Runs `read` when the turn of this caller has come. Refuses a caller with too many waiting reads, and drops a read that has
   * waited for so long that the Worker has given it up.
   */
  take<Page extends object, Failure>(
    caller: string,
    read: () => Result<Read<Page>, Failure>,
    waitingMax = READS_WAITING_MAX,
  ): Promise<Result<Waited<Page>, Failure | TurnFailure>> {
    const others = this.#waiting.get(caller) ?? [];
    if (others.length >= waitingMax) return Promise.resolve(fail({ code: "rate_limited" }));
    const hasWaited = this.#waiting.size > 0;
    return new Promise((resolve, reject) => {
      const run = () => {
        try {
          const result = read();
          resolve(result.ok ? ok({ ...result.value.page, hasWaited }) : result);
          return result.ok ? result.value.share : 0;
        } catch (error) {
          reject(error);
          return 1;
        }
      };
      const drop = () => resolve(fail({ code: "directory_unavailable" }));
      this.#waiting.set(caller, [...others, { since: this.#clock.now(), run, drop }]);
      if (!this.#isRunning) void this.#runAll();
    });
  }

  /**
   * Takes one turn after the other until there is a page. The caller is admitted before it waits, and again when its turn has come. A
   * call that has begun is not refused for the number of its caller's waiting reads.
   */
  async takeSteps<Page extends object, Failure, Admitted, NotAdmitted>(
    caller: string,
    admit: () => Result<Admitted, NotAdmitted>,
    step: (admitted: Admitted) => Result<Step<Page>, Failure>,
  ): Promise<Result<Waited<Page>, Failure | NotAdmitted | TurnFailure>> {
    const read = (): Result<Read<{ taken: Page | undefined }>, Failure | NotAdmitted> => {
      const admitted = admit();
      const taken = admitted.ok ? step(admitted.value) : admitted;
      return taken.ok ? ok({ page: { taken: taken.value.page }, share: taken.value.share }) : taken;
    };
    let waitingMax = READS_WAITING_MAX;
    let hasWaited = false;
    for (;;) {
      const admitted = admit();
      if (!admitted.ok) return admitted;
      const turn = await this.take(caller, read, waitingMax);
      if (!turn.ok) return turn;
      hasWaited ||= turn.value.hasWaited;
      if (turn.value.taken) return ok({ ...turn.value.taken, hasWaited });
      waitingMax = Number.POSITIVE_INFINITY;
    }
  }

  /** Runs all waiting reads. A small one without another after it needs no pause. */
  async #runAll(): Promise<void> {
    this.#isRunning = true;
    for (let next = this.#next(); next; next = this.#next()) {
      if (this.#clock.now() - next.since >= DIRECTORY_SECONDS_MAX * 1000) {
        next.drop();
        continue;
      }
      const pauseMs = Math.floor(LIST_PAUSE_MS * next.run());
      if (pauseMs > 0 || this.#waiting.size > 0) await this.#clock.wait(Math.max(1, pauseMs));
    }
    this.#isRunning = false;
  }

  /** Takes a read of the first caller, and moves that caller to the end. */
  #next(): Waiting | undefined {
    const [caller, [read, ...others]] = this.#waiting.entries().next().value ?? ["", []];
    this.#waiting.delete(caller);
    if (others.length > 0) this.#waiting.set(caller, others);
    return read;
  }
}
