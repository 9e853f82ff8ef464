import type { ContentfulStatusCode } from "hono/utils/http-status";
import {
  BODY_BYTES_MAX,
  BODY_SECONDS_MAX,
  FORM_BYTES_MAX,
  QUERY_PARAMETERS_BYTES_MAX,
  RATE_LIMIT_SECONDS,
  RESTORE_BYTES_MAX,
  SESSION_UNITS_MAX,
  SESSION_VARIABLES_BYTES_MAX,
  SIGN_IN_BYTES_MAX,
  SIGN_IN_SECONDS_MAX,
  UNAVAILABLE_RETRY_SECONDS,
} from "../../../common/limits.ts";
import type { Failure, FailureOf } from "../../domain/failure.ts";
import { acceptedCredentials } from "../access.ts";
import type { CallContext, Credential, RequestContext } from "../app-env.ts";
import { respond } from "./respond.ts";

type Refusal = { status: ContentfulStatusCode; message: string };

/** Failures with one status, each with its message. */
const withStatus = <Code extends Failure["code"]>(status: ContentfulStatusCode, messages: Record<Code, string>) =>
  Object.fromEntries(Object.entries<string>(messages).map(([code, message]) => [code, { status, message }])) as Record<
    Code,
    Refusal
  >;

/** The status of each failure, and the sentence that says how to fix it. A failure without them does not compile. */
export const FAILURES: Record<Failure["code"], Refusal> = {
  ...withStatus(400, {
    malformed_json: 'The body is not a JSON object in UTF-8. Send one object, such as {"user_group_id": "acme"}.',
    malformed_request:
      "The Host header is missing or is not a host. Send the host of the service's URL, with its port if it has one, such as " +
      "groups.example.com.",
    body_required:
      "No body arrived. Send the JSON body with a Content-Length header (not chunked). If a client or proxy drops the body of a " +
      "call to /api/user, send POST /api/user with the header X-HTTP-Method-Override: GET, PUT or DELETE.",
  }),
  ...withStatus(408, {
    body_timeout:
      `The body did not arrive within ${BODY_SECONDS_MAX} seconds, or the form of a sign-in within ${SIGN_IN_SECONDS_MAX}. Send it without a ` +
      "pause, with the right Content-Length.",
  }),
  ...withStatus(401, {
    unauthenticated: unauthenticatedMessage("a credential that this service has issued for this call"),
    credential_expired: "This credential has expired. Ask for a new one.",
    credential_revoked: revokedMessage("credential"),
  }),
  ...withStatus(403, {
    insufficient_access:
      "This credential may not make this call. Use an API key with the required_scope, or an operator with the required_role.",
    secret_key_in_browser:
      "This credential is a secret of your servers, and the request comes from a browser, where every visitor can read it. " +
      "Revoke it, issue a new one, and make this call from a server. A browser may send a viewer session, to /api/viewer.",
    token_in_browser:
      "This service does not accept the long-lived token of a user group from a browser. Let your server mint a viewer session " +
      "(POST /api/viewer_sessions), and give it to the page.",
    origin_not_allowed:
      "This session is for the pages of other origins. Mint it with this page's origin among its origins.",
    audience_mismatch: audienceMessage("acme/Testing", "acme/Customer"),
    user_group_suspended: "This user group is suspended, so its viewers see nothing. The integrator can resume it.",
  }),
  ...withStatus(404, {
    user_group_not_found:
      "This environment has no such user group. Check the id or token, and that the API key is of the right environment. " +
      "With a key that has groups:write, GET /api/user and POST /api/user_groups create a group; no other call does.",
    api_key_not_found:
      "This environment has no such API key, or the key is no longer valid. GET /api/keys lists its keys.",
    operator_not_found: "There is no such operator, or the key is no longer valid. GET /api/operators lists them.",
    environment_not_found:
      "There is no such environment. GET /api/environments lists them; POST /api/keys creates one with its first API key.",
    route_not_found: "Nothing is served at this path. User groups are at /api/user.",
  }),
  ...withStatus(405, {
    method_not_allowed: "This path does not take this method. The Allow header lists those that it takes.",
  }),
  ...withStatus(410, {
    cursor_expired:
      "This cursor is before the oldest event, or belongs to a feed that no longer exists. Take the cursor of cursor=latest, list " +
      "everything once, then follow the events from that cursor.",
  }),
  ...withStatus(409, {
    user_group_id_taken: "Another user group of this environment has this id. Choose another new_user_group_id.",
    email_taken:
      "Another operator whose key or sign-in is valid has this email. Revoke that operator first, or give another email.",
    token_superseded:
      "This token was replaced by a rotation. Use the current one; a GET with the user_group_id shows it.",
    user_group_mismatch: mismatchMessage("user_group_id"),
    environment_not_empty:
      "A backup can only be restored into an environment without API keys and groups, or into a registry without operators and " +
      "environments. This one has some. Nothing was changed.",
    unexpected_page:
      "The pages of a backup must be sent in their order. Send the expected_page next, or page 1 to begin again.",
    user_group_not_deleted: "This user group exists, and only a deleted one can be purged. Delete it first.",
  }),
  ...withStatus(412, {
    revision_mismatch:
      "The user group has changed since this ETag. Get it again, and repeat the change on what is there now.",
  }),
  ...withStatus(413, {
    body_too_large:
      `The body is larger than ${BODY_BYTES_MAX} bytes, a page of a backup than ${RESTORE_BYTES_MAX}, a form of the console than ` +
      `${FORM_BYTES_MAX}, or that of its sign-in than ${SIGN_IN_BYTES_MAX}. Send less.`,
  }),
  ...withStatus(415, {
    unsupported_media_type:
      "Send the body with the header Content-Type: application/json, or a page of a backup with application/x-ndjson, and without a " +
      "Content-Encoding: the service takes no compressed body.",
  }),
  ...withStatus(422, {
    invalid_backup:
      "This page of a backup cannot be restored; the field reason says why. Nothing of the restore is left.",
    invalid_body: "The request does not fit this call. Each of the issues names a field and how to fix it.",
    operator_without_key:
      "This operator has no key to roll: it signs in with its company. To give it a key, revoke it, and issue it again with the same email.",
    idempotency_key_reused:
      "This Idempotency-Key was used for another call within the last 24 hours. Repeat that call exactly, or give this one a " +
      "key of its own.",
    unknown_variable:
      "This variable is missing. Check its name: user_group_id, user_group_name, user_group.<property>, viewer_id, viewer.<property> or " +
      "value.<name>. Give the group or the session the property, or the call the value. A clause in [[ ]] is dropped if a variable of the " +
      "group is missing, or if a value is missing and the clause names only values. A clause that names the viewer is never dropped.",
    unusable_variable:
      "The variable's value cannot be a parameter here. An object, an empty list, a list of lists and too many values never can. " +
      "Another list must be in parentheses or brackets, such as IN ({{variable}}).",
    invalid_template: "The SQL template is not well formed. Fix it at the position as the reason says.",
    variables_too_large:
      `The variables in a session are larger than ${SESSION_VARIABLES_BYTES_MAX} bytes of JSON, the session is longer than ${SESSION_UNITS_MAX} ` +
      `characters, or the parameters of a query are larger than ${QUERY_PARAMETERS_BYTES_MAX} bytes of JSON in total. Leave include_variables ` +
      "out, shrink the properties or the list of origins, or name a long variable once in the template.",
  }),
  ...withStatus(429, {
    rate_limited: "Too many calls. Repeat the call after the seconds in Retry-After.",
  }),
  ...withStatus(500, {
    internal_error: "The service failed to handle this call. Report the request id to its operator.",
  }),
  ...withStatus(503, {
    overloaded:
      "There are too many unfinished bodies, too many calls of this caller or group at the same time, or too many long answers to the viewers of " +
      "this environment. Read the answers to your other calls, and repeat this call after the seconds in Retry-After; it has changed nothing.",
    directory_unavailable:
      "The directory of this environment, or the registry, is overloaded or does not answer. Repeat the call after the seconds in " +
      "Retry-After. This call may have made its change; a GET shows whether it has.",
    service_not_configured: "The service is not configured. Its operator finds the reason in its log.",
    not_ready: "The service cannot serve calls. Its operator finds the reason in its log.",
    environment_restoring:
      "A backup is being restored. Until its last page, this environment or the registry refuses all other calls. Repeat the call later.",
    environment_damaged:
      "The database of this environment, or of the registry, is damaged or cannot be opened. The operator of the service finds its file in the " +
      "log, and restores it from a backup. A retry does not help until then.",
  }),
  ...withStatus(507, {
    environment_full:
      "This environment or the disk is full, or all 1,000 API keys or operators are valid. Purge deleted groups, shrink the properties of " +
      "others, leave the header Idempotency-Key out, or revoke keys that are no longer needed. If the disk is full, only the operator can help.",
  }),
};

