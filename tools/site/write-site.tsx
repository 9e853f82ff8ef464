/** Writes the site: pages that need no script, the Markdown of the guides, and /llms.txt. */
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Child } from "hono/jsx";
import type { KitFile } from "../kit/kit-file.ts";
import { fileOf, textOf } from "./call-text.ts";
import { CallFinder } from "./calls.ts";
import { CallsPage, callsText, SubjectPage } from "./calls-pages.tsx";
import { type Call, callsOf, codesOf, type Document, subjectPath } from "./document.ts";
import { entriesOf } from "./entries.ts";
import { type Guide, guidesIn, Links, type Section } from "./guides.ts";
import { GuidePage } from "./layout.tsx";
import { llmsText, TASK_FILES } from "./llms.ts";
import { Markdown, type RenderedGuide } from "./markdown.ts";
import { asVersion30 } from "./openapi-3.0.ts";
import { IndexPage, KitPage, MissingPage, StartPage } from "./pages.tsx";

const PICTURES = "docs/pictures";
const EXAMPLE_ORIGIN = "http://localhost:8787";
/** Its readers run a service of their own. */
const OF_MAINTAINERS: Section = "internals";

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
  const groups = entriesOf(document, guides);
  const described = { document, guidesOf: guidesByCall(guides, calls) };
  const files: Record<string, string> = {
    "docs.html": pageOf(<StartPage {...site} />),
    "docs-missing.html": pageOf(<MissingPage {...site} />),
    "docs/calls.html": pageOf(<CallsPage {...site} document={document} markdown={markdown} />),
    "docs/calls.md": callsText(document),
    "docs/index.html": pageOf(<IndexPage {...site} groups={groups} />),
    "docs/search-index.js": `export const groups = ${JSON.stringify(groups)};\n`,
    // Programs read it whole.
    "docs/openapi.json": JSON.stringify(document),
    "kit/index.html": pageOf(<KitPage {...site} kit={kit} />),
    "openapi-3.0.json": JSON.stringify(asVersion30(document)),
  };
  for (const subject of document.tags) {
    const path = subjectPath(subject.name);
    const ofSubject = callsOf(document, subject.name);
    const texts = ofSubject.map((call) => fileOf(call, textOf(call, described, ".md")));
    for (const [index, { operation }] of ofSubject.entries())
      files[`docs/calls/${operation.operationId}.md`] = texts[index] ?? "";
    files[`${path.slice(1)}.md`] = texts.join("\n");
    const props = { ...site, document, markdown, subject, textOf: (call: Call) => textOf(call, described, "") };
    files[`${path.slice(1)}.html`] = pageOf(<SubjectPage {...props} />);
  }
  for (const guide of guides) {
    files[`docs/${guide.name}.html`] = pageOf(<GuidePage guide={guide} site={site} />);
    files[`docs/${guide.name}.md`] = markdown.source(guide);
  }
  for (const file of TASK_FILES) links.fileUrl(file);
  for (const file of links.files) files[`docs/${file}.txt`] = readFileSync(join(root, file), "utf8");
  files["llms.txt"] = llmsText(guides, files, kit);

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
    .filter(({ section }) => section === "integrators" || section === "operators")
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
  return guide?.section !== OF_MAINTAINERS;
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
