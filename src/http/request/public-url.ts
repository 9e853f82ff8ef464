import { normalizeOrigin } from "../../domain/credentials/viewer-session.ts";
import { fail, ok, type Result } from "../../domain/result.ts";

/** The value of PUBLIC_URL under which only the hosts of this machine count. `ug serve` sets it if there is no other. */
const LOOPBACK_ONLY = "loopback";

const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/**
 * The origin of this service as its users see it: that of PUBLIC_URL. If the variable is empty, it is the origin of the request,
 * because Cloudflare routes only the hosts of this Worker. Elsewhere anybody can send any Host, so with `loopback` it counts only
 * where it names this machine. No header of a proxy counts. A failure says what the operator has to do.
 */
export function publicUrlOf({ PUBLIC_URL }: Pick<Env, "PUBLIC_URL">, requestUrl: string): Result<string, string> {
  const text = PUBLIC_URL ?? "";
  const requested = new URL(requestUrl);
  if (text === "" || (text === LOOPBACK_ONLY && isLoopback(requested))) return ok(requested.origin);
  if (text === LOOPBACK_ONLY) return fail(`PUBLIC_URL is not set, and the request names another host. ${HOW_TO_SET}`);
  const origin = normalizeOrigin(text);
  if (!origin.ok || !isProtected(new URL(origin.value))) return fail(`PUBLIC_URL is unusable. ${HOW_TO_SET}`);
  return origin;
}

const HOW_TO_SET =
  "Set PUBLIC_URL to the origin by which users reach this service, such as https://groups.example.com, without a path. http is for " +
  "localhost, 127.0.0.1 and [::1] alone.";

/** Whether a URL names this machine. */
const isLoopback = ({ hostname }: URL): boolean => LOOPBACK_HOST.test(hostname);

/** Whether nobody between a browser and this origin can read what they say. */
export const isProtected = (url: URL): boolean => url.protocol === "https:" || isLoopback(url);
