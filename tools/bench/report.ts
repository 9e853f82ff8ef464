import { tableOf } from "../../cli/src/support/table.ts";
import { BESIDE_LISTS_RATIO_MAX, type BesideLists, LISTS_IN_FLIGHT, LISTS_PER_MINUTE } from "./beside-lists.ts";
import type { CallResult } from "./calls.ts";
import {
  BY_NUMBER,
  type CallName,
  COUNTS,
  type Counts,
  dollarsPerMillion,
  LEASE_DELETE,
  LEASE_PERIODS,
  type LeasePeriod,
  OPERATOR_ADMISSION,
  PRICES_DATE,
  STALE_COPIES,
} from "./costs.ts";
import { BESIDE_SEARCH_RATIO_MAX, type BesideSearch } from "./searches.ts";

export type Results = {
  calls: Record<CallName, CallResult>;
  besideLists: BesideLists;
  besideSearches: BesideSearch[];
  bundleGzipKib: number;
  startupMs: number;
};

const MINUTES_PER_MONTH = 30 * 24 * 60;

/** The results for people. */
export function textOf(results: Results): string {
  const { calls, besideLists, besideSearches, bundleGzipKib, startupMs } = results;
  return [
    tableOf([
      [
        "call",
        "requests/s",
        "p50 ms",
        "p99 ms",
        "of the floor",
        "$ per million",
        "RPC",
        "KV reads",
        "rows read",
        "written",
      ],
      ...(Object.entries(calls) as [CallName, CallResult][]).map(callRow),
    ]),
    `A lease adds to each call of its group, per million: ${Object.entries(LEASE_DELETE)
      .map(([name, counts]) => `${name} $${dollarsOnTop(counts).toFixed(2)}`)
      .join(", ")}. Prices of ${PRICES_DATE}.`,
    `Calls by number cost, per million: ${Object.entries(BY_NUMBER)
      .map(([name, counts]) => `${name} $${dollarsPerMillion(counts).toFixed(3)}`)
      .join(", ")}. An operator's call costs $${dollarsOnTop(OPERATOR_ADMISSION).toFixed(3)} more.`,
    tableOf([
      ["stale views a minute", "views a lease", "RPC", "KV reads", "KV writes", "$ per million", "$ per month"],
      ...LEASE_PERIODS.map((period) => leaseRow(period, "")),
      leaseRow(STALE_COPIES, " (copies of 30 s)"),
    ]),
    besideListsText(besideLists),
    tableOf([
      ["search in groups", "first 50 ms", "absent word ms", "view alone ms", "beside ms", "of alone", "bound"],
      ...besideSearches.map(({ groups, firstHitsMs, searchMs, aloneMs, besideMs }) => [
        groups.toLocaleString("en"),
        firstHitsMs.toFixed(1),
        searchMs.toFixed(0),
        aloneMs.toFixed(2),
        besideMs.toFixed(2),
        (besideMs / aloneMs).toFixed(2),
        String(BESIDE_SEARCH_RATIO_MAX),
      ]),
    ]),
    `Bundle: ${bundleGzipKib.toFixed(1)} KiB gzipped. Start-up: ${startupMs.toFixed(1)} ms more than an empty Worker.`,
  ].join("\n\n");
}

function callRow([name, { rps, p50Ms, p99Ms, floorRatio }]: [CallName, CallResult]): string[] {
  const { rpc, kv_reads, rows_read, rows_written } = COUNTS[name];
  return [
    name,
    rps.toFixed(0),
    p50Ms.toFixed(2),
    p99Ms.toFixed(2),
    floorRatio.toFixed(2),
    dollarsPerMillion(COUNTS[name]).toFixed(3),
    ...[rpc, kv_reads, rows_read, rows_written].map(String),
  ];
}

const NOTHING = { rpc: 0, kv_reads: 0, kv_writes: 0, rows_read: 0, rows_written: 0 };

/** What counts add to a call that a Worker makes anyway. */
const dollarsOnTop = (counts: Partial<Counts>): number =>
  dollarsPerMillion({ ...NOTHING, ...counts }) - dollarsPerMillion(NOTHING);

function leaseRow(period: LeasePeriod, note: string): string[] {
  const { views_per_minute, views, rpc, kv_reads, kv_writes } = period;
  const dollars = dollarsPerMillion(period, views);
  return [
    `${views_per_minute.toLocaleString("en")}${note}`,
    ...[views, rpc, kv_reads, kv_writes].map((count) => count.toLocaleString("en")),
    dollars.toFixed(3),
    ((dollars * views_per_minute * MINUTES_PER_MONTH) / 1_000_000).toFixed(2),
  ];
}

function besideListsText({ aloneMs, atLimitMs, inFlightMs, listsPerSecond }: BesideLists): string {
  const ratio = (ms: number) => (ms / aloneMs).toFixed(1);
  return `${tableOf([
    ["viewer", "p50 ms", "of alone", "bound"],
    ["alone", aloneMs.toFixed(2), "1.0", ""],
    [`beside ${LISTS_PER_MINUTE} lists a minute`, atLimitMs.toFixed(2), ratio(atLimitMs), `${BESIDE_LISTS_RATIO_MAX}`],
    [
      `beside ${LISTS_IN_FLIGHT} lists in flight`,
      inFlightMs.toFixed(2),
      ratio(inFlightMs),
      `${BESIDE_LISTS_RATIO_MAX}`,
    ],
  ])}
${listsPerSecond.toFixed(0)} lists a second were answered.`;
}
