import { Hono } from "hono";
import { hasConsole } from "../../../common/settings/settings.ts";
import { version } from "../../../package.json";
import type { AppEnv } from "../app-env.ts";
import { CONSOLE } from "../console/paths.ts";
import { allowMethods } from "../request/methods.ts";
import { respond } from "../response/respond.ts";
import { respondWithFile } from "../response/respond-with-file.ts";

const DOCS = "/docs";

/** The files of `public/` that are served, by their paths. Nothing else of that folder is. */
const FILES = {
  "/openapi.json": "/openapi.json",
  [DOCS]: "/docs.html",
  "/docs/docs.css": "/docs/docs.css",
  "/docs/docs.js": "/docs/docs.js",
  "/docs/swagger-ui.css": "/docs/swagger-ui.css",
  "/docs/swagger-ui-bundle.js": "/docs/swagger-ui-bundle.js",
};

/** The renderer's icons are data: URLs in its stylesheet. Everything else comes from this service, and nothing is inline. */
const PROTECTION = {
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
};

/** `/`, which leads people to the console and tells programs what is here; the OpenAPI document, and a page that shows it. */
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
