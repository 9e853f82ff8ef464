import { Hono } from "hono";
import type { AppEnv } from "../app-env.ts";
import { allowMethods } from "../request/methods.ts";
import { respondWithFile } from "../response/respond-with-file.ts";

const FILES = ["/styles/simple.css", "/styles/console.css"];

/** The styles of the console. Their paths are outside of /console, because `protect` refuses requests that are not navigations. */
export const styles = new Hono<AppEnv>();

for (const file of FILES)
  styles
    .use(file, allowMethods("GET", "HEAD"))
    .get(file, (c) => respondWithFile(c, file, { "X-Content-Type-Options": "nosniff" }));
