import { Answer } from "./answer.ts";
import { inTime, pause, TooLate } from "./in-time.ts";
import type { JsonValue } from "./json.ts";
import { type ErrorFacts, type Issue, REFUSAL_CODES, UserGroupServiceError } from "./user-group-service-error.ts";

/** The part of the standard's `fetch` that is used. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** How the service is reached. */
export type ConnectionOptions = {
  /** Where the service is, such as `https://groups.example.com`. Without TLS, only this machine. */
  url: string | URL;
  /** The global `fetch` by default. */
  fetch?: Fetch | undefined;
  /** How long one try may take; 10 seconds by default. */
  timeoutMs?: number | undefined;
  /** How many times more a call is tried that is safe to repeat; 3 by default. */
  retries?: number | undefined;
  /** The longest wait before the second try, 200 ms by default. It doubles from there, and a random part of it is waited. */
  backoffMs?: number | undefined;
  /** The longest wait of all, a minute by default. When the service asks for a longer one, the call fails at once. */
  waitMsMax?: number | undefined;
};

/** What every call takes besides what it sends. */
export type CallOptions = {
  /** Ends the call, between its tries too. It then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
};

/** One call, in the wire's names. */
export type Call = {
  method: "GET" | "PUT" | "POST" | "DELETE";
  path: string;
  query?: Record<string, string | undefined>;
  body?: Record<string, unknown>;
  headers?: Record<string, string>;
  /** Whether it may be made again when it is not known what the try before came to. */
  repeatable: boolean;
  /** A credential in the body, which no error may show. */
  secret?: string;
};

/** An answer, and the headers that some calls read. */
export type Answered = { body: Answer; headers: Headers; unexpected: (what: string) => UserGroupServiceError };

const CREDENTIAL = /ug[kt]_(?:customer|testing|untagged)_[\w-]+/g;
/** A day. `setTimeout` fires at once for what is more than 24 of them. */
const OPTION_MS_MAX = 24 * 60 * 60 * 1000;
const CAUSES_MAX = 4;
const UNKNOWN_CODE_UNITS_MAX = 80;

/** The service at one address, called with one credential, which it keeps to itself. */
export class Connection {
  readonly #base: string;
  readonly #credential: string;
  readonly #fetch: Fetch;
  readonly #timeoutMs: number;
  readonly #retries: number;
  readonly #backoffMs: number;
  readonly #waitMsMax: number;

  /** Throws a `TypeError` for options that cannot work. */
  constructor(options: ConnectionOptions, credentialName: string, credential: string) {
    this.#base = baseOf(options.url);
    this.#credential = printable(credentialName, credential);
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
   * Makes a call, and makes it again, with exponential backoff and full jitter: after a 429, which says that nothing was
   * done, always; after a 503, a timeout and a broken connection only a `repeatable` one. Resolves to an answer of success.
   */
  async send(call: Call, signal: AbortSignal | undefined): Promise<Answered> {
    const { url, init } = this.#requestOf(call);
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#try(url, init, call, signal);
      } catch (error) {
        if (!(error instanceof UserGroupServiceError) || tries > this.#retries || !this.#mayRepeat(call, error))
          throw error;
        const backoffMs = Math.min(this.#waitMsMax, this.#backoffMs * 2 ** (tries - 1));
        const waitMs = (error.retryAfterMs ?? 0) + Math.random() * backoffMs;
        await pause(Math.min(this.#waitMsMax, waitMs), signal);
      }
    }
  }

  #mayRepeat(call: Call, { code, status, retryAfterMs = 0 }: UserGroupServiceError): boolean {
    if (retryAfterMs > this.#waitMsMax) return false;
    return status === 429 || (call.repeatable && (status === 503 || code === "network_error" || code === "timeout"));
  }

  /** `fetch` sends no body with a GET, so whatever has a body goes as a POST, with its method in a header. */
  #requestOf({ method, path, query = {}, body, headers }: Call): { url: string; init: RequestInit } {
    const url = new URL(this.#base + path);
    for (const [name, value] of Object.entries(query)) {
      if (value === undefined) continue;
      if (/\p{Surrogate}/u.test(value)) throw new TypeError(`${name} has half a character, which a URL cannot hold.`);
      url.searchParams.set(name, value);
    }
    const sent = body ? "POST" : method;
    const init: RequestInit = {
      method: sent,
      headers: {
        Authorization: `Token ${this.#credential}`,
        ...(body && { "Content-Type": "application/json" }),
        ...(sent !== method && { "X-HTTP-Method-Override": method }),
        ...headers,
      },
      ...(body && { body: JSON.stringify(body, refuseInexact) }),
      // A redirect is an answer like any other, and refused: it could lead the credential elsewhere. Workers know no "error".
      redirect: "manual",
    };
    return { url: url.href, init };
  }

  async #try(url: string, init: RequestInit, call: Call, signal: AbortSignal | undefined): Promise<Answered> {
    const ask = async (abort: AbortSignal) => {
      // By itself: as a method of this object, browsers and Workers refuse to call their own.
      const fetch = this.#fetch;
      const response = await fetch(url, { ...init, ...(call.repeatable ? {} : sentOnce(init.body)), signal: abort });
      return { response, text: await response.text() };
    };
    const redacted = this.#redactorFor(call);
    const answered = await inTime(ask, this.#timeoutMs, signal).catch((error: unknown) => {
      if (signal?.aborted) throw signal.reason;
      throw error instanceof TooLate
        ? new UserGroupServiceError("timeout", `The service did not answer within ${this.#timeoutMs} ms.`)
        : new UserGroupServiceError("network_error", `The service gave no answer: ${redacted(wordsOf(error))}`);
    });
    return judge(answered.response, answered.text, redacted);
  }

  /** Takes out of a text what is, or looks like, a credential. */
  #redactorFor({ secret }: Call): (text: string) => string {
    const secrets = [this.#credential, ...(typeof secret === "string" && secret !== "" ? [secret] : [])];
    const forms = new Set(secrets.flatMap((known) => [known, JSON.stringify(known).slice(1, -1)]));
    return (text) =>
      [...forms]
        .reduce((rest, known) => rest.replaceAll(known, "[credential]"), text)
        .replaceAll(CREDENTIAL, "[credential]");
  }
}

/** The answer, if it is one of success. Otherwise throws what the service refused, as far as it can be understood. */
function judge(response: Response, text: string, redacted: (text: string) => string): Answered {
  const { status, headers, ok } = response;
  const facts: ErrorFacts = {
    status,
    requestId: redactedOrAbsent(headers.get("X-Request-Id"), redacted),
    retryAfterMs: retryAfterMsOf(headers.get("Retry-After")),
  };
  const unexpected = (what: string) =>
    new UserGroupServiceError(
      "unexpected_answer",
      `The answer, of status ${status}, is not one of the service: it ${what}.`,
      facts,
    );

  if (ok) {
    const body = new Answer(parse(text), unexpected);
    if (body.number("success") === 1) return { body, headers, unexpected };
  }
  const refusal = new Answer(parse(text, redacted), unexpected).object("error");
  const code = REFUSAL_CODES.find((known) => known === refusal.text("code"));
  if (!code) throw unexpected(`has the unknown code ${refusal.text("code").slice(0, UNKNOWN_CODE_UNITS_MAX)}`);
  throw new UserGroupServiceError(code, refusal.text("message"), {
    ...facts,
    ...(code === "invalid_body" && { issues: refusal.objects("issues").map(issueOf) }),
    ...((code === "unknown_variable" || code === "unusable_variable") && { variable: refusal.text("variable") }),
    ...(code === "invalid_template" && { position: refusal.number("position"), reason: refusal.text("reason") }),
  });
}

const issueOf = (issue: Answer): Issue => ({ path: issue.keys("path"), message: issue.text("message") });

/**
 * A body that is sent once, whatever becomes of the connection. A text is sent again by the `fetch` of Deno itself, whatever
 * the method, when a connection breaks that was used before (denoland/deno#32566); a Blob is not. A stream would not be either,
 * but has no length, and Node 24.14 makes a network error of each 401 to one (nodejs/undici#4910).
 */
const sentOnce = (body: RequestInit["body"]) => (typeof body === "string" ? { body: new Blob([body]) } : {});

const redactedOrAbsent = (text: string | null, redacted: (text: string) => string): string | undefined =>
  text === null ? undefined : redacted(text);

/** The text as JSON, with its strings `changed`; `undefined` for what is not JSON. */
function parse(text: string, changed?: (text: string) => string): JsonValue | undefined {
  try {
    return JSON.parse(text, changed && ((_, value) => (typeof value === "string" ? changed(value) : value)));
  } catch {
    return undefined;
  }
}

/** `Retry-After` as a time from now: seconds, or a date (RFC 9110, section 10.2.3). `undefined` for what is neither. */
function retryAfterMsOf(header: string | null): number | undefined {
  const text = header?.trim() ?? "";
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  // Date.parse takes nearly anything for a date, such as -5.
  const date = /^[A-Z][a-z]+,? /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

/** The messages of an error and of what caused it: runtimes tell what happened to a connection only there. */
function wordsOf(error: unknown): string {
  const words: string[] = [];
  for (let cause = error; cause instanceof Error && words.length < CAUSES_MAX; ) {
    words.push(cause.message || cause.name);
    cause = cause instanceof AggregateError ? cause.errors[0] : cause.cause;
  }
  return words.join(": ") || "an unknown error";
}

/** Refuses what `JSON.stringify` would send as `null` without a word: as in `NaN`, an invalid date, a hole of a list. */
function refuseInexact(this: unknown, key: string, value: unknown): unknown {
  const given: unknown = Object(this)[key];
  const isNoJson = ["undefined", "function", "symbol"].includes(typeof value) && Array.isArray(this);
  if (isNoJson || (typeof value === "number" && !Number.isFinite(value)) || (value === null && given !== null))
    throw new TypeError(`${key} is ${String(given)}, which JSON cannot hold.`);
  return value;
}

function baseOf(address: string | URL): string {
  const url = URL.canParse(String(address)) ? new URL(address) : undefined;
  if (!url) throw new TypeError("Give url as the service's address, such as https://groups.example.com.");
  const isLoopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopback))
    throw new TypeError("Give url as https://…; without TLS, credentials are sent to this machine alone.");
  if (url.username || url.password || url.search || url.hash)
    throw new TypeError("Give url without a user, a password, a query and a fragment.");
  return url.origin + url.pathname.replace(/\/+$/, "");
}

/** `text`, where it can be the value of a header. The error does not repeat it: it may be a secret. */
export function printable(name: string, text: string): string {
  if (typeof text !== "string" || !/^[\x21-\x7e]+$/.test(text))
    throw new TypeError(`Give ${name} as a string of printable ASCII characters, without blanks.`);
  return text;
}

function milliseconds(name: string, value: number): number {
  if (!(value >= 0 && value <= OPTION_MS_MAX))
    throw new TypeError(`Give ${name} as 0 to ${OPTION_MS_MAX} milliseconds.`);
  return value;
}
