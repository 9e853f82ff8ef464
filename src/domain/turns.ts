import { LIST_PAUSE_MS } from "../limits.ts";

/**
 * Lets long pieces of work take turns: one at a time, with a pause after each in which other calls of the object run. So a
 * short call seldom waits for more than one piece, however many are in flight.
 */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `work` after all work before it, and after the pause that follows that. */
  take<Value>(work: () => Value): Promise<Value> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined).then(() => scheduler.wait(LIST_PAUSE_MS));
    return turn;
  }
}
