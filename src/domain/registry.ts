import { DurableObject } from "cloudflare:workers";
import { directoryName, type Environment } from "../../common/environment.ts";
import { ERASE_RETRY_SECONDS } from "../../common/limits.ts";
import { fail, ok, type Result } from "../../common/result.ts";
import type { Location, StoredEnvironment, StoredKey, Tombstone } from "../records.ts";
import type { BackupPage, BackupPosition } from "./backup/backup.ts";
import { emptyRegistry } from "./backup/registry-backup.ts";
import { type RestoreFailure, type RestorePage, type RestoreProgress, type Taken, takePage } from "./backup/restore.ts";
import { type AdmitFailure, admitPresented, type NeededRole } from "./credentials/admission.ts";
import {
  authorOf,
  type By,
  callerName,
  type Operator,
  type PresentedConsoleSession,
  type PresentedOperator,
} from "./credentials/caller.ts";
import type { ListedConsoleSession, NotedForm, SessionOrigin } from "./credentials/console-sessions.ts";
import type { FoundKey, KeyDraft, KeyPage, KeyQuery, KeyRoll } from "./credentials/keys.ts";
import { NO_OPERATOR, type RollOperatorFailure, rollOperatorKey } from "./credentials/operators.ts";
import type { LadderRole } from "./credentials/rights.ts";
import type { FailureOf, Idempotent } from "./failure.ts";
import {
  type EventPage,
  type EventQuery,
  type NewestPage,
  type NewestQuery,
  NO_NEWEST,
  readEvents,
  readNewest,
  readNoEvents,
} from "./feed/event.ts";
import { type RegistryParts, registryPartsOf } from "./registry-parts.ts";
import {
  type EnvironmentPage,
  type EnvironmentQuery,
  type Neighbours,
  neighboursOf,
  readEnvironments,
} from "./search/environments.ts";
import { type Read, type TurnFailure, Turns, type Waited } from "./turns.ts";

type IssueOperatorFailure = FailureOf<"environment_full" | "email_taken">;

/** The result of a list. */
type Listed<Page, Failure = never> = Promise<Answer<Waited<Page>, Failure | TurnFailure>>;

/** The answer to an idempotent call, with the operator who has called. */
type Answer<Value, Failure = never> = Idempotent<Value & By, Failure | AdmitFailure>;

/** An operator who presents a session of the console. */
type InConsole = PresentedOperator & { key: PresentedConsoleSession };

/**
 * The environments and operators of the deployment, and the only authority on them. As in a directory, nothing runs between
 * the reads and the writes of an RPC method, and each checks its caller first. The registry has no tables until the first change.
 */
