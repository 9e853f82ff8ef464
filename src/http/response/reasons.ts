import type { ReasonName } from "../../domain/credentials/reasons.ts";
import type { Failure } from "../../domain/failure.ts";

type Explained = { code: Failure["code"]; message: string };

/** Reasons with one code, each with its message. */
const withCode = <Name extends ReasonName>(code: Failure["code"], messages: Record<Name, string>) =>
  Object.fromEntries(Object.entries<string>(messages).map(([name, message]) => [name, { code, message }])) as Record<
    Name,
    Explained
  >;

/** The code of each reason, which a refusal has too, and the sentence that says what to do. */
export const REASONS: Record<ReasonName, Explained> = {
  ...withCode("unauthenticated", {
    unsigned:
      "No signing key of this service verifies it: it is cut off or mistyped, is of another deployment, was signed with a key that has been removed, or is forged.",
    key_unknown:
      "The service does not know this key: it was deleted to make room for a newer one, or it is forged. Issue another key.",
    environment_unknown: "The environment of the key does not exist: it was erased. Issue a key of another one.",
  }),
  ...withCode("credential_revoked", {
    key_revoked: "The key was revoked, or replaced by a roll. Use the current one.",
    session_ended: "The session, or all sessions of its person, were ended. Sessions that are minted now work.",
    sessions_ended:
      "All sessions of the group were ended after this one was minted, or the group's token was rotated. Sessions that are minted now work.",
    minter_ended: "The API key that minted the session was revoked or has expired. Give the backend another key.",
    group_unknown: "The group does not exist: it was purged, or its environment was erased.",
    group_deleted: "The group was deleted. If it is restored in time, its token and sessions work again.",
  }),
  ...withCode("credential_expired", {
    key_expired: "The key has expired. Issue another one.",
    session_expired: "The session has expired. The page must ask its server for another one.",
  }),
  superseded: {
    code: "token_superseded",
    message: "The token was replaced by a rotation. Use the current one; a GET with the user_group_id shows it.",
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
};
