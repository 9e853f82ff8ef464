/** What the service refuses a call with; the table "Refusals" in its README says what to do about each. */
export const REFUSAL_CODES = [
  "malformed_json",
  "body_required",
  "unauthenticated",
  "credential_expired",
  "credential_revoked",
  "insufficient_access",
  "secret_key_in_browser",
  "user_group_not_found",
  "api_key_not_found",
  "route_not_found",
  "method_not_allowed",
  "user_group_id_taken",
  "token_superseded",
  "user_group_mismatch",
  "revision_mismatch",
  "body_too_large",
  "unsupported_media_type",
  "invalid_body",
  "idempotency_key_reused",
  "unknown_variable",
  "unusable_variable",
  "invalid_template",
  "rate_limited",
  "internal_error",
  "directory_unavailable",
  "service_not_configured",
] as const;

/** One of the service's own codes. */
export type RefusalCode = (typeof REFUSAL_CODES)[number];

/**
 * Why a call failed: a refusal of the service, or what the client saw instead of an answer. `network_error`: no answer, or
 * half of one; `timeout`: none in `timeoutMs`; `unexpected_answer`: one that this version of the client does not understand,
 * such as a proxy's page or a redirect. After each of these three, whether the call changed anything is not known.
 */
export type ErrorCode = RefusalCode | "network_error" | "timeout" | "unexpected_answer";

/** One thing that is wrong with what was sent: where (the wire's names, from the top down) and how to mend it. */
export type Issue = { path: (string | number)[]; message: string };

/** What else is known of a failure. */
export type ErrorFacts = {
  status?: number | undefined;
  requestId?: string | undefined;
  issues?: readonly Issue[] | undefined;
  variable?: string | undefined;
  position?: number | undefined;
  reason?: string | undefined;
  retryAfterMs?: number | undefined;
};

/**
 * The one error of all calls. It never holds a credential: what the service or the network said is kept in words, with
 * everything that looks like one taken out, and there is no `cause`, which could hold the request.
 */
export class UserGroupServiceError extends Error {
  override readonly name = "UserGroupServiceError";
  readonly code: ErrorCode;
  /** The HTTP status; `undefined` when no answer came. */
  readonly status: number | undefined;
  /** What to tell the service's operator. */
  readonly requestId: string | undefined;
  /** All that is wrong with what was sent, of `invalid_body`. */
  readonly issues: readonly Issue[];
  /** The variable's name, of `unknown_variable` and `unusable_variable`. */
  readonly variable: string | undefined;
  /** Where in the SQL template, and what to mend there, of `invalid_template`. */
  readonly position: number | undefined;
  readonly reason: string | undefined;
  /** How long the service asked to wait before the next try. */
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, facts: ErrorFacts = {}) {
    super(message);
    this.code = code;
    this.status = facts.status;
    this.requestId = facts.requestId;
    this.issues = facts.issues ?? [];
    this.variable = facts.variable;
    this.position = facts.position;
    this.reason = facts.reason;
    this.retryAfterMs = facts.retryAfterMs;
  }
}
