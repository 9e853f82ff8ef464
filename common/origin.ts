import { ORIGIN_UNITS_MAX } from "./limits.ts";
import { fail, ok, type Result } from "./result.ts";

/** A scheme, a host and perhaps a port. A `*` could be part of a host, where people mean a wildcard by it. */
const ORIGIN = /^https?:\/\/[^\s/\\?#@*]+\/?$/i;

const LOOPBACK_HOST = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/** The origin that somebody means by `text`, as browsers write it. A failure is a sentence that says how to fix it. */
export function normalizeOrigin(text: string): Result<string, string> {
  const url = ORIGIN.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  if (!url)
    return fail(
      "Give an origin such as https://app.example.com: http or https, a host, and perhaps a port; no path, no query, no user, no wildcard.",
    );
  if (url.origin.length > ORIGIN_UNITS_MAX) return fail(`Give at most ${ORIGIN_UNITS_MAX} characters.`);
  return ok(url.origin);
}

/** Whether a URL names this machine. */
export const isLoopback = ({ hostname }: Pick<URL, "hostname">): boolean => LOOPBACK_HOST.test(hostname);

/** Whether the connection between a browser and this origin is encrypted, or stays on this machine. */
export const isProtected = (url: Pick<URL, "hostname" | "protocol">): boolean =>
  url.protocol === "https:" || isLoopback(url);
