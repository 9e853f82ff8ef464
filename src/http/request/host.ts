import { createMiddleware } from "hono/factory";
import { HOST_UNITS_MAX } from "../../../common/limits.ts";
import { isLoopback } from "../../../common/origin.ts";
import { fail, ok, type Result } from "../../../common/result.ts";
import { LOOPBACK_ONLY, PUBLIC_URL_ADVICE, readSetting } from "../../../common/settings/settings.ts";
import type { RequestEnv } from "../app-env.ts";
import { refuse } from "../response/failures.ts";

/** A name or IPv4 address, or an IPv6 address in brackets, and perhaps a port (RFC 9110, section 7.2). */
const HOST = /^(?:[\w-]+(?:\.[\w-]+)*\.?|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

/**
 * Refuses a request whose Host is none. workerd puts the header into the URL as it came: `x/api` would move the path, and `[::`
 * would make a URL that cannot be parsed.
 */
export const validHostOnly = createMiddleware<RequestEnv>((c, next) => {
  const host = c.req.header("Host");
  if (host !== undefined && host === lastHost) return next();
  const isHost = host === undefined || (host.length <= HOST_UNITS_MAX && HOST.test(host));
  if (!isHost || !URL.canParse(c.req.url)) return Promise.resolve(refuse(c, { code: "malformed_request" }));
  lastHost = host;
  return next();
});

/** The Host that was last found to be one: nearly all requests to an isolate name the same. */
let lastHost: string | undefined;

/**
 * The origin of this service as its users see it: that of PUBLIC_URL. If the variable is empty, it is the origin of the request,
 * because Cloudflare routes only the hosts of this Worker. Elsewhere anybody can send any Host, so with `loopback` it counts only
 * where it names this machine. No header of a proxy counts. A failure says what the operator has to do.
 */
export function publicUrlOf(env: Pick<Env, "PUBLIC_URL">, requestUrl: string): Result<string, string> {
  const setting = readSetting(env, "PUBLIC_URL");
  if (!setting.ok) return setting;
  if (setting.value !== undefined && setting.value !== LOOPBACK_ONLY) return ok(setting.value);
  const requested = new URL(requestUrl);
  return setting.value === undefined || isLoopback(requested)
    ? ok(requested.origin)
    : fail(`PUBLIC_URL is missing, and the request names another host. ${PUBLIC_URL_ADVICE}`);
}
