/** What calls cost: counted by `test/http/prices.test.ts`, which fails when one of these numbers is wrong. */

/** What one call does outside of the Worker's own code. */
export type Counts = Record<(typeof COUNTED)[number], number>;
const COUNTED = ["rpc", "kv_reads", "kv_writes", "rows_read", "rows_written"] as const;

/**
 * The calls, for a group whose token has no lease; `viewer_stale` is a view that a lease answers, `mint` makes a viewer
 * session, `viewer_session` is the first view with one, `viewer_session_again` a later one, and `viewer_session_stale` one that
 * the session answers. In a directory that has just started, the first call of each API key reads its row too, and the first
 * create reads two rows more. Once an hour a call of a key writes when the key was last used, and the next call reads its row
 * again. A delete moves the row to the deleted groups and their index; that of the newest group writes one row more, and
 * the purge follows after UNDO_DAYS. Each change writes one event, and one row more is billed when the event is deleted after
 * EVENT_DAYS.
 */
export const COUNTS = {
  get_hit: { rpc: 1, kv_reads: 0, kv_writes: 0, rows_read: 1, rows_written: 0 },
  create: { rpc: 1, kv_reads: 0, kv_writes: 0, rows_read: 1, rows_written: 3 },
  put: { rpc: 1, kv_reads: 0, kv_writes: 0, rows_read: 2, rows_written: 2 },
  post: { rpc: 1, kv_reads: 0, kv_writes: 0, rows_read: 2, rows_written: 2 },
  delete: { rpc: 1, kv_reads: 0, kv_writes: 0, rows_read: 3, rows_written: 4 },
  viewer_strong: { rpc: 1, kv_reads: 0, kv_writes: 0, rows_read: 1, rows_written: 0 },
  viewer_stale: { rpc: 0, kv_reads: 1, kv_writes: 0, rows_read: 0, rows_written: 0 },
  mint: { rpc: 1, kv_reads: 0, kv_writes: 0, rows_read: 1, rows_written: 0 },
  viewer_session: { rpc: 1, kv_reads: 0, kv_writes: 0, rows_read: 1, rows_written: 0 },
  viewer_session_again: { rpc: 1, kv_reads: 0, kv_writes: 0, rows_read: 1, rows_written: 0 },
  viewer_session_stale: { rpc: 0, kv_reads: 0, kv_writes: 0, rows_read: 0, rows_written: 0 },
} as const satisfies Record<string, Counts>;

export type CallName = keyof typeof COUNTS;

/**
 * The calls on one group by its number, made with an API key. After a purge, the alarm hands its number to the registry: one row more
 * here, and a row and its index there.
 */
export const BY_NUMBER = {
  get: { rpc: 1, kv_reads: 0, kv_writes: 0, rows_read: 1, rows_written: 0 },
  put: { rpc: 1, kv_reads: 0, kv_writes: 0, rows_read: 2, rows_written: 2 },
  rotate: { rpc: 1, kv_reads: 0, kv_writes: 0, rows_read: 2, rows_written: 2 },
  suspend: { rpc: 1, kv_reads: 0, kv_writes: 0, rows_read: 3, rows_written: 2 },
  delete: { rpc: 1, kv_reads: 0, kv_writes: 0, rows_read: 4, rows_written: 4 },
  get_deleted: { rpc: 1, kv_reads: 0, kv_writes: 0, rows_read: 2, rows_written: 0 },
  restore: { rpc: 1, kv_reads: 0, kv_writes: 0, rows_read: 4, rows_written: 4 },
  purge: { rpc: 1, kv_reads: 0, kv_writes: 0, rows_read: 4, rows_written: 3 },
} as const satisfies Record<string, Counts>;

/** What a call in an environment costs on top when an operator makes it: the registry admits the operator first. */
export const OPERATOR_ADMISSION = { rpc: 1, kv_reads: 0, kv_writes: 0, rows_read: 1, rows_written: 0 } as const;

/** What a call costs on top when KV may hold a lease of the group's token. KV bills a delete at the price of a write. */
export const LEASE_DELETE = {
  put: { kv_writes: 0 },
  post: { kv_writes: 1 },
  delete: { kv_writes: 1 },
} as const satisfies Partial<Record<CallName, Partial<Counts>>>;

/**
 * The views of one token at a steady rate with `max-age=60`, counted from one write of its lease to the next. A lease is
 * used for 60 seconds. The directory answers the first view after that, and the second one, which writes the next lease.
 *
 * This assumes that each view ends before the next begins, and that a location sees a lease as soon as it is written. KV
 * promises neither: views that arrive during the write go to the directory too, and each location may go on to use its own
 * copy of an expired lease, or of its absence, for 30 seconds (the `cacheTtl` of `TokenIndex`). See `STALE_COPIES`.
 */
export const LEASE_PERIODS = [
  { views_per_minute: 1, views: 3, rpc: 2, kv_reads: 3, kv_writes: 1, rows_read: 2, rows_written: 0 },
  { views_per_minute: 100, views: 102, rpc: 2, kv_reads: 102, kv_writes: 1, rows_read: 2, rows_written: 0 },
  { views_per_minute: 10_000, views: 10_002, rpc: 2, kv_reads: 10_002, kv_writes: 1, rows_read: 2, rows_written: 0 },
] as const satisfies LeasePeriod[];

/**
 * The same for a location that uses each copy for the whole 30 seconds. The directory then answers about a third of the
 * views, and asks for a lease every ten seconds in that time. KV refreshes copies that are read often before they expire, so
 * the real cost is between this and `LEASE_PERIODS`. Further locations add views, but hardly a write: the directory counts
 * those ten seconds for the token, wherever it is viewed.
 */
export const STALE_COPIES: LeasePeriod = {
  views_per_minute: 1000,
  views: 1401,
  rpc: 500,
  kv_reads: 1401,
  kv_writes: 3,
  rows_read: 500,
  rows_written: 0,
};

export type LeasePeriod = Counts & { views_per_minute: number; views: number };

/**
 * Dollars per million beyond what a paid plan includes, and the millions that it includes each month: Cloudflare's pages "Workers:
 * Pricing", "Durable Objects: Pricing" and "KV: Pricing", as of PRICES_DATE. The duration is in GB-seconds.
 */
export const PRICES_DATE = "2026-11-21";
export const PRICES = {
  worker_request: { dollars: 0.3, included: 10 },
  cpu_ms: { dollars: 0.02, included: 30 },
  rpc: { dollars: 0.15, included: 1 },
  kv_reads: { dollars: 0.5, included: 10 },
  kv_writes: { dollars: 5, included: 1 },
  rows_read: { dollars: 0.001, included: 25_000 },
  rows_written: { dollars: 1, included: 50 },
  log_lines: { dollars: 0.6, included: 20 },
  gb_seconds: { dollars: 12.5, included: 0.4 },
} as const;

/**
 * Dollars for a million of calls that cost these counts each, or for a million of which `calls` share them. Without CPU time (0.02 for each
 * millisecond), logs (0.60 for each line) and storage.
 */
export function dollarsPerMillion(counts: Partial<Counts>, calls = 1): number {
  const shared = COUNTED.reduce((sum, name) => sum + (counts[name] ?? 0) * PRICES[name].dollars, 0);
  return PRICES.worker_request.dollars + shared / calls;
}
