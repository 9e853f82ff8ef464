/**
 * `npm run diagrams`: draws the diagrams of the pages, which are Mermaid in their Markdown, as files that browsers show in either scheme. A test
 * compares them.
 */
import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { renderMermaidSVG } from "beautiful-mermaid";
import { diagramFile } from "./site/markdown.ts";

const DIAGRAM = /^```mermaid\n([\s\S]*?)^```/gm;
const PAGES = ["README.md", "docs/*/*.md"];
/** The colours of the pages in either scheme. */
const COLOURS =
  "svg { --bg: #ffffff; --fg: #17181c; --muted: #4b4d55; } @media (prefers-color-scheme: dark) { svg { --bg: #101114; --fg: #e8e9ec; --muted: #b4b7c0; } }";

/** Draws a diagram. Its fonts and colours come from nowhere else, since a page loads nothing of others. */
function draw(source: string): string {
  return renderMermaidSVG(source, { font: "system-ui", transparent: true })
    .replace(/ style="[^"]*"/, "")
    .replace(/@import url\([^)]*\);/, COLOURS);
}

/** The files of all diagrams, with their content. */
export function diagrams(): Map<string, string> {
  const sources = globSync(PAGES).flatMap((page) =>
    [...readFileSync(page, "utf8").matchAll(DIAGRAM)].map(([, source = ""]) => source),
  );
  return new Map(sources.map((source) => [diagramFile(source), draw(source)]));
}

if (import.meta.main) {
  for (const old of globSync("docs/pictures/*.svg")) rmSync(old);
  for (const [file, content] of diagrams()) writeFileSync(file, content);
}
