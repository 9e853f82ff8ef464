import { ok, type Result } from "../../../common/result.ts";
import type { KeyDraft } from "../../domain/credentials/keys.ts";
import { NO_KEY_HASH } from "../../domain/credentials/operators.ts";
import type { Failure } from "../../domain/failure.ts";
import type { StoredKey } from "../../records.ts";
import { type IssuedKey, issueCredential, type OperatorCall } from "./issue-credential.ts";

/** A new operator, whose `rights` are the role. One without a key needs an `email`, by which it signs in with its company. */
export type OperatorDraft = Omit<KeyDraft, "nonceHash"> & { hasKey: boolean };

/** What is stored of a new operator, and the text of its key, which is shown once; `undefined` without a key. */
export type IssuedOperator = { stored: StoredKey; text: string | undefined };

/** Issues an operator. */
export async function issueOperator(
  { registry, ring, presentedOperator }: OperatorCall,
  { hasKey, email, ...draft }: OperatorDraft,
): Promise<Result<IssuedOperator, Failure>> {
  const store = (nonceHash: ArrayBuffer) =>
    email === undefined
      ? registry.issueOperator(presentedOperator, { ...draft, nonceHash })
      : registry.issueOperatorWithEmail(presentedOperator, { ...draft, email, nonceHash });
  if (hasKey) return issueCredential(ring, { kind: "operator_key" }, store);
  const stored = await store(NO_KEY_HASH);
  return stored.ok ? ok({ stored: stored.value, text: undefined }) : stored;
}

/** Issues the successor of an operator's key. The old key ends after `graceSeconds`. Refuses a key that is not valid. */
export const rollOperator = (
  { registry, ring, presentedOperator }: OperatorCall,
  { id, graceSeconds }: { id: number; graceSeconds: number },
): Promise<Result<IssuedKey, Failure>> =>
  issueCredential(ring, { kind: "operator_key" }, (nonceHash) =>
    registry.rollOperator(presentedOperator, id, { graceSeconds, nonceHash }),
  );
