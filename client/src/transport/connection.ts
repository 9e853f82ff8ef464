import type { JsonValue } from "./json.ts";
import { ResponseBody } from "./response-body.ts";
import { isTransient, type RetryOptions, retriesOf } from "./retries.ts";
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
  /** Sent as JSON; a text as it is. */
  body?: Record<string, unknown> | string | undefined;
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
  /** Reads the body of a successful response; JSON by default. */
  parse?: (text: string) => JsonValue | undefined;
  /** The refusals that these calls may get. */
  codes: readonly (RefusalCode | SessionRefusalCode)[];
  /** What a refusal has besides its code and message: facts, and sentences for the message of the error. */
  detailsOf: (code: string, refusal: ResponseBody, issues: Issue[]) => { facts: ErrorFacts; sentences?: string[] };
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

/**
 * Without this, Next and some proxies of `fetch` repeat old answers. Workers with a compatibility date before 2024-11-11 throw on the
 * option.
 */
const UNCACHED: RequestInit = (() => {
  try {
    const uncached = { cache: "no-store" } as const;
    new Request("https://a.b", uncached);
    return uncached;
  } catch {
    return {};
  }
})();

/** The service at one address, called with one credential. The credential is private. */
export type Connection = ReturnType<typeof connectionOf>;

/** Throws a `TypeError` for options that cannot work. */
export function connectionOf(
  options: ConnectionOptions,
  credentialName: string,
  credential: string | undefined,
  protocol: Protocol,
) {
  const origin = originOf(options);
  const authorization = `Token ${headerValue(credentialName, credential)}`;
  // Never called as a method: browsers and Workers then refuse their own fetch.
  const fetch = options.fetch ?? ((url, init) => globalThis.fetch(url, init));
  if (typeof fetch !== "function") throw new TypeError("Give fetch as a function.");
  const retry = retriesOf(options);

  /** Replaces each known credential, and each text of a credential's form. */
  const redact = (text: string, { secret }: Call): string =>
    redactForms(
      [credential, ...(secret ? [secret] : [])]
        .flatMap((known) => [String(known), JSON.stringify(String(known)).slice(1, -1)])
        .reduce((rest, known) => rest.replaceAll(known, "[credential]"), text),
    );

  return {
    /**
     * Sends a call, and retries it with exponential backoff and full jitter: always after a 429 or `overloaded`, which mean that nothing was
     * done; after a 503, a 502, 504 or 52x of a proxy, a timeout or a broken connection only if it is `retryable`. Resolves to a successful response.
     */
    async send(call: Call, { signal }: CallOptions = {}): Promise<ServiceResponse> {
      const retryable = call.retryable ?? call.method === "GET";
      const { path, headers, ...rest } = protocol.encode(call, retryable);
      const hide = (text: string) => redact(text, call);
      const init: RequestInit = {
        ...UNCACHED,
        ...rest,
        headers: {
          Authorization: authorization,
          // A runtime adds `no-cache` to an uncached call without this header, and a session then has no stale answer.
          ...(/ eyJ/.test(authorization) && { "Cache-Control": "max-age=300" }),
          ...headers,
        },
        // A redirect could send the credential elsewhere, so it is an unexpected response. Workers do not support "error".
        redirect: "manual",
      };
      const request = async (abort: AbortSignal) => {
        try {
          return await readResponse(await fetch(origin + path, { ...init, signal: abort }), hide, protocol);
        } catch (error) {
          throw error instanceof UserGroupServiceError
            ? error
            : new UserGroupServiceError("network_error", `The service did not respond: ${hide(messagesOf(error))}`);
        }
      };
      const mayRetry = (error: unknown) =>
        error instanceof UserGroupServiceError &&
        (retryable ? isTransient(error) : error.status === 429 || error.code === "overloaded");
      return retry(request, "The service did not respond", mayRetry, signal);
    },
  };
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
      `The response (${status}) is not of the service: it ${what}.`,
      facts,
    );

  if (ok) {
    const body = new ResponseBody((protocol.parse ?? parse)(text), unexpected);
    if (body.number("success") === 1) return { body, headers, unexpected };
  }
  const refusal = new ResponseBody(parse(text, redact), unexpected).object("error");
  const code = protocol.codes.find((known) => known === refusal.text("code"));
  if (!code) throw unexpected(`has code ${refusal.text("code").slice(0, UNKNOWN_CODE_UNITS_MAX)}`);
  const issues = code === "invalid_body" ? refusal.objects("issues").map(issueOf) : [];
  const { facts: details, sentences = [] } = protocol.detailsOf(code, refusal, issues);
  const message = [refusal.text("message"), ...sentences].join(" ");
  throw new UserGroupServiceError(code, message, { ...facts, issues, ...details });
}

const issueOf = (issue: ResponseBody): Issue => ({ path: issue.keys("path"), message: issue.text("message") });

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
    const { message, name, cause: next, errors: [first] = [next] } = cause as AggregateError;
    messages.push(message || name);
    cause = first;
  }
  return messages.join(": ") || "unknown";
}

function originOf({ url: address, allowHttp }: ConnectionOptions): string {
  const url = URL.canParse(String(address)) ? new URL(address) : undefined;
  if (!url || url.href !== `${url.origin}/` || !isProtected(url, allowHttp))
    throw new TypeError("Give url as an https origin, or allowHttp.");
  return url.origin;
}

/** Whether nobody on the way can read or change a call: by TLS, on this machine, or because the caller says so. */
export const isProtected = ({ protocol, hostname }: URL, allowHttp: boolean | undefined): boolean =>
  protocol === "https:" ||
  (protocol === "http:" && (allowHttp === true || /^(localhost|127\.[\d.]+|\[::1])$/.test(hostname)));

/** Returns `text` if it can be the value of a header. The error does not repeat it: it may be a secret. */
export function headerValue(name: string, text: string | undefined): string {
  if (typeof text !== "string" || !/^[\x21-\x7e]+$/.test(text))
    throw new TypeError(`Give ${name} as ASCII, no blanks.`);
  return text;
}

/** The header that makes a change conditional on the group's ETag. */
export function ifMatchHeader(input: { ifMatch?: string }): Record<string, string> {
  refuseUndefined(input, ["ifMatch"]);
  return input.ifMatch === undefined ? {} : { "If-Match": headerValue("ifMatch", input.ifMatch) };
}

/** The path of one numbered thing. An unchecked number such as `../user` would send the credential to another route. */
export function numberedPath(collection: string, name: "id" | "teamId", number: number): string {
  if (!Number.isSafeInteger(number) || number < 1)
    throw new TypeError(`Give ${name} as a positive whole number, as lists show it.`);
  return `${collection}/${number}`;
}

/**
 * Throws a `TypeError` if one of these options is present and `undefined`. Each call names the options without which it does more than with
 * any value of them: a variable that somebody forgot to set must not end everybody's sessions.
 */
export function refuseUndefined<Input extends object>(input: Input, names: readonly (keyof Input & string)[]): void {
  const name = names.find((each) => each in input && input[each] === undefined);
  if (name !== undefined)
    throw new TypeError(
      `${name} is undefined, and without it the call would do more. Give a value, or leave ${name} out.`,
    );
}
