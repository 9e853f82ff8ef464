import { parse } from "hono/utils/cookie";
import { isLoopback } from "../../../../common/origin.ts";
import { ok, type Result } from "../../../../common/result.ts";
import { readSetting } from "../../../../common/settings/settings.ts";
import { type ConsoleSession, verifyConsoleCookie } from "../../../domain/credentials/console-cookie.ts";
import type { RequestContext } from "../../app-env.ts";
import { usableOperatorToken } from "../../request/authenticate.ts";
import { publicUrlOf } from "../../request/host.ts";
import type { ConsoleCall } from "../console-env.ts";

declare global {
  interface Env {
    /** `yes` if only programs of this machine reach the port of the service. `ug serve` sets it. */
    LISTENS_ON_LOOPBACK?: string;
  }
}

/** The headers by which proxies tell where a request comes from. A browser sends none of them. */
const PROXY_HEADER = /^(?:x-forwarded-.*|x-real-ip|true-client-ip|cf-ray|cdn-loop|forwarded|via)$/;

/**
 * The origin of the console as this browser sees it: that of PUBLIC_URL, or the loopback host of the request if it came past the proxy, such
 * as through a tunnel of ssh. A page can choose neither its Origin nor the host that a browser sends, and no client can remove what a
 * proxy adds. So a page of another site, a name that leads to 127.0.0.1, and a Host of loopback through the proxy are refused.
 */
export function consoleOriginOf(c: RequestContext): Result<string, string> {
  const publicUrl = publicUrlOf(c.env, c.req.url);
  if (!publicUrl.ok || c.env.LISTENS_ON_LOOPBACK !== "yes") return publicUrl;
  const requested = new URL(c.req.url);
  return isLoopback(requested) && !hasProxyHeader(c) && !isOf(publicUrl.value, c) ? ok(requested.origin) : publicUrl;
}

function hasProxyHeader(c: RequestContext): boolean {
  const names = [...c.req.raw.headers.keys()];
  const setting = readSetting(c.env, "CLIENT_ADDRESS_HEADER");
  const own = setting.ok ? setting.value?.toLowerCase() : undefined;
  return !setting.ok || names.some((name) => name === own || PROXY_HEADER.test(name));
}

/** Whether a page of this origin has sent the request, although its Host is another: a proxy may replace the Host, and add nothing. */
function isOf(origin: string, c: RequestContext): boolean {
  const name = cookieNameOf(origin);
  return c.req.header("Origin") === origin || parse(c.req.header("Cookie") ?? "", name)[name] !== undefined;
}

/**
 * Browsers take a `__Host-` cookie only with TLS (RFC 6265bis, section 4.1.3). Only the hosts of this machine may lack TLS. A cookie is
 * sent to all ports of its host (section 8.5), so the name has the port, unless that is the scheme's own.
 */
function cookieNameOf(origin: string): string {
  const { port } = new URL(origin);
  return `${isTls(origin) ? "__Host-" : ""}console${port === "" ? "" : `-${port}`}`;
}

const isTls = (origin: string): boolean => origin.startsWith("https:");

/** The session of the request's cookie: `none` without a cookie, and `forged` if this service has not minted it. */
export async function readSession(c: ConsoleCall): Promise<ConsoleSession | "none" | "forged"> {
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
