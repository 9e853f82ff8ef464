/** The frame of each page of /docs. */
import { raw } from "hono/html";
import type { Child, FC } from "hono/jsx";
import { SECTIONS, type Section } from "./guides.ts";
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

type LayoutProps = { title: string; path: string; version: string; side: Child; markdown?: string; children: Child };

/** A page: the bar, what stands at its side (on a phone, in a menu), and its content. Only the pages of /docs may run a script. */
export const Layout: FC<LayoutProps> = ({ title, path, version, side, markdown, children }) => (
  <html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <title>{`${title} · User groups`}</title>
      <link rel="icon" href="/favicon.svg" type="image/svg+xml" />
      <link rel="stylesheet" href="/styles/ui.css" />
      <link rel="stylesheet" href="/styles/docs.css" />
      {markdown && <link rel="alternate" type="text/markdown" href={markdown} />}
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
          {side}
        </nav>
        <main id="main">{children}</main>
      </div>
    </body>
  </html>
);

/** All guides, by their sections. */
export const GuideList: FC<{ guides: RenderedGuide[]; current: string }> = ({ guides, current }) => (
  <>
    {Object.entries(SECTIONS).map(([section, title]) => (
      <>
        <h2>{title}</h2>
        <ul>
          {guidesOf(section as Section, guides).map(({ name, title: text }) => (
            <li>
              <a href={`/docs/${name}`} {...(name === current && { "aria-current": "page" })}>
                {text}
              </a>
            </li>
          ))}
        </ul>
      </>
    ))}
  </>
);

/** The guides of a section. */
const guidesOf = (section: Section, guides: RenderedGuide[]): RenderedGuide[] =>
  guides.filter((guide) => guide.section === section);

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
export const GuidePage: FC<{ guide: RenderedGuide; site: Site }> = ({ guide, site: { version, guides } }) => {
  const { name, title, section, headings, html } = guide;
  const markdown = `/docs/${name}.md`;
  return (
    <Layout
      title={title}
      path={`/docs/${name}`}
      version={version}
      markdown={markdown}
      side={<GuideList guides={guides} current={name} />}
    >
      <p class="above">
        {SECTIONS[section]} · <a href={markdown}>Markdown</a>
      </p>
      <h1 id={headings[0]?.id}>{title}</h1>
      <OnThisPage headings={headings} />
      <div class="guide">{raw(html)}</div>
    </Layout>
  );
};
