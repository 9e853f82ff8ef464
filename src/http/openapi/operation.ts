import type * as z from "zod";
import {
  LEASE_SECONDS_MAX,
  RATE_LIMIT_SECONDS,
  STALE_SECONDS_MIN,
  UNAVAILABLE_RETRY_SECONDS,
} from "../../../common/limits.ts";
import type { Failure } from "../../domain/failure.ts";
import type { ACCESS, Access } from "../access.ts";
import { EXAMPLE_TOKEN } from "./fields.ts";

/** The shape of the OpenAPI document's operations, and what several of them share. The Worker does not import this. */

export type Tag = "User groups" | "Events" | "Dashboards" | "API keys" | "Operators" | "About";

export type Code = Failure["code"];

type Content = { name: string; schema: z.core.$ZodType; example: object };

export type Operation = {
  id: string;
  /** Its group in the document, unless that is the one of its resource. */
  tag?: Tag;
  summary: string;
  description: string;
  /** What the call takes away without a replacement, and until when it can be brought back. Only calls that do so have it. */
  destroys?: string;
  /** Names of request headers in `REQUEST_HEADERS`. */
  headers?: string[];
  /** The path's parameters, and those of the query, with a value of each to send. */
  path?: { schema: z.ZodObject; example: Record<string, unknown> };
  query?: { schema: z.core.$ZodType; example: Record<string, unknown> };
  body?: Content;
  /** The media type of a body that is no JSON. */
  rawBody?: string;
  /** The same body as a merge patch. */
  patch?: Content;
  answer: {
    /** 200 unless it is another one. */
    status?: 201 | 204;
    description: string;
    /** What a 200 with the same content means, of a call that answers 201 only when it has created something. */
    foundDescription?: string;
    /** JSON by its name and schema, or the media type of anything else. A 204 has none. */
    content?: { name: string; schema: z.core.$ZodType } | string;
    headers?: readonly string[];
  };
  /** What a 302 means, of a call that sends browsers elsewhere. */
  redirectDescription?: string;
  /** The refusals of this call, besides those that come from its credentials, its body and its headers. */
  refusals?: Code[];
};

/** The kinds of credentials, by the names of their security schemes. */
export type CredentialName = "api_key" | "operator_key" | "user_group_token" | "viewer_session";

/** The calls that the document describes: those below /api, and those that the table of access does not name. */
export type DescribedCall =
  | keyof typeof ACCESS
  | "GET /"
  | `GET /${"health" | "ready" | "openapi.json" | "openapi-3.0.json" | "docs" | ".well-known/jwks.json" | ".well-known/openid-configuration"}`;

/** The operations of a resource, by method and pattern of the path, as in the table of access. */
export type Operations = Partial<Record<DescribedCall, Operation>>;

const EVERYWHERE: Code[] = [
  "malformed_request",
  "secret_key_in_browser",
  "rate_limited",
  "internal_error",
  "service_not_configured",
];
const WITH_CREDENTIAL: Code[] = [
  "unauthenticated",
  "overloaded",
  "directory_unavailable",
  "environment_restoring",
  "environment_damaged",
  "credential_revoked",
  "invalid_body",
];
const WITH_OPTIONAL_BODY: Code[] = ["malformed_json", "body_timeout", "body_too_large", "unsupported_media_type"];

/** All refusals of a call, sorted by where they come from. */
export const refusalsOf = ({ refusals = [], headers = [] }: Operation, access: Access | undefined): Code[] => {
  const hasKeys = access?.scope !== undefined || access?.role !== undefined;
  const forViewers = access?.isForViewers === true;
  const sources: [isSource: boolean, ...codes: Code[]][] = [
    [true, ...EVERYWHERE],
    [access !== undefined, ...WITH_CREDENTIAL],
    [forViewers, "user_group_suspended", "credential_expired", "token_in_browser", "origin_not_allowed"],
    [hasKeys && !forViewers, "credential_expired", "environment_full"],
    [hasKeys && access.scope !== "any", "insufficient_access"],
    [access?.environmentQuery !== undefined, "environment_not_found"],
    [access?.body !== undefined, ...WITH_OPTIONAL_BODY],
    [access?.body === "required", "body_required"],
    [headers.includes("If-Match"), "revision_mismatch"],
    [headers.includes("Idempotency-Key"), "idempotency_key_reused"],
    [true, ...refusals],
  ];
  return sources.flatMap(([isSource, ...codes]) => (isSource ? codes : []));
};

/** The request headers that some calls read, besides Authorization and Content-Type. */
export const REQUEST_HEADERS: Record<string, { description: string; schema: object; example: string }> = {
  "If-Match": {
    description:
      "The ETag of the state that you want to change, or several, or `*`. In any other state the call is refused with 412. A " +
      'weak tag (`W/"1.2"`) counts as the strong one, because proxies weaken tags when they compress.',
    schema: { type: "string" },
    example: "*",
  },
  "Idempotency-Key": {
    description:
      "Makes the call safe to repeat: for 24 hours, a repeat with the same key, method, path and body changes nothing and gets the " +
      "same answer, the new token included, with the header `Idempotent-Replayed: true`. With another method, path or body it gets " +
      "422 `idempotency_key_reused`. It has 1 to 255 visible ASCII characters.",
    schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[!-~]+$" },
    example: "8e03978e-40d5-43dd-bc93-6894a57f9324",
  },
  "Cache-Control": {
    description:
      `With \`max-age=N\`, N >= ${STALE_SECONDS_MIN}, the answer may be stale: at most N seconds old, and never more than ` +
      `${LEASE_SECONDS_MAX}. With \`no-cache\` or \`no-store\`, every change is in force. Without the header ` +
      "that is so for a token; a session may answer for its max_stale_seconds.",
    schema: { type: "string" },
    example: `max-age=${STALE_SECONDS_MIN}`,
  },
};