/** Answers with a failure: its status, its fields, and the headers that its status calls for. */
export function refuse(c: RequestContext, failure: Failure): Response {
  const { code, ...fields } = failure;
  const { status } = FAILURES[code];
  c.set("failureCode", code);
  const error = { code, message: messageOf(c, failure), ...fields };
  const body = { success: 0, error, request_id: c.get("requestId") };
  return respond(c, body, headersOf(failure, status), status);
}

/** The general message of the failure, or one that names a byte order mark, the accepted credentials, the credential or the guard. */
function messageOf(c: RequestContext, failure: Failure): string {
  const access = c.get("access");
  const kind = c.get("credential")?.kind ?? "none";
  if (failure.code === "malformed_json" && beginsWithBom(c.get("body"))) return BOM_MESSAGE;
  if (failure.code === "unauthenticated" && access) return unauthenticatedMessage(acceptedCredentials(access), kind);
  if (failure.code === "credential_revoked") return revokedMessage(CREDENTIALS[kind]);
  if (failure.code === "user_group_mismatch") return mismatchMessage(failure.guard);
  if (failure.code === "route_not_found" && failure.available) return missingFileMessage(failure.available);
  if (failure.code === "audience_mismatch") return audienceMessage(failure.audience, failure.expected_audience);
  return FAILURES[failure.code].message;
}

