import type { Pool } from "undici";
import { type Effort, REQUESTS_PER_CYCLE } from "./effort.ts";
import { load, mean, quantile, type Request } from "./load.ts";
import { getRequest, spread } from "./requests.ts";
import type { Directory } from "./service.ts";

export type Growth = { groups: number; p50Ms: number };

/** The latency of GET in directories of different sizes. */
export class GrowthMeasurement {
  readonly #directories: Directory[];
  readonly #cycles: number;
  /** The median of each cycle, by directory. */
  readonly #p50sMs = new Map<Directory, number[]>();

  constructor(directories: Directory[], { cycles }: Effort) {
    this.#directories = directories;
    this.#cycles = cycles;
  }

  /**
   * Measures GET of groups that exist, by turns in each directory, and one at a time: where requests queue, latency only
   * would measure throughput again.
   */
  async measure(pool: Pool, generation: number): Promise<void> {
    for (let cycle = 0; cycle < 1 + this.#cycles; cycle += 1) {
      const requests = this.#requests(generation * (1 + this.#cycles) + cycle);
      const { latenciesMs } = await load(pool, requests, 1);
      if (cycle === 0) continue;
      for (const [at, directory] of this.#directories.entries()) {
        const own = latenciesMs.filter((_, index) => index % this.#directories.length === at);
        this.#p50sMs.set(directory, [...(this.#p50sMs.get(directory) ?? []), quantile(own, 0.5)]);
      }
    }
  }

  /**
   * The mean of the cycles' medians. The machine is fast in some cycles and slow in others: the median of all latencies
   * would be a value between both, which few calls have, and would vary more than the median of any cycle.
   */
  results(): Growth[] {
    return [...this.#p50sMs].map(([{ groups }, ofCycles]) => ({ groups, p50Ms: mean(ofCycles) }));
  }

  /** Other groups in each cycle: of a million, hardly one is requested twice. */
  #requests(cycle: number): Request[] {
    const largest = Math.max(...this.#directories.map(({ groups }) => groups));
    return spread(REQUESTS_PER_CYCLE, largest).flatMap((n) =>
      this.#directories.map(({ key, groups }) => getRequest(key, `group-${(n + cycle * 104_729) % groups}`)),
    );
  }
}
