/**
 * Renders Markdown: pages of the project, and descriptions of the OpenAPI document. HTML in it becomes text, and `javascript:` no link: that
 * is how markdown-it does it without options, and a test holds it to that.
 */
import { createHash } from "node:crypto";
import MarkdownIt, { type Token } from "markdown-it";
import type { CallFinder } from "./calls.ts";
import { pathOfCall } from "./document.ts";
import type { Guide, Links } from "./guides.ts";

export type Heading = { level: number; id: string; text: string };

/** A page as HTML, with its headings, and the first sentence of it as text. */
export type RenderedGuide = Guide & { html: string; headings: Heading[]; summary: string };

/** The file with the drawing of a diagram in Mermaid, which has another name once the diagram has changed. */
export const diagramFile = (source: string): string =>
  `docs/pictures/${createHash("sha256").update(source).digest("hex").slice(0, 12)}.svg`;

/** The anchor that GitHub makes of a heading. */
const slugOf = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

/** The text of inline tokens without their markup and pictures. */
const plainOf = (token: Token | undefined): string =>
  (token?.children ?? [])
    .map(({ type, content }) => (type === "softbreak" ? " " : type === "image" ? "" : content))
    .join("")
    .trim();

const CALL = /^(GET|PUT|POST|DELETE) (\/[^\s?]*)/;

/** What pages link to: the pages and files of the project, the calls, and the codes of all refusals. */
export type Linked = { links: Links; calls: CallFinder; codes: ReadonlyMap<string, string> };

export class Markdown {
  readonly #markdown = new MarkdownIt();
  readonly #linked: Linked;

  constructor(linked: Linked) {
    this.#linked = linked;
    const { escapeHtml } = this.#markdown.utils;
    const { rules } = this.#markdown.renderer;
    rules.table_open = (tokens, index) =>
      `<div class="wide" role="region" aria-label="Table ${tokens[index]?.meta?.number}" tabindex="0"><table>\n`;
    rules.table_close = () => "</table></div>\n";
    rules.fence = (tokens, index) => {
      const { content, info } = tokens[index] as Token;
      const code = `<pre><code>${escapeHtml(content)}</code></pre>\n`;
      if (info !== "mermaid") return code;
      const drawing = `<div class="wide" role="region" aria-label="Diagram" tabindex="0"><img src="/${diagramFile(content)}" alt="The text below, drawn" /></div>`;
      return `${drawing}<details><summary>The diagram as text</summary>${code}</details>\n`;
    };
    rules.code_inline = (tokens, index) => {
      const token = tokens[index] as Token;
      // Long names may break after an underscore.
      const text = escapeHtml(token.content).replaceAll("_", "_<wbr>");
      const code = `<code${this.#markdown.renderer.renderAttrs(token)}>${text}</code>`;
      return token.meta ? `<a href="${escapeHtml(String(token.meta.url))}">${code}</a>` : code;
    };
    rules.heading_close = (tokens, index) => {
      const { meta, tag } = tokens[index] as Token;
      const link = ` <a class="anchor" href="#${meta?.id}" aria-label="Link to ${escapeHtml(String(meta?.text))}">#</a>`;
      return `${meta ? link : ""}</${tag}>\n`;
    };
  }

  /** Renders a description. */
  description(text: string): string {
    const tokens = this.#markdown.parse(text, {});
    this.#linkCode(tokens, "");
    return this.#markdown.renderer.render(tokens, this.#markdown.options, {});
  }

  /** Renders text without paragraphs. */
  inline(text: string): string {
    return this.#markdown.renderInline(text);
  }

  /**
   * Renders a page.
   *
   * @throws if it links to what the site does not have, or does not begin with a paragraph.
   */
  guide(guide: Guide): RenderedGuide {
    const tokens = this.#markdown.parse(guide.text, {});
    const headings = addAnchors(tokens);
    for (const token of tokens) this.#rewriteLinks(token, guide.file);
    prepareTables(tokens);
    clearEmptyHeadings(tokens);
    if (guide.name === "errors") this.#addCodeAnchors(tokens);
    this.#linkCode(tokens, guide.name);
    // The title is the page's own heading.
    const html = this.#markdown.renderer.render(tokens.slice(3), this.#markdown.options, {});
    return { ...guide, html, headings, summary: summaryOf(tokens, guide) };
  }

