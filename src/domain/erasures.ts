import { ERASE_RETRY_SECONDS } from "../../common/limits.ts";
import type { EnvironmentStore } from "../storage/environment-store.ts";
import type { Chore } from "./chores.ts";
import { log } from "./log.ts";

/**
 * Erases the environments that are marked for it. A mark stays until the directory has deleted everything, so what a crash
 * interrupts is finished by the next call or by the alarm.
 */
export class Erasures {
  readonly #environments: EnvironmentStore;
  readonly #eraseDirectory: (name: string) => Promise<void>;
  /** By name. Two calls at the same time share one, so that none of them erases what was created after the other one. */
  readonly #running = new Map<string, Promise<void>>();
  /** When to try again after a failure, in milliseconds since 1970. */
  #retryAt = 0;

  constructor(environments: EnvironmentStore, eraseDirectory: (name: string) => Promise<void>) {
    this.#environments = environments;
    this.#eraseDirectory = eraseDirectory;
  }

  /** Erases a marked environment. Rejects if its directory could not be reached; the alarm tries again. */
  finish(name: string): Promise<void> {
    const running = this.#running.get(name) ?? this.#erase(name).finally(() => this.#running.delete(name));
    this.#running.set(name, running);
    return running;
  }

  /** When the alarm is due. It erases by `finishAll`, because it has to wait for the directories. */
  readonly chore: Chore = {
    name: "erase environments",
    dueAt: () => {
      const markedAt = this.#environments.erased()[0]?.erasedAt;
      return markedAt ? Math.max(markedAt + ERASE_RETRY_SECONDS * 1000, this.#retryAt) : undefined;
    },
    run: () => undefined,
  };

  /** Erases all marked environments, for the alarm. Never rejects. Returns whether there were any. */
  async finishAll(): Promise<boolean> {
    const erased = this.#environments.erased();
    for (const { name } of erased) {
      try {
        await this.finish(name);
      } catch (error) {
        this.#retryAt = Date.now() + ERASE_RETRY_SECONDS * 1000;
        log.error({
          message: "An environment could not be erased. The next try follows.",
          environment: name,
          error: String(error),
        });
      }
    }
    return erased.length > 0;
  }

  async #erase(name: string): Promise<void> {
    await this.#eraseDirectory(name);
    this.#environments.delete(name);
  }
}
