import type { Call, EncodedCall, Protocol, Query } from "./connection.ts";
import type { ResponseBody } from "./response-body.ts";
import { REFUSAL_CODES } from "./user-group-service-error.ts";

/** The calls of servers. */
export const serverProtocol: Protocol = { encode, codes: REFUSAL_CODES, detailsOf };

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
  const text = body && JSON.stringify(body, refuseInexact);
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

/** A replacer that refuses values which `JSON.stringify` would silently send as `null`: `NaN`, invalid dates, array holes. */
function refuseInexact(this: unknown, key: string, value: unknown): unknown {
  const given: unknown = Object(this)[key];
  const isNotJson = ["undefined", "function", "symbol"].includes(typeof value) && Array.isArray(this);
  if (isNotJson || (typeof value === "number" && !Number.isFinite(value)) || (value === null && given !== null))
    throw new TypeError(`${key} is ${String(given)}, which JSON cannot hold.`);
  return value;
}

/** What the caller lacks, of a refusal with `insufficient_access`. */
function detailsOf(_code: string, refusal: ResponseBody) {
  const textOf = (name: string) => (refusal.has(name) ? refusal.text(name) : undefined);
  const requiredScope = textOf("required_scope");
  const requiredRole = textOf("required_role");
  const sentences = [
    ...(requiredScope === undefined ? [] : [`The required scope is ${requiredScope}.`]),
    ...(requiredRole === undefined ? [] : [`The required role is ${requiredRole}.`]),
  ];
  return { facts: { requiredScope, requiredRole }, sentences };
}
