import { env } from "cloudflare:workers";
import { type CredentialKind, mintCredential, newNonce, parseSigningKeys } from "../../src/domain/credential.ts";

/** A credential as a thief of the signing keys alone can make it: well signed, with a nonce that nobody has stored. */
export async function forgedCredential(kind: CredentialKind, id = 1): Promise<string> {
  const ring = await parseSigningKeys(env.SIGNING_KEYS);
  if (!ring.ok) throw new Error(ring.failure);
  return mintCredential(ring.value, kind, {
    environment: { workspace: "acme", tag: "Testing" },
    id,
    nonce: newNonce(),
  });
}
