import { Hono } from "hono";
import { ANSWER_HELD_BYTES_MIN } from "../../common/limits.ts";
import { MOVED_PAGES } from "../../common/moved-pages.ts";
import { hasConsole } from "../../common/settings/settings.ts";
import { version } from "../../package.json";
import type { AppEnv, RequestContext } from "./app-env.ts";
import { CONSOLE } from "./console/paths.ts";
import { clientAddress } from "./request/client-address.ts";
import { allowMethods } from "./request/methods.ts";
import { CALLERS } from "./request/places.ts";
import { refuse } from "./response/failures.ts";
import { holdPlace, respond } from "./response/respond.ts";

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
  "/openapi.json": "/openapi.json",
  "/openapi-3.0.json": "/openapi-3.0.json",
  "/llms.txt": "/llms.txt",
  [DOCS]: "/docs.html",
};

/** A path of the documents: names without an extension are pages, and the others their Markdown, pictures, and files as text. */
const DOCUMENT = /^\/docs(?:\/[\w-][\w.-]*)+$/;
const AS_IT_IS = /\.(?:md|png|txt)$/;

/** What a browser gets in place of a page that is not there. */
const MISSING = "/docs-missing.html";

const NO_SNIFFING = { "X-Content-Type-Options": "nosniff" };

/** Everything comes from this service. No script runs, and nothing is inline. */
const PROTECTION = {
  "Content-Security-Policy":
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "Referrer-Policy": "no-referrer",
  ...NO_SNIFFING,
};

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

for (const [path, file] of Object.entries(STYLES))
  publicFiles.use(path, allowMethods("GET", "HEAD")).get(path, (c) => respondWithFile(c, file, NO_SNIFFING));

for (const [path, file] of Object.entries(DOCUMENTS))
  publicFiles.use(path, allowMethods("GET", "HEAD")).get(path, (c) => respondWithFile(c, file, PROTECTION));

publicFiles.use(`${DOCS}/*`, allowMethods("GET", "HEAD")).get(`${DOCS}/*`, (c) => {
  const { path } = c.req;
  if (!DOCUMENT.test(path)) return refuse(c, { code: "route_not_found" });
  const [, name = "", extension = ""] = /^\/docs\/([\w-]+)(\.md)?$/.exec(path) ?? [];
  if (Object.hasOwn(MOVED_PAGES, name)) return movedTo(c, `${DOCS}/${MOVED_PAGES[name]}${extension}`);
  if (AS_IT_IS.test(path)) return respondWithFile(c, path, PROTECTION);
  return isBrowser(c.req.header("Accept"))
    ? respondWithFile(c, `${path}.html`, { ...PROTECTION, Vary: "Accept" }, MISSING)
    : respondWithFile(c, `${path}.html`, PROTECTION);
});

/** Redirects to another path for good. Browsers keep the fragment. */
const movedTo = (c: RequestContext<AppEnv>, Location: string): Response =>
  new Response(null, { status: 301, headers: { ...c.get("headers"), Location } });

/**
 * Responds with a file of `public/`, its own headers and `headers`. If the Worker was deployed without the file, it refuses with
 * `route_not_found`, or responds with the file `missing` and the same status.
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
  const found = await c.env.ASSETS.fetch(new Request(new URL(file, c.req.url), c.req.raw));
  const isFound = found.ok || found.status === 304;
  // Without the request's headers: it asks whether another file has changed.
  const asset =
    isFound || !missing ? found : await c.env.ASSETS.fetch(new URL(missing, c.req.url), { method: c.req.method });
  if (!asset.ok && !isFound) return refuse(c, { code: "route_not_found" });
  if (!isFound) c.set("failureCode", "route_not_found");
  const all = new Headers(c.get("headers"));
  for (const [name, value] of [...asset.headers, ...Object.entries(headers)]) all.set(name, value);
  const bytes = Number(asset.headers.get("Content-Length"));
  // Of a compressed file, the runtime may pass on other bytes than these.
  const isHeld = bytes >= ANSWER_HELD_BYTES_MIN && !asset.headers.has("Content-Encoding");
  const body = asset.body && isHeld ? holdPlace(c, asset.body, bytes) : asset.body;
  return new Response(body, { status: isFound ? asset.status : 404, headers: all });
}
