import type { Issue } from "../../common/issue.ts";
import type { Result } from "../../common/result.ts";
import type { Role, Scope } from "./credentials/rights.ts";

/** What can be wrong with a deployment that runs. */
export const UNREADY = ["settings", "registry", "schema", "storage", "restoring"] as const;
export type Unready = (typeof UNREADY)[number];

/** Everything that the service refuses. A code is the same word in code, on the wire, in logs and in tests. */
export type Failure =
  | { code: "malformed_json" }
  | { code: "malformed_request" }
  | { code: "body_required" }
  | { code: "body_timeout" }
  | { code: "unauthenticated" }
  | { code: "credential_expired" }
  | { code: "credential_revoked" }
  /** What the caller lacks: an API key a scope, an operator a role. */
  | { code: "insufficient_access"; required_scope?: Scope; required_role?: Role }
  | { code: "secret_key_in_browser" }
  | { code: "token_in_browser" }
  | { code: "origin_not_allowed" }
  /** The environment of the credential, and the one that the call expects, as `<workspace>/<environment>`. */
  | { code: "audience_mismatch"; audience: string; expected_audience: string }
  | { code: "user_group_suspended" }
  | { code: "user_group_not_found" }
  | { code: "api_key_not_found" }
  | { code: "operator_not_found" }
  | { code: "environment_not_found" }
  /** Below /kit/: the files that are there. */
  | { code: "route_not_found"; available?: string[] }
  | { code: "method_not_allowed"; allow: string[] }
  | { code: "cursor_expired" }
  | { code: "user_group_id_taken" }
  | { code: "email_taken" }
  | { code: "token_superseded" }
  /** The field of the guard that does not match. */
  | { code: "user_group_mismatch"; guard: "user_group_id" | "data_source_provided_id" }
  | { code: "user_group_not_deleted" }
  | { code: "environment_not_empty" }
  | { code: "unexpected_page"; expected_page: number }
  /** The number of the line within its page. */
  | { code: "invalid_backup"; line: number; reason: string }
  | { code: "revision_mismatch" }
  | { code: "body_too_large" }
  | { code: "unsupported_media_type" }
  | { code: "invalid_body"; issues: Issue[] }
  | { code: "operator_without_key" }
  | { code: "unknown_variable"; variable: string }
  | { code: "unusable_variable"; variable: string }
  | { code: "invalid_template"; position: number; reason: string }
  | { code: "variables_too_large" }
  | { code: "idempotency_key_reused" }
  | { code: "rate_limited" }
  | { code: "internal_error" }
  | { code: "overloaded" }
  | { code: "directory_unavailable" }
  | { code: "service_not_configured" }
  /** What was found to be wrong. */
  | { code: "not_ready"; failed: Unready[] }
  | { code: "environment_restoring" }
  | { code: "environment_damaged" }
  | { code: "environment_full" };

/** The failures with one of `Code`. */
export type FailureOf<Code extends Failure["code"]> = Extract<Failure, { code: Code }>;

declare const IDEMPOTENT: unique symbol;

/** The outcome of an RPC method that is idempotent, so that the Worker retries it. No value has the mark: it is for the compiler. */
export type Idempotent<Value, Refusal> = Result<Value, Refusal> & { readonly [IDEMPOTENT]?: never };

/** Whether the type of a method says that it is idempotent. */
export type IsIdempotent<Method> = Method extends (...args: never[]) => infer Returned
  ? typeof IDEMPOTENT extends keyof Awaited<Returned>
    ? true
    : false
  : false;
