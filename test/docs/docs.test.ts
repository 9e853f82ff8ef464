import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, inject, it, onTestFinished } from "vitest";
import openapi from "../../public/openapi.json" with { type: "json" };
import { hasChromium, skippedWithoutChromium, startChromium } from "../../tools/browser.ts";
import { call } from "../support/node/client.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const NARROW_PX = 320;
const PHONE = { width: 390, height: 844 };
const LINE_PX_MAX = 720;
const { url, operatorToken, folder } = inject("service");
const { minutes } = inject("effort");

const operations = Object.values(openapi.paths).flatMap((methods) =>
  Object.values<{ operationId: string; summary: string; security: object[] }>(methods),
);

/** Every page of /docs. */
const PAGES = readdirSync(join(folder, "public/docs"))
  .filter((name) => name.endsWith(".html"))
  .map((name) => `/docs/${name.replace(".html", "")}`)
  .concat("/docs");
/** Pages of each kind, which axe-core examines in a short run. */
const KINDS = ["/docs", "/docs/calls", "/docs/index", "/docs/errors", "/docs/readme", "/docs/lifecycle", "/docs/costs"];

/** An environment of its own, for the calls that erase and restore one: its key, and its backup in a file. */
async function newSpareEnvironment() {
  const workspace = "curl-spare";
  const headers = { Authorization: `Token ${operatorToken}` };
  await call("POST", "/api/keys", { workspace, environment: "Testing", name: "docs" }, headers);
  const page = await fetch(`${url}/api/backup?workspace=${workspace}&environment=Testing`, { headers });
  const backup = join(mkdtempSync(join(tmpdir(), "docs-")), "page-1.ndjson");
  writeFileSync(backup, await page.text());
  return { workspace, backup };
}

const isAboutAll = (curl: string) => curl.includes("/api/restore") || /DELETE .*\/api\/environments/.test(curl);

