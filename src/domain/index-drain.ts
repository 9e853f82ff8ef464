import type { GroupStore } from "../storage/group-store.ts";
import type { OutboxStore } from "../storage/outbox-store.ts";
import type { OutboxEntry } from "../storage/records.ts";
import type { TokenIndex } from "../storage/token-index.ts";
import { inTime } from "./in-time.ts";
import {
  INDEX_BACKOFF_SECONDS_MAX,
  INDEX_UNCERTAIN_SECONDS,
  INDEX_WRITE_SECONDS_MAX,
  INDEX_WRITE_SPACING_SECONDS,
  INDEX_WRITES_IN_FLIGHT_MAX,
  INDEX_WRITES_PER_RUN_MAX,
} from "./limits.ts";
import { log } from "./log.ts";
import { snapshotFor } from "./user-group.ts";

/** What is remembered of a token whose entry was lately written, or could not be. */
type Attempt = {
  /** When it may be written again: KV takes one write a second to a key, and failures wait longer. */
  notBefore: number;
  /** In a row. */
  failures: number;
  /** Until when a write that was not acknowledged may come to pass. */
  uncertainUntil: number;
};

/**
 * Carries the outbox of one directory into the index. It writes what is true when it writes, and takes an entry out of the
 * outbox only when nothing can undo that write:
 *
 * - One write at a time for each token, so that no earlier write of this instance can overtake a later one.
 * - A write that failed, or that an earlier instance may have left on its way, can still come to pass for a while. Until
 *   then the entry stays, and what is true is written once more behind it.
 *
 * So once the outbox is empty, the index holds no token that was rotated or deleted.
 */
export class IndexDrain {
  readonly #outbox: OutboxStore;
  readonly #groups: GroupStore;
  readonly #index: TokenIndex;
  readonly #startedAt = Date.now();
  readonly #attempts = new Map<string, Attempt>();
  #running: Promise<number | undefined> | undefined;
  #isAskedAgain = false;
  #pausedUntil = 0;
  #pausesInARow = 0;
  #writesLeft = 0;

  constructor(outbox: OutboxStore, groups: GroupStore, index: TokenIndex) {
    this.#outbox = outbox;
    this.#groups = groups;
    this.#index = index;
  }

  /**
   * Writes all that can be written now. Answers with the time (milliseconds since 1970) at which to run again, or
   * `undefined` when the outbox is empty. It never throws.
   */
  run(): Promise<number | undefined> {
    this.#isAskedAgain = true;
    this.#running ??= this.#runWhileAsked().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #runWhileAsked(): Promise<number | undefined> {
    let next: number | undefined;
    this.#writesLeft = INDEX_WRITES_PER_RUN_MAX;
    while (this.#isAskedAgain && this.#writesLeft >= INDEX_WRITES_IN_FLIGHT_MAX) {
      this.#isAskedAgain = false;
      next = await this.#pass().catch((error: unknown) => this.#pauseAfter(error));
    }
    return next;
  }

  /** Goes once through the outbox, a few entries at a time; it pauses when none of as many as it may try succeeds. */
  async #pass(): Promise<number | undefined> {
    if (Date.now() < this.#pausedUntil) return this.#pausedUntil;
    this.#forgetAttempts();
    let next: number | undefined;
    let after = new ArrayBuffer();
    while (this.#writesLeft >= INDEX_WRITES_IN_FLIGHT_MAX) {
      const entries = this.#outbox.page(after, INDEX_WRITES_IN_FLIGHT_MAX);
      const last = entries.at(-1);
      if (!last) return next;
      after = last.nonce;

      const outcomes = await Promise.all(entries.map((entry) => this.#write(entry)));
      const failures = outcomes.filter(({ error }) => error !== undefined);
      if (failures.length === INDEX_WRITES_IN_FLIGHT_MAX) return this.#pauseAfter(failures[0]?.error);
      if (failures.length === 0) this.#pausesInARow = 0;
      for (const { notBefore } of outcomes) if (notBefore !== undefined) next = Math.min(next ?? notBefore, notBefore);
    }
    return Date.now();
  }

  /** Writes one entry, if its time has come. Answers with the time before which to leave it alone, if it is still there. */
  async #write(entry: OutboxEntry): Promise<{ notBefore?: number; error?: unknown }> {
    const attempt = this.#attemptOf(entry);
    const beganAt = Date.now();
    if (beganAt < attempt.notBefore) return { notBefore: attempt.notBefore };
    this.#writesLeft -= 1;
    attempt.notBefore = beganAt + INDEX_WRITE_SPACING_SECONDS * 1000;
    this.#attempts.set(hexOf(entry), attempt);

    const snapshot = snapshotFor(this.#groups.findByTeamId(entry.teamId), entry.nonce, beganAt);
    try {
      const write = snapshot ? this.#index.put(entry.nonce, snapshot, beganAt) : this.#index.delete(entry.nonce);
      await inTime(write, INDEX_WRITE_SECONDS_MAX);
    } catch (error) {
      const now = Date.now();
      attempt.failures += 1;
      attempt.notBefore = now + backoffOf(attempt.failures);
      attempt.uncertainUntil = now + INDEX_UNCERTAIN_SECONDS * 1000;
      log.warn({ message: "The token index could not be written; it is tried again.", error: String(error) });
      return { notBefore: attempt.notBefore, error };
    }
    attempt.failures = 0;
    if (beganAt < attempt.uncertainUntil) attempt.notBefore = attempt.uncertainUntil;
    else if (this.#outbox.settle(entry)) return {};
    return { notBefore: attempt.notBefore };
  }

  /** An entry that was queued before this instance was there may be on its way still, from the one before. */
  #attemptOf(entry: OutboxEntry): Attempt {
    const known = this.#attempts.get(hexOf(entry));
    if (known) return known;
    if (entry.queuedAt > this.#startedAt) return { notBefore: 0, failures: 0, uncertainUntil: 0 };
    return {
      notBefore: this.#startedAt + INDEX_WRITE_SPACING_SECONDS * 1000,
      failures: 0,
      uncertainUntil: this.#startedAt + INDEX_UNCERTAIN_SECONDS * 1000,
    };
  }

  #forgetAttempts(): void {
    const now = Date.now();
    for (const [nonce, { notBefore, uncertainUntil }] of this.#attempts)
      if (notBefore <= now && uncertainUntil <= now) this.#attempts.delete(nonce);
  }

  #pauseAfter(error: unknown): number {
    this.#pausesInARow += 1;
    this.#pausedUntil = Date.now() + backoffOf(this.#pausesInARow);
    log.error({
      message: "The token index cannot be written; viewers are answered by the directory.",
      error: String(error),
    });
    return this.#pausedUntil;
  }
}

const hexOf = ({ nonce }: OutboxEntry): string => new Uint8Array(nonce).toHex();

const backoffOf = (failures: number): number => Math.min(INDEX_BACKOFF_SECONDS_MAX, 2 ** (failures - 1)) * 1000;
