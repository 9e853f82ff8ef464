import type { Pool } from "undici";
import { type CallName, COUNTS } from "./costs.ts";
import { type Effort, GROUPS, REQUESTS_PER_CYCLE } from "./effort.ts";
import { load, loadByTurns, quantile, type Request } from "./load.ts";
import {
  changeRequest,
  getRequest,
  groupBody,
  mintRequest,
  sessionIn,
  spread,
  tokenIn,
  viewRequest,
} from "./requests.ts";

type Samples = { rps: number[]; ratios: number[]; latenciesMs: number[] };

/** `floorRatio` is the throughput as a share of the floor's. */
export type CallResult = { rps: number; p50Ms: number; p99Ms: number; floorRatio: number };

/** The pools of the service and of the floor. */
export type Pools = { service: Pool; floor: Pool };

/**
 * One cycle: the tokens of the groups that exist, the ids of those to create, the tokens of those created, and the sessions
 * that were minted.
 */
type Cycle = {
  name: string;
  ids: string[];
  tokens: string[];
  created: string[];
  sessions: string[];
  /** Sessions that answer their viewers. */
  stale: string[];
};

/** No lease is older at any time of a generation. */
const STALE = { "Cache-Control": "max-age=300" };
const LEASED = GROUPS / 2;
/** Groups of the first half. Those of the second half have leases, and are only viewed. */
const NUMBERS = spread(REQUESTS_PER_CYCLE, LEASED);

/** Measures each call against its floor. */
export class CallMeasurement {
  readonly #key: string;
  readonly #effort: Effort;
  readonly #samples = new Map<CallName, Samples>(
    (Object.keys(COUNTS) as CallName[]).map((name) => [name, { rps: [], ratios: [], latenciesMs: [] }]),
  );

  constructor(key: string, effort: Effort) {
    this.#key = key;
    this.#effort = effort;
  }

  async measure(pools: Pools, generation: number): Promise<void> {
    const requests = Array.from({ length: GROUPS }, (_, n) => getRequest(this.#key, `group-${n}`));
    const tokens = (await load(pools.service, requests)).bodies.map(tokenIn);
    const stale = (
      await load(
        pools.service,
        NUMBERS.map((n) => mintRequest(this.#key, `group-${n}`, { max_stale_seconds: 300 })),
      )
    ).bodies.map(sessionIn);
    const { warmUpCycles, cycles } = this.#effort;
    for (let count = 0; count < warmUpCycles + cycles; count += 1) {
      await writeLeases(pools.service, tokens.slice(LEASED));
      const name = `${generation} ${count}`;
      const ids = NUMBERS.map((_, index) => `new ${name} ${index}`);
      await this.#measureCycle(
        pools,
        { name, ids, tokens, created: [], sessions: [], stale },
        { counts: count >= warmUpCycles },
      );
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

  async #measureCycle(pools: Pools, cycle: Cycle, { counts }: { counts: boolean }): Promise<void> {
    for (const [name, samples] of this.#samples) {
      const bodies: string[] = [];
      const service = { pool: pools.service, requests: serviceRequests(name, this.#key, cycle) };
      const floor = { pool: pools.floor, requests: floorRequests(name, cycle) };
      for await (const [ours, least] of loadByTurns(service, floor)) {
        bodies.push(...ours.bodies);
        if (!counts) continue;
        samples.rps.push(ours.bodies.length / ours.seconds);
        samples.ratios.push(least.seconds / ours.seconds);
        samples.latenciesMs.push(...ours.latenciesMs);
      }
      if (name === "create" || name === "post") cycle.created = bodies.map(tokenIn);
      if (name === "mint") cycle.sessions = bodies.map(sessionIn);
    }
  }
}

function serviceRequests(
  name: CallName,
  key: string,
  { name: cycle, ids, tokens, created, sessions, stale }: Cycle,
): Request[] {
  const requests: Record<CallName, () => Request[]> = {
    create: () => ids.map((id) => getRequest(key, id)),
    get_hit: () => NUMBERS.map((n) => getRequest(key, `group-${n}`)),
    put: () =>
      NUMBERS.map((n, index) =>
        changeRequest(key, "PUT", { ...groupBody(`group-${n}`), name: `Renamed ${cycle} ${index}` }),
      ),
    post: () => created.map((token) => changeRequest(key, "POST", { current_token: token })),
    viewer_strong: () => NUMBERS.map((n) => viewRequest(tokens[n] ?? "")),
    viewer_stale: () => NUMBERS.map((n) => viewRequest(tokens[LEASED + n] ?? "", STALE)),
    mint: () => NUMBERS.map((n) => mintRequest(key, `group-${n}`)),
    viewer_session: () => sessions.map((session) => viewRequest(session)),
    viewer_session_again: () => sessions.map((session) => viewRequest(session)),
    viewer_session_stale: () => stale.map((session) => viewRequest(session)),
    delete: () =>
      created.map((token, index) => changeRequest(key, "DELETE", { current_token: token, user_group_id: ids[index] })),
  };
  return requests[name]();
}

/** As many bytes in each request as the service gets, of groups that the floor has. */
function floorRequests(name: CallName, { name: cycle, tokens, sessions, stale }: Cycle): Request[] {
  const key = tokens[0] ?? "";
  const idOf = (n: number) => `group-${n}`;
  const requests: Record<CallName, (n: number, index: number) => Request> = {
    // With the same method: HTTP clients close the connection after a GET with a body, and keep it after a PUT.
    create: (n) => ({ ...getRequest(key, idOf(n)), path: "/create" }),
    get_hit: (n) => getRequest(key, idOf(n)),
    put: (n, index) => changeRequest(key, "PUT", { ...groupBody(idOf(n)), name: `Renamed ${cycle} ${index}` }),
    post: (n) => changeRequest(key, "POST", { current_token: tokens[n], user_group_id: idOf(n) }),
    viewer_strong: (n) => ({ ...viewRequest(tokens[n] ?? ""), path: `/api/viewer?id=${idOf(n)}` }),
    viewer_stale: (n) => ({ ...viewRequest(tokens[n] ?? "", STALE), path: `/api/viewer?id=${idOf(n)}` }),
    // With as many bytes, and the answer of a call that reads.
    mint: (n) => ({ ...mintRequest(key, idOf(n)), path: "/mint" }),
    viewer_session: (n) => ({ ...viewRequest(sessions[0] ?? ""), path: `/api/viewer?id=${idOf(n)}` }),
    viewer_session_again: (n) => ({ ...viewRequest(sessions[0] ?? ""), path: `/api/viewer?id=${idOf(n)}` }),
    viewer_session_stale: (n) => ({ ...viewRequest(stale[0] ?? ""), path: `/api/viewer?id=${idOf(n)}` }),
    delete: (n) => changeRequest(key, "DELETE", { current_token: tokens[n], user_group_id: idOf(n) }),
  };
  return NUMBERS.map(requests[name]);
}

/** Views the tokens until leases answer all of them: the stand-in for KV starts empty, and leases expire. */
async function writeLeases(pool: Pool, tokens: string[]): Promise<void> {
  let missing = tokens;
  while (missing.length > 0) {
    const { answeredBy } = await load(
      pool,
      missing.map((token) => viewRequest(token, STALE)),
    );
    missing = missing.filter((_, index) => answeredBy[index] !== "index");
  }
}
