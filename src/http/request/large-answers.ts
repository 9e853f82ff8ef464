import { LARGE_ANSWER_BYTES_MIN, LARGE_ANSWERS_BYTES_MAX, LARGE_ANSWERS_SECONDS } from "../../../common/limits.ts";
import { utf8 } from "../../domain/bytes.ts";

/**
 * Counts the large answers of each environment in the last seconds. The Worker cannot see what a client has read, so the bound is on what is
 * answered: many connections that read nothing would fill the memory.
 */
export class LargeAnswers {
  readonly #bytesMax: number;
  /** The bytes of each environment, by the second in which they were answered. */
  readonly #bySecond = new Map<number, Map<string, number>>();

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Counts an answer, and returns whether the environment may have it. One that it may not have is not counted. */
  take(environment: string, answer: string, now = Date.now()): boolean {
    // A UTF-16 unit has at most 3 bytes in UTF-8.
    const bytes = answer.length * 3 < LARGE_ANSWER_BYTES_MIN ? 0 : utf8.encode(answer).byteLength;
    if (bytes < LARGE_ANSWER_BYTES_MIN) return true;
    const second = Math.floor(now / 1000);
    let answered = bytes;
    for (const [earlier, byEnvironment] of this.#bySecond)
      if (earlier <= second - LARGE_ANSWERS_SECONDS) this.#bySecond.delete(earlier);
      else answered += byEnvironment.get(environment) ?? 0;
    if (answered > this.#bytesMax) return false;
    const byEnvironment = this.#bySecond.get(second) ?? new Map<string, number>();
    this.#bySecond.set(second, byEnvironment.set(environment, (byEnvironment.get(environment) ?? 0) + bytes));
    return true;
  }
}

export const LARGE_ANSWERS = new LargeAnswers(LARGE_ANSWERS_BYTES_MAX);
