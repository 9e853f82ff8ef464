import { performance } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import { LIST_BYTES_MAX, LIST_ITEMS_MAX } from "../../common/limits.ts";
import type { DirectoryPlan } from "./fill.ts";
import { connect, getRequest, listRequest, load, quantile, spread, tokenIn, viewRequest } from "./load.ts";
import type { Directory } from "./service.ts";

/** How often, and for how long each time, viewers are measured. */
type Turns = { turns: number; seconds: number };

/** The median latency of a view alone, and while one API key makes lists. */
export type BesideLists = {
  aloneMs: number;
  /** Beside lists at the rate that LIST_LIMIT allows. */
  atLimitMs: number;
  /** Beside lists that are all in flight all the time, as they can be until LIST_LIMIT refuses them. */
  inFlightMs: number;
  /** How many lists a second were answered in that time. */
  listsPerSecond: number;
};

/** What a search through all groups of a directory takes, and the median of a view alone and beside it. */
export type BesideSearch = { groups: number; firstHitsMs: number; searchMs: number; aloneMs: number; besideMs: number };

/** How many times as long a view may take beside lists at their limit, and beside a search. */
export const BESIDE_LISTS_RATIO_MAX = 3;
export const BESIDE_SEARCH_RATIO_MAX = 1.5;
export const LISTS_IN_FLIGHT = 16;
/** The limit of LIST_LIMIT in wrangler.toml. The bench's stand-in refuses no call. */
export const LISTS_PER_MINUTE = 600;

const VIEWS_PER_ROUND = 20;

/** The largest page: the most groups, with nearly the most bytes, that a page may have. */
export function heaviestPage(): DirectoryPlan {
  const bytes = Math.floor(LIST_BYTES_MAX / LIST_ITEMS_MAX);
  // Id, name and the JSON around the filler take less than 50 bytes.
  const json = JSON.stringify({ filler: "x".repeat((bytes - 50) / 2) });
  return { groups: LIST_ITEMS_MAX, json: { mapping: json, properties: json } };
}

/** Measures views alone, beside lists at their limit, and beside lists in flight. */
export async function measureBesideLists(url: string, directory: Directory, turns: Turns): Promise<BesideLists> {
  const pool = connect(url, LISTS_IN_FLIGHT);
  const list = listRequest(directory.key, `limit=${LIST_ITEMS_MAX}`);
  // The answer is not kept: decoding a megabyte would delay the views, which this process makes as well.
  const discard = async () => {
    const { statusCode, body } = await pool.request({ ...list, body: null });
    await body.dump({ limit: Number.MAX_SAFE_INTEGER });
    if (statusCode !== 200) throw new Error(`A list was answered with ${statusCode}.`);
  };
  await load(pool, Array(50).fill(list));

  let lists = 0;
  let inFlightSeconds = 0;
  const { alone, atLimit, inFlight } = await measureViews(url, directory, turns, {
    atLimit: () => {
      const made: Promise<void>[] = [];
      const stop = repeat(1, () => {
        made.push(discard());
        return delay(60_000 / LISTS_PER_MINUTE);
      });
      return () => stop().then(() => Promise.all(made));
    },
    inFlight: () => {
      const startedAt = performance.now();
      const stop = repeat(LISTS_IN_FLIGHT, discard);
      return async () => {
        lists += await stop();
        inFlightSeconds += (performance.now() - startedAt) / 1000;
      };
    },
  });
  await pool.close();
  return { aloneMs: alone, atLimitMs: atLimit, inFlightMs: inFlight, listsPerSecond: lists / inFlightSeconds };
}

/** Measures a search for an absent word through a directory, and views alone and beside such searches. */
export async function measureBesideSearch(url: string, directory: Directory, turns: Turns): Promise<BesideSearch> {
  const { key, groups } = directory;
  const pool = connect(url, 1);
  const searchMs: number[] = [];
  const search = async () => {
    const startedAt = performance.now();
    for (let cursor: string | null = ""; cursor !== null; ) {
      const query = `search=absent&limit=50${cursor && `&cursor=${cursor}`}`;
      const { bodies } = await load(pool, [listRequest(key, query)], 1);
      cursor = JSON.parse(bodies[0] ?? "").next_cursor as string | null;
    }
    searchMs.push(performance.now() - startedAt);
  };
  const firstHits = await load(pool, Array(20).fill(listRequest(key, "search=GROUP&limit=50")), 1);
  await search();
  const { alone, beside } = await measureViews(url, directory, turns, { beside: () => repeat(1, search) });
  await pool.close();
  return {
    groups,
    firstHitsMs: quantile(firstHits.latenciesMs, 0.5),
    searchMs: quantile(searchMs, 0.5),
    aloneMs: alone,
    besideMs: beside,
  };
}

/**
 * Measures views one at a time, in turns: alone, and beside each of some loads, which start and return how to stop them. Returns the median
 * of the medians of each.
 */
async function measureViews<Name extends string>(
  url: string,
  { key, groups }: Directory,
  { turns, seconds }: Turns,
  loads: Record<Name, () => () => Promise<unknown>>,
): Promise<Record<Name | "alone", number>> {
  const pool = connect(url);
  const gets = spread(100, groups).map((n) => getRequest(key, `group-${n}`));
  const views = (await load(pool, gets)).bodies.map((body) => viewRequest(tokenIn(body)));
  const viewFor = async (): Promise<number> => {
    const latenciesMs: number[] = [];
    const endsAt = performance.now() + seconds * 1000;
    for (let start = 0; performance.now() < endsAt; start = (start + VIEWS_PER_ROUND) % views.length)
      latenciesMs.push(...(await load(pool, views.slice(start, start + VIEWS_PER_ROUND), 1)).latenciesMs);
    return quantile(latenciesMs, 0.5);
  };
  const all = Object.entries<() => () => Promise<unknown>>({ alone: () => async () => undefined, ...loads });
  const p50s = all.map(([name, start]) => ({ name, start, values: [] as number[] }));
  for (let turn = 0; turn < turns; turn += 1)
    for (const { start, values } of p50s) {
      const stop = start();
      values.push(await viewFor());
      await stop();
    }
  await pool.close();
  const medians = p50s.map(({ name, values }) => [name, quantile(values, 0.5)]);
  return Object.fromEntries(medians);
}

/** Repeats some work until it is stopped, in so many places at once. Returns how to stop it, which returns how often it was done. */
function repeat(places: number, work: () => Promise<unknown>): () => Promise<number> {
  let isStopped = false;
  let done = 0;
  const place = async () => {
    for (; !isStopped; done += 1) await work();
  };
  const ends = Promise.all(Array.from({ length: places }, place));
  return async () => {
    isStopped = true;
    await ends;
    return done;
  };
}
