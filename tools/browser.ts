/** The browser of the tests and of the pictures. */
import { existsSync } from "node:fs";
import { type Browser, type BrowserServer, chromium } from "playwright-core";

/** Debian's Chromium. The build without windows comes first, since it opens a page in a third of the CPU time. */
const CHROMIUM = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"].find(existsSync);

export const hasChromium = CHROMIUM !== undefined;

/** The end of the name of a test in a browser. */
export const skippedWithoutChromium = hasChromium ? "" : ", skipped: chromium is missing";

const OPTIONS = {
  executablePath: CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-background-networking", "--disable-gpu"],
};

/** Starts Chromium, which the caller closes. It fails where Chromium is not installed. */
export const startChromium = (): Promise<Browser> => chromium.launch(OPTIONS);

/** The same, for several processes that connect to it. */
export const startChromiumServer = (): Promise<BrowserServer> => chromium.launchServer(OPTIONS);
