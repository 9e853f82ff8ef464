import { type Browser, chromium } from "playwright-core";
import { inject } from "vitest";
import { startChromium } from "../../../tools/browser.ts";

/** Connects to the browser of all files. What a file opens there is its own, and ends with its connection. */
export async function connectChromium(): Promise<Browser> {
  if (process.env.AB === "launch") return startChromium();
  const response = await fetch(inject("chromiumUrl"));
  return chromium.connect(await response.text());
}
