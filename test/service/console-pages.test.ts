import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { hasChromium, skippedWithoutChromium } from "../../tools/browser.ts";
import { HOSTILE_PAGES, SHOP_PAGES } from "../../tools/console/pages.ts";
import { getPage, open, signedIn, testPages, testTasks } from "../support/node/console-site.ts";

/** The pages of the console, by the console's own table of pages. */

const PAGE_BYTES_MAX = 60 * 1024;
const STYLES_BYTES_MAX = 12 * 1024;
const EVENTS = "/console/events?environment=acme/Customer";
const GROUP = "/console/environments/acme/Customer/groups/1";

testPages(true);

it("each page is below 60 KB with its styles, and has nothing that runs", async () => {
  const bytesOfStyles = readFileSync("public/styles/ui.css").length;
  expect(bytesOfStyles).toBeLessThanOrEqual(STYLES_BYTES_MAX);
  for (const path of [...SHOP_PAGES, ...HOSTILE_PAGES]) {
    const { status, html } = await getPage(path);
    expect(status, path).toBe(200);
    expect(Buffer.byteLength(html) + bytesOfStyles, path).toBeLessThanOrEqual(PAGE_BYTES_MAX);
    const tags = html.match(/<[a-z](?:"[^"]*"|[^">])*>/gi) ?? [];
    const running = tags.filter((tag) => /^<script| (?:on\w+|style)=|href="javascript:/i.test(withoutOtherValues(tag)));
    expect(running, path).toEqual([]);
  }
});

/** The tag with its names of attributes, and the values of those that lead to other pages. */
const withoutOtherValues = (tag: string) => tag.replaceAll(/(?<!href|src|action)="[^"]*"/g, "=");

describe.skipIf(!hasChromium)(`the feed${skippedWithoutChromium}`, () => {
  it("has the labels of its filter in one line, and a search as wide as a phone", async () => {
    const { page } = await signedIn({ viewport: { width: 1280, height: 900 } });
    await open(page, EVENTS);
    const tops = "[...document.querySelectorAll('.filter label')].map((label) => label.getBoundingClientRect().top)";
    expect(new Set(await page.evaluate<number[]>(tops)).size).toBe(1);
    await page.setViewportSize({ width: 390, height: 800 });
    const search = await page.getByRole("searchbox").boundingBox();
    expect(search?.width).toBeGreaterThan(340);
  });

  it("prints the times in UTC, and no form", async () => {
    const { page } = await signedIn();
    await open(page, EVENTS);
    await page.emulateMedia({ media: "print" });
    expect(await page.locator("form:visible").count()).toBe(0);
    const printed = "getComputedStyle(document.querySelector('.feed time'), '::after').content";
    expect(await page.evaluate(printed)).toMatch(/20\d\d-\d\d-\d\d \d\d:\d\d UTC/);
  });
});

/** A form that a script sends, in whose answer it ends. */
const HOSTILE_FORM = `(path) => {
  const sent = Object.assign(document.createElement("form"), { method: "post", action: path + "/suspend" });
  document.body.append(sent);
  sent.submit();
}`;

/** What a script would try: calls, a frame and a window. It returns what it has learnt. */
const HOSTILE_SCRIPT = `async (path) => {
  const form = { method: "POST", body: new URLSearchParams("etag=x") };
  const responses = [await fetch(path), await fetch(path, { mode: "same-origin" }), await fetch(path + "/suspend", form)];
  const statuses = responses.map(({ status }) => status);
  const textOf = (get) => {
    try {
      return get()?.body?.textContent.trim() ?? "";
    } catch {
      return "";
    }
  };
  const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
  const frame = Object.assign(document.createElement("iframe"), { src: path });
  document.body.append(frame);
  const opened = window.open(path);
  let read = "";
  for (let tries = 0; tries < 40 && read === ""; tries += 1) {
    await wait(50);
    read = textOf(() => frame.contentDocument) + textOf(() => opened?.document);
  }
  return { statuses, read, cookie: document.cookie };
}`;

it.skipIf(!hasChromium)(`keeps out a script on another page of its origin${skippedWithoutChromium}`, async () => {
  // The policy of /docs alone would stop the script.
  const { page } = await signedIn({ bypassCSP: true });
  expect(await page.context().cookies()).toMatchObject([{ httpOnly: true, sameSite: "Strict" }]);
  await open(page, "/docs");
  const address = page.url();
  const found = await page.evaluate(`(${HOSTILE_SCRIPT})(${JSON.stringify(GROUP)})`);
  expect(found).toEqual({ statuses: [403, 403, 403], read: "", cookie: "" });
  expect(page.url()).toBe(address);
  const send = page.evaluate(`(${HOSTILE_FORM})(${JSON.stringify(GROUP)})`);
  const [answer] = await Promise.all([page.waitForNavigation(), send]);
  expect(answer?.status()).toBe(403);
  await open(page, GROUP);
  expect(await page.locator("h1").innerText()).toMatch(/ active$/);
});

// After the tests of pages, because it restores a group.
testTasks("keyboard");
