/** The frame of each page of /docs. */
import { raw } from "hono/html";
import type { Child, FC } from "hono/jsx";
import { SECTIONS } from "./guides.ts";
import type { Heading, RenderedGuide } from "./markdown.ts";

/** What all pages show: the version of the service, and the guides. */
export type Site = { version: string; guides: RenderedGuide[] };

const TABS = [
  ["/docs", "Start"],
  ["/docs/calls", "Calls"],
  ["/docs/errors", "Errors"],
  ["/docs/index", "Index"],
  ["/kit/", "Kit"],
];

type LayoutProps = Site & { title: string; path: string; hasMarkdown?: boolean; above?: Child; children: Child };

/**
 * A page: the bar, all guides at its side (on a phone, in a menu) with what is `above` them, and its content. Only the pages of /docs may run
 * a script.
 */
export const Layout: FC<LayoutProps> = ({ version, guides, title, path, hasMarkdown, above, children }) => (
  <html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <title>{`${title} · User groups`}</title>
      <link rel="icon" href="/favicon.svg" type="image/svg+xml" />
      <link rel="stylesheet" href="/styles/ui.css" />
      <link rel="stylesheet" href="/styles/docs.css" />
      {hasMarkdown && <link rel="alternate" type="text/markdown" href={`${path}.md`} />}
      {path !== "/kit/" && <script type="module" src="/docs/pages.js" />}
    </head>
    <body class="docs">
      <header>
        <a class="skip" href="#main">
          Skip to the content
        </a>
        <div class="bar">
          <button type="button" class="contents" popovertarget="contents">
            All pages
          </button>
          <a class="brand" href="/docs" aria-label="User groups: start">
            <img src="/favicon.svg" alt="" />
            <span>User groups</span>
          </a>
          <small>{version}</small>
          <nav class="tabs" aria-label="Documents">
            <ul>
              {TABS.map(([href, text]) => (
                <li>
                  <a href={href} {...(href === path && { "aria-current": "page" })}>
                    {text}
                  </a>
                </li>
              ))}
            </ul>
          </nav>
        </div>
      </header>
      <div class="columns">
        <nav id="contents" class="side" aria-label="Contents" popover="auto">
          {above}
          <GuideList guides={guides} path={path} />
        </nav>
        <main id="main">{children}</main>
      </div>
    </body>
  </html>
);

/** All guides, by their sections. */
const GuideList: FC<{ guides: RenderedGuide[]; path: string }> = ({ guides, path }) => (
  <>
    {Object.entries(SECTIONS).map(([section, title]) => (
      <>
        <h2>{title}</h2>
        <ul>
          {guides
            .filter((guide) => guide.section === section)
            .map(({ name, title: text }) => (
              <li>
                <a href={`/docs/${name}`} {...(path === `/docs/${name}` && { "aria-current": "page" })}>
                  {text}
                </a>
              </li>
            ))}
        </ul>
      </>
    ))}
  </>
);

/** What a page has, by its headings of the second level. */
const OnThisPage: FC<{ headings: Heading[] }> = ({ headings }) => {
  const parts = headings.filter(({ level }) => level === 2);
  if (parts.length < 3) return null;
  return (
    <details class="parts">
      <summary>On this page</summary>
      <ul>
        {parts.map(({ id, text }) => (
          <li>
            <a href={`#${id}`}>{text}</a>
          </li>
        ))}
      </ul>
    </details>
  );
};

/** A page of Markdown. */
export const GuidePage: FC<{ guide: RenderedGuide; site: Site }> = ({ guide, site }) => {
  const { name, title, section, headings, html } = guide;
  const path = `/docs/${name}`;
  return (
    <Layout {...site} title={title} path={path} hasMarkdown>
      <p class="above">
        {SECTIONS[section]} · <a href={`${path}.md`}>Markdown</a>
      </p>
      <h1 id={headings[0]?.id}>{title}</h1>
      <OnThisPage headings={headings} />
      <div class="guide">{raw(html)}</div>
    </Layout>
  );
};
