import { tableOf } from "../../cli/src/support/table.ts";
import {
  BESIDE_LISTS_RATIO_MAX,
  BESIDE_SEARCH_RATIO_MAX,
  type BesideLists,
  type BesideSearch,
  LISTS_IN_FLIGHT,
  LISTS_PER_MINUTE,
} from "./beside.ts";
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

export type Results = {
  calls: Record<CallName, CallResult>;
  besideLists: BesideLists;
  besideSearches: BesideSearch[];
  bundleGzipKib: number;
  startupMs: number;
};

const MINUTES_PER_MONTH = 30 * 24 * 60;

/** The results for people. */
export function textOf({ calls, besideLists, besideSearches, bundleGzipKib, startupMs }: Results): string {
  const dollarsOf = (prices: Record<string, Partial<Counts>>, dollars: (counts: Partial<Counts>) => string) =>
    Object.entries(prices)
      .map(([name, counts]) => `${name} $${dollars(counts)}`)
      .join(", ");
  return [
    tableOf([
      "call,requests/s,p50 ms,p99 ms,of the floor,$ per million,RPC,KV reads,rows read,written".split(","),
      ...(Object.entries(calls) as [CallName, CallResult][]).map(callRow),
    ]),
    `A lease adds to each call of its group, per million: ${dollarsOf(LEASE_DELETE, (counts) => dollarsOnTop(counts).toFixed(2))}. Prices of ${PRICES_DATE}.`,
    `Calls by number cost, per million: ${dollarsOf(BY_NUMBER, (counts) => dollarsPerMillion(counts).toFixed(3))}. An operator's call costs $${dollarsOnTop(OPERATOR_ADMISSION).toFixed(3)} more.`,
    tableOf([
      "stale views a minute,views a lease,RPC,KV reads,KV writes,$ per million,$ per month".split(","),
      ...LEASE_PERIODS.map((period) => leaseRow(period, "")),
      leaseRow(STALE_COPIES, " (copies of 30 s)"),
    ]),
    besideListsText(besideLists),
    tableOf([
      "search in groups,first 50 ms,absent word ms,view alone ms,beside ms,of alone,bound".split(","),
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
    ...[p50Ms, p99Ms, floorRatio].map((figure) => figure.toFixed(2)),
    dollarsPerMillion(COUNTS[name]).toFixed(3),
    ...[rpc, kv_reads, rows_read, rows_written].map(String),
  ];
}

/** What counts add to a call that a Worker makes anyway. */
const dollarsOnTop = (counts: Partial<Counts>): number => dollarsPerMillion(counts) - dollarsPerMillion({});

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
  const row = (viewer: string, ms: number) => [
    viewer,
    ms.toFixed(2),
    (ms / aloneMs).toFixed(1),
    ms === aloneMs ? "" : String(BESIDE_LISTS_RATIO_MAX),
  ];
  return `${tableOf([
    ["viewer", "p50 ms", "of alone", "bound"],
    row("alone", aloneMs),
    row(`beside ${LISTS_PER_MINUTE} lists a minute`, atLimitMs),
    row(`beside ${LISTS_IN_FLIGHT} lists in flight`, inFlightMs),
  ])}
${listsPerSecond.toFixed(0)} lists a second were answered.`;
}
