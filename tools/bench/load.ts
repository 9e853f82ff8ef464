/** The requests that the bench makes, and their latencies. */
import { performance } from "node:perf_hooks";
import { Pool } from "undici";

/** What one request sends. */
export type Request = {
  method: "GET" | "PUT" | "POST" | "DELETE";
  path: string;
  headers: Record<string, string>;
  body?: object;
};

const presenting = (credential: string) => ({ Authorization: `Token ${credential}` });

export const groupBody = (id: string) => ({
  user_group_id: id,
  name: "Acme Inc.",
  mapping: { sales: "warehouse-7" },
  properties: { region: "eu", plans: ["pro"] },
});

export const changeRequest = (key: string, method: Request["method"], body: object): Request => ({
  method,
  path: "/api/user",
  headers: presenting(key),
  body,
});

export const getRequest = (key: string, id: string): Request => changeRequest(key, "GET", groupBody(id));

export const viewRequest = (token: string, headers: Record<string, string> = {}): Request => ({
  method: "GET",
  path: "/api/viewer",
  headers: { ...presenting(token), ...headers },
});

export const mintRequest = (key: string, id: string, fields: object = {}): Request => ({
  method: "POST",
  path: "/api/viewer_sessions",
  headers: presenting(key),
  body: { user_group_id: id, expires_in_seconds: 3600, origins: ["https://app.example.com"], ...fields },
});

export const listRequest = (key: string, search: string): Request => ({
  method: "GET",
  path: `/api/user_groups?${search}`,
  headers: presenting(key),
});

export const tokenIn = (body: string): string => JSON.parse(body).user_group.token;

export const sessionIn = (body: string): string => JSON.parse(body).session.token;

/** Numbers below `below`, spread over the range and in an order that no page of the database has. */
export const spread = (count: number, below: number): number[] =>
  Array.from({ length: count }, (_, n) => (n * 7919) % below);

/** `answeredBy` has the header X-Answered-By of each answer. */
type Measured = { seconds: number; latenciesMs: number[]; bodies: string[]; answeredBy: unknown[] };

/** Requests in flight at a time, each on a connection of its own. */
const CONNECTIONS = 8;

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

/** The value below which `share` of the values lie; with 0.5 the median. */
export function quantile(values: number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
