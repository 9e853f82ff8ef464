/** The browser of the tests and of the pictures. */
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

/** Debian's Chromium. The build without windows comes first, since it opens a page in a third of the CPU time. */
const CHROMIUM = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"].find(existsSync);

export const hasChromium = CHROMIUM !== undefined;

/** The end of the name of a test in a browser. */
export const skippedWithoutChromium = hasChromium ? "" : ", skipped: chromium is missing";

/** Starts Chromium, which the caller closes. It fails where Chromium is not installed. */
export function startChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-background-networking", "--disable-gpu"],
  });
}
