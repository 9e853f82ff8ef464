import type { Page } from "playwright-core";
import { describe, expect, inject, it } from "vitest";
import { hasChromium, skippedWithoutChromium } from "../../tools/browser.ts";
import { call } from "../support/node/client.ts";
import { openPage, PHONE, testPages } from "../support/node/docs-site.ts";

const LINE_PX_MAX = 720;
const { url } = inject("service");

testPages(true);

describe.skipIf(!hasChromium)(`/docs in a browser${skippedWithoutChromium}`, () => {
  const top = async (page: Page, selector: string) =>
    (await page.locator(selector).first().boundingBox())?.y ?? Number.NaN;

  it("has all pages in a menu on top of a phone, without a script", async () => {
    const { page } = await openPage("/docs/calls/user-groups", { viewport: PHONE });
    expect(await top(page, "article")).toBeLessThan(PHONE.height / 2);
    const menu = page.getByRole("navigation", { name: "Contents" });
    expect(await menu.isVisible()).toBe(false);
    await page.getByRole("button", { name: "All pages" }).click();
    await menu.getByRole("link", { name: "Mint a viewer session" }).click();
    expect(page.url()).toBe(`${url}/docs/calls/dashboards#mintSession`);
    expect(await menu.isVisible()).toBe(false);
  });

  it("has the calls at its side on a wide screen, from where a link leads to each", async () => {
    const { page } = await openPage("/docs/calls", { viewport: { width: 1600, height: 900 } });
    const side = page.getByRole("navigation", { name: "Contents" });
    expect((await side.boundingBox())?.x).toBe(0);
    await side.getByRole("link", { name: "Mint a viewer session" }).click();
    expect(await top(page, "#mintSession")).toBeLessThan(450);
    expect((await side.boundingBox())?.y).toBe(0);
    const example = await page.locator("#mintSession aside").boundingBox();
    expect(example?.x).toBeGreaterThan(800);
  });

  it("leads from a link to a call in 1.1's page of all calls to the call", async () => {
    const { page } = await openPage("/docs/calls#bindQuery");
    await page.locator("#bindQuery a").click();
    expect(page.url()).toBe(`${url}/docs/calls/dashboards#bindQuery`);
  });

  it("finds a heading by its words in any order, with keys alone, and keeps a hostile search as text", async () => {
    const { page, problems } = await openPage("/docs", { javaScriptEnabled: true });
    await page.keyboard.press("/");
    await page.keyboard.type("Öffline verify");
    const hits = page.getByRole("search").getByRole("link");
    await hits.first().waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForURL(`${url}/docs/verifying#verify-a-session-offline`);

    const box = page.getByRole("searchbox", { name: "Search the pages" });
    await box.fill("<img src=x onerror=alert(1)>");
    await page.getByRole("status").filter({ hasText: "0 found" }).waitFor();
    await box.fill("user_group_suspended");
    await hits.filter({ hasText: "user_group_suspended" }).first().click();
    await page.waitForURL(`${url}/docs/errors#user_group_suspended`);
    await box.fill("rotate");
    await hits.first().waitFor();
    await page.keyboard.press("Escape");
    expect([await box.inputValue(), await hits.first().isVisible()]).toEqual(["", false]);
    expect(problems).toEqual([]);
  });

  it("copies a block as it is, and offers that only where a browser allows it", async () => {
    const { page } = await openPage("/docs/api", {
      javaScriptEnabled: true,
      permissions: ["clipboard-read", "clipboard-write"],
    });
    const block = page.locator(".block").first();
    await block.getByRole("button", { name: "Copy" }).click();
    await block.getByRole("button", { name: "Copied" }).waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(await block.locator("pre").innerText());
    const insecure = await openPage("/docs/api", { javaScriptEnabled: true });
    await insecure.page.addInitScript("Object.defineProperty(window, 'isSecureContext', { value: false })");
    await insecure.page.reload();
    await insecure.page.getByRole("searchbox").waitFor();
    expect(await insecure.page.getByRole("button", { name: "Copy" }).count()).toBe(0);
  });

  it("leads from a page that is not there to the others, and answers programs with an error", async () => {
    const { page } = await openPage("/docs");
    const response = await page.goto(`${url}/docs/nothing`);
    expect([response?.status(), await page.getByRole("heading", { level: 1 }).innerText()]).toEqual([
      404,
      "There is no such page",
    ]);
    await page.getByRole("link", { name: "The index" }).click();
    expect(page.url()).toBe(`${url}/docs/index`);
    for (const path of ["/docs/nothing", "/docs/nothing.md"])
      expect((await call("GET", path)).body.error.code).toBe("route_not_found");
  });

  it("has lines that are short enough to read", async () => {
    const { page } = await openPage("/docs/lifecycle", { viewport: { width: 1600, height: 900 } });
    const widths: number[] = await page.evaluate(
      "[...document.querySelectorAll('.guide p')].map((each) => each.getBoundingClientRect().width)",
    );
    expect(Math.max(...widths)).toBeLessThanOrEqual(LINE_PX_MAX);
  });

  it("prints the text without what only a screen needs", async () => {
    const { page } = await openPage("/docs/api");
    await page.emulateMedia({ media: "print" });
    expect(await page.locator("#contents").isVisible()).toBe(false);
    expect(await page.locator("body > header").isVisible()).toBe(false);
    expect(await page.getByRole("heading", { level: 1 }).isVisible()).toBe(true);
  });

  it("prints the fields of answers, which a screen shows behind a click, and buttons that paper can show", async () => {
    const { page } = await openPage("/docs/calls/user-groups", { viewport: { width: 1280, height: 900 } });
    const field = page.locator("details li").first();
    expect(await field.isVisible()).toBe(false);
    await page.emulateMedia({ media: "print" });
    expect(await field.isVisible()).toBe(true);
    await page.goto(`${url}/docs`);
    const colours =
      "(({ color, backgroundColor }) => [color, backgroundColor])(getComputedStyle(document.querySelector('.primary')))";
    expect(await page.evaluate(colours)).toEqual(["rgb(22, 25, 31)", "rgba(0, 0, 0, 0)"]);
  });
});
