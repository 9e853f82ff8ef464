import type { Result } from "../../../common/result.ts";
import type { KeyDraft } from "../../domain/credentials/keys.ts";
import type { Failure } from "../../domain/failure.ts";
import { type IssuedKey, issueCredential, type OperatorCall } from "./issue-credential.ts";

/** Issues the key of an operator, whose `rights` are the role. */
export const issueOperator = (
  { registry, ring, presentedOperator }: OperatorCall,
  draft: Omit<KeyDraft, "nonceHash">,
): Promise<Result<IssuedKey, Failure>> =>
  issueCredential(ring, { kind: "operator_key" }, (nonceHash) =>
    registry.issueOperator(presentedOperator, { ...draft, nonceHash }),
  );

/** Issues the successor of an operator's key. The old key ends after `graceSeconds`. Refuses a key that is not valid. */
export const rollOperator = (
  { registry, ring, presentedOperator }: OperatorCall,
  { id, graceSeconds }: { id: number; graceSeconds: number },
): Promise<Result<IssuedKey, Failure>> =>
  issueCredential(ring, { kind: "operator_key" }, (nonceHash) =>
    registry.rollOperator(presentedOperator, id, { graceSeconds, nonceHash }),
  );
