import { execFile, spawnSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { describe, expect, inject, it } from "vitest";
import { MOVED_PAGES } from "../../common/moved-pages.ts";
import openapi from "../../public/openapi.json" with { type: "json" };
import { FILES } from "../../tools/site/guides.ts";
import { TASK_FILES } from "../../tools/site/llms.ts";
import { call } from "../support/node/client.ts";
import { newFolder } from "../support/node/new-folder.ts";

const { url, operatorToken, folder } = inject("service");
const PAGE_GZIP_BYTES_MAX = 60 * 1024;
/** At most: prose has more, and code about three. */
const BYTES_PER_TOKEN = 3;

const operations = Object.entries(openapi.paths).flatMap(([path, methods]) =>
  Object.entries<{ operationId: string; summary: string; security: object[]; "x-destructive"?: boolean }>(methods).map(
    ([method, operation]) => ({ call: `${method.toUpperCase()} ${path}`, ...operation }),
  ),
);

/** Text without the escapes of HTML. */
const unescaped = (html: string) =>
  html
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");

const plain = (html: string) => unescaped(html.replaceAll(/<[^>]*>/g, ""));
const tagsIn = (html: string, pattern = /<[a-z][^>]*>/gi) => [...html.matchAll(pattern)].map(([tag]) => tag);
const all = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, found = ""]) => unescaped(found));
const idsIn = (html: string) => all(html, / id="([^"]*)"/g);
const hrefsIn = (html: string) => all(html, / (?:href|src)="([^"]*)"/g);
const linksIn = (markdown: string) => all(markdown.replaceAll(/^ *```[\s\S]*?^ *```/gm, ""), /\]\(([^)\s]+)\)/g);

