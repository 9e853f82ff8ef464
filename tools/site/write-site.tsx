/** Writes the site: pages that need no script, the Markdown of the guides, and /llms.txt. */
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Child } from "hono/jsx";
import type { KitFile } from "../kit/kit-file.ts";
import { CallFinder } from "./calls.ts";
import { type Call, codesOf, type Document } from "./document.ts";
import { type Guide, guidesIn, Links, type Section } from "./guides.ts";
import { IndexPage } from "./index-page.tsx";
import { KitPage } from "./kit-page.tsx";
import { GuidePage } from "./layout.tsx";
import { Markdown, type RenderedGuide } from "./markdown.ts";
import { asVersion30 } from "./openapi-3.0.ts";
import { ReferencePage } from "./reference.tsx";
import { llmsText, MissingPage, StartPage } from "./start.tsx";

const PICTURES = "docs/pictures";
const EXAMPLE_ORIGIN = "http://localhost:8787";
/** Their readers run a service of their own. */
const OF_MAINTAINERS: readonly Section[] = ["reference", "internals"];

/**
 * Writes the site of the project in the folder `root` into `output`, which is its `public/`. Pages of an older build go.
 *
 * @throws if a page links to what is not there, or begins without a title and a sentence.
 */
export function writeSite(root: string, output: string, kit: readonly KitFile[]): void {
  const document: Document = JSON.parse(readFileSync(join(root, "public/openapi.json"), "utf8"));
  const sources = guidesIn(root);
  const links = new Links(root, sources);
  const calls = new CallFinder(document);
  const markdown = new Markdown({ links, calls, codes: codesOf(document) });
  const guides = sources.map((guide) => markdown.guide(guide));
  const site = { version: document.info.version, guides };
  const guidesOf = guidesByCall(guides, calls);
  const files: Record<string, string> = {
    "docs.html": pageOf(<StartPage {...site} />),
    "docs-missing.html": pageOf(<MissingPage {...site} />),
    "docs/calls.html": pageOf(<ReferencePage {...site} document={document} markdown={markdown} guidesOf={guidesOf} />),
    "docs/index.html": pageOf(<IndexPage {...site} document={document} />),
    "kit/index.html": pageOf(<KitPage {...site} kit={kit} />),
    "llms.txt": llmsText(guides),
    "openapi-3.0.json": JSON.stringify(asVersion30(document)),
  };
  for (const guide of guides) {
    files[`docs/${guide.name}.html`] = pageOf(<GuidePage guide={guide} site={site} />);
    files[`docs/${guide.name}.md`] = markdown.source(guide);
  }
  for (const file of links.files) files[`docs/${file}.txt`] = readFileSync(join(root, file), "utf8");

  const withExamples = Object.keys(files).filter(
    (name) => showsOwnOrigin(name, sources) && files[name]?.includes(EXAMPLE_ORIGIN),
  );
  files["docs/examples.json"] = JSON.stringify(withExamples.map((name) => `/${name}`));
  for (const [name, text] of Object.entries(files)) write(join(output, name), text);
  if (existsSync(join(root, PICTURES))) cpSync(join(root, PICTURES), join(output, PICTURES), { recursive: true });
  removeOld(output, new Set(Object.keys(files)));
}

/** Finds the guides that name a call, with that which names it most often first. */
function guidesByCall(guides: RenderedGuide[], calls: CallFinder): (call: Call) => RenderedGuide[] {
  const counted = guides
    .filter(({ section, name }) => (section === "integrators" || section === "operators") && name !== "readme")
    .map((guide) => ({ guide, counts: calls.countsIn(guide.text) }));
  return ({ operation: { operationId: id } }) =>
    counted
      .filter(({ counts }) => counts.has(id))
      .toSorted((one, other) => (other.counts.get(id) ?? 0) - (one.counts.get(id) ?? 0))
      .map(({ guide }) => guide);
}

/** Whether a file shows the origin of the service that serves it, in place of that of a clone. */
function showsOwnOrigin(file: string, guides: readonly Guide[]): boolean {
  const [, page] = /^docs\/([\w-]+)\.(?:html|md)$/.exec(file) ?? [];
  const guide = guides.find(({ name }) => name === page);
  return guide === undefined || (guide.name !== "readme" && !OF_MAINTAINERS.includes(guide.section));
}

/** Removes the pages of an older build. They are not removed before, since two programs may build at the same time. */
function removeOld(output: string, names: ReadonlySet<string>): void {
  for (const name of globSync("docs/**/*.{html,md,txt}", { cwd: output }))
    if (!names.has(name)) rmSync(join(output, name), { force: true });
}

const pageOf = (page: Child): string => `<!doctype html>${page}\n`;

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
