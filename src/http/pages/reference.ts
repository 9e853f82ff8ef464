import { Hono } from "hono";
import type { AppEnv } from "../app-env.ts";
import { allowMethods } from "../request/methods.ts";

/** The files of `public/` that are served, by their paths. Nothing else of that folder is. */
const FILES = {
  "/openapi.json": "/openapi.json",
  "/docs": "/docs.html",
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

/** The OpenAPI document of the service, and a page that shows it, to which `/` leads. */
export const reference = new Hono<AppEnv>().get(
  "/",
  (c) => new Response(null, { status: 302, headers: { ...c.get("headers"), Location: "/docs" } }),
);

for (const [path, file] of Object.entries(FILES))
  reference.use(path, allowMethods("GET", "HEAD")).get(path, async (c) => {
    const asset = await c.env.ASSETS.fetch(new Request(new URL(file, c.req.url), c.req.raw));
    if (!asset.ok && asset.status !== 304) return c.notFound();
    const headers = new Headers(c.get("headers"));
    for (const [name, value] of [...asset.headers, ...Object.entries(PROTECTION)]) headers.set(name, value);
    return new Response(asset.body, { status: asset.status, headers });
  });