const BOM_MESSAGE = "The body begins with a byte order mark (BOM, U+FEFF). Send it without one.";

/** Whether a body begins with a byte order mark in UTF-8. */
const beginsWithBom = (body?: Uint8Array): boolean => body?.[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf;

/** The names of credentials in messages. */
const CREDENTIALS: Record<Credential["kind"], string> = {
  api_key: "API key",
  operator_key: "operator key",
  bootstrap: "bootstrap token",
  token: "group token",
  viewer_session: "viewer session",
  unknown: "credential",
  none: "credential",
};

function revokedMessage(kind: string): string {
  return `This ${kind} was valid once and has been revoked. Use the current one, or ask for a new one.`;
}

function missingFileMessage(available: string[]): string {
  return `This service has no such file, perhaps because it has another version. At /kit/ are: ${available.join(", ")}.`;
}

function mismatchMessage(guard: FailureOf<"user_group_mismatch">["guard"]): string {
  const difference =
    guard === "user_group_id"
      ? "The token's user group has another user_group_id"
      : "The mapping of the token's user group has no such data_source_provided_id";
  return `${difference}. Nothing was deleted.`;
}

function audienceMessage(audience: string, expected: string): string {
  return `This credential belongs to the environment ${audience}, and this call expects ${expected}. Present a session or token of ${expected}: in another environment, the same id is another customer.`;
}

/** The same for each credential that is not verified, whatever fails: the answer says nothing of the signing keys. */
function unauthenticatedMessage(credentials: string, kind: Credential["kind"] = "none"): string {
  const taken = `This call takes ${credentials}. Send it in the header Authorization: Token <credential>.`;
  if (kind === "none") return taken;
  if (kind === "unknown")
    return `${taken} No signing key of this service verifies what was sent: it may be cut off, of another deployment, or signed with a key that has been removed.`;
  return `${taken} The credential that was sent is of another kind, or the service has deleted its key or its environment.`;
}

/** The headers that RFC 9110 requires or suggests for a status. */
function headersOf(failure: Failure, status: number): Record<string, string> {
  if (status === 401) return { "WWW-Authenticate": "Token" };
  if (status === 415) return { "Accept-Encoding": "identity" };
  if (status === 429) return { "Retry-After": String(RATE_LIMIT_SECONDS) };
  if (status === 503 && failure.code !== "environment_damaged")
    return { "Retry-After": String(UNAVAILABLE_RETRY_SECONDS) };
  if (failure.code === "method_not_allowed") return { Allow: failure.allow.join(", ") };
  return {};
}

/**
 * Checks the caller before a request is refused for its content, so that a caller without a valid key gets the authentication
 * error and learns nothing about the content. Returns the failure to report.
 */
export const failureAfterCheck = async (c: CallContext, failure: Failure): Promise<Failure> =>
  (await c.get("checkCaller")()) ?? failure;

/** Refuses a request for its content, after its caller was checked. */
export const refuseRequest = async (c: CallContext, failure: Failure): Promise<Response> =>
  refuse(c, await failureAfterCheck(c, failure));

/** The same for what is wrong with one field of the body or the query, or one header. */
export const refuseField = (c: CallContext, name: string, message: string): Promise<Response> =>
  refuseRequest(c, { code: "invalid_body", issues: [{ path: [name], message }] });
