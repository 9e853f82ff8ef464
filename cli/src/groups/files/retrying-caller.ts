import { setTimeout as delay } from "node:timers/promises";
import { CommandError } from "../../../../common/command-error.ts";
import { type HttpCall, type HttpResponse, type Refusal, readBody, send } from "../../support/http.ts";
import { escapeInvisible } from "../../support/printable.ts";
import { notTheService, unreachable } from "../../support/service.ts";

/** For a service that has responded before, which may be restarting; and for one that may not exist. */
const TRIES_MAX = 10;
const FIRST_TRIES_MAX = 6;
/** The longest backoff before the second try; it doubles with each try. */
const BACKOFF_MS = 250;
const BACKOFF_MS_MAX = 30_000;
const RETRY_AFTER_SECONDS_MAX = 300;
/** Temporary refusals: too many calls, and a service that is not available. So is any 5xx of a proxy. */
const TEMPORARY = [429, 502, 503, 504];

/** A response of the service. Its fields are not validated. */
export type ServiceResponse = {
  status: number;
  etag: string | undefined;
  body: {
    success: number;
    error?: Refusal | undefined;
    request_id?: string | undefined;
    new_user_group?: unknown;
    user_group?: unknown;
    user_groups?: unknown;
    next_cursor?: unknown;
  };
};

/** One try: nothing if the connection failed, and no body if the response is not one of the service. */
type Try = { response?: HttpResponse; body?: ServiceResponse["body"] | undefined; isFinal?: boolean };

/**
 * Makes idempotent calls, and retries each one after a lost connection and after temporary refusals. The waits are random,
 * double with each try, and are never shorter than `Retry-After`. `stop` ends a wait with an AbortError, but no request.
 */
export class RetryingCaller {
  readonly #credential: string;
  #hasResponded = false;

  constructor(credential: string) {
    this.#credential = credential;
  }

  async call(url: URL, call: Omit<HttpCall, "credential">, stop?: AbortSignal): Promise<ServiceResponse> {
    for (let tries = 1; ; tries += 1) {
      const { response, body, isFinal } = await this.#try(url, call);
      if (response && body && isFinal) return { status: response.status, etag: response.etag, body };
      const waitMs = this.#waitMs(tries, response);
      if (waitMs === undefined) throw response ? unavailable(url, response.status, body?.error) : unreachable(url);
      await delay(waitMs, undefined, stop && { signal: stop });
    }
  }

  async #try(url: URL, call: Omit<HttpCall, "credential">): Promise<Try> {
    const response = await sendOrNothing(url, { ...call, credential: this.#credential });
    if (!response) return {};
    const body = readBody<ServiceResponse["body"]>(this.#credential, response.text);
    const isFinal = body !== undefined && !TEMPORARY.includes(response.status);
    if (!body && response.status < 500 && response.status !== 429) throw notTheService(url, response.status);
    this.#hasResponded ||= isFinal;
    return { response, body, isFinal };
  }

  /** The wait before the next try; `undefined` if there is no next try. */
  #waitMs(tries: number, response: HttpResponse | undefined): number | undefined {
    const retryAfter = secondsOf(response?.retryAfter ?? "0");
    const triesMax = this.#hasResponded ? TRIES_MAX : FIRST_TRIES_MAX;
    if (tries >= triesMax || retryAfter > RETRY_AFTER_SECONDS_MAX) return undefined;
    const backoff = Math.min(BACKOFF_MS * 2 ** (tries - 1), BACKOFF_MS_MAX) * (0.5 + Math.random() / 2);
    return retryAfter * 1000 + backoff;
  }
}

const unavailable = (url: URL, status: number, error: Refusal | undefined): CommandError =>
  new CommandError(
    `The service at ${url.origin} takes no more calls at the moment (status ${status}).${error ? ` Its message: ${sentenceOf(error)}` : ""}`,
    // Without a message it is the answer of a proxy.
    error === undefined ? { code: "unreachable" } : {},
  );

/** The response, or `undefined` if the connection failed or timed out. */
const sendOrNothing = (url: URL, call: HttpCall): Promise<HttpResponse | undefined> =>
  send(url, call).catch((error: unknown) => {
    if (error instanceof CommandError) throw error;
    return undefined;
  });

/** `Retry-After` is a number of seconds or a date (RFC 9110, section 10.2.3). Anything else is no wait. */
function secondsOf(retryAfter: string): number {
  const seconds = /^\d+$/.test(retryAfter) ? Number(retryAfter) : (Date.parse(retryAfter) - Date.now()) / 1000;
  return Math.max(seconds, 0) || 0;
}

/** A refusal in one line. It may hold control characters of a file or a server, which must not reach the terminal. */
export const sentenceOf = ({ code, message, issues = [] }: Refusal): string =>
  escapeInvisible(
    [code, issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join(" ") || message].join(": "),
  );
