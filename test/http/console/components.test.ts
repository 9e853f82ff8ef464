import { describe, it } from "vitest";
import { typedTexts } from "../../../src/http/console/components/content.ts";
import { plainText, relativeTime } from "../../../src/http/console/components/text.tsx";
import { lastDays } from "../../../src/http/console/pages/environments/show.tsx";
import { browserName } from "../../../src/http/console/pages/sign-in.tsx";

const NOW = Date.parse("2026-11-25T12:00:00Z");
const DAY = 86_400_000;

describe("a time", () => {
  it.for([
    [-30_000, "just now"],
    [30_000, "in less than a minute"],
    [-60_000, "1 minute ago"],
    [-59 * 60_000, "59 minutes ago"],
    [-90 * 60_000, "1 hour ago"],
    [-DAY, "1 day ago"],
    [6.9 * DAY, "in 7 days"],
    [365 * DAY, "in 1 year"],
    [-59 * DAY, "59 days ago"],
    [-61 * DAY, "2 months ago"],
    [-800 * DAY, "2 years ago"],
  ] as const)("%i ms from now is %s", ([distance, text], { expect }) => {
    expect(relativeTime(NOW + distance, NOW)).toBe(text);
  });
});

describe("the chart of changes", () => {
  const counts = (days: string[]) => days.map((day) => ({ day, count: 3 }));

  it("has each day up to today, also after the last change", ({ expect }) => {
    const days = lastDays({ days: counts(["2026-11-20"]), hasMore: false, keptMs: 90 * DAY }, NOW);
    expect([days.length, days[0]?.day, days.at(-1)]).toEqual([30, "2026-10-27", { day: "2026-11-25", count: 0 }]);
    expect(days.filter(({ count }) => count === 3)).toEqual(counts(["2026-11-20"]));
  });

  it("draws no day as zero that was not counted, or whose changes are no longer kept", ({ expect }) => {
    const more = lastDays({ days: counts(["2026-11-23", "2026-11-25"]), hasMore: true, keptMs: 90 * DAY }, NOW);
    expect(more.map(({ count }) => count).slice(-4)).toEqual([undefined, 3, 0, 3]);
    const kept = lastDays({ days: [], hasMore: false, keptMs: 7 * DAY }, NOW);
    expect(kept.map(({ count }) => count).slice(-9)).toEqual([undefined, ...Array(8).fill(0)]);
  });
});

it.for([
  ["Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Linux"],
  [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/142.0 Safari/537.36 Edg/142.0",
    "Edge on Windows",
  ],
  ["Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile/15E148 Safari/604.1", "Safari on iOS"],
  ["Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/142.0 Mobile Safari/537.36", "Chrome on Android"],
  ["<script>alert(1)</script>", "A browser"],
] as const)("names the browser of %s", ([userAgent, name], { expect }) => {
  expect(browserName(userAgent)).toBe(name);
});

it("keeps what people typed, and no credential, token of a form or choice", ({ expect }) => {
  const form = new URLSearchParams({
    name: "Acme",
    reason: "has ugk_customer_AQJr in it",
    preset: "write",
    form_token: "x",
  });
  expect(typedTexts(form)).toEqual([["Name", "Acme"]]);
});

it("marks in a title what nobody sees", ({ expect }) => {
  expect(plainText("a\u202Eb ")).toBe("a[U+202E]b[U+0020]");
});
