import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { COUNTS, type Counts, PRICES } from "../../tools/bench/costs.ts";

const INCLUDED_STORAGE_GB = 5;
const PLAN_DOLLARS = 5;
const STORAGE_DOLLARS_PER_GB = 0.2;

/** An object is billed as 128 MB for the time in which it works. */
const OBJECT_GB = 0.128;
const SECONDS_PER_RPC = 0.005;
const CPU_MS_PER_CALL = 1;
/** A group with a few properties, and its events of 90 days. */
const BYTES_PER_GROUP = 4096;

/** A customer's month: page views, each of which mints a session and views twice with it, and changes of each group. */
type Month = { groups: number; pageViews: number; changesPerGroup: number };

/** What a month costs on Cloudflare in dollars, by what is billed, beyond the plan's own price. */
function monthlyDollars({ groups, pageViews, changesPerGroup }: Month): Record<string, number> {
  const changes = groups * changesPerGroup;
  const calls = pageViews * 3 + changes;
  const sum = (name: keyof Counts) =>
    (COUNTS.mint[name] + 2 * COUNTS.viewer_session[name]) * pageViews + COUNTS.put[name] * changes;
  const used: Record<keyof typeof PRICES, number> = {
    worker_request: calls,
    cpu_ms: calls * CPU_MS_PER_CALL,
    rpc: sum("rpc"),
    kv_reads: sum("kv_reads"),
    kv_writes: sum("kv_writes"),
    rows_read: sum("rows_read"),
    // With the day of a group's first view, and the deletion of each event later.
    rows_written: sum("rows_written") + groups * 30 + changes,
    log_lines: calls,
    gb_seconds: sum("rpc") * SECONDS_PER_RPC * OBJECT_GB,
  };
  const billed = Object.entries(PRICES).map(([name, { dollars, included }]) => [
    name,
    Math.max(0, used[name as keyof typeof PRICES] / 1e6 - included) * dollars,
  ]);
  const storageGb = (groups * BYTES_PER_GROUP) / 1e9;
  return {
    plan: PLAN_DOLLARS,
    ...Object.fromEntries(billed),
    storage: Math.max(0, storageGb - INCLUDED_STORAGE_GB) * STORAGE_DOLLARS_PER_GB,
  };
}

/** The months that docs/operators/cloudflare.md shows. */
const MONTHS = {
  small: { groups: 100, pageViews: 50_000, changesPerGroup: 2 },
  middle: { groups: 5_000, pageViews: 5_000_000, changesPerGroup: 2 },
  large: { groups: 100_000, pageViews: 100_000_000, changesPerGroup: 2 },
} as const satisfies Record<string, Month>;

const page = readFileSync("docs/operators/cloudflare.md", "utf8");
const dollars = (value: number) => `$${value.toFixed(2)}`;
/** The cells of the row that begins with a text. */
const rowOf = (title: string) =>
  (page.split("\n").find((line) => line.startsWith(`| ${title}`)) ?? "")
    .split("|")
    .slice(2, -1)
    .map((cell) => cell.replaceAll("*", "").trim());

it.for([
  ["the plan", (month: Record<string, number>) => month.plan],
  ["requests of the Worker", (month) => month.worker_request],
  ["CPU time", (month) => month.cpu_ms],
  ["requests of Durable Objects", (month) => month.rpc],
  ["rows read and written", (month) => (month.rows_read ?? 0) + (month.rows_written ?? 0)],
  ["duration", (month) => month.gb_seconds],
  ["storage", (month) => month.storage],
  ["log lines", (month) => month.log_lines],
  ["**the month**", (month) => Object.values(month).reduce((sum, part) => sum + part, 0)],
] as [string, (month: Record<string, number>) => number | undefined][])(
  "the page of costs shows what is computed for %s",
  ([title, partOf]) => {
    expect(rowOf(title)).toEqual(Object.values(MONTHS).map((month) => dollars(partOf(monthlyDollars(month)) ?? 0)));
  },
);

it("the page of costs shows the months that are computed", () => {
  const months = Object.values(MONTHS);
  expect(rowOf("groups")).toEqual(months.map(({ groups }) => groups.toLocaleString("en")));
  expect(rowOf("page views")).toEqual(months.map(({ pageViews }) => pageViews.toLocaleString("en")));
});
