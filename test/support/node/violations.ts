import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe-core finds wrong with the page, by its rules or by one of them. It describes no element that is right. */
export async function violationsOn(page: Page, ...rules: string[]): Promise<string[]> {
  const options = { resultTypes: ["violations"], ...(rules.length > 0 && { runOnly: rules }) };
  const run = `axe.run(${JSON.stringify(options)}).then(({ violations }) =>
    violations.map(({ id, nodes }) => id + " " + nodes[0]?.html.slice(0, 120)))`;
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(AXE);
  const found = await page.evaluate<string[]>(run);
  return found.map((violation) => `${page.url()}: ${violation}`);
}
