/** `npm run pictures`: takes the pictures of the documents. It needs Debian's chromium, and the ports of `npm run demo`. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { startChromium } from "./browser.ts";

const FOLDER = "docs/pictures";
const SIZE = { width: 900, height: 760 };

const demo = spawn(process.execPath, ["tools/demo.ts", "--persist-to", ".ug/pictures"], {
  stdio: ["ignore", "pipe", "inherit"],
});
const browser = await startChromium();
try {
  await Promise.race([once(demo.stdout, "data"), once(demo, "exit").then(() => Promise.reject(new Error("No demo.")))]);
  const page = await browser.newPage({ viewport: SIZE, colorScheme: "light" });
  await page.goto("http://localhost:3000");
  await page.getByRole("button", { name: "Ada Moreno" }).click();
  await page.locator("#report").waitFor();
  mkdirSync(FOLDER, { recursive: true });
  await page.screenshot({ path: join(FOLDER, "product.png"), fullPage: true });
} finally {
  await browser.close();
  demo.kill("SIGTERM");
  await once(demo, "exit");
}
