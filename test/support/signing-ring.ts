import { readSigningKeys } from "../../common/settings/signing-keys.ts";
import { importRing, type SigningRing } from "../../src/domain/credentials/credential.ts";

/** The ring of these `SIGNING_KEYS`. Throws for a text that cannot be read. */
export async function ringOfKeys(signingKeys: string): Promise<SigningRing> {
  const keys = readSigningKeys(signingKeys);
  if (!keys.ok) throw new Error(keys.failure);
  return importRing(keys.value);
}
