import {
  ADMISSIONS_OF_ENVIRONMENT_MAX,
  PLACE_OF_GROUP_SECONDS_MAX,
  PLACE_SECONDS_MAX,
  PLACES_OF_CALLER_MAX,
  PLACES_OF_GROUP_MAX,
  WAITING_OF_CALLER_MAX,
  WAITING_OF_GROUP_MAX,
} from "../../../common/limits.ts";
import { TimeoutError, withTimeout } from "../../domain/with-timeout.ts";

/** A taken place. `grow(by)` makes it count for `by` more; `leave` gives all of it back. */
export type Place = { grow: (by: number) => void; leave: () => void };

/** Several places as one. */
export const joined = (...places: (Place | undefined)[]): Place => ({
  grow: (by) => {
    for (const place of places) place?.grow(by);
  },
  leave: () => {
    for (const place of places) place?.leave();
  },
});

/** How many places each name has, how many requests of a name may wait for one, and for how long. Without the latter, none waits. */
export type PlacesLimits = { placesMax: number; waitingMax?: number; secondsMax?: number };

/** The places of one name: how many are taken, and who waits for one. */
type Taken = { count: number; waiting?: Queue };

/** Those who wait, in the order of arrival; of several branches, such as environments and their groups, in turn. */
class Queue {
  readonly #branches = new Map<string, Queue>();
  readonly #waiting = new Set<() => void>();
  size = 0;

  /** How many wait in this branch, or in all. */
  sizeOf(name: string | undefined): number {
    return name === undefined ? this.size : (this.#branches.get(name)?.size ?? 0);
  }

  add([name, ...branch]: readonly string[], waiting: () => void): void {
    this.size += 1;
    if (name === undefined) return void this.#waiting.add(waiting);
    const queue = this.#branches.get(name) ?? new Queue();
    this.#branches.set(name, queue);
    queue.add(branch, waiting);
  }

  /** Returns whether it was there. */
  delete([name, ...branch]: readonly string[], waiting: () => void): boolean {
    const queue = name === undefined ? undefined : this.#branches.get(name);
    const wasThere = queue ? queue.delete(branch, waiting) : this.#waiting.delete(waiting);
    if (wasThere) this.size -= 1;
    return wasThere;
  }

  /** Removes the one whose turn it is, and moves its branch to the end. */
  next(): (() => void) | undefined {
    if (this.size === 0) return undefined;
    this.size -= 1;
    for (const [name, queue] of this.#branches) {
      this.#branches.delete(name);
      const next = queue.next();
      if (queue.size > 0) this.#branches.set(name, queue);
      if (next) return next;
    }
    const [next] = this.#waiting;
    if (next) this.#waiting.delete(next);
    return next;
  }
}

/**
 * Places in which requests are worked on, so many for each name, such as a credential. A request that finds none waits for one. It has a
 * timer of its own then, because the runtime ends a request that nothing but another request can continue.
 */
export class Places {
  readonly #limits: Required<PlacesLimits>;
  readonly #names = new Map<string, Taken>();

  constructor(limits: PlacesLimits) {
    this.#limits = { waitingMax: 0, secondsMax: 0, ...limits };
  }

  /** Takes a place if one is free. Most requests find one, and need not wait for a promise. */
  takeFree(name: string): Place | undefined {
    const taken: Taken = this.#names.get(name) ?? { count: 0 };
    if (taken.count >= this.#limits.placesMax) return undefined;
    this.#names.set(name, taken);
    taken.count += 1;
    return this.#placeOf(name, taken);
  }

  /**
   * Takes a place; `undefined` if too many requests wait already, or if this one has waited for too long. Of those who wait, the branches have
   * their turns: `["acme/Customer", "7"]` waits among the requests of group 7, and this group among those of acme/Customer.
   */
  async take(name: string, branch: readonly string[] = []): Promise<Place | undefined> {
    const free = this.takeFree(name);
    const taken = this.#names.get(name);
    if (free || !taken || this.isFull(name, branch)) return free;
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = taken.waiting ?? new Queue();
    taken.waiting = waiting;
    waiting.add(branch, resolve);
    try {
      await withTimeout(promise, this.#limits.secondsMax);
      return this.#placeOf(name, taken);
    } catch (error) {
      if (!(error instanceof TimeoutError)) throw error;
      // A place may have come at the last moment.
      if (!waiting.delete(branch, resolve)) this.#give(name, taken, 1);
      return undefined;
    }
  }

  /** Whether too many requests of this name, and of the first part of this branch, wait already. */
  isFull(name: string, [first]: readonly string[] = []): boolean {
    return (this.#names.get(name)?.waiting?.sizeOf(first) ?? 0) >= this.#limits.waitingMax;
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
    while (taken.count < this.#limits.placesMax) {
      const next = taken.waiting?.next();
      if (!next) break;
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

/** The places of groups, for their viewers. */
export const GROUPS = new Places({
  placesMax: PLACES_OF_GROUP_MAX,
  waitingMax: WAITING_OF_GROUP_MAX,
  secondsMax: PLACE_OF_GROUP_SECONDS_MAX,
});

/** The viewers of each environment whom its directory is asked about. */
export const ADMISSIONS = new Places({
  placesMax: ADMISSIONS_OF_ENVIRONMENT_MAX,
  waitingMax: Number.POSITIVE_INFINITY,
  secondsMax: PLACE_SECONDS_MAX,
});
