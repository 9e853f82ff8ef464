import { LIST_PAUSE_MS } from "../limits.ts";

/**
 * Lets long reads take turns: one at a time, with a pause after each in which other calls of the object run. Callers take
 * turns too, so that one caller with many reads in flight does not keep the others waiting.
 */
export class Turns {
  /** Waiting reads by caller. The caller whose turn is next comes first. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #isRunning = false;

  /** Runs `work` when the turn of this caller has come, and returns its value. */
  take<Value>(caller: string, work: () => Value): Promise<Value> {
    return new Promise((resolve, reject) => {
      const run = () => {
        try {
          resolve(work());
        } catch (error) {
          reject(error);
        }
      };
      this.#waiting.set(caller, [...(this.#waiting.get(caller) ?? []), run]);
      if (!this.#isRunning) void this.#runAll();
    });
  }

  async #runAll(): Promise<void> {
    this.#isRunning = true;
    for (let next = this.#next(); next; next = this.#next()) {
      next();
      await scheduler.wait(LIST_PAUSE_MS);
    }
    this.#isRunning = false;
  }

  /** Takes a read of the first caller, and moves that caller to the end. */
  #next(): (() => void) | undefined {
    const [caller, [read, ...others]] = this.#waiting.entries().next().value ?? ["", []];
    this.#waiting.delete(caller);
    if (others.length > 0) this.#waiting.set(caller, others);
    return read;
  }
}
