import { DurableObject } from "cloudflare:workers";
import { GROUPS_PER_PURGE_MAX, KEYS_PER_ENVIRONMENT_MAX, UNDO_DAYS_DEFAULT } from "../limits.ts";
import type {
  GroupSnapshot,
  Lease,
  RotatedGroup,
  Scope,
  ShownGroup,
  StoredKey,
  StoredResponse,
  UserGroup,
} from "../records.ts";
import { GroupStore } from "../storage/group-store.ts";
import { KeyStore } from "../storage/key-store.ts";
import { Schema } from "../storage/migrations.ts";
import { ResponseStore } from "../storage/response-store.ts";
import { DIRECTORY_MIGRATIONS } from "../storage/schema.ts";
import { ChangeLog } from "./change-log.ts";
import { type Chore, Chores } from "./chores.ts";
import { type Caller, operatorAuthor, type PresentedKey, renameRefusal } from "./credentials/caller.ts";
import { sameBytes } from "./credentials/credential.ts";
import { isRevoked, type KeyDraft, type KeyFailure, type KeyPage, type KeyQuery, Keys } from "./credentials/keys.ts";
import { grantOf } from "./credentials/rights.ts";
import { daysToMs } from "./days.ts";
import {
  type Author,
  type ChangeDescription,
  changedFields,
  type EventPage,
  type EventQuery,
  updateDetails,
  updateType,
} from "./event.ts";
import type { FailureOf } from "./failure.ts";
import { fail, ok, type Result } from "./result.ts";
import { type Read, type TurnFailure, Turns, type Waited } from "./turns.ts";
import { allowsChange, type IfMatch } from "./user-groups/entity-tag.ts";
import { type GroupPage, type PageQuery, readPage } from "./user-groups/group-page.ts";
import { LeaseRequests } from "./user-groups/lease-requests.ts";
import { type IdempotencyRecord, Responses } from "./user-groups/responses.ts";
import {
  bytesOf,
  type GroupView,
  mapsTo,
  NO_GRACE,
  newToken,
  snapshotFor,
  toGroupView,
  toRotatedGroup,
  type UserGroupChanges,
  type UserGroupDraft,
  withChanges,
} from "./user-groups/user-group.ts";

/** A token whose signature the Worker has checked. `id` is the number of its group. */
export type PresentedToken = { id: number; nonce: Uint8Array };

/** A viewer session whose signature the Worker has checked. */
export type PresentedSession = { teamId: number; generation: Uint8Array; keyId: number };

/** What a new session is made of. `keyEndsAt` is when the key that mints it ends, or `null`. */
export type NewSession = { group: GroupSnapshot; generation: ArrayBuffer; keyEndsAt: number | null };

/** The answer to a viewer. With `writeLease` the directory asks the Worker to write it to KV. */
export type View = Lease & { writeLease: boolean };

/** The answer to a rotation. Without a `nonce` it shows no token. */
export type RotatedView = Omit<RotatedGroup, "nonce"> & { nonce: ArrayBuffer | undefined };

/** The nonces of tokens that a call has ended, and for which KV may hold a lease. */
export type EndedLeases = { endedLeases: ArrayBuffer[] };

/** The outcome of a call that can have an Idempotency-Key: of a repeat, the response to the first one. */
export type Outcome = EndedLeases & { isReplay: boolean };

/** The outcome of a first call, with the response to store. */
type FirstOutcome = EndedLeases & Pick<StoredResponse, "response">;

/** A caller that may make its call: who it is in events, the API key by its number, and what else the key may do. */
type Admitted = { author: Author; keyId: number | null; may: (scope: Scope) => boolean };

type AdmitFailure = KeyFailure | FailureOf<"insufficient_access" | "environment_not_found">;
type ListFailure = AdmitFailure | TurnFailure;
type OnceFailure = AdmitFailure | FailureOf<"idempotency_key_reused" | "environment_full">;
type TokenFailure = FailureOf<"user_group_not_found" | "token_superseded" | "revision_mismatch">;
type NumberFailure = AdmitFailure | FailureOf<"user_group_not_found" | "revision_mismatch">;
type UpdateFailure = FailureOf<"revision_mismatch" | "user_group_id_taken" | "environment_full">;

