import { ANSWER_HELD_BYTES_MIN } from "../../common/limits.ts";
import { MOVED_PAGES } from "../../common/moved-pages.ts";
import { hasConsole } from "../../common/settings/settings.ts";
import { version } from "../../package.json";
import { utf8 } from "../domain/bytes.ts";
import type { AppEnv, RequestContext } from "./app-env.ts";
import { CONSOLE } from "./console/paths.ts";
import { Hono } from "./hono.ts";
import { clientAddress } from "./request/client-address.ts";
import { publicUrlOf } from "./request/host.ts";
import { allowMethods } from "./request/methods.ts";
import { CALLERS } from "./request/places.ts";
import { refuse } from "./response/failures.ts";
import { holdPlace, respond, respondWithText } from "./response/respond.ts";

declare global {
  interface Env {
    /** `yes` for a service that runs from a clone of the project. `ug serve` sets it. */
    IS_CLONE?: string;
  }
}

const DOCS = "/docs";

/**
 * What the pages of the console and of /docs load. The paths are outside of /console, because `protect` refuses requests that are not
 * navigations. Browsers ask for the second path of the icon on their own.
 */
const STYLES = {
  "/styles/ui.css": "/styles/ui.css",
  "/styles/docs.css": "/styles/docs.css",
  "/favicon.svg": "/favicon.svg",
  "/favicon.ico": "/favicon.svg",
};

/** The documents with a path of their own. */
const DOCUMENTS = {
  "/openapi.json": "/docs/openapi.json",
  "/openapi-3.0.json": "/openapi-3.0.json",
  "/llms.txt": "/llms.txt",
  [DOCS]: "/docs.html",
};

/** A path of the documents: names without an extension are pages, and the others their Markdown, scripts, pictures, and files as text. */
const DOCUMENT = /^\/docs(?:\/[\w-][\w.-]*)+$/;
const AS_IT_IS = /\.(?:js|md|png|svg|txt)$/;

/** A file of /kit/. A plus in its name is in the version of Python's package. */
const KIT_FILE = /^\/kit\/[\w-](?:[\w.-]|%2B)*\.(js|json|tgz|whl)$/;
const KIT_TYPES: Record<string, string> = {
  js: "text/javascript; charset=utf-8",
  json: "application/json",
  tgz: "application/gzip",
  whl: "application/octet-stream",
};
/** The names of the files of /kit/. */
const KIT_LIST = "/kit/files.json";

/** What a browser gets in place of a page that is not there. */
const MISSING = "/docs-missing.html";

const NO_SNIFFING = { "X-Content-Type-Options": "nosniff" };

