import { env } from "cloudflare:workers";
import { readSigningKeys } from "../../common/settings/signing-keys.ts";
import { importRing, type SigningRing } from "../../src/domain/credentials/credential.ts";

/** The ring of these `SIGNING_KEYS`. Throws for a text that cannot be read. */
export async function ringOfKeys(signingKeys: string): Promise<SigningRing> {
  const keys = readSigningKeys(signingKeys);
  if (!keys.ok) throw new Error(keys.failure);
  return importRing(keys.value);
}

const K1 = `k1:${new Uint8Array(32).fill(1).toBase64()}`;
const K2 = `k2:${new Uint8Array(32).fill(2).toBase64()}`;

/** The steps of a rotation: which keys SIGNING_KEYS holds, the one that signs first. */
const STEPS = { k1: K1, "k1,k2": `${K1},${K2}`, "k2,k1": `${K2},${K1}`, k2: K2 } as const;
export type Step = keyof typeof STEPS;

/** What an isolate at this step runs with. */
export const isolateAt = (step: Step): Env => ({ ...env, SIGNING_KEYS: STEPS[step] });