export class Registry extends DurableObject<Env> {
  #parts: RegistryParts;
  readonly #turns = new Turns();

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#parts = registryPartsOf(ctx, env);
  }

  /**
   * The operator, if the key is valid, its role allows what needs `role`, and the environment is recorded. With `isForBackups` the
   * role `backup` is allowed too. A registry of 1.0 ignores it, and would take an unknown `role` for the lowest.
   */
  admit(
    presented: PresentedOperator,
    role: LadderRole,
    environment: Environment | undefined,
    isForBackups = false,
  ): Idempotent<Operator, AdmitFailure | FailureOf<"environment_not_found">> {
    const operator = this.#admit(presented, role, isForBackups);
    const isMissing = operator.ok && environment && !this.#find(environment);
    return isMissing ? fail({ code: "environment_not_found" }) : operator;
  }

  /**
   * Records an environment before its first key is issued, so that none can exist unseen. Returns what is recorded; the
   * `location` of an environment that was recorded before stays.
   */
  async recordEnvironment(
    presented: PresentedOperator,
    environment: Environment,
    location: Location | undefined,
  ): Promise<Answer<{ isNew: boolean; location: Location | null }>> {
    const admitted = this.#admit(presented, "admin");
    if (!admitted.ok) return admitted;
    const operator = admitted.value;
    if (this.#isErased(environment)) await this.#parts.erasures.finish(directoryName(environment));
    const known = this.#find(environment);
    if (known) return ok({ isNew: false, location: known.location, operator });

    this.#parts.schema.create();
    const recorded = { name: directoryName(environment), location: location ?? null, createdAt: Date.now() };
    const event = { type: "environment.created", details: detailsOf(environment) } as const;
    this.#parts.changes.commit(authorOf(operator), event, () => this.#parts.environments.insert(recorded));
    return ok({ isNew: true, location: recorded.location, operator });
  }

  /**
   * Erases an environment for good: it is marked, its directory deletes everything, and its name may be used again. A call
   * that is repeated after a crash finishes it, and so does the alarm.
   */
  async eraseEnvironment(
    presented: PresentedOperator,
    environment: Environment,
  ): Promise<Answer<object, FailureOf<"environment_not_found">>> {
    const operator = this.#admit(presented, "admin");
    if (!operator.ok) return operator;
    if (this.#find(environment)) this.#markErased(operator.value, environment);
    else if (!this.#isErased(environment)) return fail({ code: "environment_not_found" });
    await this.#parts.erasures.finish(directoryName(environment));
    return ok({ operator: operator.value });
  }

  #markErased(operator: Operator, environment: Environment): void {
    const now = Date.now();
    const event = { type: "environment.erased", details: detailsOf(environment) } as const;
    const write = () => this.#parts.environments.markErased(directoryName(environment), now);
    this.#parts.changes.commit(authorOf(operator), event, write);
    this.#parts.chores.schedule(now + ERASE_RETRY_SECONDS * 1000);
  }

  /** One page of the environments, oldest first. A search examines a bounded number, so a page may be empty and have more after it. */
  async listEnvironments(presented: PresentedOperator, query: EnvironmentQuery): Listed<EnvironmentPage> {
    const read = ({ environments }: RegistryParts) => readEnvironments(environments, query);
    const none = { page: { environments: [], next: null }, share: 0 };
    return this.#inTurn(presented, () => ok(this.#ifCreated(read, none)), { minimum: "viewer", isForBackups: true });
  }

  /** Issues the key of an operator, whose `rights` are the role. Of all valid ones, only one may have its address. */
  issueOperator(
    presented: PresentedOperator,
    draft: KeyDraft,
  ): Result<StoredKey & By, AdmitFailure | IssueOperatorFailure> {
    return this.#as<StoredKey, IssueOperatorFailure>(presented, "admin", (operator) => {
      this.#parts.schema.create();
      const { operators } = this.#parts;
      const isTaken = draft.email !== undefined && operators.findValidByEmail(draft.email) !== undefined;
      return isTaken ? fail({ code: "email_taken" }) : operators.issue(authorOf(operator), draft);
    });
  }

  /** The same for an operator with an address, which the `issueOperator` of release 1.0 would ignore. */
  issueOperatorWithEmail(presented: PresentedOperator, draft: KeyDraft & { email: string }) {
    return this.issueOperator(presented, draft);
  }

  /** One page of the operators, revoked and expired ones included, oldest first. */
  async listOperators(presented: PresentedOperator, query: KeyQuery): Listed<KeyPage> {
    const none = { page: { keys: [], next: null }, share: 0 };
    return this.#inTurn(presented, () => ok(this.#ifCreated(({ operators }) => operators.list(query), none)));
  }

  /** The operators with these numbers, each with the event that ended its key. */
  findOperators(presented: PresentedOperator, ids: readonly number[]): Answer<{ found: FoundKey[] }> {
    const find = () => this.#ifCreated(({ operators }) => operators.find(ids), []);
    return this.#as(presented, "viewer", () => ok({ found: find() }));
  }

  /** Revokes an operator's key. A key that is revoked already keeps its time. */
  revokeOperator(presented: PresentedOperator, id: number): Answer<object, FailureOf<"operator_not_found">> {
    return this.#as(presented, "admin", (operator) => {
      const isFound = this.#ifCreated(({ operators }) => operators.revoke(authorOf(operator), id), false);
      return isFound ? ok({}) : NO_OPERATOR;
    });
  }

  /** Issues a key with the same name, role, expiry and address, and revokes the old one after `graceSeconds`. */
  rollOperator(
    presented: PresentedOperator,
    id: number,
    roll: KeyRoll,
  ): Result<StoredKey & By, AdmitFailure | RollOperatorFailure> {
    return this.#as(presented, "admin", (operator) =>
      this.#ifCreated(({ operators }) => rollOperatorKey(operators, authorOf(operator), id, roll), NO_OPERATOR),
    );
  }

  /** What the frame of a page shows besides the operator: environments to switch to, those of its workspace first. */
  neighbours(presented: PresentedOperator, near: Environment | undefined): Answer<Neighbours> {
    const none = { names: [], exists: false };
    const read = () => ok(this.#ifCreated(({ environments }) => neighboursOf(environments, near), none));
    return this.#as(presented, "viewer", read);
  }

  /** Starts a session of the console for an operator, who presents a key or an address. The registry of 1.0 ignores `from`. */
  startConsoleSession(
    presented: PresentedOperator,
    session: PresentedConsoleSession,
    from?: SessionOrigin,
  ): Answer<object> {
    return this.#as(presented, "viewer", ({ id }) => {
      this.#parts.schema.create();
      this.ctx.storage.transactionSync(() => this.#parts.consoleSessions.start(session, id, from));
      return ok({});
    });
  }

  /** The sessions of the operator who presents this one. */
  listConsoleSessions(presented: InConsole): Answer<{ sessions: ListedConsoleSession[] }> {
    const { consoleSessions } = this.#parts;
    return this.#as(presented, "viewer", ({ id }) => ok({ sessions: consoleSessions.list(presented.key, id) }));
  }

  /** Ends sessions of the operator who presents this one. */
  endConsoleSessions(presented: InConsole, which: number | "current" | "all"): Answer<object> {
    return this.#as(presented, "viewer", ({ id }) => {
      this.#parts.consoleSessions.end(presented.key, id, which);
      return ok({});
    });
  }

  /** Admits an operator as `admit` does, for a form of the console, and notes the form. */
  admitForm(
    presented: InConsole,
    role: LadderRole,
    environment: Environment | undefined,
    formId: string,
  ): Answer<NotedForm, FailureOf<"environment_not_found">> {
    const operator = this.admit(presented, role, environment);
    if (!operator.ok) return operator;
    const noted = this.#parts.consoleSessions.noteForm(presented.key, formId);
    return noted.ok ? ok({ ...noted.value, operator: operator.value }) : noted;
  }

  /** One page of the deployment's own events, oldest first. */
  async listEvents(presented: PresentedOperator, query: EventQuery): Listed<EventPage, FailureOf<"cursor_expired">> {
    return this.#inTurn(presented, () =>
      this.#ifCreated(({ events }) => readEvents(events, query), readNoEvents(query)),
    );
  }

  /** One page of the deployment's own events, newest first. */
  async listNewestEvents(presented: PresentedOperator, query: NewestQuery): Listed<NewestPage> {
    return this.#inTurn(presented, () => ok(this.#ifCreated(({ events }) => readNewest(events, query), NO_NEWEST)));
  }

  /** One page of the registry's backup. It takes turns with lists. */
  async backup(
    presented: PresentedOperator,
    position: BackupPosition | undefined,
  ): Listed<BackupPage, FailureOf<"cursor_expired">> {
    const read = () => this.#ifCreated(({ backup }) => backup(position), ok(emptyRegistry(this.#parts.schema.number)));
    return this.#inTurn(presented, read, { minimum: "admin", isForBackups: true });
  }

  /** How far a restore of the registry has come, for an admin. */
  restoreProgress(presented: PresentedOperator): Answer<RestoreProgress> {
    return this.#as(presented, "admin", () => ok(this.#parts.restore.progress()));
  }

  /** Takes the next page of the registry's backup. The first one begins again from the start; after an invalid one nothing is left. */
  async restorePage(
    presented: PresentedOperator,
    page: RestorePage,
  ): Promise<Idempotent<Taken, AdmitFailure | RestoreFailure>> {
    const operator = this.#admit(presented, "admin");
    if (!operator.ok) return operator;
    return takePage(this.#parts.restore, page, () => this.#clear());
  }

  /** Gives up a restore of the registry, for an admin: nothing of it is left. */
  async abandonRestore(presented: PresentedOperator): Promise<void> {
    if (this.#admit(presented, "admin").ok && this.#parts.schema.isRestoring) await this.#clear();
  }

  async #clear(): Promise<RegistryParts> {
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
    this.#parts = registryPartsOf(this.ctx, this.env);
    return this.#parts;
  }

  /** Records that an environment was restored. With `isUnsigned`, no signature was checked; a Worker of 1.0 leaves it out. */
  noteRestored(presented: PresentedOperator, environment: Environment, isUnsigned = false): Result<By, AdmitFailure> {
    const details = { ...detailsOf(environment), ...(isUnsigned && { unsigned: true as const }) };
    return this.#as(presented, "admin", (operator) => {
      this.#parts.changes.commit(authorOf(operator), { type: "environment.restored", details }, () => undefined);
      return ok({});
    });
  }

  /** Remembers groups of an environment that were purged, for its directory. */
  bury(environment: string, tombstones: Tombstone[]): void {
    this.#parts.schema.create();
    this.ctx.storage.transactionSync(() => {
      for (const tombstone of tombstones) this.#parts.graveyard.bury(environment, tombstone);
    });
  }

  /** Which of these groups of an environment were purged, by their numbers. */
  purgedAmong(environment: string, groups: Tombstone[]): number[] {
    const purged = this.#ifCreated(({ graveyard }) => groups.filter((each) => graveyard.has(environment, each)), []);
    return purged.map(({ teamId }) => teamId);
  }

  /** Reads for an operator in its turn. */
  async #inTurn<Page extends object, Failure>(
    presented: PresentedOperator,
    read: () => Result<Read<Page>, Failure>,
    { minimum, isForBackups }: NeededRole = { minimum: "viewer", isForBackups: false },
  ): Listed<Page, Failure> {
    const readBy = (operator: Operator): Result<Read<Page & By>, Failure> => {
      const result = read();
      return result.ok ? ok({ ...result.value, page: { ...result.value.page, operator } }) : result;
    };
    return this.#turns.takeSteps(callerName(presented), () => this.#admit(presented, minimum, isForBackups), readBy);
  }

  /**
   * Reads each table, and probes the disk. Fails if the storage cannot be read, belongs to another release, is being restored, or takes
   * no more data.
   */
  checkStorage(): void {
    if (!this.#parts.schema.exists) return;
    const { environments, graveyard, operators, events, consoleSessions } = this.#parts;
    environments.page(0, 1);
    graveyard.page(0, 1);
    operators.list({ start: 0, limit: 1 });
    events.last();
    consoleSessions.list({ sessionHash: new ArrayBuffer(), bootstrapMac: null }, null);
    this.#parts.schema.probeDisk();
  }

  /** Writes to the disk, and keeps nothing. It fails if the disk is full or the database is damaged. */
  probeDisk(): void {
    this.#parts.schema.probeDisk();
    this.#parts.schema.checkIntegrity();
  }

  /** Before a call is tried again on a full disk. */
  stopNotingUse(): void {
    this.#parts.changes.notesUse = false;
  }

  /** The environment, unless an admin has erased it. */
  #find(environment: Environment): StoredEnvironment | undefined {
    const found = this.#findRow(environment);
    return found?.erasedAt === null ? found : undefined;
  }

  /** Whether an admin has erased the environment, and its directory may not be empty yet. */
  #isErased(environment: Environment): boolean {
    return typeof this.#findRow(environment)?.erasedAt === "number";
  }

  #findRow(environment: Environment) {
    return this.#ifCreated(({ environments }) => environments.findByName(directoryName(environment)), undefined);
  }

  /** Returns what `run` makes of the tables; `otherwise` while there are none. */
  #ifCreated<Value, Otherwise>(run: (parts: RegistryParts) => Value, otherwise: Otherwise): Value | Otherwise {
    return this.#parts.schema.exists ? run(this.#parts) : otherwise;
  }

  /** Runs `run` for an operator with `role`. The value names the operator, for the log. */
  #as<Value extends object, Failure>(
    presented: PresentedOperator,
    role: LadderRole,
    run: (operator: Operator) => Result<Value, Failure>,
  ): Result<Value & By, Failure | AdmitFailure> {
    const admitted = this.#admit(presented, role);
    if (!admitted.ok) return admitted;
    const result = run(admitted.value);
    return result.ok ? ok({ ...result.value, operator: admitted.value }) : result;
  }

  #admit(presented: PresentedOperator, minimum: LadderRole, isForBackups = false): Result<Operator, AdmitFailure> {
    const isKnown = presented.key === "bootstrap" || this.#parts.schema.exists;
    const needed = { minimum, isForBackups };
    return isKnown ? admitPresented(presented, needed, this.#parts) : fail({ code: "unauthenticated" });
  }

  /** The platform calls this when the alarm is due. */
  override async alarm(): Promise<void> {
    if (this.#parts.schema.isRestoring || !this.#parts.schema.exists) return;
    const { chores, erasures } = this.#parts;
    chores.run();
    if (await erasures.finishAll()) chores.scheduleNext();
  }
}

/** What the event of a change to an environment says of it. */
const detailsOf = ({ workspace, tag }: Environment) => ({ environment: { workspace, environment: tag } });
