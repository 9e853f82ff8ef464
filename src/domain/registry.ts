import { DurableObject } from "cloudflare:workers";
import { LIST_GROUPS_MAX, OPERATORS_MAX } from "../limits.ts";
import type { Location, StoredEnvironment, StoredKey } from "../records.ts";
import { EnvironmentStore } from "../storage/environment-store.ts";
import { KeyStore } from "../storage/key-store.ts";
import { Schema } from "../storage/migrations.ts";
import { probeDisk } from "../storage/probe-disk.ts";
import { REGISTRY_MIGRATIONS } from "../storage/schema.ts";
import { ChangeLog } from "./change-log.ts";
import { Chores } from "./chores.ts";
import { authorOf, BOOTSTRAP, type Operator, type PresentedOperator } from "./credentials/caller.ts";
import { type KeyDraft, type KeyFailure, type KeyPage, type KeyQuery, type KeyRoll, Keys } from "./credentials/keys.ts";
import { allowsRole, type Role, roleOf } from "./credentials/rights.ts";
import { directoryName, type Environment } from "./environment.ts";
import { type EventPage, type EventQuery, readNoEvents } from "./event.ts";
import type { FailureOf } from "./failure.ts";
import { fail, ok, type Result } from "./result.ts";
import { type Read, type TurnFailure, Turns, type Waited } from "./turns.ts";

/** The name of the deployment's only registry. */
export const REGISTRY_NAME = "registry";

type AdmitFailure = KeyFailure | FailureOf<"insufficient_access">;
type ListFailure = AdmitFailure | TurnFailure;

/** The operator who has called, for the log. */
export type By = { operator: Operator };

/** Some environments, and the number of the next; `null` after the last one. */
export type EnvironmentPage = { environments: StoredEnvironment[]; next: number | null };

/**
 * The environments and operators of the deployment, and the only authority on them. As in a directory, nothing runs between
 * the reads and the writes of an RPC method, and each checks its caller first. The registry has no tables until the first change.
 */
