import { existsSync } from "node:fs";
import { chromium } from "playwright-core";
import { describe, inject, it } from "vitest";
import { call } from "./support/client.ts";

const CHROMIUM = "/usr/bin/chromium";
const { url, key } = inject("service");

/** Debian's chromium; where there is none, these tests are skipped. */
describe.skipIf(!existsSync(CHROMIUM))("/demo in a browser", () => {
  it("shows the group, its variables and the bound SQL, at the width of a phone, and refusals in words", async ({
    expect,
  }) => {
    const body = { user_group_id: "demo page", properties: { region: ["eu", "<b>us</b>"] } };
    const { token } = (await call("GET", "/api/user", body)).body.user_group;
    const browser = await chromium.launch({
      executablePath: CHROMIUM,
      args: ["--no-sandbox", "--disable-background-networking", "--disable-gpu"],
    });
    const page = await browser.newPage({ viewport: { width: 360, height: 740 } });
    const complaints: string[] = [];
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(error.message));

    await page.goto(`${url}/demo`);
    await page.getByLabel("User group token").fill(token);
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByText('["demo page","eu","<b>us</b>"]').waitFor();

    const shown = await page.locator("body").innerText();
    expect(shown).toContain('"provided_id": "demo page"');
    expect(shown).toContain('"user_group_name": "demo page"');
    expect(shown).toContain("AND region IN (?, ?)");
    expect(await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")).toBe(true);
    expect(page.url()).not.toContain("ugt_");
    expect(complaints).toEqual([]);

    await page.getByLabel("SQL template").fill("x = {{user_group.gone}}");
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByText("unknown_variable: ").waitFor();
    await page.getByLabel("User group token").fill(key);
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByText("secret_key_in_browser: ").waitFor();
    await browser.close();
  });
});
