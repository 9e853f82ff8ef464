/** All places of the site that have a title, for its index and its search. */
import { callsOf, codesOf, type Document, pathOfCall } from "./document.ts";
import type { RenderedGuide } from "./markdown.ts";

/** A place of a page: where it is, its title, and what readers may also look for. */
type Entry = { href: string; title: string; detail: string };

/** The entries of one group: a page, the calls, or the codes of errors. */
export type EntryGroup = { href: string; title: string; entries: Entry[] };

/** All entries by their groups, the errors and the calls first. */
export function entriesOf(document: Document, guides: readonly RenderedGuide[]): EntryGroup[] {
  return [
    {
      href: "/docs/errors",
      title: "Errors",
      entries: [...codesOf(document)].map(([code, status]) => ({
        href: `/docs/errors#${code}`,
        title: code,
        detail: status,
      })),
    },
    {
      href: "/docs/calls",
      title: "Calls",
      entries: [
        ...callsOf(document).map((call) => ({
          href: pathOfCall(call),
          title: call.operation.summary,
          detail: `${call.method.toUpperCase()} ${call.path} ${call.operation.operationId}`,
        })),
        { href: "/docs/calls#rules", title: "Rules of every call", detail: "" },
        { href: "/docs/calls#credentials", title: "Credentials", detail: "" },
      ],
    },
    ...guides.map(({ name, title, headings }) => ({
      href: `/docs/${name}`,
      title,
      entries: headings
        .filter(({ level }) => level > 1)
        .map(({ id, text }) => ({ href: `/docs/${name}#${id}`, title: text, detail: "" })),
    })),
  ];
}
