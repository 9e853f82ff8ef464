/**
 * `npm run screenshots`: takes every page of the console at three widths and in both schemes, into `.screenshots/`, and the pictures of
 * docs/operators/console.md into `docs/pictures/`. It starts a service of its own, and needs Debian's chromium.
 */
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import type { Browser } from "playwright-core";
import { startOwnService } from "../cli/src/serve/own-service.ts";
import { startChromium } from "./browser.ts";
import { runTool } from "./command.ts";
import { age } from "./console/age.ts";
import { fill } from "./console/fixture.ts";
import { HOSTILE_PAGES, SHOP_PAGES } from "./console/pages.ts";

const WIDTHS = [390, 1280, 1600];
const SCHEMES = ["light", "dark"] as const;
const FOLDER = ".screenshots";
const PICTURES = "docs/pictures";
const GROUP = "/console/environments/acme/Customer/groups/1";
const SUSPENDED = "/console/environments/acme/Customer/groups/4";
const VIEW_AS = `${GROUP}/view-as`;
/** The pictures of the documents, by the names of their files. */
const OF_DOCS: Record<string, string> = {
  "console-group": SUSPENDED,
  "console-overview": "/console/environments/acme/Customer",
};

const nameOf = (path: string) => path.slice("/console/".length).replaceAll(/[/?=]/g, "-");

async function signedIn(browser: Browser, url: URL, key: string, options: Parameters<Browser["newContext"]>[0]) {
  const page = await (await browser.newContext(options)).newPage();
  await page.goto(new URL("/console", url).href);
  await page.getByLabel("Your operator key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(/environments$/);
  return page;
}

/** What a viewer with a session gets of a template: the picture of *view as*. */
async function takeViewAs(browser: Browser, url: URL, key: string): Promise<void> {
  const page = await signedIn(browser, url, key, { viewport: { width: 1000, height: 760 } });
  await page.goto(new URL(VIEW_AS, url).href);
  await page
    .locator("textarea[name=sql]")
    .fill(
      "SELECT sum(total) FROM orders\nWHERE customer = {{user_group_id}}\n  [[AND region IN ({{user_group.region}})]]\n  [[AND store = {{user_group.store}}]]",
    );
  await page.locator("main form button[type=submit]").first().click();
  await page.screenshot({ path: join(PICTURES, "console-view-as.png"), fullPage: true });
}

async function takeAll(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "user-group-service-"));
  mkdirSync(FOLDER, { recursive: true });
  mkdirSync(PICTURES, { recursive: true });
  const signingKeys = `k1:${randomBytes(32).toString("base64")}`;
  const filled = await startOwnService(folder, signingKeys);
  const { operators } = await fill(filled);
  await filled.stop();
  age(folder);
  const service = await startOwnService(folder, signingKeys);
  const browser = await startChromium();
  try {
    const { url } = service;
    for (const colorScheme of SCHEMES)
      for (const width of WIDTHS) {
        const page = await signedIn(browser, url, operators.admin, { colorScheme, viewport: { width, height: 900 } });
        for (const path of [...SHOP_PAGES, ...HOSTILE_PAGES]) {
          await page.goto(new URL(path, url).href);
          await page.screenshot({ path: join(FOLDER, `${nameOf(path)}.${width}.${colorScheme}.png`), fullPage: true });
        }
        await page.context().close();
      }
    const page = await signedIn(browser, url, operators.admin, { viewport: { width: 1000, height: 700 } });
    for (const [name, path] of Object.entries(OF_DOCS)) {
      await page.goto(new URL(path, url).href);
      await page.screenshot({ path: join(PICTURES, `${name}.png`) });
    }
    await takeViewAs(browser, url, operators.admin);
  } finally {
    await browser.close();
    await service.stop();
    rmSync(folder, { recursive: true });
  }
}

await runTool(new Command("npm run screenshots").action(takeAll));
