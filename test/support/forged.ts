import { env } from "cloudflare:workers";
import { type Claim, mintCredential, newNonce, parseSigningKeys } from "../../src/domain/credentials/credential.ts";

/** A credential as a thief of the signing keys alone can make it: well signed, with a nonce that nobody has stored. */
export async function forgedCredential(kind: Claim["kind"], id = 1): Promise<string> {
  const ring = await parseSigningKeys(env.SIGNING_KEYS);
  if (!ring.ok) throw new Error(ring.failure);
  const environment = { workspace: "acme", tag: "Testing" } as const;
  return mintCredential(ring.value, { kind, environment, id, nonce: newNonce() });
}