/** Every page that links from /docs lead to, by its path. */
async function crawl(): Promise<Map<string, { status: number; type: string; text: string }>> {
  const pages = new Map<string, { status: number; type: string; text: string }>();
  const queue = ["/docs", "/llms.txt"];
  for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
    if (pages.has(path)) continue;
    const response = await fetch(url + path);
    const type = response.headers.get("Content-Type") ?? "";
    const text = await response.text();
    pages.set(path, { status: response.status, type, text });
    const links = type.startsWith("text/html") ? hrefsIn(text) : /\.md$|llms\.txt$/.test(path) ? linksIn(text) : [];
    queue.push(...links.filter((link) => link.startsWith("/")).map((link) => link.replace(/#.*/, "")));
  }
  return pages;
}

const crawled = crawl();
const pagesOf = async () => [...(await crawled)].filter(([, { type }]) => type.startsWith("text/html"));

describe("the pages of a running service", () => {
  it("are all that was built, and each link leads to a page, and to a place on it", async () => {
    const pages = await crawled;
    const built = globSync("docs/**/*.*", { cwd: join(folder, "public") })
      .filter((file) => !/search-index\.js$|\.(?:json|sha256)$/.test(file))
      .map((file) => `/${file.replace(/\.html$/, "")}`);
    expect(built.length).toBeGreaterThan(80);
    expect(built.filter((path) => !pages.has(path))).toEqual([]);
    expect([...pages].filter(([, { status }]) => status !== 200).map(([path]) => path)).toEqual([]);

    const broken = (await pagesOf()).flatMap(([path, { text }]) =>
      hrefsIn(text)
        // A file of /kit/ has its hash there.
        .filter((href) => href.includes("#") && !href.includes("#sha256="))
        .filter((href) => {
          const [target = "", id = ""] = href.split("#");
          return !idsIn(pages.get(target === "" ? path : target)?.text ?? "").includes(id);
        })
        .map((href) => `${path}: ${href}`),
    );
    expect(broken).toEqual([]);
  });

  it("have one script of this service, no style of their own, and nothing of other hosts", async () => {
    const script = `<script type="module" src="/docs/pages.js">`;
    for (const [path, { text }] of await pagesOf()) {
      const tags = tagsIn(text).join("\n");
      expect(tags, path).toContain("<main");
      expect(tags.split(script), path).toHaveLength(path === "/kit/" ? 1 : 2);
      expect(tags.replace(script, ""), path).not.toMatch(/<script|<style|<iframe| on\w+="| style="|javascript:/i);
      const loaded = all(text, /<(?:img|link)\b[^>]* (?:href|src)="([^"]*)"/g);
      expect(
        loaded.filter((address) => !address.startsWith("/")),
        path,
      ).toEqual([]);
    }
  });

  it("have one anchor on each heading, and no id twice", async () => {
    for (const [path, { text }] of await pagesOf()) {
      const ids = idsIn(text);
      expect(
        ids.filter((id, index) => ids.indexOf(id) !== index),
        path,
      ).toEqual([]);
      const guide = text.split('<div class="guide">')[1] ?? "";
      expect(tagsIn(guide, /<h[2-6]>/g), path).toEqual([]);
      expect(tagsIn(guide, /class="anchor"/g), path).toHaveLength(tagsIn(guide, /<h[2-6] /g).length);
    }
  });

  it("weigh at most 60 KB when they are compressed", async () => {
    for (const [path, { text }] of await pagesOf())
      expect(gzipSync(text).length, path).toBeLessThanOrEqual(PAGE_GZIP_BYTES_MAX);
  });

  it.for([
    ["/docs", "text/html; charset=utf-8", "script-src 'self'; "],
    ["/docs/errors", "text/html; charset=utf-8", "script-src 'self'; "],
    ["/docs/calls/events", "text/html; charset=utf-8", "script-src 'self'; "],
    ["/kit/", "text/html; charset=utf-8", ""],
    ["/docs/errors.md", "text/markdown; charset=utf-8", ""],
    ["/docs/pages.js", "text/javascript; charset=utf-8", ""],
    ["/docs/pictures/product.png", "image/png", ""],
    ["/docs/examples/embedding/page.html.txt", "text/plain; charset=utf-8", ""],
    ["/llms.txt", "text/plain; charset=utf-8", ""],
  ])(
    "%s has its media type, allows a page of /docs scripts of this service alone, and is not sent again to who has it",
    async ([path = "", type, scripts]) => {
      const { status, headers } = await fetch(url + path);
      expect([status, headers.get("Content-Type")]).toEqual([200, type]);
      expect(headers.get("Content-Security-Policy")).toBe(
        `default-src 'none'; ${scripts}style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      );
      expect(headers.get("X-Content-Type-Options")).toBe("nosniff");
      const again = await fetch(url + path, { headers: { "If-None-Match": headers.get("ETag") ?? "" } });
      expect([again.status, await again.text()]).toEqual([304, ""]);
      const head = await fetch(url + path, { method: "HEAD" });
      expect([head.status, await head.text()]).toEqual([200, ""]);
    },
  );

  it.for(
    Object.entries(MOVED_PAGES).flatMap(([from, to]) => ["", ".md"].map((end) => [from + end, to + end] as const)),
  )("/docs/%s leads to /docs/%s, where its content is now", async ([from, to]) => {
    for (const method of ["GET", "HEAD"]) {
      const response = await fetch(`${url}/docs/${from}`, { method, redirect: "manual" });
      expect([response.status, response.headers.get("Location")]).toEqual([301, `/docs/${to}`]);
    }
    expect((await crawled).get(`/docs/${to}`)?.status).toBe(200);
    expect(existsSync(join(folder, "public/docs", from.endsWith(".md") ? from : `${from}.html`))).toBe(false);
  });

  it("that moved are in the changelog, each with its new place", () => {
    const rows = readFileSync("CHANGELOG.md", "utf8").matchAll(
      /^ {2}\| `([\w-]+)` \| \[[\w-]+\]\(docs\/\w+\/([\w-]+)\.md/gm,
    );
    expect(Object.fromEntries([...rows].map(([, from, to]) => [from, to]))).toEqual(MOVED_PAGES);
  });

  it.for([
    ...["/nothing", "/docs.html", "/index.html", "/api/openapi.json"],
    "/docs/calls.html",
    "/docs/openapi.json",
    "/docs/sources.sha256",
    "/docs/nothing",
    "/docs/examples",
    "/docs/.git",
    "/docs/..%2fopenapi",
    "/docs/%2e%2e%2fllms.txt",
    "/docs//errors",
    "/docs/integrators/api",
  ])("nothing is at %s", async (path) => {
    const response = await fetch(url + path);
    expect(response.status).toBe(404);
    expect(response.headers.get("X-Request-Id")).toMatch(/^[\da-f-]{36}$/);
    expect(await response.json()).toMatchObject({ error: { code: "route_not_found" } });
  });
});

describe("readers find", () => {
  it("each guide on the first page and in /llms.txt, which names its Markdown", async () => {
    const pages = await crawled;
    const guides = [...pages.keys()].flatMap((path) => /^(\/docs\/(?!calls)[\w-]+)\.md$/.exec(path)?.[1] ?? []);
    expect(guides.length).toBeGreaterThan(35);
    const start = hrefsIn(pages.get("/docs")?.text ?? "");
    const listed = linksIn(pages.get("/llms.txt")?.text ?? "");
    expect(guides.filter((path) => !start.includes(path))).toEqual([]);
    expect(guides.filter((path) => !listed.includes(`${path}.md`))).toEqual([]);
    expect(pages.get("/llms.txt")?.text).toMatch(
      /^# User groups\n\n> .+\n\n[\s\S]*\n## .+\n\n- \[.+\]\(\/docs\/[\w-]+\.md\) \([\d.]+ KB\): .+\n/,
    );
  });

  it("in /llms.txt the size of each page, and a page in Next within 15,000 tokens", async () => {
    const pages = await crawled;
    const llms = pages.get("/llms.txt")?.text ?? "";
    const bytesOf = (path: string) => Buffer.byteLength(pages.get(path)?.text ?? "");
    const listed = [...llms.matchAll(/\]\((\/[^)]+\.(?:md|txt|json))\) \(([\d.]+) KB\)/g)];
    expect(listed.length).toBeGreaterThan(50);
    for (const installed of ["npm install ./vendor/user-group-service-", `pip install ${url}/kit/user_group_service-`])
      expect(llms).toContain(installed);
    // The examples of a page have the origin of the service, which has another length.
    for (const [, path = "", size] of listed)
      expect(Math.abs(bytesOf(path) / 1024 - Number(size)), path).toBeLessThan(0.2);

    const [next = ""] = /^- A page in Next:.*$/m.exec(llms) ?? [];
    const bytes = linksIn(next).reduce((sum, path) => sum + bytesOf(path), Buffer.byteLength(llms));
    expect(linksIn(next).length).toBeGreaterThan(5);
    expect(bytes / BYTES_PER_TOKEN).toBeLessThan(15_000);
  });

  it("from /llms.txt alone each page as Markdown, and each file of the project that a page names", async () => {
    const pages = await crawled;
    const found = new Set(["/llms.txt"]);
    for (const path of found)
      if (/\.md$|llms\.txt$/.test(path))
        for (const link of linksIn(pages.get(path)?.text ?? "")) found.add(link.replace(/#.*/, ""));
    const texts = [...pages.keys()].filter((path) => /\.(?:md|txt)$/.test(path));
    expect(texts.filter((path) => path.startsWith("/docs/examples/")).length).toBeGreaterThan(40);
    expect(texts.filter((path) => !found.has(path))).toEqual([]);
  });

  it("with each call its guide, its fields, what it refuses, and a call of curl", async () => {
    const articles = await articlesOf();
    expect([...articles.keys()].toSorted()).toEqual(operations.map(({ operationId }) => operationId).toSorted());
    for (const { operationId, summary } of operations) {
      const article = articles.get(operationId) ?? "";
      expect(plain(article), operationId).toContain(summary);
      expect(article, operationId).toMatch(/>Guides?: /);
      expect(article, operationId).toContain('href="/docs/errors#rate_limited"');
      expect(article, operationId).toMatch(/<pre><code>curl /);
    }
  });

  it("the same of each call in its file of Markdown, and the call from its place in 1.1's page of all calls", async () => {
    const pages = await crawled;
    const articles = await articlesOf();
    const list = pages.get("/docs/calls")?.text ?? "";
    for (const { call: name, operationId, summary } of operations) {
      const markdown = pages.get(`/docs/calls/${operationId}.md`)?.text ?? "";
      expect(markdown, operationId).toMatch(new RegExp(`^# ${summary}\n\n\`${name.replaceAll(/[{}]/g, "\\$&")}\``));
      const words = (text: string) => text.replaceAll(/\W+/g, "");
      const shown = words(plain(articles.get(operationId) ?? ""));
      for (const line of markdown.split("\n").slice(3))
        if (!line.startsWith("#") && !line.startsWith("```"))
          expect(shown, `${operationId}: ${line}`).toContain(words(line.replaceAll(/\]\([^)]*\)/g, "")));
      expect(list).toMatch(new RegExp(`<li id="${operationId}"><a href="/docs/calls/[\\w-]+#${operationId}">`));
    }
  });

  it("each error code and each heading in the index", async () => {
    const pages = await crawled;
    const index = hrefsIn(pages.get("/docs/index")?.text ?? "");
    const codes = openapi.components.schemas.Failure.properties.error.properties.code.enum;
    const everywhere = ["method_not_allowed"];
    expect(codes.filter((code) => !everywhere.includes(code) && !index.includes(`/docs/errors#${code}`))).toEqual([]);
    for (const [path, { text }] of await pagesOf()) {
      if (!pages.has(`${path}.md`)) continue;
      const missing = all(text, /<h[2-6] id="([^"]*)"/g).filter((id) => !index.includes(`${path}#${id}`));
      expect(missing, path).toEqual([]);
    }
  });

  it("which calls destroy, in words and in a field", () => {
    const marked = operations.filter((operation) => operation["x-destructive"]);
    expect(marked.map(({ call }) => call).toSorted()).toEqual([
      "DELETE /api/environments",
      "DELETE /api/keys/{id}",
      "DELETE /api/operators/{id}",
      "DELETE /api/user",
      "DELETE /api/user_groups/{team_id}",
      "POST /api/user_groups/{team_id}/purge",
    ]);
    const worded = Object.values(openapi.paths)
      .flatMap((methods) => Object.values<{ operationId: string; description: string }>(methods))
      .filter(({ description }) => description.includes("**This call destroys.**"));
    expect(worded.map(({ operationId }) => operationId).toSorted()).toEqual(
      marked.map(({ operationId }) => operationId).toSorted(),
    );
  });
});

