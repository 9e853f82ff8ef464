import type { Pool } from "undici";
import { type CallName, COUNTS } from "./costs.ts";
import {
  changeRequest,
  getRequest,
  groupBody,
  load,
  mintRequest,
  quantile,
  type Request,
  sessionIn,
  spread,
  tokenIn,
  viewRequest,
} from "./load.ts";

type Samples = { rps: number[]; ratios: number[]; latenciesMs: number[] };

/** `floorRatio` is the throughput as a share of the floor's. */
export type CallResult = { rps: number; p50Ms: number; p99Ms: number; floorRatio: number };

/** The pools of the service and of the floor. */
export type Pools = { service: Pool; floor: Pool };

/** The groups of the directory. */
export const GROUPS = 1000;
/** Of each call in each cycle through all calls. */
const REQUESTS_PER_CYCLE = 250;
/** Of each of the two Workers. */
const REQUESTS_PER_ROUND = 50;
/** No lease is older at any time of a generation. */
const STALE = { "Cache-Control": "max-age=300" };
const LEASED = GROUPS / 2;
/** Groups of the first half. Those of the second half have leases, and are only viewed. */
const NUMBERS = spread(REQUESTS_PER_CYCLE, LEASED);

/** What one request of a cycle is about: a group that exists, the id and then the token of one to create, and sessions. */
type Place = {
  key: string;
  id: string;
  token: string;
  /** A token that has a lease. */
  leased: string;
  name: string;
  newId: string;
  created: string;
  session: string;
  /** A session that answers its viewers. */
  stale: string;
};

/** A request of the service, and that of the floor: it has as many bytes, and is about a group that the floor has. */
type Pair = Record<keyof Pools, Request>;

const both = (request: Request): Pair => ({ service: request, floor: request });
const elsewhere = (request: Request, path: string): Pair => ({ service: request, floor: { ...request, path } });
const viewed = (id: string, ...view: Parameters<typeof viewRequest>): Pair =>
  elsewhere(viewRequest(...view), `/api/viewer?id=${id}`);
const changed = (method: Request["method"], { key, id, created }: Place, fields: object = {}): Pair => ({
  service: changeRequest(key, method, { current_token: created, ...fields }),
  floor: changeRequest(key, method, { current_token: created, user_group_id: id }),
});

const REQUESTS: Record<CallName, (place: Place) => Pair> = {
  // With the same method: HTTP clients close the connection after a GET with a body, and keep it after a PUT.
  create: ({ key, id, newId }) => ({
    service: getRequest(key, newId),
    floor: { ...getRequest(key, id), path: "/create" },
  }),
  get_hit: ({ key, id }) => both(getRequest(key, id)),
  put: ({ key, id, name }) => both(changeRequest(key, "PUT", { ...groupBody(id), name })),
  post: (place) => changed("POST", place),
  viewer_strong: ({ id, token }) => viewed(id, token),
  viewer_stale: ({ id, leased }) => viewed(id, leased, STALE),
  // The floor answers with what a call that reads returns.
  mint: ({ key, id }) => elsewhere(mintRequest(key, id), "/mint"),
  viewer_session: ({ id, session }) => viewed(id, session),
  viewer_session_again: ({ id, session }) => viewed(id, session),
  viewer_session_stale: ({ id, stale }) => viewed(id, stale),
  delete: (place) => changed("DELETE", place, { user_group_id: place.newId }),
};

/** Measures each call against its floor. */
export class CallMeasurement {
  readonly #key: string;
  readonly #samples = new Map<CallName, Samples>(
    (Object.keys(COUNTS) as CallName[]).map((name) => [name, { rps: [], ratios: [], latenciesMs: [] }]),
  );

  constructor(key: string) {
    this.#key = key;
  }

  /** Measures some cycles through all calls, after those that only warm the Workers up. */
  async measure(pools: Pools, generation: number, { warmUpCycles, cycles }: { warmUpCycles: number; cycles: number }) {
    const key = this.#key;
    const all = Array.from({ length: GROUPS }, (_, n) => getRequest(key, `group-${n}`));
    const tokens = (await load(pools.service, all)).bodies.map(tokenIn);
    const mints = NUMBERS.map((n) => mintRequest(key, `group-${n}`, { max_stale_seconds: 300 }));
    const stale = (await load(pools.service, mints)).bodies.map(sessionIn);
    for (let count = 0; count < warmUpCycles + cycles; count += 1) {
      await writeLeases(pools.service, tokens.slice(LEASED));
      const places = NUMBERS.map((n, index) => ({
        key,
        id: `group-${n}`,
        token: tokens[n] ?? "",
        leased: tokens[LEASED + n] ?? "",
        name: `Renamed ${generation} ${count} ${index}`,
        newId: `new ${generation} ${count} ${index}`,
        created: "",
        session: "",
        stale: stale[index] ?? "",
      }));
      for (const name of this.#samples.keys())
        for (let start = 0; start < places.length; start += REQUESTS_PER_ROUND) {
          const round = places.slice(start, start + REQUESTS_PER_ROUND);
          await this.#measureRound(name, pools, round, { counts: count >= warmUpCycles });
        }
    }
  }

  results(): Record<CallName, CallResult> {
    const results = [...this.#samples].map(([name, { rps, ratios, latenciesMs }]) => [
      name,
      {
        rps: quantile(rps, 0.5),
        p50Ms: quantile(latenciesMs, 0.5),
        p99Ms: quantile(latenciesMs, 0.99),
        floorRatio: quantile(ratios, 0.5),
      },
    ]);
    return Object.fromEntries(results);
  }

  /**
   * Makes one call at both Workers, one after the other: a shared machine changes its speed within a second, and then for both. Rounds are
   * short, because a garbage collection takes 100 ms and happens at the same point of every run: it would always count for the same call.
   */
  async #measureRound(name: CallName, pools: Pools, round: Place[], { counts }: { counts: boolean }): Promise<void> {
    const requests = round.map(REQUESTS[name]);
    const makeAll = (worker: keyof Pools) =>
      load(
        pools[worker],
        requests.map((each) => each[worker]),
      );
    const ours = await makeAll("service");
    const least = await makeAll("floor");
    for (const [index, place] of round.entries()) {
      const body = ours.bodies[index] ?? "";
      if (name === "create" || name === "post") place.created = tokenIn(body);
      if (name === "mint") place.session = sessionIn(body);
    }
    const samples = this.#samples.get(name);
    if (!counts || !samples) return;
    samples.rps.push(ours.bodies.length / ours.seconds);
    samples.ratios.push(least.seconds / ours.seconds);
    samples.latenciesMs.push(...ours.latenciesMs);
  }
}

/** Views the tokens until leases answer all of them: the stand-in for KV starts empty, and leases expire. */
async function writeLeases(pool: Pool, tokens: string[]): Promise<void> {
  let missing = tokens;
  while (missing.length > 0) {
    const views = missing.map((token) => viewRequest(token, STALE));
    const { answeredBy } = await load(pool, views);
    missing = missing.filter((_, index) => answeredBy[index] !== "index");
  }
}
