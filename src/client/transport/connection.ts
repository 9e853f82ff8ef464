import type { JsonValue } from "./json.ts";
import { ResponseBody } from "./response-body.ts";
import { isTransient, Retries, type RetryOptions } from "./retries.ts";
import {
  type ErrorFacts,
  type Issue,
  type RefusalCode,
  type SessionRefusalCode,
  UserGroupServiceError,
} from "./user-group-service-error.ts";

/** The part of the standard's `fetch` that is used. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** How to reach the service. */
export type ConnectionOptions = RetryOptions & {
  /** The service's origin, without a path, such as `https://groups.example.com`. Without TLS, only this machine; see `allowHttp`. */
  url: string | URL;
  /**
   * With `true`, `url` may be `http://` of another machine, such as a container's name. Everybody on the way can then read the
   * credential and change each answer: only for a private network that you trust.
   */
  allowHttp?: boolean | undefined;
  /** The global `fetch` by default. */
  fetch?: Fetch | undefined;
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
  body?: Record<string, unknown> | undefined;
  headers?: Record<string, string>;
  /** The media type of the body; JSON by default. */
  contentType?: string;
  /** Whether the call may be retried when the outcome of the last try is unknown; by default only a GET. */
  retryable?: boolean;
  /** A credential in the body, which no error may show. */
  secret?: string;
};

/** A call as `fetch` sends it. */
export type EncodedCall = {
  method: string;
  /** With its query. */
  path: string;
  headers: Record<string, string>;
  body?: string | Blob;
};

/** What differs between the calls of servers and those of pages, whose code must be small. */
export type Protocol = {
  /** Encodes a call, without its credential. Throws a `TypeError` for what cannot be sent unchanged. */
  encode: (call: Call, retryable: boolean) => EncodedCall;
  /** The refusals that these calls may get. */
  codes: readonly (RefusalCode | SessionRefusalCode)[];
  /** What a refusal has besides its code and message: facts, and sentences for the message of the error. */
  detailsOf: (code: string, refusal: ResponseBody) => { facts: ErrorFacts; sentences?: string[] };
};

/** A successful response. */
export type ServiceResponse = {
  body: ResponseBody;
  headers: Headers;
  unexpected: (what: string) => UserGroupServiceError;
};

/**
 * The forms of credentials: API keys and group tokens, with the tag of their environment; operator keys, with a length that a text such
 * as hugo_boss does not have; and sessions, which are JWTs.
 */
const CREDENTIAL = /ug[kt]_[a-z]+_[\w-]+|ugo_[\w-]{20,}|eyJ[\w-]+\.[\w.-]+/g;
const CAUSES_MAX = 4;
const UNKNOWN_CODE_UNITS_MAX = 80;
const ISSUES_IN_MESSAGE_MAX = 3;
const ISSUE_PATH_UNITS_MAX = 80;

/** The service at one address, called with one credential. The credential is private. */
export class Connection {
  readonly #origin: string;
  readonly #credential: string;
  readonly #fetch: Fetch;
  readonly #retries: Retries;
  readonly #protocol: Protocol;

  /** Throws a `TypeError` for options that cannot work. */
  constructor(options: ConnectionOptions, credentialName: string, credential: string | undefined, protocol: Protocol) {
    this.#protocol = protocol;
    this.#origin = originOf(options);
    this.#credential = headerValue(credentialName, credential);
    this.#fetch = options.fetch ?? ((url, init) => globalThis.fetch(url, init));
    if (typeof this.#fetch !== "function") throw new TypeError("Give fetch as a function.");
    this.#retries = new Retries(options);
  }

  /**
   * Sends a call, and retries it with exponential backoff and full jitter: always after a 429 or `overloaded`, which mean that nothing was
   * done; after a 503, a timeout or a broken connection only if it is `retryable`. Resolves to a successful response.
   */
  async send(call: Call, { signal }: CallOptions = {}): Promise<ServiceResponse> {
    const retryable = call.retryable ?? call.method === "GET";
    const { path, headers, ...rest } = this.#protocol.encode(call, retryable);
    const init: RequestInit = {
      ...rest,
      headers: { Authorization: `Token ${this.#credential}`, ...headers },
      // A redirect could send the credential elsewhere, so it is an unexpected response. Workers do not support "error".
      redirect: "manual",
    };
    return await this.#retries.run(
      () => this.#try(this.#origin + path, init, call, signal),
      (error) =>
        error instanceof UserGroupServiceError &&
        (retryable ? isTransient(error) : error.status === 429 || error.code === "overloaded"),
      signal,
    );
  }

