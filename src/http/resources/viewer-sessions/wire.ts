import * as z from "zod/mini";
import {
  CLAIMS_BYTES_MAX,
  CLAIMS_MAX,
  PROPERTIES_DEPTH_MAX,
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
  type Payload,
  ProvidedId,
  Reason,
  refuseValue,
  seconds,
  time,
  withMeta,
} from "../fields.ts";

/** `claims` of a mint, as JSON text. */
const ExtraClaims = lazy(() =>
  withMeta(
    z.pipe(
      z.pipe(
        z.unknown(),
        z.transform((value: unknown, payload: Payload) => {
          const names = isObject(value) ? Object.keys(value) : [];
          if (names.length > CLAIMS_MAX) refuseValue(payload, `Give at most ${CLAIMS_MAX} claims.`);
          for (const name of names.filter((each) => !isFreeClaim(each)))
            refuseValue(payload, "Choose another name: the service or RFC 7519 uses this one, or it begins with ug_.", [
              name,
            ]);
          return value;
        }),
      ),
      JsonObject(CLAIMS_BYTES_MAX, "claims"),
    ),
    {
      type: "object",
      additionalProperties: true,
      maxProperties: CLAIMS_MAX,
      description:
        `More claims for other verifiers, such as {"role": "authenticated"}: at most ${CLAIMS_MAX} names and ${CLAIMS_BYTES_MAX} bytes. They are ` +
        "signed as they are, and the service ignores them. Names that it uses, those of RFC 7519, and those that begin with ug_ are refused. " +
        "All environments have one issuer: a verifier that reads such a claim must check aud.",
    },
  ),
);

/** The group of a session by its number. */
const SessionTeamId = lazy(() =>
  withMeta(
    z.optional(
      z
        .int({ error: "Give the team_id of a group, a whole number." })
        .check(z.positive({ error: "Give the team_id of a group, a whole number." })),
    ),
    { description: "The group by its number, in place of user_group_id." },
  ),
);

/** The fields of a mint that name the person who looks at the page. */
export const personFields = () => ({
  viewer_id: withMeta(z.optional(Label()), {
    description: "Your own id of the person who looks at the page. Dashboards and SQL templates get it as viewer_id.",
  }),
  viewer_properties: withMeta(z.optional(JsonObject(VIEWER_PROPERTIES_BYTES_MAX, "viewer_properties")), {
    description:
      'What only this person may see, an object such as {"store": 7}. Dashboards and SQL templates get each of its keys as viewer.<key>. ' +
      `It has ${VIEWER_PROPERTIES_BYTES_MAX} bytes and ${PROPERTIES_DEPTH_MAX} levels at most.`,
  }),
});

const originsMessage = `Give a list of 1 to ${SESSION_ORIGINS_MAX} origins, or leave the field out.`;

/** POST /api/viewer_sessions */
export const SessionBody = lazy(() =>
  z
    .strictObject({
      user_group_id: z.optional(ProvidedId()),
      team_id: SessionTeamId(),
      expires_in_seconds: withMeta(
        z._default(seconds(SESSION_SECONDS_MIN, SESSION_SECONDS_MAX), SESSION_SECONDS_DEFAULT),
        { description: "For how many seconds the session is valid. It never outlives the API key that mints it." },
      ),
      origins: withMeta(
        z.optional(
          z
            .array(Origin(), { error: originsMessage })
            .check(
              z.minLength(1, { error: originsMessage }),
              z.maxLength(SESSION_ORIGINS_MAX, { error: originsMessage }),
            ),
        ),
        { description: "The origins of the pages that may present the session; without it, any." },
      ),
      ...personFields(),
      max_stale_seconds: withMeta(z._default(seconds(0, SESSION_STALE_SECONDS_MAX), 0), {
        description:
          "For how many seconds the service may answer from the session alone. A change, a revocation or an end of the session is in force only " +
          "after that. If the session would have more than 8,000 characters, it is minted with 0.",
      }),
      include_variables: withMeta(z._default(z.boolean({ error: "Give true or false." }), false), {
        description: "Whether the session contains the variables, for verifiers that do not call the service.",
      }),
      claims: z.optional(ExtraClaims()),
    })
    .check(
      z.check(({ value, issues }) => {
        const { user_group_id: providedId, team_id: teamId } = value;
        if ((providedId === undefined) !== (teamId === undefined)) return;
        const path = [teamId === undefined ? "user_group_id" : "team_id"];
        issues.push({ code: "custom", message: "Give exactly one of user_group_id and team_id.", path, input: value });
      }),
    ),
);

const oneMessage = "Give exactly one of session, user_group_id and team_id; viewer_id only beside one of the last two.";

/** POST /api/viewer_sessions/end */
export const EndBody = lazy(() =>
  z
    .strictObject({
      session: withMeta(z.optional(z.string({ error: "Give a viewer session, a string." })), {
        description: "The session to end, as it was minted.",
      }),
      user_group_id: withMeta(z.optional(ProvidedId()), { description: "The group whose sessions end." }),
      team_id: SessionTeamId(),
      viewer_id: withMeta(z.optional(Label()), {
        description: "The person of the group whose sessions end, and no other's.",
      }),
      reason: Reason(),
    })
    .check(
      z.check(({ value, issues }) => {
        const { session, user_group_id: providedId, team_id: teamId, viewer_id: viewerId } = value;
        const named = [session, providedId, teamId].filter((each) => each !== undefined);
        const isOne = named.length === 1 && (session === undefined || viewerId === undefined);
        if (!isOne) issues.push({ code: "custom", message: oneMessage, path: [], input: value });
      }),
    ),
);

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
