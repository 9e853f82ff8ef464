/** The pages that are neither a guide nor of the calls. */
import type { FC } from "hono/jsx";
import { hashesOf, type KitFile } from "../kit/kit-file.ts";
import type { EntryGroup } from "./entries.ts";
import { Layout, type Site } from "./layout.tsx";
import type { RenderedGuide } from "./markdown.ts";

type Reader = { who: string; intent: string; pages: string[] };

/** Each kind of reader, and the pages that matter to them, the first one first. */
const READERS: Reader[] = [
  {
    who: "You integrate",
    intent: "Your product embeds dashboards, and each of your customers may see only their own rows.",
    pages: ["first-rows", "choosing", "embedding", "api", "going-live"],
  },
  {
    who: "You run the service",
    intent: "You deploy it, issue keys, and help when something is wrong.",
    pages: ["one-box", "operating", "access", "backups", "symptoms"],
  },
  {
    who: "You decide or review",
    intent: "You want to know what it guarantees, what it costs, and what happens when a secret leaks.",
    pages: ["readme", "security", "stability", "performance", "cloudflare"],
  },
  {
    who: "You change the code",
    intent: "You maintain the service, or add to it.",
    pages: ["contributing", "architecture", "testing", "recipes", "changelog"],
  },
];

/** The guides with these names, in their order. @throws for a name that no guide has */
function named(names: string[], guides: RenderedGuide[]): RenderedGuide[] {
  const byName = new Map(guides.map((guide) => [guide.name, guide]));
  return names.map((name) => {
    const guide = byName.get(name);
    if (!guide) throw new Error(`The first page of /docs names ${name}, which is no page.`);
    return guide;
  });
}

/** What stands in place of a page that is not there. */
export const MissingPage: FC<Site> = (site) => (
  <Layout {...site} title="There is no such page" path="">
    <h1>There is no such page</h1>
    <p>
      Version {site.version} has no page at this address. <a href="/docs/index">The index</a> has every heading of all
      pages.
    </p>
  </Layout>
);

/** The page /docs, which sends each reader to the right first page. */
export const StartPage: FC<Site> = (site) => (
  <Layout {...site} title="Documents" path="/docs">
    <h1>User groups</h1>
    <p>
      This service stores a user group for each of your customers, and decides whose data a dashboard may show. Your
      server mints a short-lived viewer session; the page presents it.
    </p>
    <div class="readers">
      {READERS.map(({ who, intent, pages }) => {
        const [first, ...others] = named(pages, site.guides);
        if (!first) return null;
        return (
          <section>
            <h2>{who}</h2>
            <p>{intent}</p>
            <p>
              <a class="button primary" href={`/docs/${first.name}`}>
                {first.title}
              </a>
            </p>
            <ul>
              {others.map(({ name, title, summary }) => (
                <li>
                  <a href={`/docs/${name}`}>{title}</a> <small>{summary}</small>
                </li>
              ))}
            </ul>
          </section>
        );
      })}
      <section>
        <h2>You are a program</h2>
        <p>
          Begin with <a href="/llms.txt">/llms.txt</a>, which has the pages for each task. For a page as Markdown, add{" "}
          <code>.md</code> to its address. Each call has a page of its own; <a href="/docs/calls.md">the list</a> names
          them.
        </p>
      </section>
    </div>
  </Layout>
);

/** The page of all headings, calls and codes, in which the browser's search finds what somebody looks for. */
export const IndexPage: FC<Site & { groups: readonly EntryGroup[] }> = ({ groups, ...site }) => (
  <Layout {...site} title="Index" path="/docs/index">
    <h1>Index</h1>
    <p class="above">Every heading, call and error code, for the search of your browser.</p>
    <div class="index">
      {groups.map(({ href, title, entries }) => (
        <>
          <h2>
            <a href={href}>{title}</a>
          </h2>
          <ul>
            {entries.map(({ href: place, title: text, detail }) => (
              <li>
                <a href={place}>{text}</a>
                {detail && <small> {detail}</small>}
              </li>
            ))}
          </ul>
        </>
      ))}
    </div>
  </Layout>
);

/** The page /kit/, from which people copy lines, and which pip reads with --find-links. */
export const KitPage: FC<Site & { kit: readonly KitFile[] }> = ({ kit, ...site }) => (
  <Layout {...site} title="Kit" path="/kit/">
    <h1>Kit</h1>
    <p>
      What integrators install, for exactly this service. A name never changes its bytes. Keep the file of a package in
      your repository: after an upgrade of the service, another one is here.{" "}
      <a href="/docs/typescript-client#install">The TypeScript client</a> has more about it, and{" "}
      <a href="/kit/files.json">files.json</a> this list for programs. <code>/kit/viewer.js</code> is the present file
      for pages, for a try.
    </p>
    {kit.map(({ name, content, title, lines }) => {
      const { sha256, integrity } = hashesOf(content);
      return (
        <section>
          <h2 id={name}>{title}</h2>
          <p>
            <a href={`/kit/${name.replace("+", "%2B")}#sha256=${sha256}`}>{name}</a>, {content.length} bytes
          </p>
          <pre>
            <code>{lines}</code>
          </pre>
          <p>
            SHA-256 <code>{sha256}</code>
            <br />
            integrity <code>{integrity}</code>
          </p>
        </section>
      );
    })}
  </Layout>
);
