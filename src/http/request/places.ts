import { PLACE_SECONDS_MAX, PLACES_OF_CALLER_MAX, WAITING_OF_CALLER_MAX } from "../../../common/limits.ts";
import { TimeoutError, withTimeout } from "../../domain/with-timeout.ts";

/** A place that was taken. It counts for more after `grow`, and no longer after `leave`. */
export type Place = { grow: (by: number) => void; leave: () => void };

/** How many places each name has, how many requests of a name may wait for one, and for how long. */
export type PlacesLimits = { placesMax: number; waitingMax: number; secondsMax: number };

/** The places of one name: how many are taken, and who waits for one, in the order of arrival. */
type Taken = { count: number; waiting: Set<() => void> };

/**
 * Places in which requests are worked on, so many for each name, such as a credential. A request that finds none waits for one. It has a
 * timer of its own then, because the runtime ends a request that nothing but another request can continue.
 */
export class Places {
  readonly #limits: PlacesLimits;
  readonly #names = new Map<string, Taken>();

  constructor(limits: PlacesLimits) {
    this.#limits = limits;
  }

  /** Takes a place; `undefined` if too many requests of this name wait already, or if this one has waited for too long. */
  async take(name: string): Promise<Place | undefined> {
    const { placesMax, secondsMax } = this.#limits;
    const taken = this.#names.get(name) ?? { count: 0, waiting: new Set() };
    this.#names.set(name, taken);
    if (taken.count < placesMax) {
      taken.count += 1;
      return this.#placeOf(name, taken);
    }
    if (this.isFull(name)) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    taken.waiting.add(resolve);
    try {
      await withTimeout(promise, secondsMax);
      return this.#placeOf(name, taken);
    } catch (error) {
      if (!(error instanceof TimeoutError)) throw error;
      // A place may have come at the last moment.
      if (!taken.waiting.delete(resolve)) this.#give(name, taken, 1);
      return undefined;
    }
  }

  /** Whether too many requests of this name wait already. */
  isFull(name: string): boolean {
    return (this.#names.get(name)?.waiting.size ?? 0) >= this.#limits.waitingMax;
  }

  #placeOf(name: string, taken: Taken): Place {
    let size = 1;
    return {
      grow: (by) => {
        if (size === 0) return;
        size += by;
        taken.count += by;
      },
      leave: () => {
        const left = size;
        size = 0;
        if (left > 0) this.#give(name, taken, left);
      },
    };
  }

  /** Gives back so many places of a name, and hands them to those who wait. */
  #give(name: string, taken: Taken, count: number): void {
    taken.count -= count;
    for (const next of taken.waiting) {
      if (taken.count >= this.#limits.placesMax) return;
      taken.waiting.delete(next);
      taken.count += 1;
      next();
    }
    if (taken.count === 0) this.#names.delete(name);
  }
}

/** The places of callers, by the names under which they are counted; of those without a credential by their address. */
export const CALLERS = new Places({
  placesMax: PLACES_OF_CALLER_MAX,
  waitingMax: WAITING_OF_CALLER_MAX,
  secondsMax: PLACE_SECONDS_MAX,
});
