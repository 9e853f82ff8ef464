import type { Environment } from "../../../common/environment.ts";
import { ok, type Result } from "../../../common/result.ts";
import type { PresentedOperator } from "../../domain/credentials/caller.ts";
import { hashOf, mintCredential, newNonce, type SigningRing } from "../../domain/credentials/credential.ts";
import type { StoredKey } from "../../records.ts";
import type { RemoteRegistry } from "../durable-objects.ts";

/** An operator, and the values of the request that an operation needs. */
export type OperatorCall = {
  env: Env;
  registry: RemoteRegistry;
  ring: SigningRing;
  presentedOperator: PresentedOperator;
};

/** A new key: what is stored of it, and its text, which is shown once. */
export type IssuedKey = { stored: StoredKey; text: string };

/** Mints a key with a new nonce. `store` stores the hash of the nonce, or refuses. */
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
