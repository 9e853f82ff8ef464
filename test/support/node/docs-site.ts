import { globSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { hasChromium, skippedWithoutChromium, startChromium } from "../../../tools/browser.ts";
import { violationsOn } from "./violations.ts";

const NARROW_PX = 320;
export const PHONE = { width: 390, height: 844 };
const { url, folder } = inject("service");

/** One page of each kind: the first one, the calls, those of a subject, the index, a guide. `test/all` has the others. */
const KINDS = ["/docs", "/docs/calls", "/docs/calls/dashboards", "/docs/index", "/docs/lifecycle"];
const OTHERS = globSync("docs/{,calls/}*.html", { cwd: join(folder, "public") })
  .map((name) => `/${name.replace(".html", "")}`)
  .filter((path) => !KINDS.includes(path));

/** Removes each call, item and row that has the methods, the classes and the elements of one before it in such a place. */
const LEAVE_KINDS = `(() => {
  const seen = new Set();
  const kindOf = (each) => each.tagName + each.className + each.dataset.method;
  for (const each of document.querySelectorAll("article, li, tr")) {
    const kinds = [each, ...each.querySelectorAll("*")].map(kindOf);
    const before = seen.size;
    if (seen.add([kindOf(each.parentElement), ...new Set(kinds)].sort().join()).size === before) each.remove();
  }
})()`;

let browser: Browser;
beforeAll(async () => {
  if (hasChromium) browser = await startChromium();
});
afterAll(() => browser?.close());

/** Opens a page without a script of its own. `problems` lists its errors, violations of its policy, and requests to other hosts. */
export async function openPage(path: string, options: Parameters<Browser["newContext"]>[0] = {}) {
  const context = await browser.newContext({ javaScriptEnabled: false, ...options });
  onTestFinished(() => context.close());
  const page: Page = await context.newPage();
  const problems: string[] = [];
  page.on("console", (message) => problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("requestfailed", (request) => problems.push(request.url()));
  page.on("request", (request) => {
    if (!request.url().startsWith(`${url}/`)) problems.push(request.url());
  });
  await page.goto(url + path);
  return { page, problems };
}

/** What holds of each page of /docs: of one of each kind, or of all others. */
export const testPages = (areKinds: boolean) =>
  describe.skipIf(!hasChromium)(`the pages of /docs in a browser${skippedWithoutChromium}`, () => {
    const paths = areKinds ? KINDS : OTHERS;

    it("no page scrolls sideways on the narrowest phone, or has an error", async () => {
      const { page, problems } = await openPage("/docs", { viewport: { width: NARROW_PX, height: 600 } });
      for (const path of paths) {
        const response = await page.goto(url + path);
        expect(response?.status(), path).toBe(200);
        expect(await page.evaluate("document.documentElement.scrollWidth"), path).toBe(NARROW_PX);
      }
      expect(problems).toEqual([]);
    });

    it("axe-core finds nothing, in the light scheme and the dark one", async () => {
      const { page, problems } = await openPage("/docs", { javaScriptEnabled: true, bypassCSP: true });
      const found: string[] = [];
      for (const path of paths) {
        await page.emulateMedia({ colorScheme: "light" });
        await page.setViewportSize({ width: 1280, height: 900 });
        await page.goto(url + path);
        await page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true })");
        await page.evaluate(LEAVE_KINDS);
        found.push(...(await violationsOn(page)));
        // The schemes differ in their colours alone, and a phone in what it hides, such as the name of the brand.
        await page.emulateMedia({ colorScheme: "dark" });
        await page.setViewportSize(PHONE);
        found.push(...(await violationsOn(page, "color-contrast", "link-name")));
      }
      expect(found).toEqual([]);
      expect(problems).toEqual([]);
    });
  });
