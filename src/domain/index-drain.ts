import type { GroupStore } from "../storage/group-store.ts";
import type { OutboxStore } from "../storage/outbox-store.ts";
import type { OutboxEntry } from "../storage/records.ts";
import type { TokenIndex } from "../storage/token-index.ts";
import { inTime } from "./in-time.ts";
import {
  INDEX_BACKOFF_SECONDS_MAX,
  INDEX_PAGES_PER_TURN_MAX,
  INDEX_RUN_SECONDS_MAX,
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
 * - One write at a time for each token, until it is answered or given up.
 * - A write that failed or was given up, or that an earlier instance may have left on its way, can still come to pass for a
 *   while. Until then the entry stays, and what is true is written once more behind it. The time of that stands in the entry:
 *   a directory that nobody calls is a new one at each alarm.
 *
 * So once the outbox is empty, the index holds no token that was rotated or deleted.
 */
export class IndexDrain {
  readonly #outbox: OutboxStore;
  readonly #groups: GroupStore;
  readonly #index: TokenIndex;
  readonly #startedAt = Date.now();
  readonly #attempts = new Map<string, Attempt>();
  /** The tokens that no earlier instance had in the outbox, so that no write of one can be on its way. */
  readonly #own = new Set<string>();
  /** Those that were queued and not yet looked at, by their names: tokens that show a group no more, and all others. */
  readonly #freshlyRevoked = new Map<string, ArrayBuffer>();
  readonly #freshlyChanged = new Map<string, ArrayBuffer>();
  /** The entry behind which to go through all that waits. What ends early is taken up there, past entries that only fail. */
  #after = new ArrayBuffer();
  #running: Promise<number | undefined> | undefined;
  #isAskedForAll = false;
  #pausedUntil = 0;
  #pausesInARow = 0;
  #writesLeft = 0;
  #runEndsAt = 0;

  constructor(outbox: OutboxStore, groups: GroupStore, index: TokenIndex) {
    this.#outbox = outbox;
    this.#groups = groups;
    this.#index = index;
  }

  /** Queues a token of which to tell the index, in the transaction of the change itself. One that `isRevoked` comes first. */
  queue(nonce: ArrayBuffer, teamId: number, { isRevoked }: { isRevoked: boolean }): void {
    if (this.#outbox.queue(nonce, teamId, Date.now())) this.#own.add(hexOf(nonce));
    (isRevoked ? this.#freshlyRevoked : this.#freshlyChanged).set(hexOf(nonce), nonce);
  }

  /** Whether the index has yet to be told of anything. */
  isBehind(): boolean {
    return this.#outbox.page(new ArrayBuffer(), 1).length > 0;
  }

  /**
   * Writes what was queued since the last run, as far as it can be written now, or `all` that waits: during an outage that
   * is too much for each change to go through. Answers with the time (milliseconds since 1970) at which to run for all
   * again, or `undefined` when nothing of it is left. It never throws.
   */
  run({ all }: { all: boolean }): Promise<number | undefined> {
    this.#isAskedForAll ||= all;
    this.#running ??= this.#runWhileAsked().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #runWhileAsked(): Promise<number | undefined> {
    let next: number | undefined;
    this.#writesLeft = INDEX_WRITES_PER_RUN_MAX;
    this.#runEndsAt = Date.now() + INDEX_RUN_SECONDS_MAX * 1000;
    while ((this.#isAskedForAll || this.#freshlyRevoked.size + this.#freshlyChanged.size > 0) && !this.#isSpent()) {
      const all = this.#isAskedForAll;
      this.#isAskedForAll = false;
      if (all) this.#forgetAttempts();
      const again = await this.#pass(all).catch((error: unknown) => this.#pauseAfter(error));
      next = all ? again : earlier(next, again);
    }
    return next;
  }

  #isSpent(): boolean {
    return this.#writesLeft < INDEX_WRITES_IN_FLIGHT_MAX || Date.now() >= this.#runEndsAt;
  }

  /** By turns a page of what was queued just now and one of all that waits, so that neither holds up the other. */
  *#pages(all: boolean): Generator<OutboxEntry[]> {
    for (;;) {
      const fresh = this.#freshPage();
      if (fresh) yield fresh;
      if (all) {
        const waiting = this.#outbox.page(this.#after, INDEX_WRITES_IN_FLIGHT_MAX);
        this.#after = waiting.at(-1)?.nonce ?? new ArrayBuffer();
        if (waiting.length === 0) return;
        yield waiting;
      } else if (!fresh || this.#isAskedForAll) return;
    }
  }

  #freshPage(): OutboxEntry[] | undefined {
    const fresh = this.#freshlyRevoked.size > 0 ? this.#freshlyRevoked : this.#freshlyChanged;
    if (fresh.size === 0) return undefined;
    const page = [...fresh.entries().take(INDEX_WRITES_IN_FLIGHT_MAX)];
    for (const [name] of page) fresh.delete(name);
    return page.flatMap(([, nonce]) => this.#outbox.find(nonce) ?? []);
  }

  /** Writes entries, a page at a time; it pauses when none of as many as it may try at once succeeds. */
  async #pass(all: boolean): Promise<number | undefined> {
    if (Date.now() < this.#pausedUntil) {
      this.#freshlyRevoked.clear();
      this.#freshlyChanged.clear();
      return this.#pausedUntil;
    }
    const leavesOut = all && this.#after.byteLength > 0;
    let next: number | undefined;
    let pagesInTurn = 0;
    for (const entries of this.#pages(all)) {
      const writesLeft = this.#writesLeft;
      const writes = entries.map((entry) => this.#write(entry));
      // Where one throws, the others must not be left behind: their tokens could be written again beside them.
      await Promise.allSettled(writes);
      const outcomes = await Promise.all(writes);
      const failures = outcomes.filter(({ error }) => error !== undefined);
      if (failures.length === INDEX_WRITES_IN_FLIGHT_MAX) return this.#pauseAfter(failures[0]?.error);
      if (failures.length === 0) this.#pausesInARow = 0;
      for (const { notBefore } of outcomes) next = earlier(next, notBefore);
      if (this.#isSpent()) return Date.now();
      pagesInTurn = this.#writesLeft < writesLeft ? 0 : pagesInTurn + 1;
      if (pagesInTurn === INDEX_PAGES_PER_TURN_MAX) {
        // Where nothing is written nothing is waited for, and no call would get its turn.
        pagesInTurn = 0;
        await scheduler.wait(0);
      }
    }
    return leavesOut ? Date.now() : next;
  }

  /** Writes one entry, if its time has come. Answers with the time before which to leave it alone, if it is still there. */
  async #write(entry: OutboxEntry): Promise<{ notBefore?: number; error?: unknown }> {
    const attempt = this.#attemptOf(entry);
    const beganAt = Date.now();
    const notBefore = Math.max(attempt.notBefore, entry.againAt ?? 0);
    if (beganAt < notBefore) return { notBefore };
    // Before the write: a later instance that finds the entry so knows that it may be on its way.
    if (entry.againAt !== null) this.#outbox.setAgainAt(entry, null);
    this.#writesLeft -= 1;
    attempt.notBefore = beganAt + INDEX_WRITE_SPACING_SECONDS * 1000;
    this.#attempts.set(hexOf(entry.nonce), attempt);

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
    if (beganAt < attempt.uncertainUntil) {
      this.#outbox.setAgainAt(entry, attempt.uncertainUntil);
      return { notBefore: attempt.uncertainUntil };
    }
    if (this.#outbox.settle(entry)) {
      this.#own.delete(hexOf(entry.nonce));
      return {};
    }
    return { notBefore: attempt.notBefore };
  }

  /** A write of an entry that another instance has queued may be on its way still, unless that one noted otherwise. */
  #attemptOf({ nonce, againAt }: OutboxEntry): Attempt {
    const known = this.#attempts.get(hexOf(nonce));
    if (known) return known;
    if (this.#own.has(hexOf(nonce)) || againAt !== null) return { notBefore: 0, failures: 0, uncertainUntil: 0 };
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

const hexOf = (nonce: ArrayBuffer): string => new Uint8Array(nonce).toHex();

const earlier = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);

const backoffOf = (failures: number): number => Math.min(INDEX_BACKOFF_SECONDS_MAX, 2 ** (failures - 1)) * 1000;
