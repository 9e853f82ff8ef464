import { describe, expect, it } from "vitest";
import { typedTexts } from "../../../src/http/console/components/content.ts";
import { beginningOf, plainText, relativeTime } from "../../../src/http/console/components/text.tsx";
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
  ] as const)("%i ms from now is %s", ([distance, text]) => {
    expect(relativeTime(NOW + distance, NOW)).toBe(text);
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
] as const)("names the browser of %s", ([userAgent, name]) => {
  expect(browserName(userAgent)).toBe(name);
});

it("keeps what people typed, and no credential, token of a form or choice", () => {
  const form = new URLSearchParams({
    name: "Acme",
    reason: "has ugk_customer_AQJr in it",
    preset: "write",
    form_token: "x",
  });
  expect(typedTexts(form)).toEqual([["Name", "Acme"]]);
});

it.for([
  ["a\u202Eb ", "a[U+202E]b[U+0020]"],
  ["👩🏽‍🚀 ❤️‍🔥 🏳️‍🌈 1️⃣", "👩🏽‍🚀 ❤️‍🔥 🏳️‍🌈 1️⃣"],
  [
    "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
  ],
  ["\u3000", "[U+3000]"],
  ["\u2003a b\u00a0c\u00a0", "[U+2003]a b\u00a0c[U+00A0]"],
  ["a\u200db 😀\u200d", "a[U+200D]b 😀[U+200D]"],
] as const)("marks what nobody sees, and leaves joined emoji: %s", ([text, shown]) => {
  expect(plainText(text)).toBe(shown);
});

it("cuts a text between what people see as characters", () => {
  expect(beginningOf("ab", 2)).toBe("ab");
  expect(beginningOf(`ab${"👩🏽‍🚀".repeat(2)}`, 10)).toBe("ab👩🏽‍🚀…");
  expect(beginningOf("👩🏽‍🚀".repeat(2), 10)).toBe("👩🏽‍🚀…");
  expect(beginningOf("customer", 3)).toBe("cus…");
});
