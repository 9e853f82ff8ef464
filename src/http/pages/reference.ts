import { Hono } from "hono";
import { hasConsole } from "../../../common/settings/settings.ts";
import { version } from "../../../package.json";
import type { AppEnv } from "../app-env.ts";
import { CONSOLE } from "../console/paths.ts";
import { allowMethods } from "../request/methods.ts";
import { refuse } from "../response/failures.ts";
import { respond } from "../response/respond.ts";
import { respondWithFile } from "../response/respond-with-file.ts";

const DOCS = "/docs";

/** The files of `public/` with a path of their own. */
const FILES = {
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

/** Everything comes from this service. No script runs, and nothing is inline. */
const PROTECTION = {
  "Content-Security-Policy":
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
};

/** `/`, which redirects browsers and lists the addresses for programs; the OpenAPI document, and the pages of /docs. */
export const reference = new Hono<AppEnv>().use("/", allowMethods("GET", "HEAD")).get("/", (c) => {
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

for (const [path, file] of Object.entries(FILES))
  reference.use(path, allowMethods("GET", "HEAD")).get(path, (c) => respondWithFile(c, file, PROTECTION));

reference.use(`${DOCS}/*`, allowMethods("GET", "HEAD")).get(`${DOCS}/*`, (c) => {
  const { path } = c.req;
  if (!DOCUMENT.test(path)) return refuse(c, { code: "route_not_found" });
  if (AS_IT_IS.test(path)) return respondWithFile(c, path, PROTECTION);
  return isBrowser(c.req.header("Accept"))
    ? respondWithFile(c, `${path}.html`, { ...PROTECTION, Vary: "Accept" }, MISSING)
    : respondWithFile(c, `${path}.html`, PROTECTION);
});
