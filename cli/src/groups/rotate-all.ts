import type { EnvironmentClient } from "../../../client/src/index.ts";
import { CommandError } from "../../../common/command-error.ts";
import { LIST_ITEMS_MAX } from "../../../common/limits.ts";
import { Progress } from "./progress.ts";
import type { RotationRecord } from "./rotation-record.ts";
import { hasCode } from "./service-errors.ts";
import { onStopSignal } from "./stop-signals.ts";

const SAVE_MS = 100;

/** The numbers of all groups that exist, in ascending order. */
export async function groupNumbers(client: EnvironmentClient): Promise<number[]> {
  const numbers: number[] = [];
  for await (const { teamId } of client.list({ pageSize: LIST_ITEMS_MAX })) numbers.push(teamId);
  return numbers;
}

type RotateAllOptions = {
  client: EnvironmentClient;
  record: RotationRecord;
  /** The groups, in ascending order. */
  numbers: readonly number[];
  concurrency: number;
};

/** How many groups have a new token from this run and the ones that it continues, and how many somebody deleted meanwhile. */
export type RotationCounts = { rotated: number; missing: number };

/**
 * Rotates the token of each group, with several calls at a time. Each group is rotated once in a run, however often the run is
 * cut off: the record skips the groups that are done, and the service recognizes the idempotency key of the others.
 */
export const rotateAll = (options: RotateAllOptions): Promise<RotationCounts> => new RotationRun(options).run();

class RotationRun {
  readonly #options: RotateAllOptions;
  readonly #numbers: readonly number[];
  readonly #progress: Progress;
  /** Which groups are done, by their place among the numbers. Those before `#doneUntil` are counted and removed. */
  readonly #done = new Map<number, "rotated" | "missing">();
  readonly #counts: RotationCounts;
  readonly #before: number;
  #next = 0;
  #doneUntil = 0;
  #savedAt = 0;
  #isStopping = false;
  #failure: unknown;

  constructor(options: RotateAllOptions) {
    const { through, rotated } = options.record.progress;
    this.#options = options;
    this.#before = rotated;
    this.#counts = { rotated, missing: 0 };
    this.#numbers = options.numbers.filter((teamId) => teamId > through);
    this.#progress = new Progress(this.#before + this.#numbers.length);
  }

  async run(): Promise<RotationCounts> {
    const { record, concurrency } = this.#options;
    record.save();
    const removeHandlers = onStopSignal(() => {
      this.#progress.note("Stopping when the current calls are complete.");
      this.#isStopping = true;
    });
    await Promise.all(Array.from({ length: concurrency }, () => this.#rotateNext()));
    removeHandlers();
    this.#progress.stop();
    if (this.#doneUntil === this.#numbers.length) record.remove();
    else this.#save();
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#doneUntil < this.#numbers.length)
      throw new CommandError(`Stopped after ${this.#counts.rotated} groups. Run the same command again to continue.`, {
        code: "stopped",
      });
    return this.#counts;
  }

  async #rotateNext(): Promise<void> {
    while (!this.#isStopping && this.#next < this.#numbers.length) {
      const index = this.#next;
      this.#next += 1;
      try {
        this.#finish(index, await this.#rotate(this.#numbers[index] ?? 0));
      } catch (error) {
        this.#failure ??= error;
        this.#isStopping = true;
      }
    }
  }

  async #rotate(teamId: number): Promise<"rotated" | "missing"> {
    const { client, record } = this.#options;
    const input = { teamId, graceSeconds: record.progress.graceSeconds, reason: record.progress.reason };
    try {
      await client
        .rotateTokenByNumber(input, { idempotencyKey: record.keyOf(teamId) })
        // A full environment refuses idempotency keys. Without one of ours, the client sends the call without any.
        .catch((error: unknown) =>
          hasCode(error, "environment_full") ? client.rotateTokenByNumber(input) : Promise.reject(error),
        );
      return "rotated";
    } catch (error) {
      if (hasCode(error, "user_group_not_found")) return "missing";
      throw error;
    }
  }

  #finish(index: number, outcome: "rotated" | "missing"): void {
    this.#done.set(index, outcome);
    for (let done = this.#done.get(this.#doneUntil); done; done = this.#done.get(this.#doneUntil)) {
      this.#done.delete(this.#doneUntil);
      this.#counts[done] += 1;
      this.#doneUntil += 1;
    }
    this.#progress.update(this.#before + this.#doneUntil, `${this.#counts.rotated} rotated`);
    if (Date.now() - this.#savedAt > SAVE_MS) this.#save();
  }

  #save(): void {
    const through = this.#numbers[this.#doneUntil - 1];
    if (through !== undefined) this.#options.record.save({ through, rotated: this.#counts.rotated });
    this.#savedAt = Date.now();
  }
}
