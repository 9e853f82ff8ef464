import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Locator, Page } from "playwright-core";
import { request } from "undici";
import { afterAll, beforeAll, describe, it, onTestFinished } from "vitest";
import { startOwnService } from "../../../cli/src/serve/own-service.ts";
import { hasChromium, skippedWithoutChromium, startChromium } from "../../../tools/browser.ts";
import { fill } from "../../../tools/console/fixture.ts";
import { HOSTILE_PAGES, SHOP_PAGES } from "../../../tools/console/pages.ts";
import { violationsOn } from "./violations.ts";

const NARROW_PX = 320;
const TABS_MAX = 100;

const folder = mkdtempSync(join(tmpdir(), "user-group-service-"));
const service = await startOwnService(folder);
const { operators } = await fill(service);
afterAll(async () => {
  await service.stop();
  rmSync(folder, { recursive: true, force: true });
});

const addressOf = (path: string) => new URL(path, service.url).href;

const signIn = await request(addressOf("/console/sign-in"), {
  method: "POST",
  headers: { Origin: service.url.origin, "Content-Type": "application/x-www-form-urlencoded" },
  body: String(new URLSearchParams({ operator_key: operators.admin })),
});
/** The cookie of the admin, who has signed in. */
const [cookie = ""] = String(signIn.headers["set-cookie"]).split(";");

/** Requests a page as the admin's browser does. */
export async function getPage(path: string): Promise<{ status: number; html: string }> {
  const { statusCode, body } = await request(addressOf(path), { headers: { Cookie: cookie } });
  return { status: statusCode, html: await body.text() };
}

let browser: Browser;
beforeAll(async () => {
  if (hasChromium) browser = await startChromium();
});
afterAll(() => browser?.close());

/** A page of a browser in which the admin has signed in. `problems` are its errors, violations of its policy, and requests to other hosts. */
export async function signedIn(options: Parameters<Browser["newContext"]>[0] = {}) {
  const context = await browser.newContext(options);
  onTestFinished(() => context.close());
  const [name = "", value = ""] = cookie.split("=");
  await context.addCookies([{ name, value, url: service.url.origin, httpOnly: true, sameSite: "Strict" }]);
  const page = await context.newPage();
  const problems: string[] = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) problems.push(`${page.url()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => problems.push(`${page.url()}: ${error.message}`));
  page.on("dialog", (dialog) => problems.push(`${page.url()}: ${dialog.message()}`));
  page.on("request", (sent) => {
    if (!sent.url().startsWith(service.url.origin)) problems.push(`${page.url()}: ${sent.url()}`);
  });
  return { page, problems };
}

export const open = (page: Page, path: string) => page.goto(addressOf(path));

const OF_SHOP = "/console/environments/acme/Customer";
const OF_HOSTILE = "/console/environments/hostile/untagged";
/** One page of each kind: a sign-in, a list, a feed, a detail, a form, a result, a confirmation. `test/all` has the others. */
const KINDS = [
  "/console/sign-in",
  ...["/groups", "/events", "/groups/1", "/groups/1/edit", "/groups/1/view-as", "/groups/1/delete"].map(
    (path) => OF_SHOP + path,
  ),
  ...["/groups", "/events", "/groups/1", "/groups/8/edit", "/groups/10/view-as", "/groups/1/delete"].map(
    (path) => OF_HOSTILE + path,
  ),
];
/** The pages of `npm test` or of `npm run test:all`. */
const pagesOf = (all: readonly string[], areKinds: boolean) => all.filter((path) => KINDS.includes(path) === areKinds);

/** What holds of each page of the console: of one of each kind, or of all others. */
export const testPages = (areKinds: boolean) =>
  describe.skipIf(!hasChromium)(`each page of the console${skippedWithoutChromium}`, () => {
    it("has nothing that axe-core finds, in the light scheme and the dark one", async ({ expect }) => {
      const { page, problems } = await signedIn({ colorScheme: "light", viewport: { width: 1280, height: 900 } });
      const found: string[] = [];
      for (const path of pagesOf(SHOP_PAGES, areKinds)) {
        await page.emulateMedia({ colorScheme: "light" });
        expect((await open(page, path))?.status(), path).toBe(200);
        found.push(...(await violationsOn(page)));
        // The schemes differ in their colours alone.
        await page.emulateMedia({ colorScheme: "dark" });
        found.push(...(await violationsOn(page, "color-contrast")));
      }
      expect(found).toEqual([]);
      expect(problems).toEqual([]);
    });

    it("shows hostile names as text, and no page scrolls sideways on a narrow phone", async ({ expect }) => {
      const { page, problems } = await signedIn({ viewport: { width: NARROW_PX, height: 800 } });
      const titles: string[] = [];
      for (const path of pagesOf([...SHOP_PAGES, ...HOSTILE_PAGES], areKinds)) {
        await open(page, path);
        expect(await isWide(page), path).toBe(false);
        titles.push(await page.title());
      }
      expect(titles).not.toContain("run");
      expect(problems).toEqual([]);
      await open(page, `${OF_SHOP}/events?actor=nobody&since=yesterday`);
      expect([await page.locator(".filter strong").count(), await isWide(page)]).toEqual([2, false]);
    });
  });

const isWide = (page: Page) => page.evaluate("document.documentElement.scrollWidth > window.innerWidth");

/** What a person does with the mouse, or with the keyboard alone. */
export const testTasks = (device: "mouse" | "keyboard") =>
  it.skipIf(!hasChromium)(
    `does the five tasks of docs/console.md in few steps, by ${device}${skippedWithoutChromium}`,
    async ({ expect }) => {
      const { page } = await signedIn();
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
      await hand.type(page.getByLabel("Your operator key"), operators.admin);
      await hand.press(page.getByRole("button", { name: "Issue the key" }));
      expect([hand.steps, await page.locator("dl").innerText()]).toEqual([3, expect.stringMatching(/sessions:create/)]);
    },
  );

/** Deletes a group of the shop, unless it is deleted. */
async function removeGroup(teamId: number): Promise<void> {
  await fetch(addressOf(`/api/user_groups/${teamId}?workspace=acme&environment=Customer`), {
    method: "DELETE",
    headers: { Authorization: `Token ${operators.admin}`, "Content-Type": "application/json" },
    body: "{}",
  });
}

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
