/** The service that a command calls, and the credential of an integrator. */
import { CommandError, UsageError } from "../../../common/command-error.ts";
import { isLoopback } from "../../../common/origin.ts";

export const LOCAL_URL = "http://localhost:8787";

/**
 * The service that the option `--url` names, or else the variable SERVICE_URL. It is safe to send a credential there.
 *
 * @throws UsageError for anything but an origin with https, or with http on this machine.
 */
export function serviceUrl(option: string | undefined, env: NodeJS.ProcessEnv): URL {
  const source = option === undefined && env.SERVICE_URL ? "SERVICE_URL" : "--url";
  const text = option ?? (env.SERVICE_URL || LOCAL_URL);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isLocal = url?.protocol === "http:" && isLoopback(url);
  if (!url || (url.protocol !== "https:" && !isLocal))
    throw new UsageError(`Give ${source} as https://…; without TLS a credential goes to this machine alone.`);
  if (url.href !== `${url.origin}/`)
    throw new UsageError(`Give ${source} as the service's origin alone, such as https://groups.example.com.`);
  return url;
}

/** The API key in the environment. */
export function apiKeyFrom(env: NodeJS.ProcessEnv): string {
  if (!env.API_KEY) throw new CommandError("Set API_KEY in the environment.");
  // Other characters cannot be in a header, and the error of the HTTP client would quote them.
  if (!/^[\w-]+$/.test(env.API_KEY))
    throw new CommandError("API_KEY is not an API key: it holds characters other than letters, digits, _ and -.");
  return env.API_KEY;
}

export const isRedirect = (status: number): boolean => status >= 300 && status < 400;

export const redirected = (url: URL): CommandError =>
  new CommandError(
    `The server at ${url.origin} redirects elsewhere. Give the address of the service itself as --url or SERVICE_URL.`,
    { code: "not_the_service" },
  );

export const unreachable = (url: URL): CommandError =>
  new CommandError(
    `The service at ${url.origin} cannot be reached. Start it, or give another as --url or SERVICE_URL.`,
    { code: "unreachable" },
  );

export const notTheService = (url: URL, status: number | undefined): CommandError =>
  new CommandError(`The server at ${url.origin} (status ${status}) is not the user group service.`, {
    code: "not_the_service",
  });

/** Why a credential may be refused; nothing for a code that says it. */
export const whyRefused = (code: string): string =>
  code === "unauthenticated"
    ? " Another kind is refused, and so is one that is cut off, of another deployment, or signed with a key that has been removed."
    : "";

/** For a 401: names the credential that the command takes, since the service answers any other in the same way. */
export const apiKeyRefused = (url: URL, code: string, requestId?: string): CommandError =>
  new CommandError(
    `The service at ${url.origin} refused API_KEY (${code}). This command takes an API key, which begins with ugk_. The operator of the service issues one.${whyRefused(code)}`,
    { code, requestId },
  );
