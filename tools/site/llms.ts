/** The text of /llms.txt, as llmstxt.org describes it: what to read for each task, with sizes. */
import type { KitFile } from "../kit/kit-file.ts";
import { SECTIONS } from "./guides.ts";
import type { RenderedGuide } from "./markdown.ts";

const SUMMARY = `# User groups

> User groups, and the sessions that decide whose data a dashboard may show. An HTTP JSON service, with an operators' console.

- Send a credential as \`Authorization: Token <credential>\`. An API key (\`ugk_…\`) belongs on a server, a viewer session (a JWT) in a page.
- A refusal is \`{"success": 0, "error": {"code", "message"}, "request_id"}\`, with an HTTP status of 400 or more. Branch on \`error.code\`.
- The examples call this service at \`http://localhost:8787\`. \`https://groups.example.com\` stands for it, too.
- Examples read their settings from the environment: \`SERVICE_URL\` is this service, \`API_KEY\` a key of yours, \`ORIGIN\` that of your pages, and \`AUDIENCE\` the key's workspace and environment, such as \`acme/Customer\`.
- A call that destroys data says so: leave it out of tools that run without a person.`;

const EXAMPLES = "examples/";

const NEXT = [
  "package.json",
  "tsconfig.json",
  "app/layout.tsx",
  "app/orders.tsx",
  "app/orders/route.ts",
  "app/page.tsx",
  "app/session/route.ts",
  "app/sign-in/route.ts",
  "app/sign-out/route.ts",
];

/** What to read for a task, in this order. A name is a page, and one that begins with `examples/` a file of the project. */
const TASKS: Record<string, string[]> = {
  "Show people only their own rows of PostgreSQL": [
    "first-rows",
    "examples/embedding/row-level-security.sql",
    "proving-isolation",
  ],
  "A page in Next": [
    "embedding",
    "calls/ensureUserGroup",
    "examples/next/product.ts",
    ...NEXT.map((file) => `examples/next/${file}`),
  ],
  "A page with Hono, Express or Fastify": [
    "embedding",
    "server-kit",
    "examples/embedding/backend.ts",
    "examples/embedding/page.html",
  ],
  "A page with Flask, FastAPI or Django": ["embedding", "server-kit", "examples/embedding/orders.py"],
  "A page with another language": ["embedding", "server-kit", "verifying"],
  "Choose between /api/viewer, bound SQL, row-level security and a gateway": ["choosing"],
  "Reports in SQL": ["dashboards"],
  "Create, change and delete groups": ["api", "lifecycle"],
  "A copy of all groups, kept up to date": ["events", "examples/mirror.ts"],
  "Import from a spreadsheet, or from another product": ["bulk", "moving"],
  "Run the service on one box": ["one-box", "operating", "backups"],
  "Run the service on Cloudflare": ["cloudflare", "operating"],
  "Something is wrong": ["symptoms", "incidents", "errors"],
};

/** The files of the project among them. */
export const TASK_FILES = [...new Set(Object.values(TASKS).flat())].filter((name) => name.startsWith(EXAMPLES));

const sizeOf = (text: string): string => `${(Buffer.byteLength(text) / 1024).toFixed(1)} KB`;

/**
 * The text, from the files of the site by their names, and the kit.
 *
 * @throws for a task with a page that is not there.
 */
export function llmsText(
  guides: readonly RenderedGuide[],
  files: Readonly<Record<string, string>>,
  kit: readonly KitFile[],
): string {
  const linkTo = (title: string, file: string): string => {
    const text = files[file];
    if (text === undefined) throw new Error(`/llms.txt names ${file}, which the site does not have.`);
    return `[${title}](/${file}) (${sizeOf(text)})`;
  };
  const tasks = Object.entries(TASKS).map(([task, names]) => {
    const links = names.map((name) => linkTo(name, `docs/${name}.${name.startsWith(EXAMPLES) ? "txt" : "md"}`));
    return `- ${task}: ${links.join(", ")}`;
  });
  const sections = Object.entries(SECTIONS).map(([section, title]) => {
    const pages = guides.filter((guide) => guide.section === section);
    const lines = pages.map(({ name, title: text, summary }) => `- ${linkTo(text, `docs/${name}.md`)}: ${summary}`);
    return [`## ${section === "internals" ? "Optional" : title}`, lines.join("\n")].join("\n\n");
  });
  const packages = kit
    .filter(({ name }) => /\.(?:tgz|whl)$/.test(name))
    .map(({ title, lines }) => `${title}:\n\n\`\`\`sh\n${lines}\n\`\`\``);
  const others =
    "The file for pages, and the names and hashes of all: [/kit/](/kit/), [/kit/files.json](/kit/files.json).";
  const calls = [
    `- ${linkTo("Every call", "docs/calls.md")}, each with a page of its own, such as ${linkTo("mintSession", "docs/calls/mintSession.md")}`,
    `- [OpenAPI 3.1](/openapi.json) (${sizeOf(files["docs/openapi.json"] ?? "")}), the same in one document, which few programs need whole`,
  ];
  const parts = [
    SUMMARY,
    "## What to read for a task",
    tasks.join("\n"),
    "## What to install, for exactly this version",
    ...packages,
    others,
    ...sections,
    "## Calls",
    calls.join("\n"),
  ];
  return `${parts.join("\n\n")}\n`;
}
