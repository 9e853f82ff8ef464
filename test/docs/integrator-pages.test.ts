import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type BrowserContext, chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { UserGroupClient } from "../../client/src/index.ts";
import { sessionHandler } from "../../client/src/server.ts";
import { integratorProject } from "../support/node/integrator-project.ts";
import { listen } from "../support/node/kit-servers.ts";

/** What integrators paste from the guides, besides what a shell runs. */

const { url, key } = inject("service");
const groups = new UserGroupClient({ url, apiKey: key });
const blocksOf = (page: string, language: string) =>
  [
    ...readFileSync(`docs/integrators/${page}`, "utf8").matchAll(
      new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, "g"),
    ),
  ].map(([, text = ""]) => text);

let made: ReturnType<typeof integratorProject>;
beforeAll(async () => {
  made = integratorProject("examples/embedding");
});
afterAll(() => made.remove());

it("the fake of the page of tests answers without a network", async () => {
  const file = join(made.project, "fake.ts");
  writeFileSync(file, blocksOf("going-live.md", "ts").join("\n"));
  const { stdout } = await promisify(execFile)(process.execPath, [file]);
  expect(stdout).toBe("eyJ [ 'POST http://localhost:8787/api/viewer_sessions' ]\n");
});

const html = (body: string, headers = {}) =>
  new Response(`<!doctype html>${body}`, { headers: { "Content-Type": "text/html", ...headers } });

const product = {
  client: groups,
  user: () => ({ id: "jane" }),
  customer: () => "framed",
  viewer: () => ({ viewerId: "jane" }),
};

/** The page and the frame of the documents, on two sites. The frame's site has a cookie, which it asks for in every request. */
async function sitesOf(sandbox: string) {
  const [pageScript = "", frameScript = ""] = blocksOf("embedding.md", "js").slice(-2);
  const viewer = readFileSync(join(made.project, "node_modules/user-group-service/dist/viewer.js"), "utf8");
  const cookies: (string | null)[] = [];
  let page = "";
  const frame = await listen((request) => {
    const { pathname } = new URL(request.url);
    // A frame without an origin may load the script of any site that allows it.
    const ofScript = { "Content-Type": "text/javascript", "Access-Control-Allow-Origin": "*" };
    if (pathname === "/viewer.js") return new Response(viewer, { headers: ofScript });
    if (pathname === "/sign-in") return html("signed in", { "Set-Cookie": "sid=1; Path=/; SameSite=None; Secure" });
    if (pathname === "/whoami") return html(request.headers.get("Cookie") ?? "nobody");
    if (pathname !== "/chart") return new Response(null, { status: 404 });
    cookies.push(request.headers.get("Cookie"));
    const script = frameScript
      .replace("https://app.example.com", page)
      .replace("http://localhost:8787", url)
      .replace("10_000", "500");
    return html(`<h1></h1><script type="module">${script}</script>`);
  });
  page = await listen(
    (request) =>
      request.method === "POST"
        ? sessionHandler({ ...product, origins: [page, frame] })(request)
        : html(
            `<iframe ${sandbox} src="${frame}/chart"></iframe><script>${pageScript.replace("https://charts.example.net", frame)}</script>`,
          ),
    "localhost",
  );
  return { page, frame, cookies };
}

const profile = mkdtempSync(join(tmpdir(), "chromium-"));

/** Starts a browser that blocks third-party cookies, which the build without windows cannot. */
function startStrictBrowser(): Promise<BrowserContext> {
  mkdirSync(join(profile, "Default"));
  const preferences = { profile: { cookie_controls_mode: 1, block_third_party_cookies: true } };
  writeFileSync(join(profile, "Default/Preferences"), JSON.stringify(preferences));
  return chromium.launchPersistentContext(profile, {
    executablePath: BROWSER,
    args: ["--no-sandbox", "--disable-background-networking", "--disable-gpu"],
  });
}

const BROWSER = "/usr/bin/chromium";
const hasBrowser = existsSync(BROWSER);

describe.skipIf(!hasBrowser)(`a frame of another site${hasBrowser ? "" : ", skipped: chromium is missing"}`, () => {
  let browser: BrowserContext;
  beforeAll(async () => {
    browser = await startStrictBrowser();
  });
  afterAll(async () => {
    await browser.close();
    rmSync(profile, { recursive: true, force: true });
  });

  it.for([
    ["shows the customer of the session that the page passes on", "", true],
    ["does so in a sandbox that keeps its origin", 'sandbox="allow-scripts allow-same-origin"', true],
    ["gets none in a sandbox without an origin", 'sandbox="allow-scripts"', false],
  ] as const)("%s, where third-party cookies are blocked", async ([, sandbox, isShown]) => {
    await groups.ensure({ userGroupId: "framed", name: "Framed Inc." });
    const { page: address, frame, cookies } = await sitesOf(sandbox);
    const page = await browser.newPage();
    await page.goto(`${frame}/sign-in`);
    await page.goto(`${frame}/whoami`);
    expect(await page.textContent("body")).toBe("sid=1");

    const failed = new Promise<string>((resolve) => page.on("pageerror", ({ message }) => resolve(message)));
    await page.goto(address);
    const heading = page.frameLocator("iframe").locator("h1");
    if (isShown) await heading.filter({ hasText: "Framed Inc." }).waitFor();
    else expect(await failed).toContain("The page has not answered.");
    expect(await heading.textContent()).toBe(isShown ? "Framed Inc." : "");
    expect(cookies).toEqual([null]);
  });
});
