/** Verifies a viewer session with fast-jwt and the public keys of the service. The token comes on stdin. */
import { createPublicKey, type JsonWebKey } from "node:crypto";
import { text } from "node:stream/consumers";
import { createVerifier, TokenError } from "fast-jwt";

const { SERVICE_URL, AUDIENCE } = process.env;
// With an empty audience, fast-jwt would take the sessions of every environment.
if (!SERVICE_URL || !AUDIENCE)
  throw new Error("Set SERVICE_URL, and AUDIENCE to the environment, such as acme/Customer.");
/** The header Origin of the request that presents the session. Programs send none. */
const ORIGIN = process.env.ORIGIN;

/** The public keys as PEM, by their `kid`. A server may keep them for 300 seconds, not longer. */
async function publishedKeys(): Promise<Map<string, string>> {
  const response = await fetch(new URL("/.well-known/jwks.json", SERVICE_URL));
  const { keys } = (await response.json()) as { keys: (JsonWebKey & { kid: string })[] };
  const pemOf = (key: JsonWebKey) =>
    String(createPublicKey({ key, format: "jwk" }).export({ type: "spki", format: "pem" }));
  return new Map(keys.map((key) => [key.kid, pemOf(key)]));
}

const keys = await publishedKeys();
const verify = createVerifier({
  // A key that is not published is empty, and the verifier refuses it.
  key: async ({ header }: { header: { kid?: string } }) => keys.get(header.kid ?? "") ?? "",
  algorithms: ["ES256"],
  checkTyp: "JWT",
  allowedIss: SERVICE_URL,
  // In another environment, the same number is another customer.
  allowedAud: AUDIENCE,
  // fast-jwt does not miss a claim by itself: without this line, it takes a session without aud or without an end.
  requiredClaims: ["iss", "aud", "team_id", "exp"],
});

try {
  const { team_id, viewer_id, origins } = await verify((await text(process.stdin)).trim());
  if (ORIGIN !== undefined && Array.isArray(origins) && !origins.includes(ORIGIN))
    throw new TokenError(TokenError.codes.invalidClaimValue, "The session is for pages of other origins.");
  console.info(JSON.stringify({ team_id, viewer: viewer_id ?? null }));
} catch (error) {
  if (!(error instanceof TokenError)) throw error;
  console.error(`${error.code}: ${error.message}`);
  process.exitCode = 1;
}
