import { Hono } from "hono";
import type { AppEnv } from "../app-env.ts";
import { allowMethods } from "../request/methods.ts";

const FILES = ["/styles/simple.css", "/styles/console.css"];

/** The styles of the console. They lie outside of /console, whose pages answer only what a person navigates to. */
export const styles = new Hono<AppEnv>();

for (const file of FILES)
  styles.use(file, allowMethods("GET", "HEAD")).get(file, async (c) => {
    const asset = await c.env.ASSETS.fetch(new Request(new URL(file, c.req.url), c.req.raw));
    if (!asset.ok && asset.status !== 304) return c.notFound();
    const headers = new Headers(c.get("headers"));
    for (const [name, value] of asset.headers) headers.set(name, value);
    headers.set("X-Content-Type-Options", "nosniff");
    return new Response(asset.body, { status: asset.status, headers });
  });
