import { parse } from "hono/utils/cookie";
import { type ConsoleSession, verifyConsoleCookie } from "../../../domain/credentials/console-cookie.ts";
import type { RequestContext } from "../../app-env.ts";
import { usableOperatorToken } from "../../request/authenticate.ts";
import type { ConsoleEnv } from "../console-env.ts";

/**
 * Browsers take a `__Host-` cookie only with TLS (RFC 6265bis, section 4.1.3). Only the hosts of this machine may lack TLS. A cookie is
 * sent to all ports of its host (section 8.5), so the name has the port, unless that is the scheme's own.
 */
export function cookieNameOf(origin: string): string {
  const { port } = new URL(origin);
  return `${isTls(origin) ? "__Host-" : ""}console${port === "" ? "" : `-${port}`}`;
}

const isTls = (origin: string): boolean => origin.startsWith("https:");

/** The session of the request's cookie: `none` without a cookie, and `forged` if this service has not minted it. */
export async function readSession(c: RequestContext<ConsoleEnv>): Promise<ConsoleSession | "none" | "forged"> {
  const name = cookieNameOf(c.get("origin"));
  const cookie = parse(c.req.header("Cookie") ?? "", name)[name];
  if (cookie === undefined || cookie === "") return "none";
  return (await verifyConsoleCookie(c.get("ring"), usableOperatorToken(c.env), cookie)) ?? "forged";
}

/** The header that stores a cookie in the browser; with an empty `cookie`, the header that deletes it. */
export function cookieHeader(origin: string, cookie: string): Record<string, string> {
  const attributes = ["Path=/", "HttpOnly", "SameSite=Strict", ...(isTls(origin) ? ["Secure"] : [])];
  const value = cookie === "" ? [`${cookieNameOf(origin)}=`, "Max-Age=0"] : [`${cookieNameOf(origin)}=${cookie}`];
  return { "Set-Cookie": [...value, ...attributes].join("; ") };
}
