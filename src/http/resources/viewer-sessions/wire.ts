import type { MintedSession } from "../../operations/viewer-sessions.ts";
import { time } from "../times.ts";

/** The answer to a mint. The token is shown only here. */
export const mintedBody = ({
  token,
  issuedAtSeconds,
  expiresAtSeconds,
  maxStaleSeconds,
  viewerEndedMsAgo,
}: MintedSession) => ({
  success: 1 as const,
  session: {
    token,
    expires_at: time(expiresAtSeconds * 1000),
    expires_in_seconds: expiresAtSeconds - issuedAtSeconds,
    max_stale_seconds: maxStaleSeconds,
  },
  ...(viewerEndedMsAgo !== undefined && { viewer_ended_ms_ago: viewerEndedMsAgo }),
});

/** The metadata of the issuer of sessions (OpenID Connect Discovery). Apart from issuer and keys, it has only the required fields. */
export const configurationBody = (issuer: string) => ({
  issuer,
  jwks_uri: `${issuer}${JWKS_PATH}`,
  id_token_signing_alg_values_supported: ["ES256"],
  subject_types_supported: ["public"],
  response_types_supported: ["id_token"],
});

export const JWKS_PATH = "/.well-known/jwks.json";
