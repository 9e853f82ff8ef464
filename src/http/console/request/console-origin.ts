import { parse } from "hono/utils/cookie";
import { isLoopback } from "../../../../common/origin.ts";
import { ok, type Result } from "../../../../common/result.ts";
import { readSetting } from "../../../../common/settings/settings.ts";
import type { RequestContext } from "../../app-env.ts";
import { publicUrlOf } from "../../request/host.ts";
import { cookieNameOf } from "./session-cookie.ts";

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
