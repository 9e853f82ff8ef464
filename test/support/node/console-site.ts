import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Locator, Page } from "playwright-core";
import { request } from "undici";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { startOwnService } from "../../../cli/src/serve/own-service.ts";
import { hasChromium, skippedWithoutChromium, startChromium } from "../../../tools/browser.ts";
import { fill } from "../../../tools/console/fixture.ts";
import { HOSTILE_PAGES, SHOP_PAGES } from "../../../tools/console/pages.ts";
import { violationsOn } from "./violations.ts";

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
  "/console/environments",
  "/console/attention",
  "/console/events",
  "/console/operators/1/about",
  ...[
    "/groups",
    "/groups/1",
    "/groups/1/edit",
    "/groups/1/view-as",
    "/groups/1/delete",
    "/keys/1/end",
    "/keys/issue",
  ].map((path) => OF_SHOP + path),
  ...["/groups", "/groups/1", "/groups/8/edit", "/groups/10/view-as", "/groups/1/delete", "/keys/1/about"].map(
    (path) => OF_HOSTILE + path,
  ),
];
/** The pages of `npm test` or of `npm run test:all`. */
const pagesOf = (all: readonly string[], areKinds: boolean) => all.filter((path) => KINDS.includes(path) === areKinds);

/** What holds of each page of the console: of one of each kind, or of all others. */
export const testPages = (areKinds: boolean) =>
  describe.skipIf(!hasChromium)(`each page of the console${skippedWithoutChromium}`, () => {
    it("has nothing that axe-core finds, in the light scheme and the dark one", async () => {
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

    it.for(WINDOWS)("shows hostile names as text, whole tags, and nothing sideways: $width px", async (window) => {
      const { width, deviceScaleFactor } = window;
      const { page, problems } = await signedIn({ viewport: { width, height: 800 }, deviceScaleFactor });
      const titles: string[] = [];
      for (const path of pagesOf([...SHOP_PAGES, ...HOSTILE_PAGES], areKinds)) {
        await open(page, path);
        expect(await isWide(page), path).toBe(false);
        titles.push(await page.title());
        const tag = path.startsWith(OF_SHOP) ? "Customer" : path.startsWith(OF_HOSTILE) ? "untagged" : undefined;
        if (tag) expect([path, await page.evaluate(SWITCHER_TAG)]).toEqual([path, tag]);
      }
      expect(titles).not.toContain("run");
      expect(problems).toEqual([]);
      await open(page, "/console/events?environment=acme/Customer&actor=nobody&since=yesterday");
      expect([await page.locator(".filter strong").count(), await isWide(page)]).toEqual([2, false]);
    });
  });

/** Windows of a phone, a tablet and a desk, and one at 200 %, which has half as many pixels. */
const WINDOWS = [
  { width: 320, deviceScaleFactor: 1 },
  { width: 390, deviceScaleFactor: 1 },
  { width: 768, deviceScaleFactor: 1 },
  { width: 1440, deviceScaleFactor: 1 },
  { width: 720, deviceScaleFactor: 2 },
];

/** The tag in the switcher of environments, if nothing of it is cut. */
const SWITCHER_TAG = `(() => {
  const tag = document.querySelector(".bar summary .tag");
  const [inner, outer] = [tag, tag.closest("summary")].map((element) => element.getBoundingClientRect());
  const isWhole = tag.scrollWidth <= tag.offsetWidth && inner.left >= outer.left && inner.right <= outer.right;
  return isWhole ? tag.textContent : "cut";
})()`;

const isWide = (page: Page) => page.evaluate("document.documentElement.scrollWidth > window.innerWidth");

/** What a person does with the mouse, or with the keyboard alone, without a script: ten tasks, each with its clicks and its answer. */
export const testTasks = (device: "mouse" | "keyboard") =>
  it.skipIf(!hasChromium)(
    `does ten tasks in few clicks, without a script, by ${device}${skippedWithoutChromium}`,
    async () => {
      const { page } = await signedIn({ javaScriptEnabled: false });
      const hand = handOf(page, device);
      const link = (name: string | RegExp) => page.getByRole("link", { name });
      const button = (name: string) => page.getByRole("button", { name, exact: true });
      const heading = () => page.locator("h1").innerText();
      const clicks: Record<string, number> = {};
      const task = async (name: string, act: () => Promise<void>) => {
        await open(page, "/console/environments");
        hand.steps = 0;
        await act();
        clicks[name] = hand.steps;
      };
      const openShop = () => hand.press(page.getByRole("table").getByRole("link", { name: "acme/Customer" }));
      await removeGroup(12);

      await task("find by parts of a name in another order", async () => {
        await hand.search("corp tyr");
        await hand.press(link("Tyrell Corporation"));
        expect(await heading()).toBe("Tyrell Corporation active");
        expect(await page.title()).toContain("acme/Customer");
      });
      await task("why a viewer sees nothing", async () => {
        await hand.search("soylent");
        await hand.press(link("Soylent Foods"));
        expect(await page.locator(".notice").innerText()).toMatch(
          /^Suspended .* by Grace Okafor: .*invoice 4711 is unpaid/,
        );
      });
      await task("suspend", async () => {
        await hand.search("hooli");
        await hand.press(link("Hooli"));
        await hand.choose(/^Suspend/);
        await hand.press(button("Suspend"));
        expect(await heading()).toBe("Hooli suspended");
      });
      await task("resume", async () => {
        await hand.search("hooli");
        await hand.press(link("Hooli"));
        await hand.press(link("Resume…"));
        await hand.press(button("Resume"));
        expect(await heading()).toBe("Hooli active");
      });
      await task("a key for minting for 90 days", async () => {
        await openShop();
        await hand.press(link("Issue a key"));
        await hand.type(page.getByLabel("Name of the key"), `page by ${device}`);
        await hand.type(page.getByLabel("Your operator key"), operators.admin);
        await hand.press(button("Issue the key"));
        expect(await page.locator("dl").innerText()).toMatch(/sessions:create.*in 3 months/s);
      });
      await task("end a leaked key", async () => {
        await openShop();
        await hand.press(link("API keys"));
        await hand.press(link(`page by ${device}`));
        await hand.press(link("Replace or end this key…"));
        await hand.check(page.getByLabel("Yes, or perhaps"));
        await hand.press(button("End it without another key"));
        expect(await page.getByRole("status").innerText()).toContain("The key is revoked");
        expect(await page.locator("tr", { hasText: `page by ${device}` }).innerText()).toContain("revoked");
      });
      await task("what an operator did last week", async () => {
        await hand.openMenu();
        await hand.press(link("Operators"));
        await hand.press(link("Grace Okafor"));
        await hand.press(link("Last 7 days"));
        expect(await page.locator("main").innerText()).toMatch(/4 changes in 1 of 5 environments\. Searched: all\./);
        expect(await page.locator(".feed").innerText()).toMatch(/Suspended Soylent Foods: invoice 4711 is unpaid/);
      });
      await task("delete and undo", async () => {
        await hand.search("hooli");
        await hand.press(link("Hooli"));
        await hand.choose(/^Delete/);
        await hand.press(button("Delete"));
        expect(await heading()).toBe("Hooli deleted");
        await hand.press(button("Restore"));
        expect(await heading()).toBe("Hooli active");
      });
      await task("what ends soon", async () => {
        await hand.press(link("Needs attention"));
        expect(await page.locator("table").innerText()).toMatch(/Grace Okafor.*reports|reports.*Grace Okafor/s);
      });
      await task("create an environment", async () => {
        await hand.press(link("Create an environment"));
        await hand.type(page.getByLabel("Workspace"), `new-${device}`);
        await hand.type(page.getByLabel("Name of the key"), "backend");
        await hand.type(page.getByLabel("Your operator key"), operators.admin);
        await hand.press(button("Create it"));
        expect(await page.locator(".bar .environment").innerText()).toMatch(new RegExp(`new-${device}/\\s*Testing`));
      });
      await task("view as", async () => {
        await hand.search("globex corp");
        await hand.press(link("Globex Corporation"));
        await hand.press(link("View as this group"));
        expect(await page.locator("table").innerText()).toContain("user_group.plan");
      });
      expect(clicks).toEqual(CLICKS_MAX);
    },
  );

/** Enter in the search is a click, and so are the opening of a menu and a choice; typing is none. */
const CLICKS_MAX = {
  "find by parts of a name in another order": 2,
  "why a viewer sees nothing": 2,
  suspend: 5,
  resume: 4,
  "a key for minting for 90 days": 3,
  "end a leaked key": 6,
  "what an operator did last week": 4,
  "delete and undo": 6,
  "what ends soon": 1,
  "create an environment": 2,
  "view as": 3,
};

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
    check: async (target: Locator) => {
      hand.steps += 1;
      if (device === "mouse") return target.check();
      await focus(target);
      return page.keyboard.press("Space");
    },
    /** Opens the operator's menu. */
    openMenu: async (menu = page.locator(".who > summary")) => {
      hand.steps += 1;
      if (device === "mouse") return menu.click();
      await focus(menu);
      return page.keyboard.press("Enter");
    },
    /** Chooses an entry of the page's own menu. */
    choose: async (name: RegExp) => {
      await hand.openMenu(page.locator("main summary"));
      await hand.press(page.getByRole("link", { name }));
    },
    search: async (text: string) => {
      await hand.type(page.getByRole("searchbox"), text);
      hand.steps += 1;
      await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
    },
  };
  return hand;
}
