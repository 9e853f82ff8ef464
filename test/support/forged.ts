import { env } from "cloudflare:workers";
import { SignJWT } from "jose";
import { type Claim, mintCredential, newNonce } from "../../src/domain/credentials/credential.ts";
import { deriveSessionKey } from "../../src/domain/credentials/session-key.ts";
import { ringOfKeys } from "./signing-ring.ts";

/** A credential as a thief of the signing keys alone can make it: well signed, with a nonce that nobody has stored. */
export async function forgedCredential(kind: Claim["kind"], id = 1): Promise<string> {
  const ring = await ringOfKeys(env.SIGNING_KEYS);
  const environment = { workspace: "acme", tag: "Testing" } as const;
  return mintCredential(ring, { kind, environment, id, nonce: newNonce() });
}

/** Signs any claims of a session with the first key that is derived from these signing keys, under its own `kid`. */
export async function forgedSession(
  claims: Record<string, unknown>,
  signingKeys: string = env.SIGNING_KEYS,
): Promise<string> {
  const [seed] = (await ringOfKeys(signingKeys)).sessionSeeds;
  if (!seed) throw new Error("There is no signing key.");
  const { privateKey, jwk } = await deriveSessionKey(seed);
  return new SignJWT(claims).setProtectedHeader({ alg: "ES256", typ: "JWT", kid: jwk.kid }).sign(privateKey);
}
