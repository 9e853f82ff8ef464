import { performance } from "node:perf_hooks";
import { Pool } from "undici";

/** What one request sends. */
export type Request = {
  method: "GET" | "PUT" | "POST" | "DELETE";
  path: string;
  headers?: Record<string, string>;
  body?: object;
};

type Load = { pool: Pool; requests: Request[] };

/** `answeredBy` has the header X-Answered-By of each answer. */
type Measured = { seconds: number; latenciesMs: number[]; bodies: string[]; answeredBy: unknown[] };

/** Requests in flight at a time, each on a connection of its own. */
const CONNECTIONS = 8;
/** Of each of two loads. */
const REQUESTS_PER_ROUND = 50;

export const connect = (url: string, connections = CONNECTIONS): Pool => new Pool(url, { connections, pipelining: 1 });

/** Makes all requests, `atOnce` at a time, and measures each. It throws at the first that is refused. */
export async function load(pool: Pool, requests: Request[], atOnce = CONNECTIONS): Promise<Measured> {
  const latenciesMs: number[] = [];
  const bodies: string[] = [];
  const answeredBy: unknown[] = [];
  const left = requests.entries();
  const client = async () => {
    for (const [index, { method, path, headers, body }] of left) {
      const startedAt = performance.now();
      const response = await pool.request({
        method,
        path,
        headers: { "Content-Type": "application/json", ...headers },
        body: body ? JSON.stringify(body) : null,
      });
      const text = await response.body.text();
      latenciesMs[index] = performance.now() - startedAt;
      bodies[index] = text;
      answeredBy[index] = response.headers["x-answered-by"];
      if (response.statusCode >= 300) throw new Error(`${method} ${path} was answered with ${response.statusCode}.`);
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: atOnce }, client));
  return { seconds: (performance.now() - startedAt) / 1000, latenciesMs, bodies, answeredBy };
}

/**
 * Makes two loads, a round of each by turns: a shared machine changes its speed within a second, and then for both. Rounds are
 * short, because a garbage collection takes 100 ms and happens at the same point of every run: it would always count for the
 * same call.
 */
export async function* loadByTurns(one: Load, other: Load): AsyncGenerator<[Measured, Measured]> {
  for (let start = 0; start < one.requests.length; start += REQUESTS_PER_ROUND) {
    const roundOf = ({ pool, requests }: Load) => load(pool, requests.slice(start, start + REQUESTS_PER_ROUND));
    yield [await roundOf(one), await roundOf(other)];
  }
}

/** The value below which `share` of the values lie; with 0.5 the median. */
export function quantile(values: number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
