import type { Protocol } from "./connection.ts";

/** The calls of viewers. A page loads this, so it has neither queries nor the codes of other calls. */
export const viewerProtocol: Protocol = {
  encode: ({ method, path, body, headers = {} }) =>
    body
      ? { method, path, headers: { "Content-Type": "application/json", ...headers }, body: JSON.stringify(body) }
      : { method, path, headers },
  codes: [
    "body_timeout",
    "unauthenticated",
    "credential_expired",
    "credential_revoked",
    "secret_key_in_browser",
    "token_in_browser",
    "origin_not_allowed",
    "user_group_suspended",
    "body_too_large",
    "invalid_body",
    "unknown_variable",
    "unusable_variable",
    "invalid_template",
    "rate_limited",
    "internal_error",
    "overloaded",
    "directory_unavailable",
    "environment_restoring",
    "service_not_configured",
  ],
  detailsOf: (code, refusal) => ({
    facts: {
      ...(code.endsWith("_variable") && { variable: refusal.text("variable") }),
      ...(code === "invalid_template" && { position: refusal.number("position"), reason: refusal.text("reason") }),
    },
  }),
};
