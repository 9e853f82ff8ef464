import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, inject, it } from "vitest";
import openapi from "../../public/openapi.json" with { type: "json" };
import { hasChromium, skippedWithoutChromium, startChromium } from "../../tools/browser.ts";
import { call } from "../support/node/client.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PHONE_PX = 844;
const LINE_PX_MAX = 720;
const THREE_PHONE_SCREENS_PX = 3 * PHONE_PX;
const { url, operatorToken } = inject("service");

const operations = Object.values(openapi.paths).flatMap((methods) =>
  Object.values<{ summary: string; security: object[] }>(methods),
);

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
  /** One page with all operations unfolded for several tests: unfolding takes the browser seconds. */
  let phone: Awaited<ReturnType<typeof openDocs>>;
  beforeAll(async () => {
    browser = await startChromium();
    phone = await openDocs({ width: 390 });
    await unfoldOperations(phone.page);
  }, 300_000);
  afterAll(() => browser.close());

  /** Opens the page. `errors` lists its errors and violations of its policy, `foreign` its requests to other hosts. */
  async function openDocs({ width = 1280, colorScheme = "light" as "light" | "dark", bypassCSP = false } = {}) {
    const context = await browser.newContext({ viewport: { width, height: PHONE_PX }, colorScheme, bypassCSP });
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const page = await context.newPage();
    const errors: string[] = [];
    const foreign: string[] = [];
    page.on("console", (message) => errors.push(message.text()));
    page.on("pageerror", (error) => errors.push(error.message));
    page.on("request", (request) => {
      if (!/^data:/.test(request.url()) && !request.url().startsWith(url)) foreign.push(request.url());
    });
    const response = await page.goto(`${url}/docs`);
    await page.locator(".opblock-summary-control").first().waitFor();
    const policy = response?.headers()["content-security-policy"] ?? "";
    const isNarrowEnough = () => page.evaluate("document.documentElement.scrollWidth <= window.innerWidth");
    return { page, policy, errors, foreign, isNarrowEnough };
  }

  async function unfoldOperations(page: Page) {
    await page.evaluate("document.querySelectorAll('.opblock-summary-control').forEach((button) => button.click())");
    for (const operation of await page.locator(".opblock").all()) await successExample(operation).waitFor();
  }

  const successExample = (operation: Locator) => operation.locator(".response:not(.refusal *) .highlight-code").first();

  it.for([
    [1280, 0],
    [390, 1],
  ] as const)(
    "shows every operation at a width of %i within its content security policy",
    async ([width, refusalAt], { expect }) => {
      const { page, policy, errors, foreign, isNarrowEnough } = phone;
      await page.setViewportSize({ width, height: PHONE_PX });

      expect(policy).toContain("default-src 'none'");
      expect(policy).not.toMatch(/unsafe|\*|https?:/);
      expect(await page.locator(".opblock-summary-description").allInnerTexts()).toEqual(
        expect.arrayContaining(operations.map(({ summary }) => summary)),
      );
      expect(await isNarrowEnough()).toBe(true);

      const folded = page.locator(".refusal summary", { hasText: "idempotency_key_reused" }).nth(refusalAt);
      await folded.click();
      await folded.locator("..").getByText('"code": "').waitFor();
      const answer = await page.locator(".response > .response-col_description").first().boundingBox();
      expect(answer?.width).toBeGreaterThan(width / 2);
      expect(await isNarrowEnough()).toBe(true);
      expect(foreign).toEqual([]);
      expect(errors).toEqual([]);
    },
  );

  it("shows the examples of each operation within three screens of a phone", async ({ expect }) => {
    for (const operation of await phone.page.locator(".opblock").all()) {
      const top = (await operation.boundingBox())?.y ?? Number.NaN;
      const example = await successExample(operation).boundingBox();
      const end = (example?.y ?? Number.NaN) + (example?.height ?? Number.NaN) - top;
      const name = await operation.locator(".opblock-summary").innerText();
      expect(end, name).toBeGreaterThan(0);
      expect(end, name).toBeLessThanOrEqual(THREE_PHONE_SCREENS_PX);
    }
  });

  it("shows calls on the first screen of a phone, and the credentials after a tap", async ({ expect }) => {
    const { page } = await openDocs({ width: 390 });
    const fifth = await page.locator(".opblock").nth(4).boundingBox();
    expect((fifth?.y ?? Number.NaN) + (fifth?.height ?? Number.NaN)).toBeLessThan(PHONE_PX);

    const credential = page.locator("#credential-operator_key");
    expect(await credential.isVisible()).toBe(false);
    await page.getByText("Credentials", { exact: true }).click();
    await credential.waitFor();
  });

  it.for(["light", "dark"] as const)(
    "has enough contrast in the %s scheme, and short lines",
    async (colorScheme, { expect }) => {
      const { page } = await openDocs({ colorScheme, bypassCSP: true });
      await page.locator(".opblock-summary-control").first().click();
      await successExample(page.locator(".opblock").first()).waitFor();
      await page.addScriptTag({ content: AXE });
      const violations = await page.evaluate(
        "axe.run('.swagger-ui', { runOnly: ['color-contrast'] }).then((run) => run.violations.flatMap(({ nodes }) => nodes.map(({ target }) => String(target))))",
      );
      expect(violations).toEqual([]);

      const paragraphs = await page.locator(".renderedMarkdown p").all();
      const widths = await Promise.all(paragraphs.map(async (each) => (await each.boundingBox())?.width ?? 0));
      expect(Math.max(...widths)).toBeLessThanOrEqual(LINE_PX_MAX);
    },
  );

  it("has a call of curl for each operation, which works as it is copied", async ({ expect }) => {
    const body = { workspace: "curl", environment: "Testing", name: "docs" };
    const apiKey: string = (await call("POST", "/api/keys", body, { Authorization: `Token ${operatorToken}` })).body
      .key;
    const admin = { name: "docs", role: "admin" };
    const issued = await call("POST", "/api/operators", admin, { Authorization: `Token ${operatorToken}` });
    const { id: operatorId } = issued.body.operator;
    const shown = await phone.page.locator(".opblock").all();
    expect(shown).toHaveLength(operations.length);
    const spare = await newSpareEnvironment();

    for (const operation of shown) {
      await operation.getByRole("button", { name: "Copy curl" }).click();
      await operation.getByText("Copied").waitFor();
      const curl = String(await phone.page.evaluate("navigator.clipboard.readText()"));
      expect(curl).toContain(url);
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
      };
      // The page shows the number 1, and a reader puts the number of a group or an operator there.
      const filled = curl
        .replace("/api/user_groups/1", `/api/user_groups/${teamId}`)
        .replace("/api/operators/1", `/api/operators/${operatorId}`)
        .replace("@page-1.ndjson", `@${spare.backup}`)
        .replaceAll(/\bacme(?=(?:\/|%2F|&environment=)Testing)/g, isAboutAll(curl) ? spare.workspace : "acme");
      const command = `${filled} -sS -w '\n%{http_code}'`;
      const { stdout } = await promisify(execFile)("bash", ["-c", command], { env });
      expect(stdout, curl).toMatch(/\n20[01]$/);
    }
  });

  it("names the credential of each operation, and describes all of them", async ({ expect }) => {
    const names = phone.page.locator(".credentials dt");
    expect(await names.allTextContents()).toEqual(["api_key", "viewer_session", "user_group_token", "operator_key"]);
    expect(await phone.page.locator(".call-example .credential").allInnerTexts()).toEqual(
      operations.map(({ security }) => `Credential: ${security.flatMap(Object.keys).join(" or ") || "none"}`),
    );
  });

  it("folds the schemas at first, and shows no pattern of control characters in them", async ({ expect }) => {
    const { page } = await openDocs();
    await page.locator(".opblock-summary-control").first().click();
    expect(await page.getByRole("button", { name: "Schemas" }).getAttribute("aria-expanded")).toBe("false");
    await page.getByRole("tab", { name: "Schema" }).first().click();
    const schema = page.locator(".opblock-section-request-body");
    const field = schema.getByText("user_group_id", { exact: true });
    await schema.getByText("EnsureBody").waitFor();
    expect(await field.isVisible()).toBe(false);

    await schema.getByRole("button", { name: "Expand all" }).first().click();
    await field.waitFor();
    expect(await schema.innerText()).toContain("Your own id of the user group");
    const constraints = await schema.locator(".json-schema-2020-12__constraint").allInnerTexts();
    expect(constraints).toContain("[1, 255] characters");
    expect(constraints.filter((text) => /^matches .*(u0000|\\p\{)/.test(text))).toEqual([]);
  });

  it("follows the color scheme of the system, also when it changes", async ({ expect }) => {
    const { page } = await openDocs({ colorScheme: "dark" });
    const background = () => page.evaluate("getComputedStyle(document.documentElement).backgroundColor");
    const text = () => page.evaluate("getComputedStyle(document.querySelector('.info .title')).color");
    expect(await background()).toBe("rgb(28, 32, 34)");
    const darkText = await text();
    await page.emulateMedia({ colorScheme: "light" });
    await expect.poll(background).toBe("rgb(255, 255, 255)");
    await expect.poll(text).not.toBe(darkText);
  });
});
