import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { MONTHS, monthlyDollars } from "../../tools/bench/costs.ts";

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
