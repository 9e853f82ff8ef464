import type { Page } from "playwright-core";
import { describe, inject, it } from "vitest";
import openapi from "../../public/openapi.json" with { type: "json" };
import { hasChromium, skippedWithoutChromium } from "../../tools/browser.ts";
import { call } from "../support/node/client.ts";
import { openPage, PHONE, testPages } from "../support/node/docs-site.ts";

const LINE_PX_MAX = 720;
const { url } = inject("service");

const operations = Object.values(openapi.paths).flatMap((methods) => Object.values<{ summary: string }>(methods));

testPages(true);

describe.skipIf(!hasChromium)(`/docs in a browser${skippedWithoutChromium}`, () => {
  const top = async (page: Page, selector: string) =>
    (await page.locator(selector).first().boundingBox())?.y ?? Number.NaN;

  it.for([PHONE.width, 1280])(
    "each field of a call stands below the one before it, at %d px",
    async (width, { expect }) => {
      const { page } = await openPage("/docs/calls", { viewport: { width, height: 900 } });
      const tops = await page.evaluate<number[][]>(
        "[...document.querySelectorAll('.fields')].map((list) => [...list.children].map((field) => field.offsetTop))",
      );
      const lists = tops.filter(([first = 0]) => first > 0);
      expect(lists.length).toBeGreaterThan(operations.length / 2);
      for (const list of lists) expect(list).toEqual([...new Set(list)].toSorted((one, other) => one - other));
    },
  );

  it("shows the first call on the first screen of a phone, and the list of all calls behind a link", async ({
    expect,
  }) => {
    const { page } = await openPage("/docs/calls", { viewport: PHONE });
    expect(await top(page, "article")).toBeLessThan(PHONE.height / 2);
    expect(await page.locator("article h3").first().innerText()).toContain(operations[0]?.summary);
    await page.getByRole("link", { name: "Contents" }).click();
    expect(await top(page, "#contents")).toBeLessThan(PHONE.height / 2);
  });

  it("has the calls at its side on a wide screen, from where a link leads to each", async ({ expect }) => {
    const { page } = await openPage("/docs/calls", { viewport: { width: 1600, height: 900 } });
    const side = page.getByRole("navigation", { name: "Contents" });
    expect((await side.boundingBox())?.x).toBe(0);
    await side.getByRole("link", { name: "Mint a viewer session" }).click();
    expect(await top(page, "#mintSession")).toBeLessThan(450);
    expect((await side.boundingBox())?.y).toBe(0);
    const example = await page.locator("#mintSession aside").boundingBox();
    expect(example?.x).toBeGreaterThan(800);
  });

  it("leads from a page that is not there to the others, and answers programs with an error", async ({ expect }) => {
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

  it("has lines that are short enough to read", async ({ expect }) => {
    const { page } = await openPage("/docs/lifecycle", { viewport: { width: 1600, height: 900 } });
    const widths: number[] = await page.evaluate(
      "[...document.querySelectorAll('.guide p')].map((each) => each.getBoundingClientRect().width)",
    );
    expect(Math.max(...widths)).toBeLessThanOrEqual(LINE_PX_MAX);
  });

  it("prints the text without what only a screen needs", async ({ expect }) => {
    const { page } = await openPage("/docs/retries");
    await page.emulateMedia({ media: "print" });
    expect(await page.locator("#contents").isVisible()).toBe(false);
    expect(await page.locator("body > header").isVisible()).toBe(false);
    expect(await page.getByRole("heading", { level: 1 }).isVisible()).toBe(true);
  });

  it("prints the fields of answers, which a screen shows behind a click, and buttons that paper can show", async ({
    expect,
  }) => {
    const { page } = await openPage("/docs/calls", { viewport: { width: 1280, height: 900 } });
    const field = page.locator("details .fields dt").first();
    const refusal = page.locator("details .refusals li").first();
    expect([await field.isVisible(), await refusal.isVisible()]).toEqual([false, false]);
    await page.emulateMedia({ media: "print" });
    expect([await field.isVisible(), await refusal.isVisible()]).toEqual([true, false]);
    await page.goto(`${url}/docs`);
    const colours =
      "(({ color, backgroundColor }) => [color, backgroundColor])(getComputedStyle(document.querySelector('.primary')))";
    expect(await page.evaluate(colours)).toEqual(["rgb(22, 25, 31)", "rgba(0, 0, 0, 0)"]);
  });
});