  async #try(url: string, init: RequestInit, call: Call, signal: AbortSignal | undefined): Promise<ServiceResponse> {
    const redact = this.#redactorFor(call);
    const request = async (abort: AbortSignal) => {
      // Not called as a method of this object: browsers and Workers then refuse their own fetch.
      const fetch = this.#fetch;
      return readResponse(await fetch(url, { ...init, signal: abort }), redact, this.#protocol);
    };
    return await this.#retries.limit(request, "The service did not respond", signal).catch((error: unknown) => {
      if (signal?.aborted) throw signal.reason;
      throw error instanceof UserGroupServiceError
        ? error
        : new UserGroupServiceError("network_error", `The service did not respond: ${redact(messagesOf(error))}`);
    });
  }

  /** Returns a function that replaces each known credential, and each text of a credential's form. */
  #redactorFor({ secret }: Call): (text: string) => string {
    const secrets = [this.#credential, ...(secret ? [String(secret)] : [])];
    const forms = new Set(secrets.flatMap((known) => [known, JSON.stringify(known).slice(1, -1)]));
    return (text) => redactForms([...forms].reduce((rest, known) => rest.replaceAll(known, "[credential]"), text));
  }
}

/** Replaces each text of a credential's form. */
export const redactForms = (text: string): string => text.replaceAll(CREDENTIAL, "[credential]");

/** Returns a successful response. Throws the service's refusal, or `unexpected_answer` for any other response. */
export async function readResponse(
  response: Response,
  redact: (text: string) => string,
  protocol: Protocol,
): Promise<ServiceResponse> {
  const text = await response.text();
  const { status, headers, ok } = response;
  const facts: ErrorFacts = {
    status,
    requestId: redact(headers.get("X-Request-Id") ?? "") || undefined,
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
  const code = protocol.codes.find((known) => known === refusal.text("code"));
  if (!code) throw unexpected(`has the unknown code ${refusal.text("code").slice(0, UNKNOWN_CODE_UNITS_MAX)}`);
  const issues = code === "invalid_body" ? refusal.objects("issues").map(issueOf) : [];
  const { facts: details, sentences = [] } = protocol.detailsOf(code, refusal);
  const message = [refusal.text("message"), ...sentencesOf(issues), ...sentences].join(" ");
  throw new UserGroupServiceError(code, message, { ...facts, issues, ...details });
}

const issueOf = (issue: ResponseBody): Issue => ({ path: issue.keys("path"), message: issue.text("message") });

/** The first issues, for an error's message: a log shows the message alone. */
function sentencesOf(issues: readonly Issue[]): string[] {
  const sentences = issues
    .slice(0, ISSUES_IN_MESSAGE_MAX)
    .map(({ path, message }) => `${path.join(".").slice(0, ISSUE_PATH_UNITS_MAX)}: ${message}`);
  const rest = issues.length - sentences.length;
  return rest > 0 ? [...sentences, `${rest} more in issues.`] : sentences;
}

/** Parses a text as JSON, with its strings mapped by `map`. Returns `undefined` for a text that is not JSON. */
export function parse(text: string, map?: (text: string) => string): JsonValue | undefined {
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
  const date = /^[A-Z][a-z]+,? /.test(text) && Date.parse(text);
  return date ? Math.max(0, date - Date.now()) : undefined;
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

function originOf({ url: address, allowHttp }: ConnectionOptions): string {
  const url = URL.canParse(String(address)) ? new URL(address) : undefined;
  if (!url || url.href !== `${url.origin}/`)
    throw new TypeError("Give url as an origin without a path, such as https://groups.example.com.");
  if (!isProtected(url, allowHttp)) throw new TypeError("Give url as https://…, or set allowHttp.");
  return url.origin;
}

/** Whether nobody on the way can read or change a call: by TLS, on this machine, or because the caller says so. */
export const isProtected = ({ protocol, hostname }: URL, allowHttp: boolean | undefined): boolean =>
  protocol === "https:" ||
  (protocol === "http:" && (allowHttp === true || /^(localhost|127\.[\d.]+|\[::1])$/.test(hostname)));

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
