import { withTimeout } from "../../domain/with-timeout.ts";
import {
  ANSWER_PIECE_SECONDS_MAX,
  PLACE_DEAD_SECONDS,
  PLACE_HELD_SECONDS_MAX,
  PLACE_LOOK_SECONDS,
  PLACE_SECONDS_MAX,
  PLACES_OF_CALLER_MAX,
  WAITING_OF_CALLER_MAX,
} from "../../limits.ts";

/** A place that was taken. It counts for more after `grow`, and no longer after `leave`. */
export type Place = { grow: (by: number) => void; leave: () => void };

/** How many places each name has, how many requests of a name may wait for one, and for how long. */
export type PlacesLimits = { placesMax: number; waitingMax: number; secondsMax: number };

/** A place that is held: for how many it counts, and when it counts no longer, in milliseconds since 1970. */
type Held = { size: number; until: number };
/** The places of one name that are held, and who waits for one, in the order of arrival, with the time of the last look. */
type Taken = { held: Set<Held>; waiting: Map<() => void, number> };

/**
 * Places in which requests are worked on, so many for each name, such as a credential. A request that finds none waits for one. It has
 * timers of its own then, because the runtime ends a request that nothing but another request can continue. The runtime also ends the
 * request of a client that has gone, wherever it waits: so no place is handed to a waiting request, which only looks again, and a place
 * that nobody has left is free after `PLACE_HELD_SECONDS_MAX`.
 */
export class Places {
  readonly #limits: PlacesLimits;
  readonly #names = new Map<string, Taken>();

  constructor(limits: PlacesLimits) {
    this.#limits = limits;
  }

  /** Takes a place; `undefined` if too many requests of this name wait already, or if this one has waited for too long. */
  async take(name: string): Promise<Place | undefined> {
    const deadline = Date.now() + this.#limits.secondsMax * 1000;
    if (!this.#isFree(name) && this.isFull(name)) return undefined;
    while (!this.#isFree(name)) {
      const left = (deadline - Date.now()) / 1000;
      if (left <= 0) return undefined;
      const { promise, resolve } = Promise.withResolvers<void>();
      const { waiting } = this.#of(name);
      waiting.set(resolve, Date.now());
      await withTimeout(promise, Math.min(left, PLACE_LOOK_SECONDS)).catch(() => waiting.delete(resolve));
    }
    return this.#hold(name);
  }

  /** Whether too many requests of this name wait already. */
  isFull(name: string): boolean {
    const waiting = this.#names.get(name)?.waiting;
    if (!waiting || waiting.size < this.#limits.waitingMax) return false;
    // One that has not looked for so long belongs to a request that the runtime has ended.
    const dead = Date.now() - PLACE_DEAD_SECONDS * 1000;
    for (const [next, lookedAt] of waiting) if (lookedAt < dead) waiting.delete(next);
    return waiting.size >= this.#limits.waitingMax;
  }

  #of(name: string): Taken {
    const taken = this.#names.get(name) ?? { held: new Set(), waiting: new Map() };
    this.#names.set(name, taken);
    return taken;
  }

  #isFree(name: string): boolean {
    const held = this.#names.get(name)?.held ?? [];
    const now = Date.now();
    let count = 0;
    for (const { size, until } of held) if (until > now) count += size;
    return count < this.#limits.placesMax;
  }

  #hold(name: string): Place {
    const { held } = this.#of(name);
    const now = Date.now();
    for (const other of held) if (other.until <= now) held.delete(other);
    const place = { size: 1, until: now + PLACE_HELD_SECONDS_MAX * 1000 };
    held.add(place);
    return {
      grow: (by) => {
        place.size += by;
        place.until += by * ANSWER_PIECE_SECONDS_MAX * 1000;
      },
      leave: () => {
        if (held.delete(place)) this.#wake(name, place.size);
      },
    };
  }

  /** Lets those look again who have waited longest, one for each place that was left. */
  #wake(name: string, count: number): void {
    const taken = this.#names.get(name);
    if (!taken) return;
    for (const next of [...taken.waiting.keys()].slice(0, count)) {
      taken.waiting.delete(next);
      next();
    }
    if (taken.held.size === 0 && taken.waiting.size === 0) this.#names.delete(name);
  }
}

/** The places of callers, by the names under which they are counted; of those without a credential by their address. */
export const CALLERS = new Places({
  placesMax: PLACES_OF_CALLER_MAX,
  waitingMax: WAITING_OF_CALLER_MAX,
  secondsMax: PLACE_SECONDS_MAX,
});
