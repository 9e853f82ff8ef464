import { Hono } from "hono";
import type { AppEnv } from "./app-env.ts";
import { allowMethods } from "./methods.ts";

/** The files of `public/` that are served, by their paths. Nothing else of that folder is. */
const FILES = {
  "/openapi.json": "/openapi.json",
  "/docs": "/docs.html",
  "/docs/docs.css": "/docs/docs.css",
  "/docs/docs.js": "/docs/docs.js",
  "/docs/swagger-ui.css": "/docs/swagger-ui.css",
  "/docs/swagger-ui-bundle.js": "/docs/swagger-ui-bundle.js",
};

/** The renderer's icons are data: URLs in its stylesheet; all else comes from here, and nothing is inline. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** What the service tells about itself: the OpenAPI document, and a page that shows it. */
export const reference = new Hono<AppEnv>();

for (const [path, file] of Object.entries(FILES))
  reference.use(path, allowMethods("GET", "HEAD")).get(path, async (c) => {
    const asset = await c.env.ASSETS.fetch(new Request(new URL(file, c.req.url), c.req.raw));
    if (!asset.ok && asset.status !== 304) return c.notFound();
    return c.newResponse(asset.body, asset.ok ? 200 : 304, {
      ...Object.fromEntries(asset.headers),
      "Content-Security-Policy": POLICY,
      "Referrer-Policy": "no-referrer",
      "X-Content-Type-Options": "nosniff",
    });
  });
