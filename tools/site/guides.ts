/** The pages of Markdown, each in its section. */
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join, normalize } from "node:path";

/** The folders of `docs/`: who reads their pages. */
export const SECTIONS = {
  integrators: "For integrators",
  operators: "For operators",
  reference: "To look up",
  internals: "For maintainers",
} as const;

export type Section = keyof typeof SECTIONS;

/** Pages outside of `docs/`: their names, and their sections. */
const OTHERS: Record<string, { name: string; section: Section }> = {
  "README.md": { name: "readme", section: "integrators" },
  "SECURITY.md": { name: "security", section: "operators" },
  "CHANGELOG.md": { name: "changelog", section: "reference" },
  "CONTRIBUTING.md": { name: "contributing", section: "internals" },
};

/** A page of Markdown: its file, its name in the URL, its text, and its title. */
export type Guide = { file: string; name: string; section: Section; title: string; text: string };

const isSection = (name: string): name is Section => Object.hasOwn(SECTIONS, name);

/**
 * Reads all pages below `root`. The name of a file is its name in the URL, in whatever folder it is, so that no link breaks when a page moves.
 *
 * @throws if a page is in no section, has no title, or has the name of another one.
 */
export function guidesIn(root: string): Guide[] {
  const files = [...globSync("docs/*/*.md", { cwd: root }).toSorted(), ...Object.keys(OTHERS)];
  const guides = files.filter((file) => existsSync(join(root, file))).map((file) => readGuide(root, file));
  for (const [name, same = []] of Object.entries(Object.groupBy(guides, ({ name }) => name)))
    if (same.length > 1) throw new Error(`${same.map(({ file }) => file).join(" and ")} have one name: ${name}.`);
  return guides;
}

function readGuide(root: string, file: string): Guide {
  const { name, section } = OTHERS[file] ?? { name: basename(file, ".md"), section: basename(dirname(file)) };
  const text = readFileSync(join(root, file), "utf8");
  const [, title] = /^# (.+)$/m.exec(text) ?? [];
  if (!isSection(section))
    throw new Error(`${file} is in none of the folders of docs/: ${Object.keys(SECTIONS).join(", ")}.`);
  if (title === undefined || !text.startsWith("# ")) throw new Error(`${file} does not begin with a title.`);
  return { file, name, section, title: title.replaceAll("`", ""), text };
}

const fileOf = (path: string, from: string): string => normalize(join(dirname(from), path));

/** Where links of Markdown lead: to the pages of the site, and to files of the project that the site has as text. */
export class Links {
  readonly #root: string;
  readonly #guides: Map<string, Guide>;
  /** The files of the project that pages name. */
  readonly files = new Set<string>();

  constructor(root: string, guides: Guide[]) {
    this.#root = root;
    this.#guides = new Map(guides.map((guide) => [guide.file, guide]));
  }

  /**
   * The URL for a link of a page, which ends in `.md` for the Markdown of the page.
   *
   * @throws if it leads to nothing that the site has.
   */
  urlOf(href: string, from: string, extension: "" | ".md" = ""): string {
    if (/^[a-z]+:|^#|^\//i.test(href)) return href;
    const [path = "", fragment] = href.split("#");
    const file = fileOf(path, from);
    const hash = fragment === undefined ? "" : `#${fragment}`;
    const guide = this.#guides.get(file);
    if (guide) return `/docs/${guide.name}${extension}${hash}`;
    const url = file.startsWith("docs/pictures/") ? `/${file}` : this.fileUrl(file);
    if (url === undefined) throw new Error(`${from} links to ${href}, which the site does not have.`);
    return url;
  }

  /** The title of the page to which a link of a page leads. */
  titleOf(href: string, from: string): string | undefined {
    return this.#guides.get(fileOf(href.split("#")[0] ?? "", from))?.title;
  }

  /** The URL of a file that is published as text, or `undefined` if this is no such file. */
  fileUrl(file: string): string | undefined {
    if (!/^(?:examples|deploy)\/[\w./-]+$/.test(file) || file.includes("..")) return undefined;
    if (!statSync(join(this.#root, file), { throwIfNoEntry: false })?.isFile()) return undefined;
    this.files.add(file);
    return `/docs/${file}.txt`;
  }
}
