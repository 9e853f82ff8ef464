import { createMiddleware } from "hono/factory";
import { HOST_UNITS_MAX } from "../../../common/limits.ts";
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
  const isHost = host === undefined || (host.length <= HOST_UNITS_MAX && HOST.test(host));
  return isHost && URL.canParse(c.req.url) ? next() : Promise.resolve(refuse(c, { code: "malformed_request" }));
});
