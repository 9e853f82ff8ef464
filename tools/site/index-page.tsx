/** The page of all headings, calls and codes, in which the browser's search finds what somebody looks for. */
import type { FC } from "hono/jsx";
import type { EntryGroup } from "./entries.ts";
import { GuideList, Layout, type Site } from "./layout.tsx";

export const IndexPage: FC<Site & { groups: readonly EntryGroup[] }> = ({ version, guides, groups }) => (
  <Layout title="Index" path="/docs/index" version={version} side={<GuideList guides={guides} current="index" />}>
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
