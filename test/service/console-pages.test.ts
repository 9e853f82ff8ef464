import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import axe from "axe-core";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, it } from "vitest";
import { type OwnService, startOwnService } from "../../cli/src/serve/own-service.ts";
import { hasChromium, skippedWithoutChromium, startChromium } from "../../tools/browser.ts";
import { type Fixture, fill } from "../../tools/console/fixture.ts";
import { HOSTILE_PAGES, SHOP_PAGES } from "../../tools/console/pages.ts";

/** Every page of the console in a real browser, by the console's own table of pages. */

const PAGE_BYTES_MAX = 60 * 1024;
const NARROW_PX = 360;
/** Debian's chromium; where there is none, these tests are skipped. */

describe.skipIf(!hasChromium)(`each page of the console${skippedWithoutChromium}`, () => {
  let browser: Browser;
  let service: OwnService;
  let fixture: Fixture;
  const folder = mkdtempSync(join(tmpdir(), "user-group-service-"));

  beforeAll(async () => {
    service = await startOwnService(folder);
    fixture = await fill(service);
    browser = await startChromium();
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** A page on which the admin has signed in. `problems` are its errors, violations of its policy, and requests to other hosts. */
  async function signedIn(options: Parameters<Browser["newContext"]>[0] = {}) {
    const context: BrowserContext = await browser.newContext(options);
    const page: Page = await context.newPage();
    const problems: string[] = [];
    page.on("console", (message) => {
      // A browser asks for an icon by itself.
      const isIcon = message.location().url.endsWith("/favicon.ico");
      if (!isIcon && ["error", "warning"].includes(message.type())) problems.push(`${page.url()}: ${message.text()}`);
    });
    page.on("pageerror", (error) => problems.push(`${page.url()}: ${error.message}`));
    page.on("dialog", (dialog) => problems.push(`${page.url()}: ${dialog.message()}`));
    page.on("request", (request) => {
      if (!request.url().startsWith(service.url.origin)) problems.push(`${page.url()}: ${request.url()}`);
    });
    await page.goto(new URL("/console", service.url).href);
    await page.getByLabel("Your operator key").fill(fixture.operators.admin);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL(/environments$/);
    return { context, page, problems };
  }

  const open = (page: Page, path: string) => page.goto(new URL(path, service.url).href);
  const isWide = (page: Page) => page.evaluate("document.documentElement.scrollWidth > window.innerWidth");

  it("has nothing that axe-core finds, in the light scheme and the dark one", async ({ expect }) => {
    const { context, page, problems } = await signedIn({
      colorScheme: "light",
      viewport: { width: 1280, height: 900 },
    });
    const found: string[] = [];
    const examine = async (path: string, rules: string) => {
      const { violations } = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(
        `axe.run(${rules})`,
      );
      for (const { id, nodes } of violations) found.push(`${path}: ${id} ${nodes[0]?.html.slice(0, 120)}`);
    };
    for (const path of SHOP_PAGES) {
      await page.emulateMedia({ colorScheme: "light" });
      expect((await open(page, path))?.status(), path).toBe(200);
      await page.evaluate(axe.source);
      await examine(path, "");
      // The schemes differ in their colours alone.
      await page.emulateMedia({ colorScheme: "dark" });
      await examine(path, "{ runOnly: ['color-contrast'] }");
    }
    expect(found).toEqual([]);
    expect(problems).toEqual([]);
    await context.close();
  }, 120_000);

  it("shows hostile names as text, and no page scrolls sideways on a narrow phone", async ({ expect }) => {
    const { context, page, problems } = await signedIn({ viewport: { width: NARROW_PX, height: 800 } });
    const titles: string[] = [];
    for (const path of [...SHOP_PAGES, ...HOSTILE_PAGES]) {
      const response = await open(page, path);
      expect(response?.status(), path).toBe(200);
      expect(await isWide(page), path).toBe(false);
      expect(await page.locator("script, [style], [onerror], [onfocus], [href^='javascript:']").count(), path).toBe(0);
      titles.push(await page.title());
    }
    expect(titles).not.toContain("run");
    expect(problems).toEqual([]);
    await context.close();
  }, 120_000);

  it("is below 60 KB with its styles", async ({ expect }) => {
    const { context } = await signedIn();
    const bytesOfStyles = readFileSync("public/styles/ui.css").length;
    for (const path of [...SHOP_PAGES, ...HOSTILE_PAGES]) {
      const response = await context.request.get(new URL(path, service.url).href);
      expect(response.status(), path).toBe(200);
      expect((await response.body()).length + bytesOfStyles, path).toBeLessThanOrEqual(PAGE_BYTES_MAX);
    }
    await context.close();
  }, 120_000);

  it("works without a script engine: a filter, a change and its undo", async ({ expect }) => {
    const { context, page } = await signedIn({ javaScriptEnabled: false });
    await open(page, "/console/environments/acme/Customer/groups");
    await page.getByLabel("Id begins with").fill("wonka");
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByRole("link", { name: "wonka" }).click();
    await page.getByRole("link", { name: "Suspend", exact: true }).click();
    await page.getByLabel("Reason (optional)").fill("a test");
    await page.getByRole("button", { name: "Suspend" }).click();
    await page.getByRole("link", { name: "Resume", exact: true }).click();
    await page.getByRole("button", { name: "Resume" }).click();
    expect(await page.locator("main").innerText()).toContain("active");
    await context.close();
  }, 60_000);
});