/** The calls of the pages of calls, by their operations. */
const articlesOf = async () =>
  new Map(
    (await pagesOf())
      .filter(([path]) => path.startsWith("/docs/calls/"))
      .flatMap(([, { text }]) => text.split('<article id="').slice(1))
      .map((article) => [article.slice(0, article.indexOf('"')), article]),
  );

/** An environment of its own, for the calls that erase and restore one: its key, and its backup in a file. */
async function newSpareEnvironment() {
  const workspace = "curl-spare";
  const headers = { Authorization: `Token ${operatorToken}` };
  await call("POST", "/api/keys", { workspace, environment: "Testing", name: "docs" }, headers);
  const page = await fetch(`${url}/api/backup?workspace=${workspace}&environment=Testing`, { headers });
  const backup = join(newFolder(), "page-1.ndjson");
  writeFileSync(backup, await page.text());
  return { workspace, backup };
}

const isAboutAll = (curl: string) => curl.includes("/api/restore") || /DELETE .*\/api\/environments/.test(curl);

describe("the pages of calls", () => {
  it("names the credential of each call, and describes all of them", async () => {
    const articles = await articlesOf();
    for (const { operationId, security } of operations)
      for (const name of security.flatMap(Object.keys))
        expect(articles.get(operationId)).toContain(`<a href="/docs/calls#credential-${name}">${name}</a>`);
    const list = (await crawled).get("/docs/calls")?.text ?? "";
    const [, described = ""] = list.split('id="credential-operator_key"');
    expect(plain(described.split("</dd>")[0] ?? "")).toContain("ugo_");
  });

  it("has a call of curl for each operation, which works as it is copied", async () => {
    const body = { workspace: "curl", environment: "Testing", name: "docs" };
    const apiKey: string = (await call("POST", "/api/keys", body, { Authorization: `Token ${operatorToken}` })).body
      .key;
    const admin = { name: "docs", role: "admin" };
    const issued = await call("POST", "/api/operators", admin, { Authorization: `Token ${operatorToken}` });
    const { id: operatorId } = issued.body.operator;
    const shown = [...(await articlesOf()).values()].flatMap((article) =>
      all(article, /<aside[^>]*><pre><code>([\s\S]*?)<\/code>/g),
    );
    expect(shown).toHaveLength(operations.length);
    const spare = await newSpareEnvironment();

    for (const curl of shown) {
      // It takes a page of a backup, in an environment without keys.
      if (curl.includes("/api/restore")) continue;

      const group = { user_group_id: "acme", properties: { plans: ["pro"] } };
      const created = (await call("GET", "/api/user", group, { Authorization: `Token ${apiKey}` })).body.user_group;
      const { token, team_id: teamId } = created;
      const minted = await call(
        "POST",
        "/api/viewer_sessions",
        { user_group_id: "acme" },
        { Authorization: `Token ${apiKey}` },
      );
      // Only a deleted group can be purged.
      if (curl.includes("/purge"))
        await call("DELETE", `/api/user_groups/${teamId}`, undefined, { Authorization: `Token ${apiKey}` });
      const env = {
        ...process.env,
        API_KEY: apiKey,
        SESSION: minted.body.session.token,
        TOKEN: token,
        OPERATOR_KEY: operatorToken,
        SERVICE_URL: url,
      };
      // The page shows the number 1, and a reader puts the number of a group or an operator there.
      const filled = curl
        .replace("/api/user_groups/1", `/api/user_groups/${teamId}`)
        .replace("/api/operators/1", `/api/operators/${operatorId}`)
        .replace("audience=acme", "audience=curl")
        .replace("@page-1.ndjson", `@${spare.backup}`)
        .replaceAll(/\bacme(?=(?:\/|%2F|&environment=)Testing)/g, isAboutAll(curl) ? spare.workspace : "acme");
      const command = `${filled} -sS -w '\n%{http_code}'`;
      const { stdout } = await promisify(execFile)("bash", ["-c", command], { env });
      expect(stdout, curl).toMatch(/\n20[014]$/);
    }
  });
});

