import { Hono } from "hono";
import type { AppEnv } from "../app-env.ts";
import { allowMethods } from "../request/methods.ts";
import { respondWithFile } from "../response/respond-with-file.ts";

/** The paths of the stylesheets and of the icon. Browsers ask for the second path of the icon on their own. */
const FILES = {
  "/styles/ui.css": "/styles/ui.css",
  "/styles/docs.css": "/styles/docs.css",
  "/favicon.svg": "/favicon.svg",
  "/favicon.ico": "/favicon.svg",
};

/**
 * What the pages of the console and of /docs load. The paths are outside of /console, because `protect` refuses requests that are not
 * navigations.
 */
export const styles = new Hono<AppEnv>();

for (const [path, file] of Object.entries(FILES))
  styles
    .use(path, allowMethods("GET", "HEAD"))
    .get(path, (c) => respondWithFile(c, file, { "X-Content-Type-Options": "nosniff" }));