/**
 * The user groups and API keys of one environment, and the only authority on them. Every RPC method is synchronous: nothing
 * runs between its reads and its writes, so ids stay unique, and of two racing rotations one is refused. The platform sends
 * an answer only after the writes before it are durable ("output gates").
 *
 * Each method that takes a `caller` checks that API key first, so a revoked key is refused from then on. An environment
 * has no tables until its first API key is issued; until then every call is refused without writing anything.
 */
export class GroupDirectory extends DurableObject<Env> {
  readonly #schema: Schema;
  readonly #groups: GroupStore;
  readonly #keys: Keys;
  readonly #responses: Responses;
  readonly #changes: ChangeLog;
  readonly #leases = new LeaseRequests();
  readonly #turns = new Turns();
  readonly #chores: Chores;
  /** For how long a deleted group can be restored. */
  readonly #undoMs: number;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#schema = new Schema(ctx.storage, DIRECTORY_MIGRATIONS);
    this.#groups = new GroupStore(ctx.storage.sql);
    this.#keys = new Keys(new KeyStore(ctx.storage.sql, "api_keys"), KEYS_PER_ENVIRONMENT_MAX);
    this.#responses = new Responses(new ResponseStore(ctx.storage.sql), this.#groups);
    this.#changes = new ChangeLog(ctx.storage, env);
    this.#undoMs = daysToMs(env.UNDO_DAYS, UNDO_DAYS_DEFAULT);
    this.#chores = new Chores(
      [this.#responses.purge, this.#changes.purge, this.#purgeDeleted(), this.#responses.purgeEnded],
      (time) => void ctx.waitUntil(ctx.storage.setAlarm(time)),
    );
  }

  /** Gets the group with the draft's id as it is, or creates it if the key has `groups:write`. */
  ensure(
    caller: Caller,
    draft: UserGroupDraft,
  ): Result<
    { created: boolean; group: GroupView },
    AdmitFailure | FailureOf<"user_group_not_found" | "environment_full">
  > {
    const admitted = this.#admit(caller, "groups:read");
    if (!admitted.ok) return admitted;
    const { author, may } = admitted.value;
    const mayReadToken = may("tokens:read");

    const known = this.#groups.findByProvidedId(draft.providedId);
    if (known) return ok({ created: false, group: toGroupView(known, { mayReadToken }) });
    if (!may("groups:write")) return fail({ code: "user_group_not_found" });
    if (this.#changes.isFull) return fail({ code: "environment_full" });

    const fresh = {
      providedId: draft.providedId,
      name: draft.name ?? draft.providedId,
      mapping: draft.mapping ?? null,
      properties: draft.properties ?? null,
      ...newToken(),
      ...NO_GRACE,
      suspendedAt: null,
      revision: 1,
    };
    const group = this.#commit(author, (record) => {
      const created = this.#groups.insert(fresh, Date.now());
      record({ type: "user_group.created", group: created });
      return created;
    });
    return ok({ created: true, group: toGroupView(group, { mayReadToken }) });
  }

  /** Changes the given fields if `ifMatch` allows it. An update that changes nothing writes nothing. */
  update(
    caller: Caller,
    providedId: string,
    changes: UserGroupChanges,
    ifMatch: IfMatch | undefined,
  ): Result<GroupView & EndedLeases, AdmitFailure | FailureOf<"user_group_not_found"> | UpdateFailure> {
    const admitted = this.#admit(caller, "groups:write");
    if (!admitted.ok) return admitted;
    const { author, may } = admitted.value;

    const group = this.#groups.findByProvidedId(providedId);
    if (!group) return fail({ code: "user_group_not_found" });
    const updated = this.#update(author, group, changes, ifMatch);
    if (!updated.ok) return updated;
    const { after, endedLeases } = updated.value;
    return ok({ ...toGroupView(after, { mayReadToken: may("tokens:read") }), endedLeases });
  }

  /** The same for the group with this number. The answer never has a token. */
  updateByNumber(
    caller: Caller,
    teamId: number,
    changes: UserGroupChanges,
    ifMatch: IfMatch | undefined,
  ): Result<ShownGroup & EndedLeases, NumberFailure | UpdateFailure> {
    const refusal = renameRefusal(caller, changes.newProvidedId);
    if (refusal) return fail(refusal);
    const admitted = this.#admit(caller, "groups:write");
    if (!admitted.ok) return admitted;
    const group = this.#groups.findByTeamId(teamId);
    if (!group) return fail({ code: "user_group_not_found" });
    const updated = this.#update(admitted.value.author, group, changes, ifMatch);
    if (!updated.ok) return updated;
    const { after, endedLeases } = updated.value;
    return ok({ ...this.#shown(after), endedLeases });
  }

  /**
   * Replaces the current token by a new one. Viewers may present the old token for `graceSeconds` more; for all else it has
   * ended. A repeated call with the same Idempotency-Key gets the same answer, whatever has happened to the group since.
   */
  rotateToken(
    caller: Caller,
    current: PresentedToken | undefined,
    { graceSeconds, ifMatch }: { graceSeconds: number; ifMatch: IfMatch | undefined },
    idempotency: IdempotencyRecord | undefined,
  ): Result<RotatedView & Outcome, OnceFailure | TokenFailure> {
    const admitted = this.#admit(caller, "tokens:rotate");
    if (!admitted.ok) return admitted;
    const { author, keyId, may } = admitted.value;
    const outcome = this.#once(keyId, idempotency, () => {
      const group = this.#findByCurrentToken(current, ifMatch);
      if (!group.ok) return group;
      const { rotated, endedLeases } = this.#rotate(author, group.value, graceSeconds);
      const response = { kind: "rotated", group: toRotatedGroup(rotated, idempotency?.signingId) } as const;
      return ok({ response, endedLeases });
    });
    if (!outcome.ok) return outcome;
    const { response, keyId: firstKeyId, ...rest } = outcome.value;
    if (response.kind !== "rotated") return fail({ code: "idempotency_key_reused" });
    const mayReadToken = firstKeyId === keyId || may("tokens:read");
    return ok({ ...response.group, nonce: mayReadToken ? response.group.nonce : undefined, ...rest });
  }

  /** Replaces the token of the group with this number. The answer does not have the new one. */
  rotateByNumber(
    caller: Caller,
    teamId: number,
    { graceSeconds, ifMatch }: { graceSeconds: number; ifMatch: IfMatch | undefined },
    idempotency: IdempotencyRecord | undefined,
  ): Result<ShownGroup & Outcome, OnceFailure | NumberFailure> {
    return this.#onceByNumber(caller, "tokens:rotate", idempotency, ({ author }) => {
      const group = this.#findByNumber(teamId, ifMatch);
      if (!group.ok) return group;
      const { rotated, endedLeases } = this.#rotate(author, group.value, graceSeconds);
      return ok({ ...this.#shown(rotated), endedLeases });
    });
  }

  /** Deletes the group with this current token, unless a guard names another group or another data source. */
  remove(
    caller: Caller,
    current: PresentedToken | undefined,
    guards: { providedId?: string | undefined; dataSource?: string | undefined; ifMatch?: IfMatch | undefined },
    idempotency: IdempotencyRecord | undefined,
  ): Result<Outcome, OnceFailure | TokenFailure | FailureOf<"user_group_mismatch">> {
    const admitted = this.#admit(caller, "groups:delete");
    if (!admitted.ok) return admitted;
    const { author, keyId } = admitted.value;
    const remove = (): Result<FirstOutcome, TokenFailure | FailureOf<"user_group_mismatch">> => {
      const found = this.#findByCurrentToken(current, guards.ifMatch);
      if (!found.ok) return found;
      const group = found.value;
      const { providedId = group.providedId, dataSource } = guards;
      if (providedId !== group.providedId) return fail({ code: "user_group_mismatch", guard: "user_group_id" });
      if (dataSource !== undefined && !mapsTo(group, dataSource))
        return fail({ code: "user_group_mismatch", guard: "data_source_provided_id" });
      const response = { kind: "removed", teamId: group.teamId } as const;
      return ok({ response, endedLeases: this.#delete(author, group) });
    };
    const outcome = this.#once(keyId, idempotency, remove);
    if (!outcome.ok) return outcome;
    const { endedLeases, isReplay } = outcome.value;
    return ok({ endedLeases, isReplay });
  }

  /** Deletes the group with this number. The answer is the deleted group. */
  removeByNumber(
    caller: Caller,
    teamId: number,
    ifMatch: IfMatch | undefined,
    idempotency: IdempotencyRecord | undefined,
  ): Result<ShownGroup & Outcome, OnceFailure | NumberFailure> {
    return this.#onceByNumber(caller, "groups:delete", idempotency, ({ author }) => {
      const group = this.#findByNumber(teamId, ifMatch);
      if (!group.ok) return group;
      const endedLeases = this.#delete(author, group.value);
      return ok({ ...this.#shown({ teamId, revision: group.value.revision + 1 }, "deleted"), endedLeases });
    });
  }

  /**
   * Moves a deleted group back as it was, with its token, unless another group has its id now. A group that exists stays as
   * it is. With `rotateToken` it gets a new token, and the old one stays revoked.
   */
  restore(
    caller: Caller,
    teamId: number,
    options: { newProvidedId?: string | undefined; rotateToken: boolean },
    idempotency: IdempotencyRecord | undefined,
  ): Result<ShownGroup & Outcome, OnceFailure | FailureOf<"user_group_not_found" | "user_group_id_taken">> {
    const refusal = renameRefusal(caller, options.newProvidedId);
    if (refusal) return fail(refusal);
    return this.#onceByNumber(caller, "groups:write", idempotency, ({ author }) => {
      const group = this.#groups.findByTeamId(teamId);
      const restored = group ? ok(group) : this.#restore(author, teamId, options);
      return restored.ok ? ok({ ...this.#shown(restored.value), endedLeases: [] }) : restored;
    });
  }

  /** Erases a deleted group now. Its events stay, which have its ids and nothing else of it. A repeat finds no group. */
  purge(
    caller: Caller,
    teamId: number,
    idempotency: IdempotencyRecord | undefined,
  ): Result<
    undefined,
    AdmitFailure | FailureOf<"user_group_not_found" | "user_group_not_deleted" | "idempotency_key_reused">
  > {
    const admitted = this.#admit(caller, "groups:delete");
    if (!admitted.ok) return admitted;
    // Nothing is stored about a purged group. The key may belong to another call.
    const stored = this.#responses.find(idempotency);
    if (!stored.ok) return stored;
    if (this.#groups.findByTeamId(teamId)) return fail({ code: "user_group_not_deleted" });
    const deleted = this.#groups.findDeleted(teamId);
    if (!deleted) return fail({ code: "user_group_not_found" });
    this.#erase(admitted.value.author, deleted);
    return ok(undefined);
  }

  /**
   * The group as the viewer with this token sees it. A token with a valid signature that belongs to no group was valid once.
   * With `acceptsStale` the answer may ask the Worker to write a lease.
   */
  view(
    viewer: PresentedToken,
    acceptsStale: boolean,
  ): Result<View, FailureOf<"credential_revoked" | "user_group_suspended">> {
    const readAt = Date.now();
    const found = this.#schema.exists ? this.#groups.findByTeamId(viewer.id) : undefined;
    const group = snapshotFor(found, { nonce: viewer.nonce }, readAt);
    if (!group) return fail({ code: "credential_revoked" });
    if (found?.suspendedAt) return fail({ code: "user_group_suspended" });
    return ok({ readAt, group, writeLease: acceptsStale && this.#leases.noteView(viewer.nonce, readAt) });
  }

  /** What a session for viewers of the group with this id is made of. It changes nothing, so the call can be repeated. */
  startSession(
    caller: Caller,
    providedId: string,
  ): Result<NewSession, AdmitFailure | FailureOf<"user_group_not_found" | "user_group_suspended">> {
    const admitted = this.#admit(caller, "sessions:create");
    if (!admitted.ok) return admitted;
    const found = this.#groups.findByProvidedId(providedId);
    const group = found && snapshotFor(found, { nonce: found.nonce }, Date.now());
    if (!group) return fail({ code: "user_group_not_found" });
    if (found.suspendedAt !== null) return fail({ code: "user_group_suspended" });
    return ok({ group, generation: found.generation, keyEndsAt: this.#keys.endOf(admitted.value.keyId) });
  }

  /** The group as the viewer with this session sees it. The key that minted the session must still be valid. */
  viewSession(
    session: PresentedSession,
  ): Result<GroupSnapshot, FailureOf<"credential_revoked" | "user_group_suspended">> {
    const found = this.#schema.exists ? this.#groups.findByTeamId(session.teamId) : undefined;
    const group = snapshotFor(found, { generation: session.generation }, Date.now());
    if (!group || !this.#keys.findValid(session.keyId)) return fail({ code: "credential_revoked" });
    if (found?.suspendedAt) return fail({ code: "user_group_suspended" });
    return ok(group);
  }

  /** One page of the groups. Lists take turns, so that viewers are answered between them. */
  async list(caller: Caller, query: PageQuery): Promise<Result<Waited<GroupPage>, ListFailure>> {
    return this.#inTurn(caller, "groups:read", () => ok(readPage(this.#groups, query)));
  }

  /** One group as lists show it: of those that exist, or of the deleted ones. */
  show(
    caller: Caller,
    teamId: number,
    from: "existing" | "deleted",
  ): Result<ShownGroup, AdmitFailure | FailureOf<"user_group_not_found">> {
    const admitted = this.#admit(caller, "groups:read");
    if (!admitted.ok) return admitted;
    const group = from === "deleted" ? this.#groups.findDeleted(teamId) : this.#groups.findByTeamId(teamId);
    return group ? ok(this.#shown(group, from)) : fail({ code: "user_group_not_found" });
  }

  /** One page of the events, oldest first. It takes turns with lists. */
  async listEvents(
    caller: Caller,
    query: EventQuery,
  ): Promise<Result<Waited<EventPage>, ListFailure | FailureOf<"cursor_expired">>> {
    return this.#inTurn(caller, "events:read", () => this.#changes.read(query));
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
  issueKey(author: Author, draft: KeyDraft): Result<StoredKey, FailureOf<"environment_full">> {
    this.#schema.create();
    if (!this.#hasRoomForKey()) return fail({ code: "environment_full" });
    return ok(
      this.#commit(author, (record) => {
        const key = this.#keys.issue(draft);
        record({ type: "api_key.issued", details: keyDetails(key) });
        return key;
      }),
    );
  }

  /** One page of the API keys, revoked and expired ones included. It takes turns with lists. */
  async listKeys(caller: Caller, query: KeyQuery): Promise<Result<Waited<KeyPage>, ListFailure>> {
    if (!this.#schema.exists) return ok({ keys: [], next: null, hasWaited: false });
    return this.#inTurn(caller, undefined, () => ok(this.#keys.list(query)));
  }

  /** Whether no API key was issued yet. */
  hasNoKeys(): boolean {
    return !this.#schema.exists || this.#keys.isEmpty();
  }

  /** Revokes an API key. A key that is revoked already keeps its time. */
  revokeKey(author: Author, id: number): Result<undefined, FailureOf<"api_key_not_found">> {
    const key = this.#schema.exists ? this.#keys.find(id) : undefined;
    if (!key) return fail({ code: "api_key_not_found" });
    if (isRevoked(key)) return ok(undefined);
    this.#commit(author, (record) => {
      this.#keys.revoke(key);
      record({ type: "api_key.revoked", details: keyDetails(key) });
    });
    return ok(undefined);
  }

  /** Issues a key with the same name, rights and expiry, and revokes the old one after `graceSeconds`. */
  rollKey(
    author: Author,
    id: number,
    graceSeconds: number,
    nonceHash: ArrayBuffer,
  ): Result<StoredKey, FailureOf<"api_key_not_found" | "environment_full">> {
    const key = this.#schema.exists ? this.#keys.findValid(id) : undefined;
    if (!key) return fail({ code: "api_key_not_found" });
    if (!this.#hasRoomForKey()) return fail({ code: "environment_full" });
    return ok(
      this.#commit(author, (record) => {
        const successor = this.#keys.roll(key, graceSeconds, nonceHash);
        record({ type: "api_key.rolled", details: { ...keyDetails(key), successor_id: successor.id } });
        return successor;
      }),
    );
  }

  #hasRoomForKey(): boolean {
    return this.#keys.hasRoom() && !this.#changes.isFull;
  }

  /**
   * Reads for a caller in its turn. An API key is admitted before it waits, and again when its turn has come. An operator who has
   * waited has to be admitted by the registry again.
   */
  async #inTurn<Page extends object, Failure>(
    caller: Caller,
    scope: Scope | undefined,
    read: () => Result<Read<Page>, Failure>,
  ): Promise<Result<Waited<Page>, Failure | ListFailure>> {
    const admitted = this.#admit(caller, scope);
    if (!admitted.ok) return admitted;
    return this.#turns.take<Page, Failure | AdmitFailure>(`${caller.kind} ${caller.id}`, () => {
      const stillAdmitted = this.#admit(caller, scope);
      return stillAdmitted.ok ? read() : stillAdmitted;
    });
  }

  /** Admits an API key that is valid and has `scope`, if one is needed. The registry has admitted operators. */
  #admit(caller: Caller, scope: Scope | undefined): Result<Admitted, AdmitFailure> {
    const { requestId } = caller;
    if (caller.kind === "operator")
      return this.#schema.exists
        ? ok({ author: operatorAuthor(caller, requestId), keyId: null, may: () => false })
        : fail({ code: "environment_not_found" });

    const key = this.identify(caller);
    if (!key.ok) return key;
    const { id, name, rights } = key.value;
    const { scopes } = grantOf(rights);
    if (scope && !scopes.includes(scope)) return fail({ code: "insufficient_access", required_scope: scope });
    return ok({
      author: { actor: { kind: "api_key", id, name }, requestId },
      keyId: id,
      may: (other) => scopes.includes(other),
    });
  }

  #findByNumber(
    teamId: number,
    ifMatch: IfMatch | undefined,
  ): Result<UserGroup, FailureOf<"user_group_not_found" | "revision_mismatch">> {
    const group = this.#groups.findByTeamId(teamId);
    if (!group) return fail({ code: "user_group_not_found" });
    return allowsChange(ifMatch, group) ? ok(group) : fail({ code: "revision_mismatch" });
  }

  /** The group whose current token is `current`, which is `undefined` for a token that cannot belong to this environment. */
  #findByCurrentToken(
    current: PresentedToken | undefined,
    ifMatch: IfMatch | undefined,
  ): Result<UserGroup, TokenFailure> {
    const group = current && this.#groups.findByTeamId(current.id);
    if (!group) return fail({ code: "user_group_not_found" });
    if (!sameBytes(group.nonce, current.nonce)) return fail({ code: "token_superseded" });
    return allowsChange(ifMatch, group) ? ok(group) : fail({ code: "revision_mismatch" });
  }

  /** Runs a call and stores its response in the same transaction, or gives the response of the same call before. */
  #once<Failure>(
    keyId: number | null,
    idempotency: IdempotencyRecord | undefined,
    run: () => Result<FirstOutcome, Failure>,
  ): Result<Outcome & Pick<StoredResponse, "response" | "keyId">, Failure | OnceFailure> {
    const stored = this.#responses.find(idempotency);
    if (!stored.ok) return stored;
    if (stored.value) {
      const { response, keyId: firstKeyId } = stored.value;
      return ok({ response, keyId: firstKeyId, endedLeases: [], isReplay: true });
    }
    if (idempotency && this.#changes.isFull) return fail({ code: "environment_full" });

    const runAndStore = () => {
      const outcome = run();
      if (outcome.ok && idempotency) this.#responses.store(idempotency, keyId, outcome.value.response);
      return outcome;
    };
    const outcome = idempotency ? this.ctx.storage.transactionSync(runAndStore) : runAndStore();
    if (!outcome.ok) return outcome;
    if (idempotency) this.#chores.schedule(this.#responses.nextPurgeAt);
    return ok({ ...outcome.value, keyId, isReplay: false });
  }

  /** The same for a call by number of a caller with `scope`, whose response is the group as lists show it. */
  #onceByNumber<Failure>(
    caller: Caller,
    scope: Scope,
    idempotency: IdempotencyRecord | undefined,
    run: (admitted: Admitted) => Result<ShownGroup & EndedLeases, Failure>,
  ): Result<ShownGroup & Outcome, Failure | OnceFailure> {
    const admitted = this.#admit(caller, scope);
    if (!admitted.ok) return admitted;
    const outcome = this.#once(admitted.value.keyId, idempotency, () => {
      const shown = run(admitted.value);
      if (!shown.ok) return shown;
      const { endedLeases, ...response } = shown.value;
      return ok({ response: { kind: "listed", ...response } as const, endedLeases });
    });
    if (!outcome.ok) return outcome;
    const { response, endedLeases, isReplay } = outcome.value;
    if (response.kind !== "listed") return fail({ code: "idempotency_key_reused" });
    return ok({ group: response.group, revision: response.revision, endedLeases, isReplay });
  }

  #update(
    author: Author,
    group: UserGroup,
    changes: UserGroupChanges,
    ifMatch: IfMatch | undefined,
  ): Result<{ after: UserGroup } & EndedLeases, UpdateFailure> {
    if (!allowsChange(ifMatch, group)) return fail({ code: "revision_mismatch" });
    const changed = withChanges(group, changes, Date.now());
    if (changed === group) return ok({ after: group, endedLeases: [] });
    if (changed.providedId !== group.providedId && this.#groups.has(changed.providedId))
      return fail({ code: "user_group_id_taken" });
    if (bytesOf(changed) > bytesOf(group) && this.#changes.isFull) return fail({ code: "environment_full" });
    const endedLeases = changed.suspendedAt !== null && group.suspendedAt === null ? this.#leasesOf(group) : [];
    const after = this.#commit(author, (record) => {
      const isContentChanged = changedFields(group, changed).length > 0;
      const replaced = this.#replace(group, changed, isContentChanged ? Date.now() : null);
      record({ type: updateType(group, replaced), group: replaced, details: updateDetails(group, replaced) });
      return replaced;
    });
    return ok({ after, endedLeases });
  }

  /** Replaces a group's token. */
  #rotate(author: Author, group: UserGroup, graceSeconds: number): { rotated: UserGroup } & EndedLeases {
    const endedLeases = this.#leasesOf(group);
    const grace =
      graceSeconds > 0
        ? {
            graceNonce: group.nonce,
            graceGeneration: group.generation,
            graceEndsAt: Date.now() + graceSeconds * 1000,
          }
        : NO_GRACE;
    const rotated = this.#commit(author, (record) => {
      const after = this.#replace(group, { ...group, ...grace, ...newToken() }, Date.now());
      record({ type: "user_group.token_rotated", group: after });
      return after;
    });
    return { rotated, endedLeases };
  }

  /** Deletes a group. Returns the ended leases. */
  #delete(author: Author, group: UserGroup): ArrayBuffer[] {
    const endedLeases = this.#leasesOf(group);
    this.#commit(author, (record) => {
      this.#groups.delete(group.teamId, Date.now());
      record({ type: "user_group.deleted", group });
    });
    this.#chores.schedule(Date.now() + this.#undoMs);
    return endedLeases;
  }

  #restore(
    author: Author,
    teamId: number,
    { newProvidedId, rotateToken }: { newProvidedId?: string | undefined; rotateToken: boolean },
  ): Result<UserGroup, FailureOf<"user_group_not_found" | "user_group_id_taken">> {
    const deleted = this.#groups.findDeleted(teamId);
    if (!deleted) return fail({ code: "user_group_not_found" });
    const providedId = newProvidedId ?? deleted.providedId;
    if (this.#groups.has(providedId)) return fail({ code: "user_group_id_taken" });

    const token = rotateToken ? { ...newToken(), ...NO_GRACE } : {};
    const restored = { ...deleted, ...token, providedId, revision: deleted.revision + 1 };
    this.#commit(author, (record) => {
      this.#groups.restore(restored);
      const isRenamed = providedId !== deleted.providedId;
      const details = isRenamed ? { previous_provided_id: deleted.providedId } : {};
      record({ type: "user_group.restored", group: restored, details });
    });
    return ok(restored);
  }

  /** Erases a deleted group, and ends the responses that are stored about it. */
  #erase(author: Author, deleted: Pick<UserGroup, "teamId" | "providedId">): void {
    const hasResponses = this.#commit(author, (record) => {
      this.#groups.erase(deleted.teamId);
      record({ type: "user_group.purged", group: deleted });
      return this.#responses.end(deleted.teamId);
    });
    if (hasResponses) this.#chores.schedule(Date.now());
  }

  /** Erases deleted groups that can no longer be restored. */
  #purgeDeleted(): Chore {
    return {
      name: "purge deleted groups",
      dueAt: () => {
        const [oldest] = this.#groups.oldestDeleted(1);
        return oldest && oldest.deletedAt + this.#undoMs;
      },
      run: (now) => {
        const author: Author = { actor: { kind: "system", id: null, name: "purge" }, requestId: crypto.randomUUID() };
        for (const deleted of this.#groups.oldestDeleted(GROUPS_PER_PURGE_MAX))
          if (deleted.deletedAt + this.#undoMs <= now) this.#erase(author, deleted);
      },
    };
  }

  #shown(
    { teamId, revision }: Pick<UserGroup, "teamId" | "revision">,
    from: "existing" | "deleted" = "existing",
  ): ShownGroup {
    return { group: this.#groups.listed(teamId, from === "deleted" ? "deleted" : "numbers"), revision };
  }

  /** The nonces of the group's tokens for which KV may hold a lease. */
  #leasesOf({ nonce, graceNonce }: UserGroup): ArrayBuffer[] {
    const now = Date.now();
    return [nonce, graceNonce].filter((each) => each !== null).filter((each) => this.#leases.mayExist(each, now));
  }

  /** Writes the next revision of a group. Without a time, `updated_at` stays. */
  #replace(before: UserGroup, changed: UserGroup, updatedAt: number | null): UserGroup {
    const after = { ...changed, revision: before.revision + 1 };
    if (after.providedId === before.providedId) this.#groups.replace(after, updatedAt);
    else this.#groups.rename(after, updatedAt);
    return after;
  }

  /**
   * Runs `change` in one transaction with the event that it records, and schedules the alarm. All changes of this class go
   * through here, so that no change is without its event.
   */
  #commit<Value>(author: Author, change: (record: (event: ChangeDescription) => void) => Value): Value {
    const value = this.#changes.commit(author, change);
    this.#chores.schedule(this.#changes.nextPurgeAt);
    return value;
  }

  /** The platform calls this when the alarm is due. */
  override alarm(): void {
    if (this.#schema.exists) this.#chores.run();
  }
}

const keyDetails = ({ id, name }: StoredKey) => ({ api_key: { id, name } });
