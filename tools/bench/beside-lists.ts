import { performance } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import type { Pool } from "undici";
import { LIST_BYTES_MAX, LIST_ITEMS_MAX } from "../../common/limits.ts";
import type { Effort } from "./effort.ts";
import type { DirectoryPlan } from "./fill.ts";
import { connect, load, quantile, type Request } from "./load.ts";
import { getRequest, listRequest, spread, tokenIn, viewRequest } from "./requests.ts";
import type { Directory } from "./service.ts";

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

/** How many times as long a view may take beside lists at their limit. */
export const BESIDE_LISTS_RATIO_MAX = 3;
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

/** Measures views one at a time, in turns: alone, beside lists at their limit, and beside lists in flight. */
export async function measureBesideLists(url: string, { key }: Directory, effort: Effort): Promise<BesideLists> {
  const { turns, seconds } = effort.besideLists;
  const pools = { views: connect(url), lists: connect(url, LISTS_IN_FLIGHT) };
  const gets = spread(100, LIST_ITEMS_MAX).map((n) => getRequest(key, `group-${n}`));
  const views = (await load(pools.views, gets)).bodies.map((body) => viewRequest(tokenIn(body)));
  const list = listRequest(key, `limit=${LIST_ITEMS_MAX}`);
  await load(
    pools.lists,
    Array.from({ length: 50 }, () => list),
  );

  const p50s = { alone: [] as number[], atLimit: [] as number[], inFlight: [] as number[] };
  let lists = 0;
  let inFlightSeconds = 0;
  for (let turn = 0; turn < turns; turn += 1) {
    p50s.alone.push(await viewFor(pools.views, views, seconds));
    const made: Promise<void>[] = [];
    const paced = repeat(1, () => {
      made.push(discard(pools.lists, list));
      return delay(60_000 / LISTS_PER_MINUTE);
    });
    p50s.atLimit.push(await viewFor(pools.views, views, seconds));
    await paced.stop();
    await Promise.all(made);
    const startedAt = performance.now();
    const crowd = repeat(LISTS_IN_FLIGHT, () => discard(pools.lists, list));
    p50s.inFlight.push(await viewFor(pools.views, views, seconds));
    lists += await crowd.stop();
    inFlightSeconds += (performance.now() - startedAt) / 1000;
  }
  await Promise.all([pools.views.close(), pools.lists.close()]);
  return {
    aloneMs: quantile(p50s.alone, 0.5),
    atLimitMs: quantile(p50s.atLimit, 0.5),
    inFlightMs: quantile(p50s.inFlight, 0.5),
    listsPerSecond: lists / inFlightSeconds,
  };
}

/** Makes views one at a time for some seconds. Returns the median of their latencies. */
export async function viewFor(pool: Pool, views: Request[], seconds: number): Promise<number> {
  const latenciesMs: number[] = [];
  const endsAt = performance.now() + seconds * 1000;
  for (let start = 0; performance.now() < endsAt; start = (start + VIEWS_PER_ROUND) % views.length)
    latenciesMs.push(...(await load(pool, views.slice(start, start + VIEWS_PER_ROUND), 1)).latenciesMs);
  return quantile(latenciesMs, 0.5);
}

/** Repeats some work until it is stopped, in so many places at once. `stop` returns how often it was done. */
export function repeat(places: number, work: () => Promise<unknown>): { stop: () => Promise<number> } {
  let isStopped = false;
  let done = 0;
  const place = async () => {
    for (; !isStopped; done += 1) await work();
  };
  const ends = Promise.all(Array.from({ length: places }, place));
  return {
    stop: async () => {
      isStopped = true;
      await ends;
      return done;
    },
  };
}

/** Reads an answer without keeping it: decoding a megabyte would delay the views, which this process makes as well. */
async function discard(pool: Pool, { method, path, headers }: Request): Promise<void> {
  const { statusCode, body } = await pool.request({ method, path, headers: headers ?? {} });
  await body.dump({ limit: Number.MAX_SAFE_INTEGER });
  if (statusCode !== 200) throw new Error(`${method} ${path} was answered with ${statusCode}.`);
}
