import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";
import { afterAll, beforeAll, describe, inject, it } from "vitest";

const CHROMIUM = "/usr/bin/chromium";
const { url } = inject("service");

/** Debian's chromium; where there is none, these tests are skipped. */
describe.skipIf(!existsSync(CHROMIUM))("/docs in a browser", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: CHROMIUM,
      args: ["--no-sandbox", "--disable-background-networking", "--disable-gpu"],
    });
  });
  afterAll(() => browser.close());

  it.for([1280, 390])(
    "shows every operation at a width of %i, asks no other host, and needs nothing that its policy forbids",
    async (width, { expect }) => {
      const page = await browser.newPage({ viewport: { width, height: 844 } });
      const complaints: string[] = [];
      const foreign: string[] = [];
      page.on("console", (message) => complaints.push(message.text()));
      page.on("pageerror", (error) => complaints.push(error.message));
      page.on("request", (request) => {
        if (!/^data:/.test(request.url()) && !request.url().startsWith(url)) foreign.push(request.url());
      });
      const isNarrowEnough = () => page.evaluate("document.documentElement.scrollWidth <= window.innerWidth");

      const response = await page.goto(`${url}/docs`);
      const summaries = page.locator(".opblock-summary-control");
      await summaries.first().waitFor();

      const policy = response?.headers()["content-security-policy"];
      expect(policy).toContain("default-src 'none'");
      expect(policy).not.toMatch(/unsafe|\*|https?:/);
      const document = await (await page.request.get(`${url}/openapi.json`)).json();
      const operations = Object.values<object>(document.paths).flatMap((methods) => Object.values(methods));
      expect(await page.locator(".opblock-summary-description").allInnerTexts()).toEqual(
        expect.arrayContaining(operations.map(({ summary }) => summary)),
      );
      expect(await isNarrowEnough()).toBe(true);

      await page.evaluate("document.querySelectorAll('.opblock-summary-control').forEach((button) => button.click())");
      await page.locator("code", { hasText: "idempotency_key_reused" }).first().waitFor();
      for (const index of [0, 1]) await page.getByRole("tab", { name: "Schema" }).nth(index).click();
      await page.getByText("Whether this very call has created the group.").first().waitFor();
      const answer = await page.locator(".response > .response-col_description").first().boundingBox();
      expect(answer?.width).toBeGreaterThan(width / 2);
      expect(await isNarrowEnough()).toBe(true);
      expect(foreign).toEqual([]);
      expect(complaints).toEqual([]);
      await page.close();
    },
  );
});
