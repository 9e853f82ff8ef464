import type { Pool } from "undici";
import { GROUPS, REQUESTS_PER_CYCLE } from "./effort.ts";
import { loadByTurns, quantile } from "./load.ts";
import { getRequest, spread } from "./requests.ts";
import type { Directory } from "./service.ts";

export type DirectoriesResult = { directories: number; rps: number };

/** Measures the same load of GETs on one directory, and spread over all of them. */
export async function measureDirectories(
  pool: Pool,
  directories: Directory[],
  cycles: number,
): Promise<DirectoriesResult[]> {
  const sets = [directories.slice(0, 1), directories] as const;
  const loadOf = (set: Directory[]) => ({
    pool,
    requests: spread(REQUESTS_PER_CYCLE, GROUPS).map((n, at) =>
      getRequest(set[at % set.length]?.key ?? "", `group-${n}`),
    ),
  });
  const rps = sets.map((): number[] => []);
  for (let cycle = 0; cycle < cycles; cycle += 1)
    for await (const measured of loadByTurns(loadOf(sets[0]), loadOf(sets[1])))
      for (const [index, { bodies, seconds }] of measured.entries()) rps[index]?.push(bodies.length / seconds);
  return sets.map((set, index) => ({ directories: set.length, rps: quantile(rps[index] ?? [], 0.5) }));
}
