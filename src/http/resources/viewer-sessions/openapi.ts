import * as z from "zod";
import {
  CLAIMS_BYTES_MAX,
  CLAIMS_MAX,
  PROPERTIES_DEPTH_MAX,
  VIEWER_PROPERTIES_BYTES_MAX,
} from "../../../../common/limits.ts";
import { component, DONE, field, number, Success, time } from "../../openapi/fields.ts";
import type { Operations } from "../../openapi/operation.ts";
import { describeFields } from "../../openapi/request-fields.ts";
import { type configurationBody, EndBody, type mintedBody, SessionBody } from "./wire.ts";

/** It has the form of a real session, and no service has signed it. */
const EXAMPLE_SESSION =
  "eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6IkdKdyJ9.eyJzdWIiOiJhY21lIn0." +
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

const ViewerSession = component("ViewerSession", "A viewer session, for a page.", {
  token: field(z.string(), "The session, a JWT for the page.", EXAMPLE_SESSION),
  expires_at: time("When it expires."),
  expires_in_seconds: number("For how many seconds it is valid.", 300),
  max_stale_seconds: field(z.int().min(0), "For how many seconds it may answer its viewer itself.", 0),
});

const Minted = z.strictObject({
  success: Success,
  session: field(ViewerSession, "The session."),
  viewer_ended_ms_ago: field(
    z.exactOptional(z.int().min(0).nullable()),
    "With viewer_id: how many milliseconds before this mint the sessions of this person were ended, or null if the service knows of no such " +
      "end in the last 65 minutes. An end of all sessions of the group, and a rotation, do not count.",
    null,
  ),
}) satisfies z.ZodType<ReturnType<typeof mintedBody>>;

const PublicKey = component("PublicKey", "A public key that verifies sessions (RFC 7517).", {
  kty: field(z.literal("EC"), "The kind of key: an elliptic curve."),
  crv: field(z.literal("P-256"), "The curve."),
  x: field(z.string(), "The point's first coordinate, base64url."),
  y: field(z.string(), "The point's second coordinate, base64url."),
  kid: field(z.string(), "The key's thumbprint (RFC 7638), as in the header of its sessions."),
  alg: field(z.literal("ES256"), "The algorithm of the signatures."),
  use: field(z.literal("sig"), "What the key is for: signatures."),
});

const KeySet = z.strictObject({
  keys: field(z.array(PublicKey), "The keys; the first one signs, and all of them verify."),
});

const IssuerConfiguration = z.strictObject({
  issuer: field(z.string(), "The claim iss of sessions.", "https://groups.example.com"),
  jwks_uri: field(z.string(), "The public keys.", "https://groups.example.com/.well-known/jwks.json"),
  id_token_signing_alg_values_supported: field(z.array(z.literal("ES256")), "The algorithm of the signatures."),
  subject_types_supported: field(z.array(z.literal("public")), "That sub is the same for all verifiers."),
  response_types_supported: field(z.array(z.literal("id_token")), "What its kind of document requires."),
}) satisfies z.ZodType<ReturnType<typeof configurationBody>>;

const TEAM_ID = "The group by its number, in place of user_group_id.";

/** The call that mints viewer sessions. */
export const viewerSessionOperations = {
  "POST /api/viewer_sessions": {
    id: "mintSession",
    summary: "Mint a viewer session",
    description:
      "Makes a short-lived credential for a page, a JWT signed with ES256. The page presents it to /api/viewer in place of the " +
      "group's token. The rotation, suspension and deletion of the group, and the revocation of the API key that minted it, end it at " +
      "once. This call never creates a group.",
    body: {
      name: "SessionBody",
      schema: describeFields(SessionBody(), {
        team_id: TEAM_ID,
        expires_in_seconds: "For how many seconds the session is valid. It never outlives the API key that mints it.",
        origins: "The origins of the pages that may present the session; without it, any.",
        viewer_id: "Your own id of the person who looks at the page. Dashboards and SQL templates get it as viewer_id.",
        viewer_properties:
          'What only this person may see, an object such as {"store": 7}. Dashboards and SQL templates get each of its keys as viewer.<key>. ' +
          `It has ${VIEWER_PROPERTIES_BYTES_MAX} bytes and ${PROPERTIES_DEPTH_MAX} levels at most.`,
        max_stale_seconds:
          "For how many seconds the service may answer from the session alone. A change, a revocation or an end of the session is in force only " +
          "after that. If the session would have more than 8,000 characters, it is minted with 0.",
        include_variables: "Whether the session contains the variables, for verifiers that do not call the service.",
        claims: {
          type: "object",
          additionalProperties: true,
          maxProperties: CLAIMS_MAX,
          description:
            `More claims for other verifiers, such as {"role": "authenticated"}: at most ${CLAIMS_MAX} names and ${CLAIMS_BYTES_MAX} bytes. They are ` +
            "signed as they are, and the service ignores them. Names that it uses, those of RFC 7519, and those that begin with ug_ are refused. " +
            "All environments have one issuer: a verifier that reads such a claim must check aud.",
        },
      }),
      example: { user_group_id: "acme", expires_in_seconds: 300, origins: ["https://app.example.com"] },
    },
    answer: { status: 201, description: "The session.", content: { name: "MintedSession", schema: Minted } },
    refusals: ["user_group_not_found", "user_group_suspended", "variables_too_large"],
  },
  "POST /api/viewer_sessions/end": {
    id: "endSessions",
    summary: "End viewer sessions",
    description:
      "Ends one session, all of a person, or all of a group, and does not change the group's token. This is in force at once, except for " +
      "stale answers to sessions with `max_stale_seconds`. If a session has already ended or expired, nothing changes. Sessions that are " +
      "minted afterwards are not affected.",
    body: {
      name: "EndBody",
      schema: describeFields(EndBody(), {
        session: "The session to end, as it was minted.",
        user_group_id: "The group whose sessions end.",
        team_id: TEAM_ID,
        viewer_id: "The person of the group whose sessions end, and no other's.",
      }),
      example: { user_group_id: "acme", viewer_id: "ann", reason: "signed out" },
    },
    answer: { description: "They have ended.", content: DONE },
    refusals: ["user_group_not_found"],
  },
} satisfies Operations;

/** The calls by which verifiers find the public keys of viewer sessions. */
export const publicKeyOperations = {
  "GET /.well-known/jwks.json": {
    id: "listPublicKeys",
    summary: "Get the public keys of sessions",
    description:
      "A JWK Set (RFC 7517), by which anything that verifies JWTs can verify sessions without calling the service. It may be " +
      "cached for five minutes. HEAD is answered as well.",
    answer: {
      description: "The public keys.",
      content: { name: "KeySet", schema: KeySet },
      headers: ["Access-Control-Allow-Origin"],
    },
  },
  "GET /.well-known/openid-configuration": {
    id: "discoverIssuer",
    summary: "Get the metadata of the issuer of sessions",
    description:
      "For verifiers that begin with the issuer, the claim `iss` (OpenID Connect Discovery 1.0): it names the public keys. The service is no " +
      "OpenID provider otherwise. It may be cached for five minutes. HEAD is answered as well.",
    answer: {
      description: "The metadata.",
      content: { name: "IssuerConfiguration", schema: IssuerConfiguration },
      headers: ["Access-Control-Allow-Origin"],
    },
  },
} satisfies Operations;
