import { Hono } from "hono";
import type { AppEnv } from "../app-env.ts";
import { allowMethods } from "../request/methods.ts";
import page from "./demo.html";

/** A page on which to see what a viewer sees. It is served only where wrangler.toml or `npm start` sets DEMO_PAGE to "on". */
export const demo = new Hono<AppEnv>()
  .use(async (c, next) => (c.env.DEMO_PAGE === "on" ? next() : c.notFound()))
  .use(allowMethods("GET", "HEAD"))
  .get("/", (c) => {
    const nonce = crypto.getRandomValues(new Uint8Array(16)).toBase64();
    const policy =
      `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; connect-src 'self'; ` +
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    return new Response(page.replaceAll("NONCE", nonce), {
      headers: {
        ...c.get("headers"),
        "Content-Type": "text/html; charset=UTF-8",
        "Content-Security-Policy": policy,
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
      },
    });
  });
