import { performance } from "node:perf_hooks";
import { repeat, viewFor } from "./beside-lists.ts";
import type { Effort } from "./effort.ts";
import { connect, load, quantile } from "./load.ts";
import { getRequest, listRequest, spread, tokenIn, viewRequest } from "./requests.ts";
import type { Directory } from "./service.ts";

/** What a search through all groups of a directory takes, and the median of a view alone and beside it. */
export type BesideSearch = { groups: number; firstHitsMs: number; searchMs: number; aloneMs: number; besideMs: number };

/** How many times as long a view may take beside a search. */
export const BESIDE_SEARCH_RATIO_MAX = 1.5;

/** Measures a search for an absent word through a directory, and views one at a time: by turns alone and beside such searches. */
export async function measureBesideSearch(
  url: string,
  { key, groups }: Directory,
  effort: Effort,
): Promise<BesideSearch> {
  const { turns, seconds } = effort.besideLists;
  const pools = { views: connect(url), searches: connect(url, 1) };
  const gets = spread(100, groups).map((n) => getRequest(key, `group-${n}`));
  const views = (await load(pools.views, gets)).bodies.map((body) => viewRequest(tokenIn(body)));
  const search = async () => {
    const startedAt = performance.now();
    for (let cursor: string | null = ""; cursor !== null; ) {
      const query = `search=absent&limit=50${cursor && `&cursor=${cursor}`}`;
      const { bodies } = await load(pools.searches, [listRequest(key, query)], 1);
      cursor = JSON.parse(bodies[0] ?? "").next_cursor as string | null;
    }
    return performance.now() - startedAt;
  };
  const firstHits = await load(
    pools.searches,
    Array.from({ length: 20 }, () => listRequest(key, "search=GROUP&limit=50")),
    1,
  );
  const searchMs = [await search()];
  const alone: number[] = [];
  const beside: number[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    alone.push(await viewFor(pools.views, views, seconds));
    const searching = repeat(1, async () => searchMs.push(await search()));
    beside.push(await viewFor(pools.views, views, seconds));
    await searching.stop();
  }
  await Promise.all([pools.views.close(), pools.searches.close()]);
  return {
    groups,
    firstHitsMs: quantile(firstHits.latenciesMs, 0.5),
    searchMs: quantile(searchMs, 0.5),
    aloneMs: quantile(alone, 0.5),
    besideMs: quantile(beside, 0.5),
  };
}