/** The page's own script, without the values of its attributes. */
const PAGES_SCRIPT = "<script type src>";

/** A project of which each text that the site shows tries to be more than text. */
function hostileProject(): string {
  const root = newFolder();
  const evil = `"><script>run()</script><img src=x onerror=run()>`;
  const markdown = `${evil} [a](javascript:run()) [b](data:text/html,x) <a href="javascript:run()">c</a> \`${evil}\` ![d](javascript:run())`;
  const page = `# ${evil}\n\n${markdown}.\n\n## ${evil}\n\n| a |\n| --- |\n| ${evil} |\n\n\`\`\`${evil}\n${evil}\n\`\`\`\n\n<script>run()</script>\n`;
  const spoil = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(spoil);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        name,
        ["description", "summary", "message", "source", "version"].includes(name) && typeof member === "string"
          ? `${member} ${markdown}`
          : spoil(member),
      ]),
    );
  };
  for (const file of [...FILES, ...TASK_FILES]) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), page);
  }
  mkdirSync(join(root, "public"));
  writeFileSync(join(root, "public/openapi.json"), JSON.stringify(spoil(openapi)));
  return root;
}

// Not by name: it has no types, because it runs before the project's packages are there.
const { buildSite } = await import(new URL("../../common/site.mjs", import.meta.url).href);

