import type { Operator, PresentedOperator } from "../../domain/credentials/caller.ts";
import { hashOf, mintCredential, newNonce, type SigningRing } from "../../domain/credentials/credential.ts";
import type { Environment } from "../../domain/environment.ts";
import { ok, type Result } from "../../domain/result.ts";
import type { StoredKey } from "../../records.ts";

/** An admitted operator, and what an operation needs besides. */
export type OperatorCall = { env: Env; ring: SigningRing; presentedOperator: PresentedOperator; operator: Operator };

/** A new key: what is stored of it, and its text, which is shown once. */
export type IssuedKey = { stored: StoredKey; text: string };

/** Makes a nonce, stores its hash, and mints the key. */
export async function issueCredential<Refusal>(
  ring: SigningRing,
  claim: { kind: "api_key"; environment: Environment } | { kind: "operator_key" },
  store: (nonceHash: ArrayBuffer) => Promise<Result<StoredKey, Refusal>>,
): Promise<Result<IssuedKey, Refusal>> {
  const nonce = newNonce();
  const stored = await store(await hashOf(nonce));
  if (!stored.ok) return stored;
  return ok({ stored: stored.value, text: await mintCredential(ring, { ...claim, id: stored.value.id, nonce }) });
}
