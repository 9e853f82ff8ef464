import { DurableObject } from "cloudflare:workers";
import { KEYS_PER_ENVIRONMENT_MAX } from "../limits.ts";
import type { GroupSnapshot, ListedGroup, StoredKey } from "../records.ts";
import { EndedSessionStore } from "../storage/ended-session-store.ts";
import { EventStore } from "../storage/event-store.ts";
import { GroupStore } from "../storage/group-store.ts";
import { KeyStore } from "../storage/key-store.ts";
import { Schema } from "../storage/migrations.ts";
import { probeDisk } from "../storage/probe-disk.ts";
import { DIRECTORY_MIGRATIONS } from "../storage/schema.ts";
import { TombstoneStore } from "../storage/tombstone-store.ts";
import type { BackupPage, BackupPosition } from "./backup/backup.ts";
import { DirectoryBackup } from "./backup/directory-backup.ts";
import { directoryTarget } from "./backup/directory-restore.ts";
import { Restore, type RestoreFailure, type RestorePage, type RestoreProgress, type Taken } from "./backup/restore.ts";
import { ChangeLog } from "./change-log.ts";
import { Chores } from "./chores.ts";
import { type AdmitFailure, type Admitted, admitKey, admitOperator } from "./credentials/admission.ts";
import {
  authorOf,
  type Caller,
  type Operator,
  type PresentedKey,
  type PresentedSession,
  type PresentedToken,
  renameRefusal,
} from "./credentials/caller.ts";
import {
  type FoundKey,
  type KeyDraft,
  type KeyFailure,
  type KeyPage,
  type KeyQuery,
  type KeyRoll,
  Keys,
} from "./credentials/keys.ts";
import type { Scope } from "./credentials/rights.ts";
import { undoMsOf } from "./days.ts";
import { EndedSessions } from "./ended-sessions.ts";
import type { EventPage, EventQuery } from "./event.ts";
import type { FailureOf } from "./failure.ts";
import type { NewestPage, NewestQuery } from "./newest-events.ts";
import { registryStub } from "./placement.ts";
import { fail, ok, type Result } from "./result.ts";
import { Tombstones } from "./tombstones.ts";
import { type Read, type TurnFailure, Turns, type Waited } from "./turns.ts";
import { inState, type StateFailure } from "./user-groups/entity-tag.ts";
import type { GroupPage, PageQuery } from "./user-groups/group-page.ts";
import {
  type Changed,
  type EraseFailure,
  Groups,
  type RestoreOptions,
  type TokenFailure,
  type UpdateFailure,
  type ViewFailure,
} from "./user-groups/groups.ts";
import type { EndedLeases } from "./user-groups/lease-requests.ts";
import { mergedChanges } from "./user-groups/merge-patch.ts";
import { type EnvironmentOverview, type InspectedGroup, Overview } from "./user-groups/overview.ts";
import { type Conditions, type Outcome, Responses } from "./user-groups/responses.ts";
import {
  type GroupWithToken,
  type Guards,
  type RotatedWithToken,
  snapshotFor,
  toGroupWithToken,
  toListedGroup,
  toPublicGroup,
  toRotatedGroup,
  type UserGroupChanges,
  type UserGroupDraft,
  type ViewerAnswer,
} from "./user-groups/user-group.ts";

/** What a new session is made of. `keyEndsAt` is when the key that mints it ends, or `null`. */
export type NewSession = {
  readAt: number;
  group: GroupSnapshot;
  generation: ArrayBuffer;
  keyEndsAt: number | null;
  /** The number of the newest event: what ends sessions later has a higher one. */
  seq: number;
};

/** Which sessions to end. */
export type SessionsToEnd =
  | ({ kind: "session" } & PresentedSession)
  | { kind: "person"; providedId: string; viewerId: string }
  | { kind: "group"; providedId: string };

type ListFailure = AdmitFailure | TurnFailure;
type OnceFailure = AdmitFailure | FailureOf<"idempotency_key_reused" | "environment_full">;

/** What a directory is made of. What it remembers of its database goes with it. */
type Parts = {
  schema: Schema;
  groups: Groups;
  keys: Keys;
  responses: Responses;
  changes: ChangeLog;
  endedSessions: EndedSessions;
  chores: Chores;
  tombstones: Tombstones;
  overview: Overview;
  backup: DirectoryBackup;
  restore: Restore;
};

