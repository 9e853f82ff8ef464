/** The pages of Markdown, each in its section. */
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/** The folders of `docs/`: who reads their pages. */
export const SECTIONS = {
  integrators: "For integrators",
  operators: "For operators",
  reference: "To look up",
  internals: "For maintainers",
} as const;

export type Section = keyof typeof SECTIONS;

/** The names of all pages, by their sections, in the order in which their readers need them. */
const ORDER: Readonly<Record<Section, readonly string[]>> = {
  integrators: [
    "first-rows",
    "choosing",
    "embedding",
    "server-kit",
    "dashboards",
    "proving-isolation",
    "verifying",
    "gateways",
    "consumers",
    "api",
    "lifecycle",
    "bulk",
    "moving",
    "events",
    "typescript-client",
    "going-live",
  ],
  operators: [
    "one-box",
    "cloudflare",
    "operating",
    "access",
    "company-sign-in",
    "console",
    "backups",
    "alerts",
    "symptoms",
    "incidents",
    "customers",
    "security",
  ],
  reference: ["errors", "ug", "stability", "performance", "changelog"],
  internals: ["readme", "contributing", "architecture", "recipes", "testing"],
};

/** The files of the pages outside of `docs/`, by their names. */
const OTHERS: Record<string, string> = {
  readme: "README.md",
  security: "SECURITY.md",
  changelog: "CHANGELOG.md",
  contributing: "CONTRIBUTING.md",
};

const fileOfGuide = (section: string, name: string): string => OTHERS[name] ?? `docs/${section}/${name}.md`;

/** The files of all pages, in their order. */
export const FILES: readonly string[] = Object.entries(ORDER).flatMap(([section, names]) =>
  names.map((name) => fileOfGuide(section, name)),
);

/** A page of Markdown: its file, its name in the URL, its text, and its title. */
export type Guide = { file: string; name: string; section: Section; title: string; text: string };

/**
 * Reads all pages below `root`, in their order. The name of a file is its name in the URL, in whatever folder it is, so that no link breaks
 * when a page moves.
 *
 * @throws if a page is not in the order, or not there, or has no title.
 */
export function guidesIn(root: string): Guide[] {
  const others = globSync("docs/*/*.md", { cwd: root }).filter((file) => !FILES.includes(file));
  if (others.length > 0)
    throw new Error(`${others.join(" and ")} must be in the order of pages, in tools/site/guides.ts.`);
  return Object.entries(ORDER).flatMap(([section, names]) =>
    names.map((name) => readGuide(root, { name, section: section as Section })),
  );
}

function readGuide(root: string, { name, section }: Pick<Guide, "name" | "section">): Guide {
  const file = fileOfGuide(section, name);
  if (!existsSync(join(root, file))) throw new Error(`${file} is in the order of pages, and is not there.`);
  const text = readFileSync(join(root, file), "utf8");
  const [, title] = /^# (.+)$/m.exec(text) ?? [];
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
