/** The page /docs, which sends each reader to the right first page. */
import type { FC } from "hono/jsx";
import { GuideList, Layout, type Site } from "./layout.tsx";
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
export const MissingPage: FC<Site> = ({ version, guides }) => (
  <Layout title="There is no such page" path="" version={version} side={<GuideList guides={guides} current="" />}>
    <h1>There is no such page</h1>
    <p>
      Version {version} has no page at this address. <a href="/docs/index">The index</a> has every heading of all pages.
    </p>
  </Layout>
);

/** The page /docs. */
export const StartPage: FC<Site> = ({ version, guides }) => (
  <Layout title="Documents" path="/docs" version={version} side={<GuideList guides={guides} current="" />}>
    <h1>User groups</h1>
    <p>
      This service stores a user group for each of your customers, and decides whose data a dashboard may show. Your
      server mints a short-lived viewer session; the page presents it.
    </p>
    <div class="readers">
      {READERS.map(({ who, intent, pages }) => {
        const [first, ...others] = named(pages, guides);
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
