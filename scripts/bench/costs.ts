/** What each call costs: counted by `test/http/prices.test.ts`, which fails when one of these numbers is not so. */

/** What one call does outside of the Worker's own code, by the names of `npm run bench -- --json`. */
export type Counts = { rpc: number; kv_reads: number; kv_writes: number; rows_read: number; rows_written: number };

/**
 * The calls, for a group whose token no viewer has shown who allows stale answers; `viewer_stale` is one that is indexed. In a
 * directory that has just started, the first call of each API key reads its row too, and the first create two rows more. Once
 * an hour a call of a key writes when it was used last, and the next one reads its row again. The delete of the newest
 * group writes one more.
 */
export const COUNTS = {
  get_hit: { rpc: 1, kv_reads: 0, kv_writes: 0, rows_read: 1, rows_written: 0 },
  create: { rpc: 1, kv_reads: 0, kv_writes: 0, rows_read: 1, rows_written: 2 },
  put: { rpc: 1, kv_reads: 0, kv_writes: 0, rows_read: 2, rows_written: 1 },
  post: { rpc: 1, kv_reads: 0, kv_writes: 0, rows_read: 2, rows_written: 1 },
  delete: { rpc: 1, kv_reads: 0, kv_writes: 0, rows_read: 2, rows_written: 1 },
  viewer_strong: { rpc: 1, kv_reads: 0, kv_writes: 0, rows_read: 1, rows_written: 0 },
  viewer_stale: { rpc: 0, kv_reads: 1, kv_writes: 0, rows_read: 0, rows_written: 0 },
} as const satisfies Record<string, Counts>;

export type CallName = keyof typeof COUNTS;

/**
 * What comes on top when the index has to be told: at a token's first viewer who allows a stale answer, and from then on at
 * each PUT, POST and DELETE of its group. The outbox's row and its settling are two of the rows; the alarm, which changes
 * of the same five seconds share, is told separately: it is billed as one row written, and as one request when it runs.
 */
export const INDEX_WRITE = { kv_writes: 1, rows_read_at_most: 8, rows_written: 2, alarms: 1 } as const;

/** What an Idempotency-Key writes on top: its row and the index of that. A day later one more is billed, which deletes it. */
export const IDEMPOTENCY_KEY = { rows_written: 2 } as const;

/**
 * Dollars per million, beyond what a paid plan includes: Cloudflare's pages "Workers: Pricing", "Durable Objects: Pricing"
 * and "KV: Pricing", as of PRICES_DATE. Not in it: CPU time (0.02 for each millisecond), logs (0.60 for each line), storage.
 */
export const PRICES_DATE = "2026-11-21";
const DOLLARS_PER_MILLION = {
  worker_request: 0.3,
  rpc: 0.15,
  kv_reads: 0.5,
  kv_writes: 5,
  rows_read: 0.001,
  rows_written: 1,
} as const;

/** Dollars for a million of one call. */
export function dollarsPerMillion(counts: Counts): number {
  const { worker_request, rpc, kv_reads, kv_writes, rows_read, rows_written } = DOLLARS_PER_MILLION;
  return (
    worker_request +
    counts.rpc * rpc +
    counts.kv_reads * kv_reads +
    counts.kv_writes * kv_writes +
    counts.rows_read * rows_read +
    counts.rows_written * rows_written
  );
}

/** Dollars for a million of what the index costs on top of a call. */
export function dollarsPerMillionIndexWrites(): number {
  const { rpc, kv_writes, rows_read, rows_written } = DOLLARS_PER_MILLION;
  return (
    INDEX_WRITE.kv_writes * kv_writes +
    INDEX_WRITE.rows_read_at_most * rows_read +
    (INDEX_WRITE.rows_written + INDEX_WRITE.alarms) * rows_written +
    INDEX_WRITE.alarms * rpc
  );
}
