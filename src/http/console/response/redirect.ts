import type { RequestContext } from "../../app-env.ts";
import type { ConsoleEnv } from "../console-env.ts";
import { SIGN_IN, SIGN_OUT, withQuery } from "../paths.ts";

/**
 * The headers of each answer of the console. Pages load nothing from other origins, and have no inline styles and scripts. With
 * `no-referrer` a browser may send `Origin: null` with a form, so this origin gets the referrer.
 */
export const PROTECTION = {
  "Content-Security-Policy":
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  "Referrer-Policy": "same-origin",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "X-Content-Type-Options": "nosniff",
};

/** Leads a browser to another page of the console, which it gets with GET (RFC 9110, section 15.4.4). */
export const redirect = (c: RequestContext, location: string, headers: Record<string, string> = {}): Response =>
  new Response(null, { status: 303, headers: { ...c.get("headers"), ...PROTECTION, ...headers, Location: location } });

/**
 * Redirects an operator without a valid session to the sign-in page, from which they return to this one. The path of a form shows its
 * page, except that of the sign-out.
 */
export function toSignIn(c: RequestContext<ConsoleEnv>): Response {
  const { pathname, search } = new URL(c.req.url);
  return redirect(c, withQuery(SIGN_IN, { next: pathname === SIGN_OUT ? undefined : pathname + search }));
}