describe("the program that builds the pages", () => {
  const build = (root: string) => spawnSync(process.execPath, ["tools/site.ts", root], { encoding: "utf8" });

  it("makes text of hostile Markdown and of hostile texts of the document", async () => {
    const root = hostileProject();
    expect(build(root)).toMatchObject({ status: 0, stderr: "" });
    const pages = globSync("public/**/*.html", { cwd: root });
    expect(pages.length).toBe(FILES.length + 5 + openapi.tags.length);
    for (const page of pages) {
      const html = readFileSync(join(root, page), "utf8");
      // What the texts try to add has values without quotes.
      const tags = tagsIn(html.replaceAll(/="[^"]*"/g, ""));
      expect(tags, page).toContain("<main id>");
      expect(
        tags.filter((tag) => /<script|=| on\w+/i.test(tag) && tag !== PAGES_SCRIPT),
        page,
      ).toEqual([]);
      expect(html, page).toContain("&lt;script&gt;run()");
      expect(
        hrefsIn(html).filter((href) => /^(?:javascript|data):/i.test(href)),
        page,
      ).toEqual([]);
    }
    // What the search loads is data, whatever the titles are.
    const { groups } = await import(/* @vite-ignore */ join(root, "public/docs/search-index.js"));
    expect(groups.at(-1).title).toContain("<script>run()");
  });

  it.for([
    ["a link to a page that is not there", "docs/integrators/api.md", "# A\n\nSee [b](b.md).\n", "links to b.md"],
    [
      "a link to a file that the site does not have",
      "docs/integrators/api.md",
      "# A\n\nSee [b](../../src/b.ts).\n",
      "links to",
    ],
    ["a page without a title", "docs/integrators/api.md", "A page.\n", "does not begin with a title"],
    ["a page without a first sentence", "docs/integrators/api.md", "# A\n\n## B\n\nA page.\n", "begin with a sentence"],
    ["a page that is not in the order", "docs/integrators/a.md", "# A\n\nA page.\n", "must be in the order of pages"],
    ["a page of the order that is not there", "docs/integrators/api.md", undefined, "is not there"],
  ] as const)("refuses %s", ([, file, text, reason]) => {
    const root = hostileProject();
    if (text === undefined) rmSync(join(root, file));
    else writeFileSync(join(root, file), text);
    const { status, stderr } = build(root);
    expect(stderr.trim()).toContain(reason);
    expect(stderr.trim().split("\n")).toHaveLength(1);
    expect(status).toBe(1);
  });

  it("builds the pages again when a source has changed, and only then", async () => {
    const root = hostileProject();
    for (const name of ["node_modules", "tools"]) symlinkSync(join(process.cwd(), name), join(root, name));
    const page = join(root, "public/docs/errors.html");
    expect(buildSite(root, process.execPath)).toBe(true);
    const first = readFileSync(page, "utf8");

    writeFileSync(page, "as it is");
    expect(buildSite(root, process.execPath)).toBe(true);
    expect(readFileSync(page, "utf8")).toBe("as it is");

    const source = join(root, "docs/integrators/api.md");
    const before = readFileSync(source);
    writeFileSync(source, "# Other\n\nOther words.\n");
    expect(buildSite(root, process.execPath)).toBe(true);
    expect(readFileSync(page, "utf8")).not.toBe(first);
    expect(readFileSync(page, "utf8")).toContain("Other");

    writeFileSync(source, before);
    writeFileSync(join(root, "public/docs/old.html"), "a page of an older build");
    expect(buildSite(root, process.execPath)).toBe(true);
    expect(readFileSync(page, "utf8")).toBe(first);
    expect(existsSync(join(root, "public/docs/old.html"))).toBe(false);
  });
});
