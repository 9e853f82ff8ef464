import * as z from "zod/mini";
import {
  CLAIMS_BYTES_MAX,
  CLAIMS_MAX,
  SESSION_ORIGINS_MAX,
  SESSION_SECONDS_DEFAULT,
  SESSION_SECONDS_MAX,
  SESSION_SECONDS_MIN,
  SESSION_STALE_SECONDS_MAX,
  VIEWER_PROPERTIES_BYTES_MAX,
} from "../../../../common/limits.ts";
import { isFreeClaim } from "../../../domain/credentials/viewer-session.ts";
import { isObject } from "../../../domain/json.ts";
import type { MintedSession } from "../../operations/viewer-sessions.ts";
import {
  JsonObject,
  Label,
  lazy,
  Origin,
  ProvidedId,
  Reason,
  refuseValue,
  seconds,
  time,
  transformed,
} from "../fields.ts";

/** `claims` of a mint, as JSON text. */
const ExtraClaims = lazy(() =>
  z.optional(
    z.pipe(
      transformed(z.unknown(), (value, payload) => {
        const names = isObject(value) ? Object.keys(value) : [];
        if (names.length > CLAIMS_MAX) refuseValue(payload, `Give at most ${CLAIMS_MAX} claims.`);
        for (const name of names.filter((each) => !isFreeClaim(each)))
          refuseValue(payload, "Choose another name: the service or RFC 7519 uses this one, or it begins with ug_.", [
            name,
          ]);
        return value;
      }),
      JsonObject(CLAIMS_BYTES_MAX, "claims"),
    ),
  ),
);

/** The group of a session by its number. */
const SessionTeamId = lazy(() =>
  z.optional(
    z
      .int("Give the team_id of a group, a whole number.")
      .check(z.positive("Give the team_id of a group, a whole number.")),
  ),
);

/** The fields of a mint that name the person who looks at the page. */
export const personFields = () => ({
  viewer_id: z.optional(Label()),
  viewer_properties: z.optional(JsonObject(VIEWER_PROPERTIES_BYTES_MAX, "viewer_properties")),
});

const originsMessage = `Give a list of 1 to ${SESSION_ORIGINS_MAX} origins, or leave the field out.`;

/** POST /api/viewer_sessions */
export const SessionBody = lazy(() =>
  z
    .strictObject({
      user_group_id: z.optional(ProvidedId()),
      team_id: SessionTeamId(),
      expires_in_seconds: z._default(seconds(SESSION_SECONDS_MIN, SESSION_SECONDS_MAX), SESSION_SECONDS_DEFAULT),
      origins: z.optional(
        z
          .array(Origin(), originsMessage)
          .check(z.minLength(1, originsMessage), z.maxLength(SESSION_ORIGINS_MAX, originsMessage)),
      ),
      ...personFields(),
      max_stale_seconds: z._default(seconds(0, SESSION_STALE_SECONDS_MAX), 0),
      include_variables: z._default(z.boolean("Give true or false."), false),
      claims: ExtraClaims(),
    })
    .check(
      z.check((payload) => {
        const { user_group_id: providedId, team_id: teamId } = payload.value;
        const field = teamId === undefined ? "user_group_id" : "team_id";
        if ((providedId === undefined) === (teamId === undefined))
          refuseValue(payload, "Give exactly one of user_group_id and team_id.", [field]);
      }),
    ),
);

const oneMessage = "Give exactly one of session, user_group_id and team_id; viewer_id only beside one of the last two.";

/** POST /api/viewer_sessions/end */
export const EndBody = lazy(() =>
  z
    .strictObject({
      session: z.optional(z.string("Give a viewer session, a string.")),
      user_group_id: z.optional(ProvidedId()),
      team_id: SessionTeamId(),
      viewer_id: z.optional(Label()),
      reason: Reason(),
    })
    .check(
      z.check((payload) => {
        const { session, user_group_id: providedId, team_id: teamId, viewer_id: viewerId } = payload.value;
        const named = [session, providedId, teamId].filter((each) => each !== undefined);
        const isOne = named.length === 1 && (session === undefined || viewerId === undefined);
        if (!isOne) refuseValue(payload, oneMessage);
      }),
    ),
);

/** The answer to a mint. The token is shown only here. */
export const mintedBody = (minted: MintedSession) => ({
  success: 1 as const,
  session: {
    token: minted.token,
    expires_at: time(minted.expiresAtSeconds * 1000),
    expires_in_seconds: minted.expiresAtSeconds - minted.issuedAtSeconds,
    max_stale_seconds: minted.maxStaleSeconds,
  },
  ...(minted.viewerEndedMsAgo !== undefined && { viewer_ended_ms_ago: minted.viewerEndedMsAgo }),
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
