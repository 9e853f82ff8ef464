/** How much the bench does. */
export type Effort = {
  /** How often both Workers are started again: two processes of one program differ by some percent for as long as they live. */
  generations: number;
  cycles: number;
  warmUpCycles: number;
  starts: number;
  /** How often, and for how long each time, viewers are measured beside lists. */
  besideLists: { turns: number; seconds: number };
  /** The sizes of directories, in groups, in which viewers are measured beside searches. */
  besideSearches: number[];
};

export const FULL: Effort = {
  generations: 12,
  cycles: 4,
  warmUpCycles: 2,
  starts: 25,
  besideLists: { turns: 5, seconds: 3 },
  besideSearches: [100_000, 1_000_000],
};

export const QUICK: Effort = {
  generations: 1,
  cycles: 5,
  warmUpCycles: 1,
  starts: 7,
  besideLists: { turns: 2, seconds: 1 },
  besideSearches: [10_000, 100_000],
};

/** Of each call in each cycle through all calls; `loadByTurns` divides them into rounds. */
export const REQUESTS_PER_CYCLE = 250;

/** The groups of a directory whose size does not matter. */
export const GROUPS = 1000;
