import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { hasChromium, skippedWithoutChromium, startChromium } from "../../tools/browser.ts";
import { endGroup, freshCopy, removeCopy, runIn, runNpm, waitUntil } from "../support/node/service.ts";
import { violationsOn } from "../support/node/violations.ts";

/** A copy whose packages are those of this project, but for the client, which `npm run demo` builds in the copy. */
function copyWithOwnClient(): string {
  const copy = freshCopy();
  const packages = join(copy, "node_modules");
  unlinkSync(packages);
  mkdirSync(packages);
  for (const name of readdirSync("node_modules").filter((each) => each !== "user-group-service"))
    symlinkSync(join(process.cwd(), "node_modules", name), join(packages, name));
  symlinkSync(join(copy, "client"), join(packages, "user-group-service"));
  return copy;
}

describe.skipIf(!hasChromium)(`npm run demo${skippedWithoutChromium}`, () => {
  const copy = hasChromium ? copyWithOwnClient() : "";
  const state = mkdtempSync(join(tmpdir(), "product-"));
  let browser: Browser;
  let output = "";
  let product = "";
  let demo: ReturnType<typeof runNpm>;

  beforeAll(async () => {
    demo = runNpm(copy, ["run", "demo", "--", "--port", "0", "--service-port", "0", "--persist-to", state]);
    for (const stream of [demo.stdout, demo.stderr]) stream?.on("data", (chunk) => (output += chunk));
    await waitUntil(() => output.includes("Ctrl-C") || demo.exitCode !== null, "the demo was ready");
    product = /The product is ready at (\S+):/.exec(output)?.[1] ?? "";
    if (product === "") throw new Error(output);
    browser = await startChromium();
  });
  afterAll(async () => {
    await browser.close();
    await endGroup(demo, "SIGINT");
    removeCopy(copy);
    rmSync(state, { recursive: true, force: true });
  });

  /** Runs a command that the demo has printed, as a person pastes it. */
  async function paste(command: RegExp): Promise<void> {
    const [, setting = ""] = /^ {2}(export .*)$/m.exec(output) ?? [];
    const [line = ""] = output.match(command) ?? [];
    const child = runIn(copy, ["sh", "-ec", `${setting}; ${line.replace("npx ug", "node cli/ug.mjs")}`]);
    const [printed] = await Promise.all([child.stderr ? text(child.stderr) : "", once(child, "exit")]);
    if (child.exitCode !== 0) throw new Error(`${line}: ${printed}`);
  }

  /** Signs in as one of the people. `errors` lists what the page logs, such as a violation of its CSP. */
  async function signIn(name: string) {
    const context = await browser.newContext({ viewport: { width: 1000, height: 844 } });
    onTestFinished(() => context.close());
    const page = await context.newPage();
    const errors: string[] = [];
    page.on("console", (message) => errors.push(message.text()));
    page.on("pageerror", (error) => errors.push(error.message));
    await page.goto(product);
    await page.getByRole("button", { name }).click();
    await page.locator("#report").waitFor();
    return { context, page, errors };
  }

  const labels = (page: Page, table: string) => page.locator(`#${table} th`).allInnerTexts();
  const revenue = (page: Page) => page.locator("#revenue").innerText();
  /** Makes the next call of a page, as its timer would. */
  const choose = (page: Page, period: string) => page.getByLabel(period).check();
  const hasColumns = (page: Page, count: number) =>
    waitUntil(async () => (await page.locator("#months rect").count()) === count, `there were ${count} columns`);
  const notice = (page: Page, sentence: string) => page.getByRole("status").getByText(sentence).waitFor();

  /** What the product's API answers to the session of a page's person. */
  async function sessionOf(context: BrowserContext) {
    const response = await context.request.post(`${product}/session`, { headers: { Origin: product } });
    const { session } = await response.json();
    return session.token as string;
  }
  const report = async (token: string) => {
    const response = await fetch(`${product}/report?months=12`, { headers: { Authorization: `Bearer ${token}` } });
    return { status: response.status, body: (await response.json()) as { stores?: { label: string }[] } };
  };

  it("shows each customer, and each manager, their own rows alone", async () => {
    const ada = await signIn("Ada Moreno");
    const ben = await signIn("Ben Okafor");
    const chloe = await signIn("Chloe Martin");
    expect(await ada.page.getByRole("heading", { level: 1 }).innerText()).toBe("Harbour Coffee");
    expect((await labels(ada.page, "stores")).toSorted()).toEqual(["Market Hall", "Old Port", "Station"]);
    expect(await labels(ben.page, "stores")).toEqual(["Station"]);
    expect(await labels(ben.page, "products")).toEqual(await labels(ada.page, "products"));
    expect(await chloe.page.getByRole("heading", { level: 1 }).innerText()).toBe("Alpine Bikes");
    expect((await labels(chloe.page, "stores")).toSorted()).toEqual(["Summit", "Valley"]);
    expect(new Set(await Promise.all([ada, ben, chloe].map(({ page }) => revenue(page)))).size).toBe(3);
    expect([...ada.errors, ...ben.errors, ...chloe.errors]).toEqual([]);

    const reports = await Promise.all([ada, ben, chloe].map(async ({ context }) => report(await sessionOf(context))));
    expect(reports.map(({ body }) => body.stores?.length)).toEqual([3, 1, 2]);
    expect((await report("eyJ.forged.x")).status).toBe(401);
  });

  it("draws the months of the chosen period", async () => {
    const { page } = await signIn("Ada Moreno");
    expect(await page.locator("#months rect").count()).toBe(12);
    const year = await revenue(page);
    await choose(page, "3 months");
    await hasColumns(page, 3);
    expect(await revenue(page)).not.toBe(year);
    expect(await page.getByRole("img", { name: /: €/ }).getAttribute("aria-label")).toMatch(/^\w+: €[\d,]+, /);
  });

  it("shows a suspension at the next call, to that customer alone", async () => {
    const ada = await signIn("Ada Moreno");
    const chloe = await signIn("Chloe Martin");
    await paste(/npx ug groups suspend .*/);
    await choose(ada.page, "6 months");
    await notice(ada.page, "Your account is suspended. Contact our support.");
    expect(await ada.page.locator("#report").isVisible()).toBe(false);
    await choose(chloe.page, "6 months");
    await hasColumns(chloe.page, 6);

    await ada.page.reload();
    await notice(ada.page, "Your account is suspended. Contact our support.");
    await paste(/npx ug groups resume .*/);
    await choose(ada.page, "3 months");
    await ada.page.locator("#report").waitFor();
  });

  it("ends the sessions of a person who signs out, in every tab", async () => {
    const ada = await signIn("Ada Moreno");
    const ben = await signIn("Ben Okafor");
    const token = await sessionOf(ada.context);
    const tab = await ada.context.newPage();
    await tab.goto(`${product}/dashboard`);
    await tab.locator("#report").waitFor();
    expect((await report(token)).status).toBe(200);

    await ada.page.getByRole("button", { name: "Sign out" }).click();
    await ada.page.getByRole("button", { name: "Ada Moreno" }).waitFor();
    expect((await report(token)).status).toBe(401);
    await choose(tab, "3 months");
    await notice(tab, "You are signed out. Sign in to see your sales.");
    await tab.getByRole("link", { name: "Sign in" }).click();
    await tab.getByRole("button", { name: "Ada Moreno" }).waitFor();
    await choose(ben.page, "3 months");
    await hasColumns(ben.page, 3);
  });

  const isNarrowEnough = (page: Page) => page.evaluate("document.documentElement.scrollWidth <= window.innerWidth");

  /** What is wrong with a page. The schemes differ in their colours alone, and a phone in what it hides. */
  async function problemsOn(page: Page): Promise<string[]> {
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 1000, height: 844 });
    const found = await violationsOn(page);
    if (!(await isNarrowEnough(page))) found.push(`${page.url()} scrolls sideways`);
    await page.emulateMedia({ colorScheme: "dark" });
    await page.setViewportSize({ width: 390, height: 844 });
    found.push(...(await violationsOn(page, "color-contrast", "link-name", "button-name")));
    if (!(await isNarrowEnough(page))) found.push(`${page.url()} scrolls sideways on a phone`);
    return found;
  }

  it("has no error of accessibility, and fits, on a screen and a phone, light and dark", async () => {
    const { page, errors } = await signIn("Ben Okafor");
    expect(await problemsOn(page)).toEqual([]);
    await page.route("**/report*", (route) => route.fulfill({ status: 502, body: "<h1>Bad gateway</h1>" }));
    await choose(page, "6 months");
    await notice(page, "Your sales are not available at the moment.");
    expect(await problemsOn(page)).toEqual([]);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Chloe Martin" }).waitFor();
    expect(await problemsOn(page)).toEqual([]);
    expect(errors.filter((error) => !error.includes("502"))).toEqual([]);
  });

  it("lets no other site's script, style or frame into its pages", async () => {
    const { headers } = await fetch(`${product}/`);
    const policy = headers.get("Content-Security-Policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|\*/);
  });

  it("ends both processes at Ctrl-C", async () => {
    await endGroup(demo, "SIGINT");
    await expect(fetch(product)).rejects.toThrow();
  });
});
