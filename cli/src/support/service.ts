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

export const unreachable = (url: URL, cause: Cause = { sentence: START }): CommandError =>
  new CommandError(`The service at ${url.origin} cannot be reached${cause.sentence}`, { code: "unreachable" });

/** Why no connection was made: the end of a sentence, with what to do. A lasting cause is the same a second later. */
export type Cause = { sentence: string; isLasting?: boolean };

const START = ". Start it, or give another as --url or SERVICE_URL.";
const UNTRUSTED =
  ": this machine does not trust the issuer of its certificate. If the issuer is your own, set NODE_EXTRA_CA_CERTS to the file of its certificate.";
const NO_TLS = ": what listens there does not speak TLS. Check the port.";

/** By the codes of Node, those of OpenSSL among them. */
const CAUSES: Record<string, string> = {
  ENOTFOUND: ": DNS knows no such host. Check the spelling of --url or SERVICE_URL.",
  CERT_HAS_EXPIRED: ": its certificate has expired. Renew it in the proxy.",
  CERT_NOT_YET_VALID: ": its certificate is not valid yet. Check the clock of this machine.",
  ERR_TLS_CERT_ALTNAME_INVALID:
    ": its certificate is of another host. Give the host that it names, or get one for this host in the proxy.",
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
};
const TEMPORARY: Record<string, string> = {
  ECONNREFUSED: START,
  EAI_AGAIN: ": DNS does not answer. Check the network of this machine, and try again.",
};

export const SILENCE: Cause = { sentence: ": it takes calls and does not answer. See its log, and that of its proxy." };

/** The cause of an error of `fetch`, which Node hides in its cause, and for several addresses in the first of its errors. */
export function causeOf(error: unknown): Cause {
  const { cause = error } = Object(error);
  const { code, message } = Object(Object(cause).errors?.[0] ?? cause);
  if (Object(error).name === "TimeoutError") return SILENCE;
  const lasting = CAUSES[String(code)];
  if (lasting !== undefined) return { sentence: lasting, isLasting: true };
  return { sentence: TEMPORARY[String(code)] ?? (message ? `: ${message}${START}` : START) };
}

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
