import { TOMBSTONE_RETRY_SECONDS, TOMBSTONES_PER_CALL_MAX } from "../../../common/limits.ts";
import type { Tombstone } from "../../records.ts";
import type { TombstoneStore } from "../../storage/tombstone-store.ts";
import type { Chore } from "../chores.ts";
import { log } from "../log.ts";

/** Hands the purged groups of a directory to the registry, which remembers them for good: no restore brings them back. */
export class Tombstones {
  readonly #store: TombstoneStore;
  readonly #bury: (tombstones: Tombstone[]) => Promise<void>;
  /** When to try again after a failure. */
  #retryAt = 0;

  constructor(store: TombstoneStore, bury: (tombstones: Tombstone[]) => Promise<void>) {
    this.#store = store;
    this.#bury = bury;
  }

  /** When the next are due. The alarm hands them over itself, because it has to wait for the registry. */
  readonly chore: Chore = {
    name: "hand purged groups to the registry",
    dueAt: (now) => (this.#store.first(1).length === 0 ? undefined : Math.max(now, this.#retryAt)),
    run: () => undefined,
  };

  /** Hands over all. Rejects if the registry cannot be reached. */
  async handOverAll(): Promise<void> {
    while (await this.#handOverSome());
  }

  /** Hands over what is due. What the registry has not taken is tried again later. Returns whether there was any. */
  async handOver(): Promise<boolean> {
    try {
      return await this.#handOverSome();
    } catch (error) {
      this.#retryAt = Date.now() + TOMBSTONE_RETRY_SECONDS * 1000;
      log.error({
        message: "Purged groups could not be handed to the registry. The next try follows.",
        error: String(error),
      });
      return true;
    }
  }

  async #handOverSome(): Promise<boolean> {
    const tombstones = this.#store.first(TOMBSTONES_PER_CALL_MAX);
    if (tombstones.length === 0) return false;
    await this.#bury(tombstones);
    // Others may have come meanwhile.
    for (const tombstone of tombstones) this.#store.delete(tombstone);
    return true;
  }
}
