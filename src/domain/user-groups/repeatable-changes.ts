import { ok, type Result } from "../../../common/result.ts";
import type { ListedGroup } from "../../records.ts";
import type { Admitted } from "../credentials/admission.ts";
import type { PresentedToken } from "../credentials/caller.ts";
import type { FailureOf } from "../failure.ts";
import { inState, type StateFailure } from "./entity-tag.ts";
import type { Changed, Groups, PurgeFailure, RestoreOptions, TokenFailure } from "./groups.ts";
import type { Conditions, OnceFailure, Outcome, Responses } from "./responses.ts";
import { type Guards, type RotatedWithToken, toListedGroup, toRotatedGroup } from "./user-group.ts";

type ListedOutcome = Result<ListedGroup & Outcome, OnceFailure | StateFailure>;

/**
 * The changes of groups that may have an Idempotency-Key. A repeated call gets the answer to the first one, whatever has happened
 * to the group since.
 */
export class RepeatableChanges {
  readonly #groups: Groups;
  readonly #responses: Responses;

  constructor(groups: Groups, responses: Responses) {
    this.#groups = groups;
    this.#responses = responses;
  }

  /** Replaces the token `current`. The answer has the new one if the caller has made it, or may read tokens. */
  rotate(
    { author, keyId, may }: Admitted,
    current: PresentedToken | undefined,
    graceSeconds: number,
    { ifMatch, idempotency }: Conditions,
  ): Result<RotatedWithToken & Outcome, OnceFailure | TokenFailure> {
    const run = () => {
      const found = this.#groups.findByCurrentToken(current, ifMatch);
      if (!found.ok) return found;
      const { group, endedLeases } = this.#groups.rotate(author, found.value, graceSeconds);
      const response = { kind: "rotated", group: toRotatedGroup(group, idempotency?.signingId) } as const;
      return ok({ response, endedLeases });
    };
    const outcome = this.#responses.once(idempotency, { kind: "rotated", keyId, run });
    if (!outcome.ok) return outcome;
    const { response, keyId: firstKeyId, ...rest } = outcome.value;
    const mayReadToken = firstKeyId === keyId || may("tokens:read");
    return ok({ ...response.group, nonce: mayReadToken ? response.group.nonce : undefined, ...rest });
  }

  /** Deletes the group with the token `current`, unless a guard names another group or another data source. */
  remove(
    { author, keyId }: Admitted,
    current: PresentedToken | undefined,
    guards: Guards,
    { ifMatch, idempotency }: Conditions,
  ): Result<Outcome, OnceFailure | TokenFailure | FailureOf<"user_group_mismatch">> {
    const run = () => {
      const found = this.#groups.findGuarded(current, guards, ifMatch);
      if (!found.ok) return found;
      const { group, endedLeases } = this.#groups.delete(author, found.value);
      return ok({ response: { kind: "removed", teamId: group.teamId } as const, endedLeases });
    };
    const outcome = this.#responses.once(idempotency, { kind: "removed", keyId, run });
    if (!outcome.ok) return outcome;
    const { endedLeases, isReplay } = outcome.value;
    return ok({ endedLeases, isReplay });
  }

  /** Purges a deleted group. Nothing is stored about a purged group, so a repeat finds none. The key may belong to another call. */
  purge(
    { author }: Admitted,
    teamId: number,
    { ifMatch, idempotency }: Conditions,
  ): Result<undefined, OnceFailure | PurgeFailure> {
    const stored = this.#responses.find(idempotency);
    return stored.ok ? this.#groups.purge(author, teamId, ifMatch) : stored;
  }

  /** Replaces the token of the group with this number. */
  rotateByNumber(admitted: Admitted, teamId: number, graceSeconds: number, conditions: Conditions): ListedOutcome {
    return this.#change(admitted, conditions, () => {
      const found = inState(this.#groups.find(teamId), conditions.ifMatch);
      return found.ok ? ok(this.#groups.rotate(admitted.author, found.value, graceSeconds)) : found;
    });
  }

  /** Deletes the group with this number. */
  removeByNumber(admitted: Admitted, teamId: number, conditions: Conditions): ListedOutcome {
    return this.#change(admitted, conditions, () => {
      const found = inState(this.#groups.find(teamId), conditions.ifMatch);
      return found.ok ? ok(this.#groups.delete(admitted.author, found.value)) : found;
    });
  }

  /** Restores a deleted group, as `Groups.restore` does. */
  restore(
    admitted: Admitted,
    teamId: number,
    options: RestoreOptions,
    conditions: Conditions,
  ): Result<ListedGroup & Outcome, OnceFailure | StateFailure | FailureOf<"user_group_id_taken">> {
    return this.#change(admitted, conditions, () => this.#groups.restore(admitted.author, teamId, options, conditions));
  }

  /** Makes a change whose answer is the group as lists show it. */
  #change<Failure>(
    { keyId }: Admitted,
    { idempotency }: Conditions,
    change: () => Result<Changed, Failure>,
  ): Result<ListedGroup & Outcome, Failure | OnceFailure> {
    const run = () => {
      const changed = change();
      if (!changed.ok) return changed;
      const { group, endedLeases } = changed.value;
      return ok({ response: { kind: "listed", group: toListedGroup(group) } as const, endedLeases });
    };
    const outcome = this.#responses.once(idempotency, { kind: "listed", keyId, run });
    if (!outcome.ok) return outcome;
    const { response, endedLeases, isReplay } = outcome.value;
    return ok({ ...response.group, endedLeases, isReplay });
  }
}
