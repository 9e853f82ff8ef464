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
  /** What the directories hold in which single calls are timed. */
  objects: { responses: number; groups: number };
  /** What the directories hold that are searched: a kind of groups, or events, and how many. */
  searched: [kind: string, size: number][];
};

export const FULL: Effort = {
  generations: 12,
  cycles: 4,
  warmUpCycles: 2,
  starts: 25,
  besideLists: { turns: 5, seconds: 3 },
  besideSearches: [100_000, 1_000_000],
  objects: { responses: 2_000_000, groups: 100_000 },
  searched: [
    ["plain", 10_000],
    ["plain", 1_000_000],
    ["long", 100_000],
    ["accents", 100_000],
    ["json", 100_000],
    ["events", 200_000],
  ],
};

export const QUICK: Effort = {
  generations: 1,
  cycles: 5,
  warmUpCycles: 1,
  starts: 7,
  besideLists: { turns: 2, seconds: 1 },
  besideSearches: [10_000, 100_000],
  objects: { responses: 100_000, groups: 10_000 },
  searched: [
    ["plain", 10_000],
    ["long", 10_000],
    ["accents", 10_000],
    ["json", 10_000],
    ["events", 20_000],
  ],
};

/** Of each call in each cycle through all calls; `loadByTurns` divides them into rounds. */
export const REQUESTS_PER_CYCLE = 250;

/** The groups of a directory whose size does not matter. */
export const GROUPS = 1000;
