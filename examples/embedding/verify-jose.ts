/** Verifies a viewer session with the public keys of the service, which it does not call for each. The token comes on stdin. */
import { text } from "node:stream/consumers";
import { createRemoteJWKSet, errors, jwtVerify } from "jose";

const { SERVICE_URL, AUDIENCE } = process.env;
// With an empty audience, jose would take the sessions of every environment.
if (!SERVICE_URL || !AUDIENCE)
  throw new Error("Set SERVICE_URL, and AUDIENCE to the environment, such as acme/Customer.");
/** The header Origin of the request that presents the session. Programs send none. */
const ORIGIN = process.env.ORIGIN;
const keys = createRemoteJWKSet(new URL("/.well-known/jwks.json", SERVICE_URL));

try {
  const { payload } = await jwtVerify((await text(process.stdin)).trim(), keys, {
    algorithms: ["ES256"],
    typ: "JWT",
    issuer: SERVICE_URL,
    // In another environment, the same number is another customer.
    audience: AUDIENCE,
    requiredClaims: ["team_id", "exp"],
  });
  const { origins } = payload;
  if (ORIGIN !== undefined && Array.isArray(origins) && !origins.includes(ORIGIN))
    throw new errors.JWTClaimValidationFailed("The session is for pages of other origins.", payload, "origins");
  console.info(JSON.stringify({ team_id: payload.team_id, viewer: payload.viewer_id ?? null }));
} catch (error) {
  if (!(error instanceof errors.JOSEError)) throw error;
  console.error(`${error.code}: ${error.message}`);
  process.exitCode = 1;
}