function partsOf(ctx: DurableObjectState, env: Env): Parts {
  const { sql } = ctx.storage;
  const store = new GroupStore(sql);
  const keyStore = new KeyStore(sql, "api_keys");
  const tombstoneStore = new TombstoneStore(sql);
  const stores = {
    groups: store,
    keys: keyStore,
    events: new EventStore(sql),
    endedSessions: new EndedSessionStore(sql),
  };
  const changes = new ChangeLog(ctx.storage, env, (dueAt) => chores.schedule(dueAt));
  const responses = new Responses(sql, store, changes);
  const schema = new Schema(ctx.storage, DIRECTORY_MIGRATIONS);
  const groups = new Groups({ store, tombstones: tombstoneStore }, changes, responses, undoMsOf(env));
  const endedSessions = new EndedSessions(sql, changes);
  const tombstones = new Tombstones(tombstoneStore, (purged) => registryStub(env).bury(ctx.id.name ?? "", purged));
  const chores = new Chores(
    [responses.purge, changes.purge, groups.purge, responses.purgeEnded, endedSessions.sweep, tombstones.chore],
    (time) => void ctx.waitUntil(ctx.storage.setAlarm(time)),
  );
  return {
    schema,
    groups,
    keys: new Keys("api_key", keyStore, changes, KEYS_PER_ENVIRONMENT_MAX),
    responses,
    changes,
    endedSessions,
    chores,
    tombstones,
    overview: new Overview(stores, sql),
    backup: new DirectoryBackup(stores, schema.number),
    restore: new Restore(ctx.storage, schema, directoryTarget(stores, tombstoneStore)),
  };
}

/**
 * The user groups and API keys of one environment, and the only authority on them. Every RPC method is synchronous: nothing
 * runs between its reads and its writes, so ids stay unique, and of two racing rotations one is refused. The platform sends
 * an answer only after the writes before it are durable ("output gates").
 *
 * Each method that takes a `caller` checks that API key first, so a revoked key is refused from then on. An environment
 * has no tables until its first API key is issued; until then every call is refused without writing anything.
 */
