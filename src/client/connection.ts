import type { JsonValue } from "./json.ts";
import { ResponseBody } from "./response-body.ts";
import { type ErrorFacts, type Issue, REFUSAL_CODES, UserGroupServiceError } from "./user-group-service-error.ts";
import { pause, TimeoutError, withTimeout } from "./with-timeout.ts";

/** The part of the standard's `fetch` that is used. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** How to reach the service. */
export type ConnectionOptions = {
  /** The service's origin, without a path, such as `https://groups.example.com`. Without TLS, only this machine. */
  url: string | URL;
  /** The global `fetch` by default. */
  fetch?: Fetch | undefined;
  /** The time limit of one try; 10 seconds by default. */
  timeoutMs?: number | undefined;
  /** How many times a call is retried at most; 3 by default. */
  retries?: number | undefined;
  /** The longest backoff before the second try, 200 ms by default. It doubles with each try; the wait is a random part of it. */
  backoffMs?: number | undefined;
  /** The longest wait before any try, a minute by default. If `Retry-After` asks for a longer one, the call fails at once. */
  waitMsMax?: number | undefined;
};

/** Options of every call. */
export type CallOptions = {
  /** Aborts the call, also between its tries. The call then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
};

/** The fields of a URL's query. A field that is `undefined` is left out. */
export type Query = Record<string, string | undefined>;

/** One call, in the wire's names. */
export type Call = {
  method: "GET" | "PUT" | "POST" | "DELETE";
  path: string;
  query?: Query;
  body?: Record<string, unknown>;
  headers?: Record<string, string>;
  /** Whether the call may be retried when the outcome of the last try is unknown. */
  retryable: boolean;
  /** A credential in the body, which no error may show. */
  secret?: string;
};

/** A successful response. */
export type ServiceResponse = {
  body: ResponseBody;
  headers: Headers;
  unexpected: (what: string) => UserGroupServiceError;
};

/** An operator's key has 59 characters or more after its prefix; a text such as hugo_boss is none. */
const CREDENTIAL = /ug[kt]_(?:customer|testing|untagged)_[\w-]+|ugo_[\w-]{20,}/g;
/** A day. `setTimeout` fires at once for delays of more than 24 days. */
export const OPTION_MS_MAX = 24 * 60 * 60 * 1000;
const CAUSES_MAX = 4;
const UNKNOWN_CODE_UNITS_MAX = 80;
const ISSUES_IN_MESSAGE_MAX = 3;
const ISSUE_PATH_UNITS_MAX = 80;

/** The service at one address, called with one credential. The credential is private. */
export class Connection {
  readonly #origin: string;
  readonly #credential: string;
  readonly #fetch: Fetch;
  readonly #timeoutMs: number;
  readonly #retries: number;
  readonly #backoffMs: number;
  readonly #waitMsMax: number;

  /** Throws a `TypeError` for options that cannot work. */
  constructor(options: ConnectionOptions, credentialName: string, credential: string | undefined) {
    this.#origin = originOf(options.url);
    this.#credential = headerValue(credentialName, credential);
    this.#fetch = options.fetch ?? ((url, init) => globalThis.fetch(url, init));
    if (typeof this.#fetch !== "function") throw new TypeError("Give fetch as a function.");
    this.#timeoutMs = milliseconds("timeoutMs", options.timeoutMs ?? 10_000);
    this.#retries = options.retries ?? 3;
    if (!Number.isInteger(this.#retries) || this.#retries < 0)
      throw new TypeError("Give retries as a whole number, 0 or more.");
    this.#backoffMs = milliseconds("backoffMs", options.backoffMs ?? 200);
    this.#waitMsMax = milliseconds("waitMsMax", options.waitMsMax ?? 60_000);
  }

  /**
   * Sends a call, and retries it with exponential backoff and full jitter: always after a 429, which means that nothing was
   * done; after a 503, a timeout or a broken connection only if it is `retryable`. Resolves to a successful response.
   */
  async send(call: Call, signal: AbortSignal | undefined): Promise<ServiceResponse> {
    const { url, init } = this.#requestOf(call);
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#try(url, init, call, signal);
      } catch (error) {
        if (!(error instanceof UserGroupServiceError) || tries > this.#retries || !this.#mayRetry(call, error))
          throw error;
        const backoffMs = Math.min(this.#waitMsMax, this.#backoffMs * 2 ** (tries - 1));
        const waitMs = (error.retryAfterMs ?? 0) + Math.random() * backoffMs;
        await pause(Math.min(this.#waitMsMax, waitMs), signal);
      }
    }
  }

  #mayRetry(call: Call, { code, status, retryAfterMs = 0 }: UserGroupServiceError): boolean {
    if (retryAfterMs > this.#waitMsMax) return false;
    return status === 429 || (call.retryable && (status === 503 || code === "network_error" || code === "timeout"));
  }

  /**
   * `fetch` sends no body with a GET, and some proxies drop that of a DELETE. With a body, both are a POST that names its
   * method in a header.
   */
  #requestOf({ method, path, query = {}, body, headers }: Call): { url: string; init: RequestInit } {
    const url = new URL(this.#origin + path);
    for (const [name, value] of Object.entries(query)) {
      if (value === undefined) continue;
      if (/\p{Surrogate}/u.test(value))
        throw new TypeError(`${name} has an unpaired surrogate, which a URL cannot hold.`);
      url.searchParams.set(name, value);
    }
    const sent = body && (method === "GET" || method === "DELETE") ? "POST" : method;
    const init: RequestInit = {
      method: sent,
      headers: {
        Authorization: `Token ${this.#credential}`,
        ...(body && { "Content-Type": "application/json" }),
        ...(sent !== method && { "X-HTTP-Method-Override": method }),
        ...headers,
      },
      ...(body && { body: JSON.stringify(body, refuseInexact) }),
      // A redirect could send the credential elsewhere, so it is an unexpected response. Workers do not support "error".
      redirect: "manual",
    };
    return { url: url.href, init };
  }

  async #try(url: string, init: RequestInit, call: Call, signal: AbortSignal | undefined): Promise<ServiceResponse> {
    const request = async (abort: AbortSignal) => {
      // Not called as a method of this object: browsers and Workers then refuse their own fetch.
      const fetch = this.#fetch;
      const response = await fetch(url, { ...init, ...(call.retryable ? {} : asBlob(init.body)), signal: abort });
      return { response, text: await response.text() };
    };
    const redact = this.#redactorFor(call);
    const received = await withTimeout(request, this.#timeoutMs, signal).catch((error: unknown) => {
      if (signal?.aborted) throw signal.reason;
      throw error instanceof TimeoutError
        ? new UserGroupServiceError("timeout", `The service did not respond within ${this.#timeoutMs} ms.`)
        : new UserGroupServiceError("network_error", `The service did not respond: ${redact(messagesOf(error))}`);
    });
    return readResponse(received.response, received.text, redact);
  }

  /** Returns a function that replaces each known credential, and each text of a credential's form. */
  #redactorFor({ secret }: Call): (text: string) => string {
    const secrets = [this.#credential, ...(typeof secret === "string" && secret !== "" ? [secret] : [])];
    const forms = new Set(secrets.flatMap((known) => [known, JSON.stringify(known).slice(1, -1)]));
    return (text) =>
      [...forms]
        .reduce((rest, known) => rest.replaceAll(known, "[credential]"), text)
        .replaceAll(CREDENTIAL, "[credential]");
  }
}

/** Returns a successful response. Throws the service's refusal, or `unexpected_answer` for any other response. */
function readResponse(response: Response, text: string, redact: (text: string) => string): ServiceResponse {
  const { status, headers, ok } = response;
  const requestId = headers.get("X-Request-Id");
  const facts: ErrorFacts = {
    status,
    requestId: requestId === null ? undefined : redact(requestId),
    retryAfterMs: retryAfterMsOf(headers.get("Retry-After")),
  };
  const unexpected = (what: string) =>
    new UserGroupServiceError(
      "unexpected_answer",
      `The response, of status ${status}, is not one of the user group service: it ${what}.`,
      facts,
    );

  if (ok) {
    const body = new ResponseBody(parse(text), unexpected);
    if (body.number("success") === 1) return { body, headers, unexpected };
  }
  const refusal = new ResponseBody(parse(text, redact), unexpected).object("error");
  const code = REFUSAL_CODES.find((known) => known === refusal.text("code"));
  if (!code) throw unexpected(`has the unknown code ${refusal.text("code").slice(0, UNKNOWN_CODE_UNITS_MAX)}`);
  const issues = code === "invalid_body" ? refusal.objects("issues").map(issueOf) : [];
  const required = requirementOf(refusal);
  const message = [refusal.text("message"), ...sentencesOf(issues), ...sentencesAbout(required)].join(" ");
  throw new UserGroupServiceError(code, message, {
    ...facts,
    issues,
    ...required,
    ...((code === "unknown_variable" || code === "unusable_variable") && { variable: refusal.text("variable") }),
    ...(code === "invalid_template" && { position: refusal.number("position"), reason: refusal.text("reason") }),
  });
}

const issueOf = (issue: ResponseBody): Issue => ({ path: issue.keys("path"), message: issue.text("message") });

/** What the caller lacks, of a refusal with `insufficient_access`. */
const requirementOf = (refusal: ResponseBody) => ({
  requiredScope: refusal.textOrUndefined("required_scope"),
  requiredRole: refusal.textOrUndefined("required_role"),
});

/** What the caller lacks, for an error's message. */
const sentencesAbout = ({ requiredScope, requiredRole }: ReturnType<typeof requirementOf>): string[] => [
  ...(requiredScope === undefined ? [] : [`The required scope is ${requiredScope}.`]),
  ...(requiredRole === undefined ? [] : [`The required role is ${requiredRole}.`]),
];

/** The first issues, for an error's message: a log shows the message alone. */
function sentencesOf(issues: readonly Issue[]): string[] {
  const sentences = issues
    .slice(0, ISSUES_IN_MESSAGE_MAX)
    .map(({ path, message }) => `${path.join(".").slice(0, ISSUE_PATH_UNITS_MAX)}: ${message}`);
  const rest = issues.length - sentences.length;
  return rest > 0 ? [...sentences, `${rest} more in issues.`] : sentences;
}

/**
 * The body as a Blob, so that the runtime sends it once. When a reused connection breaks, the `fetch` of Deno itself sends a
 * string again, whatever the method (denoland/deno#32566), but not a Blob. A stream would not be sent again either, but it
 * has no length, and Node 24.14 turns each 401 to a stream into a network error (nodejs/undici#4910).
 */
const asBlob = (body: RequestInit["body"]) => (typeof body === "string" ? { body: new Blob([body]) } : {});

/** Parses a text as JSON, with its strings mapped by `map`. Returns `undefined` for a text that is not JSON. */
function parse(text: string, map?: (text: string) => string): JsonValue | undefined {
  try {
    return JSON.parse(text, map && ((_, value) => (typeof value === "string" ? map(value) : value)));
  } catch {
    return undefined;
  }
}

/** `Retry-After` as a time from now: seconds, or a date (RFC 9110, section 10.2.3). `undefined` for anything else. */
function retryAfterMsOf(header: string | null): number | undefined {
  const text = header?.trim() ?? "";
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  // Date.parse accepts nearly any text as a date, such as -5.
  const date = /^[A-Z][a-z]+,? /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

/** The messages of an error and of its causes: runtimes say only in a cause what happened to a connection. */
function messagesOf(error: unknown): string {
  const messages: string[] = [];
  for (let cause = error; cause instanceof Error && messages.length < CAUSES_MAX; ) {
    messages.push(cause.message || cause.name);
    cause = cause instanceof AggregateError ? cause.errors[0] : cause.cause;
  }
  return messages.join(": ") || "an unknown error";
}

/** A replacer that refuses values which `JSON.stringify` would silently send as `null`: `NaN`, invalid dates, array holes. */
function refuseInexact(this: unknown, key: string, value: unknown): unknown {
  const given: unknown = Object(this)[key];
  const isNotJson = ["undefined", "function", "symbol"].includes(typeof value) && Array.isArray(this);
  if (isNotJson || (typeof value === "number" && !Number.isFinite(value)) || (value === null && given !== null))
    throw new TypeError(`${key} is ${String(given)}, which JSON cannot hold.`);
  return value;
}

function originOf(address: string | URL): string {
  const url = URL.canParse(String(address)) ? new URL(address) : undefined;
  if (!url) throw new TypeError("Give url as the service's origin, such as https://groups.example.com.");
  const isLoopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopback))
    throw new TypeError("Give url as https://…; without TLS, credentials are sent to this machine alone.");
  if (url.href !== `${url.origin}/`)
    throw new TypeError(
      "Give url as the service's origin alone, such as https://groups.example.com: no path such as /api/user, which the client adds, and no user, password, query or fragment.",
    );
  return url.origin;
}

/** Returns `text` if it can be the value of a header. The error does not repeat it: it may be a secret. */
export function headerValue(name: string, text: string | undefined): string {
  if (typeof text !== "string" || !/^[\x21-\x7e]+$/.test(text))
    throw new TypeError(`Give ${name} as a string of printable ASCII characters, without blanks.`);
  return text;
}

/** The header that makes a change conditional on the group's ETag. */
export const ifMatchHeader = ({ ifMatch }: { ifMatch?: string | undefined }): Record<string, string> =>
  ifMatch === undefined ? {} : { "If-Match": headerValue("ifMatch", ifMatch) };

/** The path of one numbered thing. An unchecked number such as `../user` would send the credential to another route. */
export function numberedPath(collection: string, name: "id" | "teamId", number: number): string {
  if (!Number.isSafeInteger(number) || number < 1)
    throw new TypeError(`Give ${name} as a positive whole number, as lists show it.`);
  return `${collection}/${number}`;
}

/** Returns `value` if it can be a wait. */
export function milliseconds(name: string, value: number): number {
  if (!(value >= 0 && value <= OPTION_MS_MAX))
    throw new TypeError(`Give ${name} as 0 to ${OPTION_MS_MAX} milliseconds.`);
  return value;
}
