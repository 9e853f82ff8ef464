import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { viewFor } from "./beside-lists.ts";
import type { Effort } from "./effort.ts";
import { connect, load, quantile } from "./load.ts";
import { type ObjectTimes, objectsOptions, objectTimes } from "./objects.ts";
import type { Processes } from "./processes.ts";
import { getRequest, listRequest, spread, tokenIn, viewRequest } from "./requests.ts";
import type { Directory } from "./service.ts";
import { stateOf } from "./workerd.ts";

/** What a search through all groups of a directory takes, and the median of a view alone and beside it. */
export type BesideSearch = { groups: number; firstHitsMs: number; searchMs: number; aloneMs: number; besideMs: number };

/** How many times as long a view may take beside a search. */
export const BESIDE_SEARCH_RATIO_MAX = 1.5;

const NAMES: Record<string, string> = {
  plain: "groups",
  long: "groups with names of 250 characters",
  accents: "groups with names of 250 accents",
  json: "groups with 2 KB of JSON",
  events: "events",
};

/** Measures how long each turn keeps the thread: with SQLite's cache, and without any cache of the files. */
export async function measureTurns(processes: Processes, { searched }: Effort): Promise<ObjectTimes[]> {
  const options = objectsOptions(processes, "searched");
  const ask = async (url: string, kind: string, size: number, action: string) => {
    const response = await fetch(`${url}/searched-${kind}-${size}/${action}?size=${size}`);
    if (!response.ok) throw new Error(`${kind} could not be measured: ${await response.text()}`);
    return (await response.json().catch(() => ({}))) as Record<string, number[]>;
  };
  const results: ObjectTimes[] = [];
  for (const [kind, size] of searched) {
    let worker = await processes.start(options);
    await ask(worker.url, kind, size, "fill");
    await processes.stop(worker);
    for (const file of filesIn(stateOf(options.folder))) dropFromCache(file);
    worker = await processes.start(options);
    const what = `${size.toLocaleString("en")} ${NAMES[kind]}`;
    for (const cache of [", cold", ""])
      for (const [call, times] of Object.entries(await ask(worker.url, kind, size, "measure")))
        results.push(objectTimes(`${call}: ${what}${cache}`, times));
    await processes.stop(worker);
  }
  return results;
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));

/** Asks Linux to write a file, and to drop its pages (posix_fadvise, POSIX_FADV_DONTNEED). */
const dropFromCache = (file: string): void =>
  void execFileSync("dd", [`of=${file}`, "oflag=nocache", "conv=notrunc,fdatasync", "count=0", "status=none"], {
    stdio: ["ignore", "ignore", "inherit"],
  });

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
    let isStopped = false;
    const searching = (async () => {
      while (!isStopped) searchMs.push(await search());
    })();
    beside.push(await viewFor(pools.views, views, seconds));
    isStopped = true;
    await searching;
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
