import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";
import { afterAll, beforeAll, describe, inject, it, onTestFinished } from "vitest";
import { call } from "./support/client.ts";

const CHROMIUM = "/usr/bin/chromium";
const { url, key } = inject("service");

/** Debian's chromium; where there is none, these tests are skipped. */
describe.skipIf(!existsSync(CHROMIUM))("/demo in a browser", () => {
  let browser: Browser;
  let token: string;
  let session: string;
  beforeAll(async () => {
    const body = { user_group_id: "demo page", properties: { region: ["eu", "<b>us</b>"] } };
    token = (await call("GET", "/api/user", body)).body.user_group.token;
    session = (await call("POST", "/api/viewer_sessions", { user_group_id: "demo page" })).body.session.token;
    browser = await chromium.launch({
      executablePath: CHROMIUM,
      args: ["--no-sandbox", "--disable-background-networking", "--disable-gpu"],
    });
  });
  afterAll(() => browser.close());

  /** Opens the page on a phone. `show` fills in the form, and waits for a result or a refusal on the page. */
  async function openDemo({ colorScheme = "light" as "light" | "dark" } = {}) {
    const page = await browser.newPage({ viewport: { width: 390, height: 844 }, colorScheme });
    onTestFinished(() => page.close());
    const errors: string[] = [];
    page.on("console", (message) => errors.push(message.text()));
    page.on("pageerror", (error) => errors.push(error.message));
    await page.goto(`${url}/demo`);
    const show = async (credential: string, sql?: string) => {
      await page.getByLabel("Viewer session").fill(credential);
      if (sql !== undefined) await page.getByLabel("SQL template").fill(sql);
      await page.getByRole("button", { name: "Show" }).click();
      await page.locator("#refusal > p, #query:not([hidden])").first().waitFor();
      return page.locator("body").innerText();
    };
    const emptyBoxes = async () => {
      const boxes = await page.locator("pre:visible").allInnerTexts();
      return boxes.filter((text) => text.trim() === "");
    };
    const isNarrowEnough = () => page.evaluate("document.documentElement.scrollWidth <= window.innerWidth");
    return { page, errors, show, emptyBoxes, isNarrowEnough };
  }

  it.for(["light", "dark"] as const)(
    "shows the group, its variables and the bound SQL on a %s phone",
    async (colorScheme, { expect }) => {
      const { page, errors, show, isNarrowEnough } = await openDemo({ colorScheme });
      const shown = await show(session);
      expect(shown).toContain('["demo page","eu","<b>us</b>"]');
      expect(shown).toContain('"provided_id": "demo page"');
      expect(shown).toContain('"user_group_name": "demo page"');
      expect(shown).toContain("AND region IN (?, ?)");
      expect(await page.locator("#dropped").innerText()).toBe("None");
      expect(await isNarrowEnough()).toBe(true);
      expect(page.url()).not.toContain("eyJ");
      expect(errors).toEqual([]);
    },
  );

  it("changes its background with the color scheme of the system", async ({ expect }) => {
    const { page } = await openDemo({ colorScheme: "dark" });
    const pixel = async () => (await page.screenshot({ clip: { x: 2, y: 2, width: 1, height: 1 } })).toString("base64");
    const dark = await pixel();
    await page.emulateMedia({ colorScheme: "light" });
    expect(await pixel()).not.toBe(dark);
  });

  it("names the variables for which clauses were dropped, and has no empty box", async ({ expect }) => {
    const { page, show, emptyBoxes } = await openDemo();
    await show(session, "SELECT 1 [[WHERE plan = {{user_group.plan}}]]");
    expect(await page.locator("#dropped").innerText()).toBe("user_group.plan");
    await show(session, "[[WHERE plan = {{user_group.plan}}]]");
    expect(await emptyBoxes()).toEqual([]);
  });

  it.for([
    ["x = {{user_group.gone}}", "unknown_variable", "There is no such variable", "user_group.gone"],
    ["x = '{{user_group_id}}'", "invalid_template", "The SQL template is not well formed", "A variable in a string"],
    ["x".repeat(20_000), "invalid_body", "The request does not fit this call", "sql: Give at most 16384 bytes"],
  ] as const)("gives the reason for a refused query, below the group: %#", async ([sql, ...parts], { expect }) => {
    const { page, show, emptyBoxes, isNarrowEnough } = await openDemo();
    await show(session, sql);
    const refusal = await page.getByRole("alert").innerText();
    for (const part of parts) expect(refusal).toContain(part);
    expect(await page.locator("#variables").isVisible()).toBe(true);
    expect(await emptyBoxes()).toEqual([]);
    expect(await isNarrowEnough()).toBe(true);
  });

  it("takes a group token instead of a session", async ({ expect }) => {
    const { show } = await openDemo();
    expect(await show(token)).toContain('"provided_id": "demo page"');
  });

  it("refuses an API key as secret, and shows no box", async ({ expect }) => {
    const { page, show } = await openDemo();
    expect(await show(key)).toContain("secret_key_in_browser");
    expect(await page.locator("pre:visible").count()).toBe(0);
  });

  it("reports in plain words that the service could not be called", async ({ expect }) => {
    const { page, show } = await openDemo();
    expect(await show("ugt_ä b")).toContain("This is not a session");
    await page.context().setOffline(true);
    expect(await show(session)).toContain("The service cannot be reached.");
    await page.context().setOffline(false);
    await page.route("**/api/viewer", (route) => route.fulfill({ status: 502, body: "<h1>Bad gateway</h1>" }));
    const shown = await show(session);
    expect(shown).toContain("The response is not from the service (status 502).");
    expect(shown).not.toMatch(/TypeError|Failed to fetch|JSON|undefined/);
  });
});
