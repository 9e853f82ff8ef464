import type { Protocol } from "./connection.ts";

/** The calls of viewers, and of a page to its backend. A page loads this, so it has neither queries nor the codes of other calls. */
export const viewerProtocol: Protocol = {
  encode: ({ method, path, body, headers }) => ({
    method,
    path,
    headers: { ...(body && { "Content-Type": "application/json" }), ...headers },
    ...(body && { body: JSON.stringify(body) }),
  }),
  codes: [
    "signed_out",
    "service_unavailable",
    "user_group_not_found",
    "body_timeout",
    "unauthenticated",
    "credential_expired",
    "credential_revoked",
    "secret_key_in_browser",
    "token_in_browser",
    "origin_not_allowed",
    "audience_mismatch",
    "user_group_suspended",
    "body_too_large",
    "invalid_body",
    "unknown_variable",
    "unusable_variable",
    "invalid_template",
    "variables_too_large",
    "rate_limited",
    "internal_error",
    "overloaded",
    "directory_unavailable",
    "environment_restoring",
    "environment_damaged",
    "service_not_configured",
  ],
  detailsOf: (code, refusal) => ({
    facts: {
      ...(code.endsWith("_variable") && { variable: refusal.text("variable") }),
      ...(code === "invalid_template" && { position: refusal.number("position"), reason: refusal.text("reason") }),
    },
  }),
};
