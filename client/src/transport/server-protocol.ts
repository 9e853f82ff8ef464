import type { Call, EncodedCall, Protocol, Query } from "./connection.ts";
import type { ResponseBody } from "./response-body.ts";
import { type Issue, REFUSAL_CODES } from "./user-group-service-error.ts";

/** The calls of servers. */
export const serverProtocol: Protocol = { encode, codes: REFUSAL_CODES, detailsOf };

const ISSUES_IN_MESSAGE_MAX = 3;
const ISSUE_PATH_UNITS_MAX = 80;

/** The only path that takes `X-HTTP-Method-Override`. */
const OVERRIDDEN = "/api/user";

/**
 * `fetch` sends no body with a GET, and some proxies drop that of a DELETE, in which it is essential. So both are a POST that
 * names its method in a header. A DELETE elsewhere needs no body.
 */
function encode(
  { method, path, query = {}, body, headers, contentType = "application/json" }: Call,
  retryable: boolean,
): EncodedCall {
  const sent = path === OVERRIDDEN && (method === "GET" || method === "DELETE") ? "POST" : method;
  const text = typeof body === "string" ? body : body && JSON.stringify(body, refuseInexact);
  return {
    method: sent,
    path: path + searchOf(query),
    headers: {
      ...(text && { "Content-Type": contentType }),
      ...(sent !== method && { "X-HTTP-Method-Override": method }),
      ...headers,
    },
    ...(text && { body: retryable ? text : sentOnce(text) }),
  };
}

function searchOf(query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    if (/\p{Surrogate}/u.test(value))
      throw new TypeError(`${name} has an unpaired surrogate, which a URL cannot hold.`);
    parameters.set(name, value);
  }
  const text = String(parameters);
  return text && `?${text}`;
}

/**
 * The body as a Blob, so that the runtime sends it once. When a reused connection breaks, the `fetch` of Deno itself sends a
 * string again, whatever the method (denoland/deno#32566), but not a Blob. A stream would not be sent again either, but it
 * has no length, and Node 24.14 turns each 401 to a stream into a network error (nodejs/undici#4910).
 */
const sentOnce = (text: string) => new Blob([text]);

/**
 * A replacer that refuses values which `JSON.stringify` would change or lose without a word: `NaN` and `-0`, invalid dates, array holes,
 * functions, symbols, and objects such as a `Map`, whose content is not in fields. A field that is `undefined` is left out.
 */
function refuseInexact(this: unknown, key: string, value: unknown): unknown {
  const given: unknown = Object(this)[key];
  const isLeftOut = value === undefined && !Array.isArray(this);
  // JSON.stringify calls toJSON before this, and that of an invalid date returns null.
  const isChanged = value === null && given !== null;
  if (isChanged || !(isLeftOut || isExact(value)))
    throw new TypeError(`${key} is ${kindOf(given)}, which JSON cannot hold.`);
  return value;
}

function isExact(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0);
  if (typeof value === "object") return value === null || hasJsonContent(value);
  // JSON.stringify itself throws a TypeError for a bigint.
  return ["string", "boolean", "bigint"].includes(typeof value);
}

const tagOf = (value: unknown): string => Object.prototype.toString.call(value).slice("[object ".length, -1);

/** Whether the content of an object is in its fields. That of a class may be private, and is then missing in its JSON. */
function hasJsonContent(value: object): boolean {
  if (Array.isArray(value)) return true;
  const prototype = Object.getPrototypeOf(value);
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null;
  return tagOf(value) === "Object" && (isPlain || Object.keys(value).length > 0);
}

/** What a value is, for an error. It shows no content, which may be secret. */
function kindOf(value: unknown): string {
  if (Object.is(value, -0)) return "-0";
  return typeof value === "number" || value === undefined ? String(value) : `a value of the kind ${tagOf(value)}`;
}

/** The first issues, for an error's message: a log shows the message alone. */
function sentencesOf(issues: readonly Issue[]): string[] {
  const sentences = issues
    .slice(0, ISSUES_IN_MESSAGE_MAX)
    .map(({ path, message }) => `${path.join(".").slice(0, ISSUE_PATH_UNITS_MAX)}: ${message}`);
  const rest = issues.length - sentences.length;
  return rest > 0 ? [...sentences, `${rest} more in issues.`] : sentences;
}

/** The first issues of `invalid_body`, and what the caller lacks, of a refusal with `insufficient_access`. */
function detailsOf(_code: string, refusal: ResponseBody, issues: Issue[]) {
  const textOf = (name: string) => (refusal.has(name) ? refusal.text(name) : undefined);
  const requiredScope = textOf("required_scope");
  const requiredRole = textOf("required_role");
  const sentences = [
    ...sentencesOf(issues),
    ...(requiredScope === undefined ? [] : [`The required scope is ${requiredScope}.`]),
    ...(requiredRole === undefined ? [] : [`The required role is ${requiredRole}.`]),
  ];
  return { facts: { requiredScope, requiredRole }, sentences };
}
