import type { Protocol } from "./connection.ts";

/** The calls of viewers, and of a page to its backend. A page loads this, so it has neither queries nor the codes of other calls. */
export const viewerProtocol: Protocol = {
  encode: ({ method, path, body, headers }) => ({
    method,
    path,
    headers: { ...(body && { "Content-Type": "application/json" }), ...headers },
    ...(body && { body: JSON.stringify(body) }),
  }),
  // In an order that compresses well.
  codes: [
    "secret_key_in_browser",
    "user_group_not_found",
    "invalid_body",
    "overloaded",
    "environment_damaged",
    "unknown_variable",
    "unauthenticated",
    "unusable_variable",
    "rate_limited",
    "token_in_browser",
    "user_group_suspended",
    "origin_not_allowed",
    "body_timeout",
    "credential_revoked",
    "body_too_large",
    "service_not_configured",
    "variables_too_large",
    "service_unavailable",
    "directory_unavailable",
    "audience_mismatch",
    "invalid_template",
    "internal_error",
    "signed_out",
    "credential_expired",
    "environment_restoring",
  ],
  detailsOf: (code, refusal) => ({
    facts: {
      ...(code.endsWith("_variable") && { variable: refusal.text("variable") }),
      ...(code === "invalid_template" && { position: refusal.number("position"), reason: refusal.text("reason") }),
    },
  }),
};