type ResponseHeader = { description: string; schema: object; required?: false };

const RETRY_AFTER_SECONDS = { type: "string", enum: [String(RATE_LIMIT_SECONDS), String(UNAVAILABLE_RETRY_SECONDS)] };

/** `Retry-After` of a response that lists `environment_damaged`. */
export const RETRY_AFTER_IF_IT_HELPS: ResponseHeader = {
  required: false,
  description: "The seconds after which to repeat the call. Absent where a retry does not help: environment_damaged.",
  schema: RETRY_AFTER_SECONDS,
};

/** The headers of answers. Each is always there, unless it says otherwise. */
export const RESPONSE_HEADERS: Record<string, ResponseHeader> = {
  "X-Request-Id": {
    description: "The request's id, to look up in the log.",
    schema: { type: "string", format: "uuid" },
  },
  ETag: { description: "The state of the group, for If-Match.", schema: { type: "string", examples: ['"1.1"'] } },
  "Retry-After": { description: "The seconds after which to repeat the call.", schema: RETRY_AFTER_SECONDS },
  "WWW-Authenticate": { description: "The scheme to authenticate by.", schema: { const: "Token" } },
  Location: { description: "The path to go to.", schema: { type: "string", format: "uri-reference" } },
  Vary: { description: "The header of the request that chooses the answer.", schema: { const: "Accept" } },
  Allow: { description: "The methods that this path takes.", schema: { type: "string" } },
  "X-Answered-By": {
    description:
      "What has answered: the directory, which knows every change; or the index of tokens or the session itself, which may be stale.",
    schema: { enum: ["directory", "index", "session"] },
  },
  "X-User-Group-Team-Id": { description: "The number of the group.", schema: { type: "string", pattern: "^\\d+$" } },
  "X-User-Group-Id": { description: "Your id of the group, percent-encoded.", schema: { type: "string" } },
  "X-Viewer-Id": {
    description: "Your id of the person, percent-encoded; empty without one.",
    schema: { type: "string" },
  },
  "X-User-Group-Audience": {
    description: "The environment of the credential, as <workspace>/<environment>.",
    schema: { type: "string" },
  },
  Age: {
    description:
      "The age of an answer of the index or of the session, in seconds. An answer of the directory has none.",
    schema: { type: "string", pattern: "^\\d+$" },
    required: false,
  },
  "Idempotent-Replayed": {
    description:
      "Present in the answer to a repeated call: the answer is the stored one of the first call, and nothing was changed.",
    schema: { const: "true" },
    required: false,
  },
  "Access-Control-Allow-Origin": { description: "Any origin may read the answer.", schema: { const: "*" } },
};

/** The headers of an answer: the request's id, and those of these names. */
export const headerRefs = (...names: readonly string[]): Record<string, object> =>
  Object.fromEntries(["X-Request-Id", ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/** The header Authorization with the shell variable that stands for a credential. */
const AUTHORIZATIONS: Record<CredentialName, string> = {
  api_key: "Token $API_KEY",
  viewer_session: "Bearer $SESSION",
  user_group_token: "Token $TOKEN",
  operator_key: "Token $OPERATOR_KEY",
};

/** The parts of a curl call of an operation. `query` includes the environment that an operator names. */
type CurlCall = {
  method: string;
  path: string;
  credential: CredentialName | undefined;
  query: Record<string, unknown>;
};

/** A body as a word of the shell. The token of the example becomes `$TOKEN`. */
function quotedBody(body: object): string {
  const json = JSON.stringify(body);
  if (!json.includes(EXAMPLE_TOKEN)) return `'${json.replaceAll("'", "'\\''")}'`;
  const escaped = json.replaceAll(/["\\$`]/g, "\\$&");
  return `"${escaped.replaceAll(EXAMPLE_TOKEN, () => "$TOKEN")}"`;
}

/** The example of an operation as a call of curl. The service's URL is `$SERVICE_URL`; optional headers are left out. */
export function curlOf({ method, path, credential, query: example }: CurlCall, operation: Operation): string {
  const { body, rawBody } = operation;
  const pathExample = Object.entries(operation.path?.example ?? {});
  const filledPath = pathExample.reduce((filled, [name, value]) => filled.replace(`{${name}}`, String(value)), path);
  const query = new URLSearchParams(Object.entries(example).map(([name, value]) => [name, String(value)]));
  const url = query.size > 0 ? `${filledPath}?${query}` : filledPath;
  return [
    method === "get" && !body ? `curl "$SERVICE_URL${url}"` : `curl -X ${method.toUpperCase()} "$SERVICE_URL${url}"`,
    ...(credential ? [`-H "Authorization: ${AUTHORIZATIONS[credential]}"`] : []),
    ...(body ? ["-H 'Content-Type: application/json'", `-d ${quotedBody(body.example)}`] : []),
    ...(rawBody ? [`-H 'Content-Type: ${rawBody}'`, "--data-binary @page-1.ndjson"] : []),
  ].join(" \\\n  ");
}