  /** The Markdown of a page with links that work where the site has it, also to the files of the project that it names. */
  source({ text, file }: Guide): string {
    const { links } = this.#linked;
    const linked = (part: string) =>
      part
        .replaceAll(/\]\(([^)\s]+)\)/g, (_, target: string) => `](${links.urlOf(target, file, ".md")})`)
        .replaceAll(/(\[?)`([^`]+)`/g, (code, bracket: string, name: string) => {
          // The text of a link stays as it is.
          const url = bracket === "" ? links.fileUrl(name) : undefined;
          return url === undefined ? code : `[${code}](${url})`;
        });
    // Blocks of code may have brackets and parentheses that are no link.
    return text
      .split(/(^ *```[\s\S]*?^ *```)/m)
      .map((part, index) => (index % 2 === 1 ? part : linked(part)))
      .join("");
  }

  #rewriteLinks(token: Token, file: string): void {
    for (const [index, child] of (token.children ?? []).entries()) {
      const attribute = { link_open: "href", image: "src" }[child.type];
      const target = attribute === undefined ? null : child.attrGet(attribute);
      if (attribute === undefined || target === null) continue;
      child.attrSet(attribute, this.#linked.links.urlOf(String(target), file));
      const text = token.children?.[index + 1];
      // A reader of the site has not seen the files.
      if (text?.type === "text" && /^[\w/-]+\.md$/.test(text.content))
        text.content = this.#linked.links.titleOf(String(target), file) ?? text.content;
    }
  }

  /** Links code that is a call, a code of an error, or a file of the project, where it is not in a link already. */
  #linkCode(tokens: Token[], page: string): void {
    for (const token of tokens) {
      let depth = 0;
      for (const child of token.children ?? []) {
        if (/^link_/.test(child.type)) depth += child.nesting;
        if (child.type !== "code_inline" || depth > 0 || child.attrGet("id") !== null) continue;
        const url = this.#urlOfCode(child.content, page);
        if (url !== undefined) child.meta = { url };
      }
    }
  }

  #urlOfCode(code: string, page: string): string | undefined {
    const { calls, codes, links } = this.#linked;
    const [, method = "", path = ""] = CALL.exec(code) ?? [];
    const call = calls.find(method, path);
    if (call) return pathOfCall(call);
    if (codes.has(code)) return page === "errors" ? `#${code}` : `/docs/errors#${code}`;
    return links.fileUrl(code);
  }

  /** The first cell of a table that has the code of an error is where links to this code lead. */
  #addCodeAnchors(tokens: Token[]): void {
    const seen = new Set<string>();
    for (const [index, token] of tokens.entries()) {
      const [code] = token.children ?? [];
      if (tokens[index - 1]?.type !== "td_open" || code?.type !== "code_inline") continue;
      if (!this.#linked.codes.has(code.content) || seen.has(code.content)) continue;
      seen.add(code.content);
      code.attrSet("id", code.content);
    }
  }
}

/** Gives each heading its anchor and a link to it. */
function addAnchors(tokens: Token[]): Heading[] {
  const headings: Heading[] = [];
  for (const [index, token] of tokens.entries()) {
    if (token.type !== "heading_open") continue;
    const text = plainOf(tokens[index + 1]);
    const same = headings.filter(({ text: other }) => slugOf(other) === slugOf(text)).length;
    const heading = { level: Number(token.tag.slice(1)), text, id: slugOf(text) + (same > 0 ? `-${same}` : "") };
    headings.push(heading);
    token.attrSet("id", heading.id);
    const close = tokens[index + 2];
    if (close) close.meta = heading;
  }
  return headings;
}

/** Numbers the tables, and aligns their cells by a class, because the policy of the pages forbids styles in them. */
function prepareTables(tokens: Token[]): void {
  for (const [index, table] of tokens.filter(({ type }) => type === "table_open").entries())
    table.meta = { number: index + 1 };
  for (const token of tokens) {
    const style = token.attrGet("style");
    if (style === null) continue;
    token.attrs = (token.attrs ?? []).filter(([name]) => name !== "style");
    if (String(style).endsWith("right")) token.attrSet("class", "number");
  }
}

/** Makes cells of empty headings of tables, which name nothing. */
function clearEmptyHeadings(tokens: Token[]): void {
  for (const [index, open] of tokens.entries()) {
    const [content, close] = tokens.slice(index + 1, index + 3);
    if (open.type === "th_open" && content?.content === "" && close) open.tag = close.tag = "td";
  }
}

/** The first sentence of a page, before its first part. */
function summaryOf(tokens: Token[], { file }: Guide): string {
  const part = tokens.findIndex(({ type, tag }) => type === "heading_open" && tag === "h2");
  const paragraphs = tokens
    .slice(0, part === -1 ? undefined : part)
    .flatMap((token, index) => (tokens[index - 1]?.type === "paragraph_open" ? [plainOf(token)] : []));
  const [sentence] = /^.+?(?:\.(?=\s|$)|:$)/s.exec(paragraphs.find((text) => text !== "") ?? "") ?? [];
  if (sentence === undefined || sentence.startsWith("To paste"))
    throw new Error(`${file} does not begin with a sentence about it.`);
  return sentence.replace(/:$/, ".");
}