/** Debian's chromium; where there is none, these tests are skipped. */
describe.skipIf(!hasChromium)(`/docs in a browser${skippedWithoutChromium}`, () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startChromium();
  });
  afterAll(() => browser.close());

  /** Opens a page without a script of its own. `problems` lists its errors, violations of its policy, and requests to other hosts. */
  async function open(path: string, options: Parameters<Browser["newContext"]>[0] = {}) {
    const context = await browser.newContext({ javaScriptEnabled: false, ...options });
    onTestFinished(() => context.close());
    const page = await context.newPage();
    const problems: string[] = [];
    page.on("console", (message) => problems.push(message.text()));
    page.on("pageerror", (error) => problems.push(error.message));
    page.on("requestfailed", (request) => problems.push(request.url()));
    page.on("request", (request) => {
      if (!request.url().startsWith(`${url}/`)) problems.push(request.url());
    });
    await page.goto(url + path);
    return { page, problems };
  }

  const top = async (page: Page, selector: string) =>
    (await page.locator(selector).first().boundingBox())?.y ?? Number.NaN;

  it("no page scrolls sideways on the narrowest phone, or has an error", async ({ expect }) => {
    const { page, problems } = await open("/docs", { viewport: { width: NARROW_PX, height: 600 } });
    for (const path of PAGES) {
      const response = await page.goto(url + path);
      expect(response?.status(), path).toBe(200);
      expect(await page.evaluate("document.documentElement.scrollWidth"), path).toBe(NARROW_PX);
    }
    expect(problems).toEqual([]);
  }, 120_000);

  it.for([PHONE.width, 1280])(
    "each field of a call stands below the one before it, at %d px",
    async (width, { expect }) => {
      const { page } = await open("/docs/calls", { viewport: { width, height: 900 } });
      const tops = await page.evaluate<number[][]>(
        "[...document.querySelectorAll('.fields')].map((list) => [...list.children].map((field) => field.offsetTop))",
      );
      const lists = tops.filter(([first = 0]) => first > 0);
      expect(lists.length).toBeGreaterThan(operations.length / 2);
      for (const list of lists) expect(list).toEqual([...new Set(list)].toSorted((one, other) => one - other));
    },
  );

  it("axe-core finds nothing on pages of each kind, in the light scheme and the dark one", async ({ expect }) => {
    const { page, problems } = await open("/docs", { javaScriptEnabled: true, bypassCSP: true });
    const found: string[] = [];
    const examine = async (path: string, rules: string) => {
      const { violations } = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(
        `axe.run(${rules})`,
      );
      for (const { id, nodes } of violations) found.push(`${path}: ${id} ${nodes[0]?.html.slice(0, 120)}`);
    };
    for (const path of minutes > 0 ? PAGES : KINDS) {
      await page.emulateMedia({ colorScheme: "light" });
      await page.setViewportSize({ width: 1280, height: 900 });
      await page.goto(url + path);
      await page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true })");
      await page.evaluate(AXE);
      await examine(path, "");
      // The schemes differ in their colours alone, and a phone in what it hides, such as the name of the brand.
      await page.emulateMedia({ colorScheme: "dark" });
      await page.setViewportSize(PHONE);
      await examine(path, "{ runOnly: ['color-contrast', 'link-name'] }");
    }
    expect(found).toEqual([]);
    expect(problems).toEqual([]);
  }, 300_000);

  it("shows the first call on the first screen of a phone, and the list of all calls behind a link", async ({
    expect,
  }) => {
    const { page } = await open("/docs/calls", { viewport: PHONE });
    expect(await top(page, "article")).toBeLessThan(PHONE.height / 2);
    expect(await page.locator("article h3").first().innerText()).toContain(operations[0]?.summary);
    await page.getByRole("link", { name: "Contents" }).click();
    expect(await top(page, "#contents")).toBeLessThan(PHONE.height / 2);
  });

  it("has the calls at its side on a wide screen, from where a link leads to each", async ({ expect }) => {
    const { page } = await open("/docs/calls", { viewport: { width: 1600, height: 900 } });
    const side = page.getByRole("navigation", { name: "Contents" });
    expect((await side.boundingBox())?.x).toBe(0);
    await side.getByRole("link", { name: "Mint a viewer session" }).click();
    expect(await top(page, "#mintSession")).toBeLessThan(450);
    expect((await side.boundingBox())?.y).toBe(0);
    const example = await page.locator("#mintSession aside").boundingBox();
    expect(example?.x).toBeGreaterThan(800);
  });

  it("leads from a page that is not there to the others, and answers programs with an error", async ({ expect }) => {
    const { page } = await open("/docs");
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
    const { page } = await open("/docs/lifecycle", { viewport: { width: 1600, height: 900 } });
    const widths: number[] = await page.evaluate(
      "[...document.querySelectorAll('.guide p')].map((each) => each.getBoundingClientRect().width)",
    );
    expect(Math.max(...widths)).toBeLessThanOrEqual(LINE_PX_MAX);
  });

  it("prints the text without what only a screen needs", async ({ expect }) => {
    const { page } = await open("/docs/retries");
    await page.emulateMedia({ media: "print" });
    expect(await page.locator("#contents").isVisible()).toBe(false);
    expect(await page.locator("body > header").isVisible()).toBe(false);
    expect(await page.getByRole("heading", { level: 1 }).isVisible()).toBe(true);
  });

  it("prints the fields of answers, which a screen shows behind a click, and buttons that paper can show", async ({
    expect,
  }) => {
    const { page } = await open("/docs/calls", { viewport: { width: 1280, height: 900 } });
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

  it("names the credential of each call, and describes all of them", async ({ expect }) => {
    const { page } = await open("/docs/calls");
    for (const { operationId, security } of operations)
      for (const name of security.flatMap(Object.keys)) {
        const link = page.locator(`#${operationId}`).getByRole("link", { name, exact: true });
        expect(await link.getAttribute("href"), operationId).toBe(`#credential-${name}`);
      }
    expect(await page.locator("#credential-operator_key").innerText()).toContain("ugo_");
  });

  it("has a call of curl for each operation, which works as it is copied", async ({ expect }) => {
    const body = { workspace: "curl", environment: "Testing", name: "docs" };
    const apiKey: string = (await call("POST", "/api/keys", body, { Authorization: `Token ${operatorToken}` })).body
      .key;
    const admin = { name: "docs", role: "admin" };
    const issued = await call("POST", "/api/operators", admin, { Authorization: `Token ${operatorToken}` });
    const { id: operatorId } = issued.body.operator;
    const { page } = await open("/docs/calls");
    const shown = await page.locator("article aside pre:first-child").allTextContents();
    expect(shown).toHaveLength(operations.length);
    const spare = await newSpareEnvironment();

    for (const curl of shown) {
      // It takes a page of a backup, in an environment without keys.
      if (curl.includes("/api/restore")) continue;

      const group = { user_group_id: "acme", properties: { plans: ["pro"] } };
      const created = (await call("GET", "/api/user", group, { Authorization: `Token ${apiKey}` })).body.user_group;
      const { token, team_id: teamId } = created;
      const minted = await call(
        "POST",
        "/api/viewer_sessions",
        { user_group_id: "acme" },
        { Authorization: `Token ${apiKey}` },
      );
      // Only a deleted group can be purged.
      if (curl.includes("/purge"))
        await call("DELETE", `/api/user_groups/${teamId}`, undefined, { Authorization: `Token ${apiKey}` });
      const env = {
        ...process.env,
        API_KEY: apiKey,
        SESSION: minted.body.session.token,
        TOKEN: token,
        OPERATOR_KEY: operatorToken,
        SERVICE_URL: url,
      };
      // The page shows the number 1, and a reader puts the number of a group or an operator there.
      const filled = curl
        .replace("/api/user_groups/1", `/api/user_groups/${teamId}`)
        .replace("/api/operators/1", `/api/operators/${operatorId}`)
        .replace("audience=acme", "audience=curl")
        .replace("@page-1.ndjson", `@${spare.backup}`)
        .replaceAll(/\bacme(?=(?:\/|%2F|&environment=)Testing)/g, isAboutAll(curl) ? spare.workspace : "acme");
      const command = `${filled} -sS -w '\n%{http_code}'`;
      const { stdout } = await promisify(execFile)("bash", ["-c", command], { env });
      expect(stdout, curl).toMatch(/\n20[014]$/);
    }
  });
});
