import type { Context } from "hono";
import type { AppEnv } from "./app-env.ts";

/**
 * An answer in JSON with the headers that the request has gathered, and `headers`. They go into the response all at once:
 * set one by one through Hono's context they would first be gathered in a Headers object, which the response then copies.
 */
export const answer = (
  c: Context<AppEnv>,
  body: object,
  headers: Record<string, string> = {},
  status = 200,
): Response =>
  new Response(JSON.stringify(body), {
    status,
    headers: { ...c.get("headers"), "Content-Type": "application/json", ...headers },
  });
