/** The page /kit/, from which people copy lines, and which pip reads with --find-links. */
import type { FC } from "hono/jsx";
import { hashesOf, type KitFile } from "../kit/kit-file.ts";
import { GuideList, Layout, type Site } from "./layout.tsx";

export const KitPage: FC<Site & { kit: readonly KitFile[] }> = ({ version, guides, kit }) => (
  <Layout title="Kit" path="/kit/" version={version} side={<GuideList guides={guides} current="kit" />}>
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
