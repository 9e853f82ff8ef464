import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import axe from "axe-core";
import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, it } from "vitest";
import { type OwnService, startOwnService } from "../../cli/src/serve/own-service.ts";
import { hasChromium, skippedWithoutChromium, startChromium } from "../../tools/browser.ts";
import { type Fixture, fill } from "../../tools/console/fixture.ts";
import { HOSTILE_PAGES, SHOP_PAGES } from "../../tools/console/pages.ts";

/** Every page of the console in a real browser, by the console's own table of pages. */

const PAGE_BYTES_MAX = 60 * 1024;
const STYLES_BYTES_MAX = 12 * 1024;
const NARROW_PX = 320;
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
      if (["error", "warning"].includes(message.type())) problems.push(`${page.url()}: ${message.text()}`);
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
    await open(page, "/console/environments/acme/Customer/events?actor=nobody&since=yesterday");
    expect([await page.locator(".filter strong").count(), await isWide(page)]).toEqual([2, false]);
    await context.close();
  }, 120_000);

  it("has the labels of a filter in one line, and a search as wide as a phone", async ({ expect }) => {
    const { context, page } = await signedIn({ viewport: { width: 1280, height: 900 } });
    await open(page, "/console/environments/acme/Customer/events");
    const tops = "[...document.querySelectorAll('.filter label')].map((label) => label.getBoundingClientRect().top)";
    expect(new Set(await page.evaluate<number[]>(tops)).size).toBe(1);
    await page.setViewportSize({ width: 390, height: 800 });
    const search = await page.getByRole("searchbox").boundingBox();
    expect(search?.width).toBeGreaterThan(340);
    await context.close();
  }, 60_000);

  it("prints the times in UTC, and no form", async ({ expect }) => {
    const { context, page } = await signedIn();
    await open(page, "/console/environments/acme/Customer/events");
    await page.emulateMedia({ media: "print" });
    expect(await page.locator("form:visible").count()).toBe(0);
    const printed = "getComputedStyle(document.querySelector('.feed time'), '::after').content";
    expect(await page.evaluate(printed)).toMatch(/20\d\d-\d\d-\d\d \d\d:\d\d UTC/);
    await context.close();
  }, 60_000);

  it("is below 60 KB with its styles", async ({ expect }) => {
    expect(readFileSync("public/styles/ui.css").length).toBeLessThanOrEqual(STYLES_BYTES_MAX);
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
    await page.getByRole("searchbox").fill("wonka");
    await page.getByRole("searchbox").press("Enter");
    await page.getByRole("link", { name: "Wonka" }).click();
    await page.locator("main summary").click();
    await page.getByRole("link", { name: "Suspend" }).click();
    await page.getByLabel("Reason (optional)").fill("a test");
    await page.getByRole("button", { name: "Suspend" }).click();
    await page.getByRole("link", { name: "Resume…" }).click();
    await page.getByRole("button", { name: "Resume" }).click();
    expect(await page.locator("main").innerText()).toContain("active");
    await context.close();
  }, 60_000);

  it.for(["mouse", "keyboard"] as const)(
    "does the five tasks of docs/console.md in few steps, by %s",
    { timeout: 120_000 },
    async (device, { expect }) => {
      const { context, page } = await signedIn();
      const hand = handOf(page, device);
      const start = async () => {
        await open(page, "/console/environments");
        hand.steps = 0;
      };
      await removeGroup(12);

      await start();
      await hand.search("soylent");
      await hand.press(page.getByRole("link", { name: "Soylent Foods" }));
      expect([hand.steps, await page.locator("h1").innerText()]).toEqual([2, "Soylent Foods suspended"]);
      expect(await page.locator(".notice").innerText()).toMatch(
        /^Suspended .* by Grace Okafor: .*invoice 4711 is unpaid/,
      );
      await hand.press(page.getByRole("link", { name: "View as this group" }));
      expect([hand.steps, await page.locator("table").innerText()]).toEqual([
        3,
        expect.stringContaining("user_group.plan"),
      ]);

      await start();
      await hand.search("mifflin");
      await hand.press(page.getByRole("link", { name: "Dunder Mifflin" }));
      await hand.press(page.getByRole("button", { name: "Restore" }));
      expect([hand.steps, await page.locator("h1").innerText()]).toEqual([3, "Dunder Mifflin active"]);

      await start();
      await hand.press(page.getByRole("table").getByRole("link", { name: "acme/Customer" }));
      await hand.press(page.getByRole("link", { name: "Issue a key" }));
      await hand.type(page.getByLabel("Name of the key"), `page by ${device}`);
      await hand.type(page.getByLabel("Your operator key"), fixture.operators.admin);
      await hand.press(page.getByRole("button", { name: "Issue the key" }));
      expect([hand.steps, await page.locator("dl").innerText()]).toEqual([3, expect.stringMatching(/sessions:create/)]);
      await context.close();
    },
  );

  /** Deletes a group of the shop, unless it is deleted. */
  async function removeGroup(teamId: number): Promise<void> {
    await fetch(new URL(`/api/user_groups/${teamId}?workspace=acme&environment=Customer`, service.url), {
      method: "DELETE",
      headers: { Authorization: `Token ${fixture.operators.admin}`, "Content-Type": "application/json" },
      body: "{}",
    });
  }
});

const TABS_MAX = 100;

/** Works on a page by the mouse, or by the keyboard alone, and counts the links and buttons that it has used. */
function handOf(page: Page, device: "mouse" | "keyboard") {
  const focus = async (target: Locator) => {
    for (let tabs = 0; tabs < TABS_MAX; tabs += 1) {
      await page.keyboard.press("Tab");
      if ((await page.locator(":focus").and(target).count()) === 1) return;
    }
    throw new Error(`No tabulator leads to ${target}.`);
  };
  const hand = {
    steps: 0,
    type: async (target: Locator, text: string) => {
      await (device === "mouse" ? target.click() : focus(target));
      await page.keyboard.type(text);
    },
    press: async (target: Locator) => {
      hand.steps += 1;
      const act = async () => {
        if (device === "mouse") return target.click();
        await focus(target);
        return page.keyboard.press("Enter");
      };
      await Promise.all([page.waitForNavigation(), act()]);
    },
    search: async (text: string) => {
      await hand.type(page.getByRole("searchbox"), text);
      hand.steps += 1;
      await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
    },
  };
  return hand;
}
