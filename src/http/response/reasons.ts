import type { ReasonName } from "../../domain/credentials/reasons.ts";
import type { Failure } from "../../domain/failure.ts";

/** The code of each reason, which a refusal has too, and the sentence that says what to do. */
export const REASONS = {
  unsigned: {
    code: "unauthenticated",
    message:
      "No signing key of this service verifies it: it is cut off or mistyped, is of another deployment, was signed with a key that has been removed, or is forged.",
  },
  key_unknown: {
    code: "unauthenticated",
    message:
      "The service does not know this key: it was deleted to make room for a newer one, or it is forged. Issue another key.",
  },
  environment_unknown: {
    code: "unauthenticated",
    message: "The environment of the key does not exist: it was erased. Issue a key of another one.",
  },
  key_revoked: {
    code: "credential_revoked",
    message: "The key was revoked, or replaced by a roll. Use the current one.",
  },
  key_expired: { code: "credential_expired", message: "The key has expired. Issue another one." },
  session_expired: {
    code: "credential_expired",
    message: "The session has expired. The page must ask its server for another one.",
  },
  session_ended: {
    code: "credential_revoked",
    message: "The session, or all sessions of its person, were ended. Sessions that are minted now work.",
  },
  sessions_ended: {
    code: "credential_revoked",
    message:
      "All sessions of the group were ended after this one was minted, or the group's token was rotated. Sessions that are minted now work.",
  },
  minter_ended: {
    code: "credential_revoked",
    message: "The API key that minted the session was revoked or has expired. Give the backend another key.",
  },
  superseded: {
    code: "token_superseded",
    message: "The token was replaced by a rotation. Use the current one; a GET with the user_group_id shows it.",
  },
  group_unknown: {
    code: "credential_revoked",
    message: "The group does not exist: it was purged, or its environment was erased.",
  },
  group_deleted: {
    code: "credential_revoked",
    message: "The group was deleted. If it is restored in time, its token and sessions work again.",
  },
  suspended: {
    code: "user_group_suspended",
    message: "The group is suspended, so its viewers see nothing. Resume it.",
  },
  other_environment: {
    code: "audience_mismatch",
    message: "The credential belongs to another environment than expected. There, the same id is another customer.",
  },
  other_origin: {
    code: "origin_not_allowed",
    message: "The session is for the pages of other origins. Mint it with the page's origin among its origins.",
  },
  secret_in_browser: {
    code: "secret_key_in_browser",
    message:
      "It is a secret of servers, and every visitor of a page can read it. Revoke it, and give the page a viewer session.",
  },
  token_in_browser: {
    code: "token_in_browser",
    message: "The service refuses long-lived tokens from browsers. Give the page a viewer session.",
  },
} satisfies Record<ReasonName, { code: Failure["code"]; message: string }>;