export class GroupDirectory extends DurableObject<Env> {
  #parts: Parts;
  readonly #turns = new Turns();

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#parts = partsOf(ctx, env);
  }

  get #schema(): Schema {
    return this.#parts.schema;
  }

  get #groups(): Groups {
    return this.#parts.groups;
  }

  get #keys(): Keys {
    return this.#parts.keys;
  }

  get #responses(): Responses {
    return this.#parts.responses;
  }

  get #changes(): ChangeLog {
    return this.#parts.changes;
  }

  get #endedSessions(): EndedSessions {
    return this.#parts.endedSessions;
  }

  /** Gets the group with the draft's id as it is, or creates it if the key has `groups:write`. */
  ensure(
    caller: Caller,
    draft: UserGroupDraft,
  ): Result<
    { created: boolean; group: GroupWithToken },
    AdmitFailure | FailureOf<"user_group_not_found" | "environment_full">
  > {
    const admitted = this.#admit(caller, "groups:read");
    if (!admitted.ok) return admitted;
    const { author, may } = admitted.value;
    const known = this.#groups.findByProvidedId(draft.providedId);
    if (!known && !may("groups:write")) return fail({ code: "user_group_not_found" });
    const group = known ? ok(known) : this.#groups.create(author, draft);
    if (!group.ok) return group;
    return ok({ created: !known, group: toGroupWithToken(group.value, { mayReadToken: may("tokens:read") }) });
  }

  /** Changes the given fields. An update that changes nothing writes nothing. */
  update(
    caller: Caller,
    providedId: string,
    changes: UserGroupChanges,
    { ifMatch }: Pick<Conditions, "ifMatch">,
  ): Result<GroupWithToken & EndedLeases, AdmitFailure | StateFailure | UpdateFailure> {
    const admitted = this.#admit(caller, "groups:write");
    if (!admitted.ok) return admitted;
    const { author, may } = admitted.value;
    const found = inState(this.#groups.findByProvidedId(providedId), ifMatch);
    if (!found.ok) return found;
    const updated = this.#groups.update(author, found.value, changes);
    if (!updated.ok) return updated;
    const { group, endedLeases } = updated.value;
    return ok({ ...toGroupWithToken(group, { mayReadToken: may("tokens:read") }), endedLeases });
  }

  /** The same for the group with this number, or a merge patch of it. The answer never has a token. */
  updateByNumber(
    caller: Caller,
    teamId: number,
    changes: UserGroupChanges,
    { ifMatch, isMergePatch }: Pick<Conditions, "ifMatch"> & { isMergePatch: boolean },
  ): Result<ListedGroup & EndedLeases, AdmitFailure | StateFailure | UpdateFailure | FailureOf<"invalid_body">> {
    const refusal = renameRefusal(caller, changes.newProvidedId);
    if (refusal) return fail(refusal);
    const admitted = this.#admit(caller, "groups:write");
    if (!admitted.ok) return admitted;
    const found = inState(this.#groups.find(teamId), ifMatch);
    if (!found.ok) return found;
    const replacing = isMergePatch ? mergedChanges(found.value, changes) : ok(changes);
    if (!replacing.ok) return replacing;
    const updated = this.#groups.update(admitted.value.author, found.value, replacing.value);
    if (!updated.ok) return updated;
    const { group, endedLeases } = updated.value;
    return ok({ ...toListedGroup(group), endedLeases });
  }

  /**
   * Replaces the current token by a new one. Viewers may present the old token for `graceSeconds` more; for all else it has
   * ended. A repeated call with the same Idempotency-Key gets the same answer, whatever has happened to the group since.
   */
  rotateToken(
    caller: Caller,
    current: PresentedToken | undefined,
    graceSeconds: number,
    { ifMatch, idempotency }: Conditions,
  ): Result<RotatedWithToken & Outcome, OnceFailure | TokenFailure> {
    const admitted = this.#admit(caller, "tokens:rotate");
    if (!admitted.ok) return admitted;
    const { author, keyId, may } = admitted.value;
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

  /** Replaces the token of the group with this number. The answer does not have the new one. */
  rotateByNumber(
    caller: Caller,
    teamId: number,
    graceSeconds: number,
    conditions: Conditions,
  ): Result<ListedGroup & Outcome, OnceFailure | StateFailure> {
    return this.#onceByNumber(caller, "tokens:rotate", conditions, ({ author }) => {
      const found = inState(this.#groups.find(teamId), conditions.ifMatch);
      return found.ok ? ok(this.#groups.rotate(author, found.value, graceSeconds)) : found;
    });
  }

  /** Deletes the group with this current token, unless a guard names another group or another data source. */
  remove(
    caller: Caller,
    current: PresentedToken | undefined,
    guards: Guards,
    { ifMatch, idempotency }: Conditions,
  ): Result<Outcome, OnceFailure | TokenFailure | FailureOf<"user_group_mismatch">> {
    const admitted = this.#admit(caller, "groups:delete");
    if (!admitted.ok) return admitted;
    const { author, keyId } = admitted.value;
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

  /** Deletes the group with this number. The answer is the deleted group. */
  removeByNumber(
    caller: Caller,
    teamId: number,
    conditions: Conditions,
  ): Result<ListedGroup & Outcome, OnceFailure | StateFailure> {
    return this.#onceByNumber(caller, "groups:delete", conditions, ({ author }) => {
      const found = inState(this.#groups.find(teamId), conditions.ifMatch);
      return found.ok ? ok(this.#groups.delete(author, found.value)) : found;
    });
  }

  /**
   * Moves a deleted group back as it was, with its token, unless another group has its id now. A group that exists stays as
   * it is. With `rotateToken` it gets a new token, and the old one stays revoked.
   */
  restore(
    caller: Caller,
    teamId: number,
    options: RestoreOptions,
    conditions: Pick<Conditions, "idempotency">,
  ): Result<ListedGroup & Outcome, OnceFailure | FailureOf<"user_group_not_found" | "user_group_id_taken">> {
    const refusal = renameRefusal(caller, options.newProvidedId);
    if (refusal) return fail(refusal);
    return this.#onceByNumber(caller, "groups:write", conditions, ({ author }) =>
      this.#groups.restore(author, teamId, options),
    );
  }

  /** Erases a deleted group now. Its events stay, which have its ids and nothing else of it. A repeat finds no group. */
  purge(
    caller: Caller,
    teamId: number,
    { idempotency }: Pick<Conditions, "idempotency">,
  ): Result<undefined, OnceFailure | EraseFailure> {
    const admitted = this.#admit(caller, "groups:delete");
    if (!admitted.ok) return admitted;
    // Nothing is stored about a purged group. The key may belong to another call.
    const stored = this.#responses.find(idempotency);
    if (!stored.ok) return stored;
    return this.#groups.erase(admitted.value.author, teamId);
  }

  /**
   * The group as the viewer with this token sees it. A token with a valid signature that belongs to no group was valid once.
   * With `acceptsStale` the answer may ask the Worker to write a lease.
   */
  view(viewer: PresentedToken, acceptsStale: boolean): Result<ViewerAnswer, ViewFailure> {
    const readAt = Date.now();
    if (!this.#schema.exists) return fail({ code: "credential_revoked" });
    const group = this.#groups.see(viewer.id, viewer, readAt);
    if (!group.ok) return group;
    const writeLease = acceptsStale && this.#groups.shouldWriteLease(viewer, readAt);
    return ok({ readAt, group: group.value, writeLease });
  }

  /** What a session for viewers of the group with this id is made of. It changes no group, so the call can be repeated. */
  startSession(
    caller: Caller,
    providedId: string,
  ): Result<NewSession, AdmitFailure | FailureOf<"user_group_not_found" | "user_group_suspended">> {
    const admitted = this.#admit(caller, "sessions:create");
    if (!admitted.ok) return admitted;
    const found = this.#groups.findByProvidedId(providedId);
    if (!found) return fail({ code: "user_group_not_found" });
    if (found.suspendedAt !== null) return fail({ code: "user_group_suspended" });
    this.#groups.noteView(found, Date.now());
    const group = { ...toPublicGroup(found), validUntil: null };
    const keyEndsAt = this.#keys.endOf(admitted.value.keyId);
    return ok({ readAt: Date.now(), group, generation: found.generation, keyEndsAt, seq: this.#changes.newestId });
  }

  /** The group as the viewer with this session sees it. The key that minted the session must still be valid. */
  viewSession(session: PresentedSession): Result<GroupSnapshot, ViewFailure> {
    return this.#schema.exists && this.#isValid(session)
      ? this.#groups.see(session.teamId, { generation: session.generation }, Date.now())
      : fail({ code: "credential_revoked" });
  }

  /** Whether the key that minted a session is valid, and neither the session nor those of its person were ended. */
  #isValid(session: PresentedSession): boolean {
    return this.#keys.findValid(session.keyId) !== undefined && !this.#endedSessions.has(session);
  }

  /** Ends one session, a person's, or all of a group's. A session that no longer views is left as it is. */
  endSessions(
    caller: Caller,
    ending: SessionsToEnd,
  ): Result<undefined, AdmitFailure | FailureOf<"user_group_not_found">> {
    const admitted = this.#admit(caller, "sessions:create");
    if (!admitted.ok) return admitted;
    const { author } = admitted.value;
    if (ending.kind === "session") {
      // A deleted group can be restored, and its sessions with it.
      const group = this.#groups.find(ending.teamId) ?? this.#groups.findDeleted(ending.teamId);
      const { id: sessionId, viewerId } = ending;
      const isOver =
        !this.#isValid(ending) || !group || !snapshotFor(group, { generation: ending.generation }, Date.now());
      if (!isOver) this.#endedSessions.end(author, { group, sessionId, viewerId });
      return ok(undefined);
    }
    const group = this.#groups.findByProvidedId(ending.providedId);
    if (!group) return fail({ code: "user_group_not_found" });
    if (ending.kind === "group") this.#groups.endSessions(author, group);
    else this.#endedSessions.end(author, { group, viewerId: ending.viewerId });
    return ok(undefined);
  }

  /** One page of the groups. Lists take turns, so that viewers are answered between them. */
  async list(caller: Caller, query: PageQuery): Promise<Result<Waited<GroupPage>, ListFailure>> {
    return this.#inTurn(caller, "groups:read", () => ok(this.#groups.list(query)));
  }

  /** One group as lists show it: of those that exist, or of the deleted ones. */
  show(
    caller: Caller,
    teamId: number,
    from: "existing" | "deleted",
  ): Result<ListedGroup, AdmitFailure | FailureOf<"user_group_not_found">> {
    const admitted = this.#admit(caller, "groups:read");
    if (!admitted.ok) return admitted;
    const group = from === "deleted" ? this.#groups.findDeleted(teamId) : this.#groups.find(teamId);
    return group ? ok(toListedGroup(group)) : fail({ code: "user_group_not_found" });
  }

  /** One page of the events, oldest first. It takes turns with lists. For `withGroups` the caller needs `groups:read` too. */
  async listEvents(
    caller: Caller,
    query: EventQuery,
  ): Promise<Result<Waited<EventPage>, ListFailure | FailureOf<"cursor_expired">>> {
    const admitted = query.withGroups ? this.#admit(caller, "groups:read") : undefined;
    if (admitted && !admitted.ok) return admitted;
    return this.#inTurn(caller, "events:read", () => {
      const read = this.#changes.read(query);
      return read.ok && query.withGroups ? ok(this.#groups.addTo(read.value)) : read;
    });
  }

  /** One page of the events, newest first. */
  async listNewestEvents(caller: Caller, query: NewestQuery): Promise<Result<Waited<NewestPage>, ListFailure>> {
    return this.#inTurn(caller, "events:read", () => ok(this.#changes.readNewest(query)));
  }

  /** Writes to the disk, and keeps nothing. It fails if the disk is full. */
  probeDisk(): void {
    probeDisk(this.ctx.storage);
  }

  /** Before a call is tried again on a full disk. */
  stopNotingUse(): void {
    this.#keys.stopNotingUse();
    this.#groups.stopNotingUse();
  }

  /** How the environment is: its size, its groups, the keys that somebody should look at. It takes turns with lists. */
  async overview(operator: Operator): Promise<Result<Waited<EnvironmentOverview>, ListFailure>> {
    return this.#inTurn(operator, undefined, () => ok(this.#parts.overview.read(Date.now())));
  }

  /** A group, of those that exist or of the deleted ones, with its newest events. */
  inspect(
    operator: Operator,
    teamId: number,
  ): Result<InspectedGroup, AdmitFailure | FailureOf<"user_group_not_found">> {
    const admitted = this.#admit(operator, "groups:read");
    if (!admitted.ok) return admitted;
    const group = this.#groups.find(teamId) ?? this.#groups.findDeleted(teamId);
    if (!group) return fail({ code: "user_group_not_found" });
    return ok({ group: toListedGroup(group), events: this.#parts.overview.eventsOf(teamId) });
  }

  /** Only checks the caller: before a call is refused for its content, so that a stranger learns nothing about it. */
  checkCaller(caller: Caller, scope: Scope | undefined): Result<undefined, AdmitFailure> {
    const admitted = this.#admit(caller, scope);
    return admitted.ok ? ok(undefined) : admitted;
  }

  /** The API key that calls. */
  identify(key: PresentedKey): Result<StoredKey, KeyFailure> {
    return this.#schema.exists ? this.#keys.authenticate(key) : fail({ code: "unauthenticated" });
  }

  // The calls of operators alone, whom the registry has admitted.

  /** Issues an API key. The first one of an environment creates its tables. */
  issueKey(operator: Operator, draft: KeyDraft): Result<StoredKey, FailureOf<"environment_full">> {
    this.#schema.create();
    return this.#keys.issue(authorOf(operator), draft);
  }

  /** One page of the API keys, revoked and expired ones included. It takes turns with lists. */
  async listKeys(caller: Caller, query: KeyQuery): Promise<Result<Waited<KeyPage>, ListFailure>> {
    if (!this.#schema.exists) return ok({ keys: [], next: null, hasWaited: false });
    return this.#inTurn(caller, undefined, () => ok(this.#keys.list(query)));
  }

  /** The API keys with these numbers, each with the event that ended it, for an operator whom the registry has admitted. */
  findKeys(operator: Operator, ids: readonly number[]): Result<FoundKey[], AdmitFailure> {
    const admitted = this.#admit(operator, undefined);
    return admitted.ok ? ok(this.#keys.find(ids)) : admitted;
  }

  /** Whether no API key was issued yet. */
  hasNoKeys(): boolean {
    return !this.#schema.exists || this.#keys.isEmpty();
  }

  /** Revokes an API key. A key that is revoked already keeps its time. */
  revokeKey(operator: Operator, id: number): Result<undefined, FailureOf<"api_key_not_found">> {
    const isFound = this.#schema.exists && this.#keys.revoke(authorOf(operator), id);
    return isFound ? ok(undefined) : fail({ code: "api_key_not_found" });
  }

  /** Issues a key with the same name, rights and expiry, and revokes the old one after `graceSeconds`. */
  rollKey(
    operator: Operator,
    id: number,
    roll: KeyRoll,
  ): Result<StoredKey, FailureOf<"api_key_not_found" | "environment_full">> {
    if (!this.#schema.exists) return fail({ code: "api_key_not_found" });
    return this.#keys.roll(authorOf(operator), id, roll) ?? fail({ code: "api_key_not_found" });
  }

  /** Reads for a caller in its turn. An operator who has waited has to be admitted by the registry again. */
  async #inTurn<Page extends object, Failure>(
    caller: Caller,
    scope: Scope | undefined,
    read: () => Result<Read<Page>, Failure>,
  ): Promise<Result<Waited<Page>, Failure | ListFailure>> {
    return this.#turns.takeAdmitted(`${caller.kind} ${caller.id}`, () => this.#admit(caller, scope), read);
  }

  /** Admits an API key that is valid and has `scope`, if one is needed. The registry has admitted operators. */
  #admit(caller: Caller, scope: Scope | undefined): Result<Admitted, AdmitFailure> {
    if (caller.kind === "operator")
      return this.#schema.exists ? ok(admitOperator(caller)) : fail({ code: "environment_not_found" });
    const key = this.identify(caller);
    return key.ok ? admitKey(key.value, caller, scope) : key;
  }

  /** Runs a call by number, of a caller with `scope`, whose answer is the group as lists show it. */
  #onceByNumber<Failure>(
    caller: Caller,
    scope: Scope,
    { idempotency }: Conditions,
    run: (admitted: Admitted) => Result<Changed, Failure>,
  ): Result<ListedGroup & Outcome, Failure | OnceFailure> {
    const admitted = this.#admit(caller, scope);
    if (!admitted.ok) return admitted;
    const { keyId } = admitted.value;
    const runAndList = () => {
      const changed = run(admitted.value);
      if (!changed.ok) return changed;
      const { group, endedLeases } = changed.value;
      return ok({ response: { kind: "listed", group: toListedGroup(group) } as const, endedLeases });
    };
    const outcome = this.#responses.once(idempotency, { kind: "listed", keyId, run: runAndList });
    if (!outcome.ok) return outcome;
    const { response, endedLeases, isReplay } = outcome.value;
    return ok({ ...response.group, endedLeases, isReplay });
  }

  /** One page of a backup. It takes turns with lists. */
  async backup(
    operator: Operator,
    position: BackupPosition | undefined,
  ): Promise<Result<Waited<BackupPage>, ListFailure | FailureOf<"cursor_expired">>> {
    return this.#inTurn(operator, undefined, () => this.#parts.backup.read(position));
  }

  /** How far a restore has come. */
  restoreProgress(): RestoreProgress {
    return this.#parts.restore.progress();
  }

  /** Takes the next page of a backup. The first one begins again from the start; after an invalid one nothing is left. */
  async restorePage(page: RestorePage): Promise<Result<Taken, RestoreFailure>> {
    const refusal = this.#parts.restore.refusalOf(page);
    if (refusal === "repeated") return ok({ isDone: this.#parts.restore.progress().isDone, isRepeated: true });
    if (refusal) return fail(refusal);
    if (page.number === 1) await this.#erase();
    const taken = this.#parts.restore.take(page);
    if (!taken.ok) await this.#erase();
    else if (taken.value.isDone) this.#changes.schedule(Date.now());
    return taken;
  }

  /** Gives up a restore: nothing of it is left. */
  async abandonRestore(): Promise<void> {
    if (this.#schema.isRestoring) await this.#erase();
  }

  /** Deletes everything, for the registry: groups, keys, events and the alarm. Purged groups stay purged. */
  async erase(): Promise<void> {
    // While a backup is restored, the tables may be read by nobody but the restore, and nothing is purged.
    if (!this.#schema.isRestoring && this.#schema.exists) await this.#parts.tombstones.handOverAll();
    await this.#erase();
  }

  async #erase(): Promise<void> {
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
    this.#parts = partsOf(this.ctx, this.env);
  }

  /** The platform calls this when the alarm is due. */
  override async alarm(): Promise<void> {
    if (this.#schema.isRestoring || !this.#schema.exists) return;
    const { chores, tombstones } = this.#parts;
    chores.run();
    if (await tombstones.handOver()) chores.settle();
  }
}
