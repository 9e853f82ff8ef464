import type { RequestContext } from "../../app-env.ts";
import type { ConsoleEnv } from "../console-env.ts";
import { SIGN_IN, SIGN_OUT, withQuery } from "../paths.ts";
import { redirect } from "./redirect.ts";

/**
 * Redirects an operator without a valid session to the sign-in page, from which they return to this one. The path of a form shows its
 * page, except that of the sign-out.
 */
export function toSignIn(c: RequestContext<ConsoleEnv>): Response {
  const { pathname, search } = new URL(c.req.url);
  return redirect(c, withQuery(SIGN_IN, { next: pathname === SIGN_OUT ? undefined : pathname + search }));
}
