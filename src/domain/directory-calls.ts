import { fail, ok, type Result } from "../../common/result.ts";
import type { ListedGroup, StoredKey } from "../records.ts";
import { type Admitted, admitKey, admittedOperator, type CallerFailure } from "./credentials/admission.ts";
import type { Caller, PresentedKey } from "./credentials/caller.ts";
import type { KeyFailure } from "./credentials/keys.ts";
import type { Scope } from "./credentials/rights.ts";
import type { DirectoryParts } from "./directory-parts.ts";
import type { Idempotent } from "./failure.ts";
import { type Endings, withEndings } from "./feed/endings.ts";
import { type Step, type TurnFailure, Turns, type Waited } from "./turns.ts";

/** The result of a read that takes turns; viewers are answered between them. */
export type Listed<Page, Failure = never> = Promise<Idempotent<Waited<Page>, Failure | CallerFailure | TurnFailure>>;

/** Admits the callers of a directory, each within the call that it makes. */
export class DirectoryCalls {
  readonly #turns = new Turns();
  readonly #parts: () => DirectoryParts;

  constructor(parts: () => DirectoryParts) {
    this.#parts = parts;
  }

  /** Runs `run` for a caller that is admitted. `scope` is what an API key needs; every valid one may make a call without it. */
  as<Value, Failure>(
    caller: Caller,
    scope: Scope | undefined,
    run: (admitted: Admitted) => Result<Value, Failure>,
  ): Result<Value, Failure | CallerFailure> {
    const admitted = this.admit(caller, scope);
    return admitted.ok ? run(admitted.value) : admitted;
  }

  /** The same for a group, with those who have suspended and deleted it for a caller who may read events. */
  shown<Group extends ListedGroup, Failure>(
    caller: Caller,
    scope: Scope,
    run: (admitted: Admitted) => Result<Group, Failure>,
  ): Result<Group & Endings, Failure | CallerFailure> {
    return this.as(caller, scope, (admitted) => withEndings(this.#parts().stores.events, admitted, run(admitted)));
  }

  /** Returns what `run` makes of the tables; `otherwise` while there are none. */
  ifCreated<Value, Otherwise>(run: (parts: DirectoryParts) => Value, otherwise: Otherwise): Value | Otherwise {
    return this.#parts().schema.exists ? run(this.#parts()) : otherwise;
  }

  /** Reads for a caller in one turn or several. An operator who has waited has to be admitted by the registry again. */
  async inTurns<Page extends object, Failure>(
    caller: Caller,
    scope: Scope | undefined,
    step: (parts: DirectoryParts) => Result<Step<Page>, Failure>,
  ): Listed<Page, Failure> {
    const admit = () => this.admit(caller, scope);
    return this.#turns.takeSteps(`${caller.kind} ${caller.id}`, admit, () => step(this.#parts()));
  }

  /** The API key that calls. */
  identify(key: PresentedKey): Idempotent<StoredKey, KeyFailure> {
    return this.ifCreated(({ keys }) => keys.authenticate(key), fail({ code: "unauthenticated" }));
  }

  /** Admits an API key that is valid and has `scope`, if one is needed. The registry has admitted operators. */
  admit(caller: Caller, scope: Scope | undefined): Result<Admitted, CallerFailure> {
    if (caller.kind === "operator")
      return this.ifCreated(() => ok(admittedOperator(caller)), fail({ code: "environment_not_found" }));
    const key = this.identify(caller);
    return key.ok ? admitKey(key.value, caller, scope) : key;
  }
}