export class Registry extends DurableObject<Env> {
  readonly #schema: Schema;
  readonly #environments: EnvironmentStore;
  readonly #operators: Keys;
  readonly #changes: ChangeLog;
  readonly #turns = new Turns();
  readonly #chores: Chores;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#schema = new Schema(ctx.storage, REGISTRY_MIGRATIONS);
    this.#environments = new EnvironmentStore(ctx.storage.sql);
    this.#changes = new ChangeLog(ctx.storage, env, (dueAt) => this.#chores.schedule(dueAt));
    this.#operators = new Keys("operator", new KeyStore(ctx.storage.sql, "operators"), this.#changes, OPERATORS_MAX);
    this.#chores = new Chores([this.#changes.purge], (time) => void ctx.waitUntil(ctx.storage.setAlarm(time)));
  }

  /** The operator, if the key is valid, its role allows what needs `role`, and the environment is recorded. */
  admit(
    presented: PresentedOperator,
    role: Role,
    environment: Environment | undefined,
  ): Result<Operator, AdmitFailure | FailureOf<"environment_not_found">> {
    const operator = this.#admit(presented, role);
    if (!operator.ok) return operator;
    if (environment && !this.#find(environment)) return fail({ code: "environment_not_found" });
    return operator;
  }

  /**
   * Records an environment before its first key is issued, so that none can exist unseen. Returns what is recorded; the
   * `location` of an environment that was recorded before stays.
   */
  recordEnvironment(
    presented: PresentedOperator,
    environment: Environment,
    location: Location | undefined,
  ): Result<{ isNew: boolean; location: Location | null } & By, AdmitFailure> {
    const admitted = this.#admit(presented, "admin");
    if (!admitted.ok) return admitted;
    const operator = admitted.value;
    const known = this.#find(environment);
    if (known) return ok({ isNew: false, location: known.location, operator });

    this.#schema.create();
    const recorded = { name: directoryName(environment), location: location ?? null, createdAt: Date.now() };
    const { workspace, tag } = environment;
    this.#changes.commit(authorOf(operator), (record) => {
      this.#environments.insert(recorded);
      record({ type: "environment.created", details: { environment: { workspace, environment: tag } } });
    });
    return ok({ isNew: true, location: recorded.location, operator });
  }

  /** One page of the environments, oldest first. */
  async listEnvironments(
    presented: PresentedOperator,
    { start, limit }: { start: number; limit: number },
  ): Promise<Result<Waited<EnvironmentPage & By>, ListFailure>> {
    return this.#inTurn(presented, () => {
      const found = this.#schema.exists ? this.#environments.page(start, limit + 1) : [];
      const page = { environments: found.slice(0, limit), next: found[limit]?.id ?? null };
      return ok({ page, share: Math.min(1, found.length / LIST_GROUPS_MAX) });
    });
  }

  /** Issues the key of an operator, whose `rights` are the role. */
  issueOperator(
    presented: PresentedOperator,
    draft: KeyDraft,
  ): Result<StoredKey & By, AdmitFailure | FailureOf<"environment_full">> {
    const operator = this.#admit(presented, "admin");
    if (!operator.ok) return operator;
    this.#schema.create();
    const issued = this.#operators.issue(authorOf(operator.value), draft);
    return issued.ok ? ok({ ...issued.value, operator: operator.value }) : issued;
  }

  /** One page of the operators, revoked and expired ones included, oldest first. */
  async listOperators(
    presented: PresentedOperator,
    query: KeyQuery,
  ): Promise<Result<Waited<KeyPage & By>, ListFailure>> {
    return this.#inTurn(presented, () =>
      ok(this.#schema.exists ? this.#operators.list(query) : { page: { keys: [], next: null }, share: 0 }),
    );
  }

  /** Revokes an operator's key. A key that is revoked already keeps its time. */
  revokeOperator(presented: PresentedOperator, id: number): Result<By, AdmitFailure | FailureOf<"operator_not_found">> {
    const operator = this.#admit(presented, "admin");
    if (!operator.ok) return operator;
    const isFound = this.#schema.exists && this.#operators.revoke(authorOf(operator.value), id);
    return isFound ? ok({ operator: operator.value }) : fail({ code: "operator_not_found" });
  }

  /** Issues a key with the same name, role and expiry, and revokes the old one after `graceSeconds`. */
  rollOperator(
    presented: PresentedOperator,
    id: number,
    roll: KeyRoll,
  ): Result<StoredKey & By, AdmitFailure | FailureOf<"operator_not_found" | "environment_full">> {
    const operator = this.#admit(presented, "admin");
    if (!operator.ok) return operator;
    const rolled = this.#schema.exists ? this.#operators.roll(authorOf(operator.value), id, roll) : undefined;
    if (!rolled) return fail({ code: "operator_not_found" });
    return rolled.ok ? ok({ ...rolled.value, operator: operator.value }) : rolled;
  }

  /** One page of the deployment's own events, oldest first. */
  async listEvents(
    presented: PresentedOperator,
    query: EventQuery,
  ): Promise<Result<Waited<EventPage & By>, ListFailure | FailureOf<"cursor_expired">>> {
    return this.#inTurn(presented, () => (this.#schema.exists ? this.#changes.read(query) : readNoEvents(query)));
  }

  /** Reads for an operator in its turn. */
  async #inTurn<Page extends object, Failure>(
    presented: PresentedOperator,
    read: () => Result<Read<Page>, Failure>,
  ): Promise<Result<Waited<Page & By>, Failure | ListFailure>> {
    const readBy = (operator: Operator): Result<Read<Page & By>, Failure> => {
      const result = read();
      return result.ok ? ok({ ...result.value, page: { ...result.value.page, operator } }) : result;
    };
    const caller = presented.key === "bootstrap" ? presented.key : String(presented.key.id);
    return this.#turns.takeAdmitted(caller, () => this.#admit(presented, "viewer"), readBy);
  }

  /** Writes to the disk, and keeps nothing. It fails if the disk is full. */
  probeDisk(): void {
    probeDisk(this.ctx.storage);
  }

  /** Before a call is tried again on a full disk. */
  stopNotingUse(): void {
    this.#operators.stopNotingUse();
  }

  #find(environment: Environment): StoredEnvironment | undefined {
    return this.#schema.exists ? this.#environments.findByName(directoryName(environment)) : undefined;
  }

  #admit({ key, ...cause }: PresentedOperator, minimum: Role): Result<Operator, AdmitFailure> {
    if (key === "bootstrap") return ok({ ...BOOTSTRAP, ...cause });
    if (!this.#schema.exists) return fail({ code: "unauthenticated" });
    const found = this.#operators.authenticate(key);
    if (!found.ok) return found;
    const { id, name, rights, expiresAt } = found.value;
    const role = roleOf(rights);
    return allowsRole(role, minimum)
      ? ok({ kind: "operator", id, name, role, expiresAt, ...cause })
      : fail({ code: "insufficient_access", required_role: minimum });
  }

  /** The platform calls this when the alarm is due. */
  override alarm(): void {
    if (this.#schema.exists) this.#chores.run();
  }
}
