/**
 * `npm run pictures`: takes the pictures of the documents, of the product of `npm run demo` and of a console of its own; with `--every-page`
 * also each page of the console, at three widths and in both schemes, into `.screenshots/`. It needs Debian's chromium, and the demo's ports.
 */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { globSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Command } from "commander";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { startOwnService } from "../cli/src/serve/own-service.ts";
import { startChromium } from "./browser.ts";
import { runTool } from "./command.ts";
import { fill } from "./console/fixture.ts";
import { HOSTILE_PAGES, SHOP_PAGES } from "./console/pages.ts";

const WIDTHS = [390, 1280, 1600];
const SCHEMES = ["light", "dark"] as const;
const DAY_MS = 24 * 60 * 60 * 1000;
const ENVIRONMENT = "/console/environments/acme/Customer";
const TEMPLATE = `SELECT sum(total) FROM orders
WHERE customer = {{user_group_id}}
  [[AND region IN ({{user_group.region}})]]
  [[AND store = {{user_group.store}}]]`;

/** The page of a console for an operator who has signed in. */
type SignIn = (options: BrowserContextOptions) => Promise<Page>;

/** Starts a console with data that seems to be of the last 20 days: all that it adds is of one second. */
async function startConsole(folder: string) {
  const signingKeys = `k1:${randomBytes(32).toString("base64")}`;
  const filled = await startOwnService(folder, signingKeys);
  const start = Date.now();
  const { operators } = await fill(filled);
  await filled.stop();
  const end = Date.now();
  for (const path of globSync("state/*/*.sqlite", { cwd: folder })) {
    const database = new DatabaseSync(join(folder, path));
    const times = database.prepare(`SELECT tables.name AS "table", columns.name FROM sqlite_master AS tables
      JOIN pragma_table_info(tables.name) AS columns WHERE tables.type = 'table' AND (columns.name = 'at' OR columns.name LIKE '%!_at' ESCAPE '!')`);
    for (const { table, name } of times.all())
      database
        .prepare(
          `UPDATE ${table} SET ${name} = CAST(?1 - (?1 - ${name}) * ?2 AS INTEGER) WHERE ${name} BETWEEN ?3 AND ?1`,
        )
        .run(end, (20 * DAY_MS) / (end - start), start);
    database.close();
  }
  return { ...(await startOwnService(folder, signingKeys)), key: operators.admin };
}

const pictureOf = (name: string) => ({ path: join("docs/pictures", `${name}.png`) });

async function takeProduct(browser: Browser): Promise<void> {
  const demo = spawn(process.execPath, ["tools/demo.ts", "--persist-to", ".ug/pictures"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const end = once(demo, "exit").then(() => Promise.reject(new Error("No demo.")));
    await Promise.race([once(demo.stdout, "data"), end]);
    const page = await browser.newPage({ viewport: { width: 900, height: 760 }, colorScheme: "light" });
    await page.goto("http://localhost:3000");
    await page.getByRole("button", { name: "Ada Moreno" }).click();
    await page.locator("#report").waitFor();
    await page.screenshot({ ...pictureOf("product"), fullPage: true });
  } finally {
    if (demo.kill("SIGTERM")) await once(demo, "exit");
  }
}

async function takeConsole(signIn: SignIn): Promise<void> {
  const page = await signIn({ viewport: { width: 1000, height: 700 } });
  await page.goto(`${ENVIRONMENT}/groups/4`);
  await page.screenshot(pictureOf("console-group"));
  await page.goto(ENVIRONMENT);
  await page.screenshot(pictureOf("console-overview"));
  await page.setViewportSize({ width: 1000, height: 760 });
  await page.goto(`${ENVIRONMENT}/groups/1/view-as`);
  await page.locator("textarea[name=sql]").fill(TEMPLATE);
  await page.locator("main form button[type=submit]").first().click();
  await page.screenshot({ ...pictureOf("console-view-as"), fullPage: true });
}

async function takeEveryPage(signIn: SignIn): Promise<void> {
  for (const colorScheme of SCHEMES)
    for (const width of WIDTHS) {
      const page = await signIn({ colorScheme, viewport: { width, height: 900 } });
      for (const path of [...SHOP_PAGES, ...HOSTILE_PAGES]) {
        const name = path.slice("/console/".length).replaceAll(/[/?=]/g, "-");
        await page.goto(path);
        await page.screenshot({ path: join(".screenshots", `${name}.${width}.${colorScheme}.png`), fullPage: true });
      }
      await page.context().close();
    }
}

async function takeAll({ everyPage }: { everyPage?: true }): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "user-group-service-"));
  const [service, browser] = await Promise.all([startConsole(folder), startChromium()]);
  try {
    const signIn: SignIn = async (options) => {
      const page = await (await browser.newContext({ ...options, baseURL: service.url.href })).newPage();
      await page.goto("/console");
      await page.getByLabel("Your operator key").fill(service.key);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.waitForURL(/environments$/);
      return page;
    };
    await takeConsole(signIn);
    if (everyPage) await takeEveryPage(signIn);
    await takeProduct(browser);
  } finally {
    await browser.close();
    await service.stop();
    rmSync(folder, { recursive: true });
  }
}

await runTool(
  new Command("npm run pictures --")
    .option("--every-page", "each page of the console too, into .screenshots/")
    .action(takeAll),
);
