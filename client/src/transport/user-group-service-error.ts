/** The codes of the service's refusals; docs/reference/errors.md says what to do about each. */
export const REFUSAL_CODES = [
  "malformed_json",
  "malformed_request",
  "body_required",
  "body_timeout",
  "unauthenticated",
  "credential_expired",
  "credential_revoked",
  "insufficient_access",
  "secret_key_in_browser",
  "token_in_browser",
  "origin_not_allowed",
  "audience_mismatch",
  "user_group_suspended",
  "user_group_not_found",
  "api_key_not_found",
  "operator_not_found",
  "environment_not_found",
  "route_not_found",
  "method_not_allowed",
  "cursor_expired",
  "user_group_id_taken",
  "email_taken",
  "token_superseded",
  "user_group_mismatch",
  "user_group_not_deleted",
  "environment_not_empty",
  "unexpected_page",
  "invalid_backup",
  "revision_mismatch",
  "body_too_large",
  "unsupported_media_type",
  "invalid_body",
  "operator_without_key",
  "idempotency_key_reused",
  "unknown_variable",
  "unusable_variable",
  "invalid_template",
  "variables_too_large",
  "rate_limited",
  "internal_error",
  "overloaded",
  "directory_unavailable",
  "service_not_configured",
  "not_ready",
  "environment_restoring",
  "environment_damaged",
  "environment_full",
] as const;

/** One of the service's own codes. */
export type RefusalCode = (typeof REFUSAL_CODES)[number];

/** The two codes that only the `sessionHandler` of your backend has: nobody is signed in, and the service gives no session. */
export type SessionRefusalCode = "signed_out" | "service_unavailable";

/**
 * Why a call failed: a refusal of the service or of your backend's `sessionHandler`, or one of three problems that the client
 * found. `network_error`: no response, or an incomplete one; `timeout`: none within `timeoutMs`; `unexpected_answer`: a
 * response that this version of the client does not understand, such as a proxy's page or a redirect. After these three it
 * is unknown whether the call changed anything.
 */
export type ErrorCode = RefusalCode | SessionRefusalCode | "network_error" | "timeout" | "unexpected_answer";

/** One invalid field of a request: its path, in the wire's names from the top down, and how to fix it. */
export type Issue = { path: (string | number)[]; message: string };

/** Details of a failure. */
export type ErrorFacts = Partial<Omit<UserGroupServiceError, keyof Error | "code">>;

/**
 * The error of all calls. It never holds a credential: texts of the service and the network are redacted, and there is no
 * `cause`, which could hold the request.
 *
 * @example
 * import { UserGroupClient, UserGroupServiceError } from "user-group-service/client";
 *
 * const groups = new UserGroupClient({ url: "http://localhost:8787", apiKey: process.env.API_KEY ?? "" });
 * try {
 *   await groups.mintSession({ userGroupId: "nobody" });
 * } catch (error) {
 *   if (!(error instanceof UserGroupServiceError)) throw error;
 *   console.info(error.code, error.status);
 * }
 * // user_group_not_found 404
 */
export class UserGroupServiceError extends Error {
  override readonly name = "UserGroupServiceError";
  declare readonly code: ErrorCode;
  /** The HTTP status; `undefined` if there was no response. */
  declare readonly status: number | undefined;
  /** Identifies the request in the operator's log. */
  declare readonly requestId: string | undefined;
  /** All invalid fields of the request, for `invalid_body`. The message has the first few. */
  declare readonly issues: readonly Issue[];
  /** For `insufficient_access`: the scope that the API key lacks. */
  declare readonly requiredScope: string | undefined;
  /** For `insufficient_access`: the role that the operator needs. */
  declare readonly requiredRole: string | undefined;
  /** The variable's name, for `unknown_variable` and `unusable_variable`. */
  declare readonly variable: string | undefined;
  /** Where the SQL template is invalid, and why, for `invalid_template`. */
  declare readonly position: number | undefined;
  declare readonly reason: string | undefined;
  /** How long the service asks to wait before the next try. */
  declare readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, facts: ErrorFacts = {}) {
    super(message);
    // Written out one by one, the facts would take too much of the 4 KiB of a page.
    Object.assign(this, { code, issues: [], ...facts });
  }
}