/** Everything comes from this service, and nothing is inline. Only the pages of /docs run a script. */
const protectionWith = (scripts: string) => ({
  "Content-Security-Policy": `default-src 'none'; ${scripts}style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "Referrer-Policy": "no-referrer",
  ...NO_SNIFFING,
});
const PROTECTION = protectionWith("");
const PAGE_PROTECTION = protectionWith("script-src 'self'; ");

/** The files of `public/`, and `/`, which redirects browsers and lists the addresses for programs. */
export const publicFiles = new Hono<AppEnv>().use("/", allowMethods("GET", "HEAD")).get("/", (c) => {
  const isOn = hasConsole(c.env);
  if (isBrowser(c.req.header("Accept"))) {
    const Location = isOn ? CONSOLE : DOCS;
    return new Response(null, { status: 302, headers: { ...c.get("headers"), Location, Vary: "Accept" } });
  }
  const links = { openapi: "/openapi.json", docs: DOCS, console: isOn ? CONSOLE : null, health: "/health" };
  return respond(c, { success: 1, name: "user-group-service", version, links }, { Vary: "Accept" });
});

/** A browser names HTML when somebody opens an address in it. curl and HTTP clients do not. */
const isBrowser = (accept = ""): boolean => accept.includes("text/html");

for (const [path, file] of Object.entries({ ...STYLES, ...DOCUMENTS })) {
  const headers = path in STYLES ? NO_SNIFFING : path === DOCS ? PAGE_PROTECTION : PROTECTION;
  publicFiles.use(path, allowMethods("GET", "HEAD")).get(path, (c) => respondWithFile(c, file, headers));
}

publicFiles.use(`${DOCS}/*`, allowMethods("GET", "HEAD")).get(`${DOCS}/*`, (c) => {
  const { path } = c.req;
  if (!DOCUMENT.test(path)) return refuse(c, { code: "route_not_found" });
  const [, name = "", extension = ""] = /^\/docs\/([\w-]+)(\.md)?$/.exec(path) ?? [];
  if (Object.hasOwn(MOVED_PAGES, name)) return movedTo(c, `${DOCS}/${MOVED_PAGES[name]}${extension}`);
  if (AS_IT_IS.test(path)) return respondWithFile(c, path, PROTECTION);
  return isBrowser(c.req.header("Accept"))
    ? respondWithFile(c, `${path}.html`, { ...PAGE_PROTECTION, Vary: "Accept" }, MISSING)
    : respondWithFile(c, `${path}.html`, PAGE_PROTECTION);
});

publicFiles.use("/kit/*", allowMethods("GET", "HEAD")).get("/kit/*", async (c) => {
  // As Cloudflare encodes the names of its files.
  const path = c.req.path.replaceAll(/\+|%2b/g, "%2B");
  if (/^\/kit\/?$/.test(path)) return respondWithFile(c, "/kit/index.html", PROTECTION);
  const [, extension = ""] = KIT_FILE.exec(path) ?? [];
  const found = extension ? await respondWithFile(c, path, kitHeaders(c.env, path, extension)) : undefined;
  if (found && found.status !== 404) return found;
  const list = await c.env.ASSETS.fetch(new URL(KIT_LIST, c.req.url));
  const { files = [] } = list.ok ? await list.json<{ files?: { name: string }[] }>() : {};
  return refuse(c, { code: "route_not_found", available: files.map(({ name }) => name) });
});

/** Pages of any origin may import a viewer. A name with a version never changes its bytes, except in a clone of the project. */
function kitHeaders(env: Env, path: string, extension: string): Record<string, string> {
  const isImmutable = /-\d/.test(path) && env.IS_CLONE !== "yes";
  return {
    ...NO_SNIFFING,
    "Content-Type": KIT_TYPES[extension] ?? "",
    "Cache-Control": isImmutable ? "public, max-age=31536000, immutable" : "no-cache",
    ...(extension === "js" && { "Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin" }),
  };
}

/** Redirects to another path for good. Browsers keep the fragment. */
const movedTo = (c: RequestContext<AppEnv>, Location: string): Response =>
  new Response(null, { status: 301, headers: { ...c.get("headers"), Location } });

/**
 * Responds with a file of `public/`, its own headers and `headers`. If the Worker was deployed without the file, it refuses with
 * `route_not_found`, or responds with the file `missing` and the same status. Examples in the file have the origin of this service.
 */
async function respondWithFile(
  c: RequestContext<AppEnv>,
  file: string,
  headers: Record<string, string>,
  missing?: string,
): Promise<Response> {
  const place = await CALLERS.take(`file ${clientAddress(c)}`);
  if (!place) return refuse(c, { code: "overloaded" });
  c.set("place", place);
  const origin = await originFor(c, file);
  if (origin !== undefined) return respondWithExamples(c, file, { origin, headers });
  const found = await c.env.ASSETS.fetch(new Request(new URL(file, c.req.url), c.req.raw));
  const isFound = found.ok || found.status === 304;
  // Without the request's headers: it asks whether another file has changed.
  const asset =
    isFound || !missing ? found : await c.env.ASSETS.fetch(new URL(missing, c.req.url), { method: c.req.method });
  if (!asset.ok && !isFound) return refuse(c, { code: "route_not_found" });
  if (!isFound) c.set("failureCode", "route_not_found");
  const all = new Headers(c.get("headers"));
  for (const [name, value] of [...asset.headers, ...Object.entries(headers)]) all.set(name, value);
  const vary = [headers.Vary, asset.headers.get("Vary")].filter(Boolean).join(", ");
  if (vary) all.set("Vary", vary);
  const bytes = Number(asset.headers.get("Content-Length"));
  // Of a compressed file, the runtime may pass on other bytes than these.
  const isHeld = bytes >= ANSWER_HELD_BYTES_MIN && !asset.headers.has("Content-Encoding");
  const body = asset.body && isHeld ? holdPlace(c, asset.body, bytes) : asset.body;
  return new Response(body, { status: isFound ? asset.status : 404, headers: all });
}

/** The origin in the examples of the documents. */
const EXAMPLE_ORIGIN = "http://localhost:8787";
/** The files in whose examples it stands for the origin of this service. */
const EXAMPLES_LIST = "/docs/examples.json";
/** An origin that people can paste into a shell: the parser of URLs takes quotes and backquotes in a host. */
const PLAIN_ORIGIN = /^https?:\/\/[\w.:[\]-]+$/;
/** Read once in an isolate. */
let filesWithExamples: readonly string[] | undefined;

/** The origin to show in the examples of a file; `undefined` for a file without them, and where this origin is not known. */
async function originFor(c: RequestContext<AppEnv>, file: string): Promise<string | undefined> {
  if (!filesWithExamples) {
    const list = await c.env.ASSETS.fetch(new URL(EXAMPLES_LIST, c.req.url));
    if (!list.ok) return undefined;
    filesWithExamples = await list.json<string[]>();
  }
  const url = publicUrlOf(c.env, c.req.url);
  return filesWithExamples.includes(file) && url.ok && PLAIN_ORIGIN.test(url.value) ? url.value : undefined;
}

/** Responds with a text whose validator names the origin, too: a cache must not give it to somebody who asks at another one. */
async function respondWithExamples(
  c: RequestContext<AppEnv>,
  file: string,
  { origin, headers }: { origin: string; headers: Record<string, string> },
): Promise<Response> {
  const suffix = `@${origin}"`;
  const known =
    c.req
      .header("If-None-Match")
      ?.split(",")
      .filter((tag) => tag.trim().endsWith(suffix)) ?? [];
  const condition = { "If-None-Match": known.join().replaceAll(suffix, '"') };
  const found = await c.env.ASSETS.fetch(new URL(file, c.req.url), known.length > 0 ? { headers: condition } : {});
  const all = new Headers(c.get("headers"));
  for (const [name, value] of [...found.headers, ...Object.entries(headers)]) all.set(name, value);
  all.set("ETag", (found.headers.get("ETag") ?? "").replace(/"$/, suffix));
  all.delete("Content-Length");
  if (found.status === 304) return new Response(null, { status: 304, headers: all });
  const text = (await found.text()).replaceAll(EXAMPLE_ORIGIN, origin);
  if (c.req.method !== "HEAD") return respondWithText(c, text, Object.fromEntries(all));
  all.set("Content-Length", String(utf8.encode(text).length));
  return new Response(null, { headers: all });
}
