import { DurableObject } from "cloudflare:workers";
import {
  ENVIRONMENT_BYTES_MAX,
  IDEMPOTENCY_SECONDS,
  KEYS_PER_ENVIRONMENT_MAX,
  RESPONSES_PER_PURGE_MAX,
} from "../limits.ts";
import type { Lease, ListedGroup, RotatedGroup, Scope, StoredKey, StoredResponse, UserGroup } from "../records.ts";
import { GroupStore } from "../storage/group-store.ts";
import { KeyStore } from "../storage/key-store.ts";
import { Schema } from "../storage/migrations.ts";
import { ResponseStore } from "../storage/response-store.ts";
import { DIRECTORY_MIGRATIONS } from "../storage/schema.ts";
import { type Caller, operatorAuthor, type PresentedKey } from "./caller.ts";
import { ChangeLog } from "./change-log.ts";
import { type Chore, Chores } from "./chores.ts";
import { newNonce, sameBytes } from "./credential.ts";
import { allowsChange, type IfMatch } from "./entity-tag.ts";
import { type Author, type ChangeDescription, type EventPage, type EventQuery, updateDetails } from "./event.ts";
import type { FailureOf } from "./failure.ts";
import { type GroupPage, type PageQuery, readPage } from "./group-page.ts";
import { isRevoked, type KeyDraft, type KeyFailure, Keys } from "./keys.ts";
import { LeaseRequests } from "./lease-requests.ts";
import { fail, ok, type Result } from "./result.ts";
import { grantOf } from "./rights.ts";
import { Turns } from "./turns.ts";
import {
  bytesOf,
  type GroupView,
  mapsTo,
  snapshotFor,
  toGroupView,
  toRotatedGroup,
  type UserGroupChanges,
  type UserGroupDraft,
  withChanges,
} from "./user-group.ts";

/** A token whose signature the Worker has checked. `id` is the number of its group. */
export type PresentedToken = { id: number; nonce: Uint8Array };

/** Identifies a retried call: hashes of its Idempotency-Key and of its request, and the id of the current signing key. */
export type IdempotencyRecord = { key: ArrayBuffer; request: ArrayBuffer; signingId: string };

/** The answer to a viewer. With `writeLease` the directory asks the Worker to write it to KV. */
export type View = Lease & { writeLease: boolean };

/** The answer to a rotation. Without a `nonce` it shows no token; the first answer to a call has no `signingId`. */
export type RotatedView = Omit<RotatedGroup, "signingId" | "nonce"> & {
  nonce: ArrayBuffer | undefined;
  signingId?: string;
};

/** The conditions of a call by a group's current token. */
type TokenConditions = {
  current: PresentedToken | undefined;
  ifMatch: IfMatch | undefined;
  idempotency: IdempotencyRecord | undefined;
};

/** The nonces of tokens that a call has ended, and for which KV may hold a lease. */
export type EndedLeases = { endedLeases: ArrayBuffer[] };

/** A group as lists show it, and its revision. */
export type ShownGroup = { group: ListedGroup; revision: number };

/** A caller that may make its call: who it is in events, the API key by its number, and what else the key may do. */
type Admitted = { author: Author; keyId: number | null; may: (scope: Scope) => boolean };

type AdmitFailure = KeyFailure | FailureOf<"insufficient_access" | "environment_not_found">;
type TokenFailure =
  | AdmitFailure
  | FailureOf<
      "user_group_not_found" | "token_superseded" | "idempotency_key_reused" | "revision_mismatch" | "environment_full"
    >;
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
  readonly #responses: ResponseStore;
  readonly #changes: ChangeLog;
  readonly #leases = new LeaseRequests();
  readonly #turns = new Turns();
  readonly #chores: Chores;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#schema = new Schema(ctx.storage, DIRECTORY_MIGRATIONS);
    this.#groups = new GroupStore(ctx.storage.sql);
    this.#keys = new Keys(new KeyStore(ctx.storage.sql, "api_keys"), KEYS_PER_ENVIRONMENT_MAX);
    this.#responses = new ResponseStore(ctx.storage.sql);
    this.#changes = new ChangeLog(ctx.storage, env);
    this.#chores = new Chores(
      [purgeResponses(this.#responses), this.#changes.purge],
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
    if (this.#isFull()) return fail({ code: "environment_full" });

    const fresh = {
      providedId: draft.providedId,
      name: draft.name ?? draft.providedId,
      mapping: draft.mapping ?? null,
      properties: draft.properties ?? null,
      nonce: newNonce().buffer,
      graceNonce: null,
      graceEndsAt: null,
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
  ): Result<GroupView, AdmitFailure | FailureOf<"user_group_not_found"> | UpdateFailure> {
    const admitted = this.#admit(caller, "groups:write");
    if (!admitted.ok) return admitted;
    const { author, may } = admitted.value;

    const group = this.#groups.findByProvidedId(providedId);
    if (!group) return fail({ code: "user_group_not_found" });
    const updated = this.#update(author, group, changes, ifMatch);
    return updated.ok ? ok(toGroupView(updated.value, { mayReadToken: may("tokens:read") })) : updated;
  }

  /** The same for the group with this number. The answer never has a token. */
  updateByNumber(
    caller: Caller,
    teamId: number,
    changes: UserGroupChanges,
    ifMatch: IfMatch | undefined,
  ): Result<ShownGroup, NumberFailure | UpdateFailure> {
    const found = this.#findByNumber(caller, "groups:write", teamId);
    if (!found.ok) return found;
    const { author, group } = found.value;
    const updated = this.#update(author, group, changes, ifMatch);
    return updated.ok ? ok(this.#shown(updated.value)) : updated;
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
  ): Result<RotatedView & EndedLeases, TokenFailure> {
    const found = this.#findByCurrentToken(caller, "tokens:rotate", { current, ifMatch, idempotency });
    if (!found.ok) return found;
    const { stored, group, author, keyId, may } = found.value;
    if (stored) {
      if (!stored.rotated) return fail({ code: "idempotency_key_reused" });
      const { nonce, ...rotated } = stored.rotated;
      const mayReadToken = stored.keyId === keyId || may("tokens:read");
      return ok({ ...rotated, nonce: mayReadToken ? nonce : undefined, endedLeases: [] });
    }
    const { rotated, endedLeases } = this.#rotate(author, group, graceSeconds, (after) => {
      if (idempotency) this.#store(idempotency, keyId, { ...toRotatedGroup(after), signingId: idempotency.signingId });
    });
    if (idempotency) this.#chores.schedule(Date.now() + IDEMPOTENCY_SECONDS * 1000);
    return ok({ ...toRotatedGroup(rotated), endedLeases });
  }

  /** Replaces the token of the group with this number. The answer does not have the new one. */
  rotateByNumber(
    caller: Caller,
    teamId: number,
    { graceSeconds, ifMatch }: { graceSeconds: number; ifMatch: IfMatch | undefined },
  ): Result<ShownGroup & EndedLeases, NumberFailure> {
    const found = this.#findByNumber(caller, "tokens:rotate", teamId, ifMatch);
    if (!found.ok) return found;
    const { author, group } = found.value;
    const { rotated, endedLeases } = this.#rotate(author, group, graceSeconds);
    return ok({ ...this.#shown(rotated), endedLeases });
  }

  /** Deletes the group with this current token, unless a guard names another group or another data source. */
  remove(
    caller: Caller,
    current: PresentedToken | undefined,
    guards: { providedId?: string | undefined; dataSource?: string | undefined; ifMatch?: IfMatch | undefined },
    idempotency: IdempotencyRecord | undefined,
  ): Result<EndedLeases, TokenFailure | FailureOf<"user_group_mismatch">> {
    const { ifMatch } = guards;
    const found = this.#findByCurrentToken(caller, "groups:delete", { current, ifMatch, idempotency });
    if (!found.ok) return found;
    const { stored, group, author, keyId } = found.value;
    if (stored) return stored.rotated ? fail({ code: "idempotency_key_reused" }) : ok({ endedLeases: [] });

    const { providedId = group.providedId, dataSource } = guards;
    if (providedId !== group.providedId || (dataSource !== undefined && !mapsTo(group, dataSource)))
      return fail({ code: "user_group_mismatch" });

    const endedLeases = this.#delete(author, group, () => {
      if (idempotency) this.#store(idempotency, keyId, null);
    });
    if (idempotency) this.#chores.schedule(Date.now() + IDEMPOTENCY_SECONDS * 1000);
    return ok({ endedLeases });
  }

  /** Deletes the group with this number. */
  removeByNumber(caller: Caller, teamId: number, ifMatch: IfMatch | undefined): Result<EndedLeases, NumberFailure> {
    const found = this.#findByNumber(caller, "groups:delete", teamId, ifMatch);
    if (!found.ok) return found;
    const { author, group } = found.value;
    return ok({ endedLeases: this.#delete(author, group) });
  }

  /**
   * The group as the viewer with this token sees it. A token with a valid signature that belongs to no group was valid once.
   * With `acceptsStale` the answer may ask the Worker to write a lease.
   */
  view(viewer: PresentedToken, acceptsStale: boolean): Result<View, FailureOf<"credential_revoked">> {
    const readAt = Date.now();
    const found = this.#schema.exists ? this.#groups.findByTeamId(viewer.id) : undefined;
    const group = snapshotFor(found, viewer.nonce, readAt);
    if (!group) return fail({ code: "credential_revoked" });
    return ok({ readAt, group, writeLease: acceptsStale && this.#leases.noteView(viewer.nonce, readAt) });
  }

  /** One page of the groups. Lists take turns, so that viewers are answered between them. */
  async list(caller: Caller, query: PageQuery): Promise<Result<GroupPage, AdmitFailure>> {
    return this.#inTurn(caller, "groups:read", () => ok(readPage(this.#groups, query)));
  }

  /** One group as lists show it. */
  show(caller: Caller, teamId: number): Result<ShownGroup, AdmitFailure | FailureOf<"user_group_not_found">> {
    const admitted = this.#admit(caller, "groups:read");
    if (!admitted.ok) return admitted;
    const group = this.#groups.findByTeamId(teamId);
    return group ? ok(this.#shown(group)) : fail({ code: "user_group_not_found" });
  }

  /** One page of the events, oldest first. It takes turns with lists. */
  async listEvents(
    caller: Caller,
    query: EventQuery,
  ): Promise<Result<EventPage, AdmitFailure | FailureOf<"cursor_expired">>> {
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

  /** All API keys, revoked and expired ones included. */
  listKeys(): StoredKey[] {
    return this.#schema.exists ? this.#keys.list() : [];
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
    return this.#keys.hasRoom() && !this.#isFull();
  }

  /** Whether the environment takes no more data. Whatever ends or removes something goes on. */
  #isFull(): boolean {
    return this.ctx.storage.sql.databaseSize > ENVIRONMENT_BYTES_MAX;
  }

  /** Reads for a caller in its turn. The caller is admitted before it waits, and again when its turn has come. */
  async #inTurn<Value, Failure>(
    caller: Caller,
    scope: Scope,
    read: () => Result<Value, Failure>,
  ): Promise<Result<Value, Failure | AdmitFailure>> {
    const admitted = this.#admit(caller, scope);
    if (!admitted.ok) return admitted;
    return this.#turns.take(`${caller.kind} ${caller.id}`, () => {
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

  /** The group with this number, for a caller with `scope`. */
  #findByNumber(
    caller: Caller,
    scope: Scope,
    teamId: number,
    ifMatch?: IfMatch,
  ): Result<{ group: UserGroup; author: Author }, NumberFailure> {
    const admitted = this.#admit(caller, scope);
    if (!admitted.ok) return admitted;
    const group = this.#groups.findByTeamId(teamId);
    if (!group) return fail({ code: "user_group_not_found" });
    if (!allowsChange(ifMatch, group)) return fail({ code: "revision_mismatch" });
    return ok({ group, author: admitted.value.author });
  }

  /**
   * The group whose current token is `current`, or the stored response if the call is a repeat. `current` is `undefined` for
   * a token that cannot belong to this environment.
   */
  #findByCurrentToken(
    caller: Caller,
    scope: Scope,
    { current, ifMatch, idempotency }: TokenConditions,
  ): Result<
    Admitted & ({ group: UserGroup; stored?: never } | { stored: StoredResponse; group?: never }),
    TokenFailure
  > {
    const admitted = this.#admit(caller, scope);
    if (!admitted.ok) return admitted;

    const stored = idempotency && this.#responses.find(idempotency.key);
    if (stored && Date.now() < stored.expiresAt)
      return sameBytes(stored.request, idempotency.request)
        ? ok({ ...admitted.value, stored })
        : fail({ code: "idempotency_key_reused" });

    const group = current && this.#groups.findByTeamId(current.id);
    if (!group) return fail({ code: "user_group_not_found" });
    if (!sameBytes(group.nonce, current.nonce)) return fail({ code: "token_superseded" });
    if (!allowsChange(ifMatch, group)) return fail({ code: "revision_mismatch" });
    if (idempotency && this.#isFull()) return fail({ code: "environment_full" });
    return ok({ ...admitted.value, group });
  }

  #update(
    author: Author,
    group: UserGroup,
    changes: UserGroupChanges,
    ifMatch: IfMatch | undefined,
  ): Result<UserGroup, UpdateFailure> {
    if (!allowsChange(ifMatch, group)) return fail({ code: "revision_mismatch" });
    const changed = withChanges(group, changes);
    if (changed === group) return ok(group);
    if (changed.providedId !== group.providedId && this.#groups.has(changed.providedId))
      return fail({ code: "user_group_id_taken" });
    if (bytesOf(changed) > bytesOf(group) && this.#isFull()) return fail({ code: "environment_full" });
    return ok(
      this.#commit(author, (record) => {
        const after = this.#replace(group, changed);
        record({ type: "user_group.updated", group: after, details: updateDetails(group, after) });
        return after;
      }),
    );
  }

  /** Replaces a group's token, and runs `store` in the same transaction. */
  #rotate(author: Author, group: UserGroup, graceSeconds: number, store?: (after: UserGroup) => void) {
    const endedLeases = this.#leasesOf(group);
    const grace =
      graceSeconds > 0
        ? { graceNonce: group.nonce, graceEndsAt: Date.now() + graceSeconds * 1000 }
        : { graceNonce: null, graceEndsAt: null };
    const rotated = this.#commit(author, (record) => {
      const after = this.#replace(group, { ...group, ...grace, nonce: newNonce().buffer });
      record({ type: "user_group.token_rotated", group: after });
      store?.(after);
      return after;
    });
    return { rotated, endedLeases };
  }

  /** Deletes a group, and runs `store` in the same transaction. Returns the ended leases. */
  #delete(author: Author, group: UserGroup, store?: () => void): ArrayBuffer[] {
    const endedLeases = this.#leasesOf(group);
    this.#commit(author, (record) => {
      this.#groups.delete(group.teamId);
      record({ type: "user_group.deleted", group });
      store?.();
    });
    return endedLeases;
  }

  #shown({ teamId, revision }: UserGroup): ShownGroup {
    return { group: this.#groups.listed(teamId), revision };
  }

  /** The nonces of the group's tokens for which KV may hold a lease. */
  #leasesOf({ nonce, graceNonce }: UserGroup): ArrayBuffer[] {
    const now = Date.now();
    return [nonce, graceNonce].filter((each) => each !== null).filter((each) => this.#leases.mayExist(each, now));
  }

  /** Writes the next revision of a group. */
  #replace(before: UserGroup, changed: UserGroup): UserGroup {
    const after = { ...changed, revision: before.revision + 1 };
    const now = Date.now();
    if (after.providedId === before.providedId) this.#groups.replace(after, now);
    else this.#groups.rename(after, now);
    return after;
  }

  #store({ key, request }: IdempotencyRecord, keyId: number | null, rotated: RotatedGroup | null): void {
    const expiresAt = Date.now() + IDEMPOTENCY_SECONDS * 1000;
    this.#responses.insert({ key, request, keyId, rotated, expiresAt });
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

/** Deletes responses that have expired. */
const purgeResponses = (responses: ResponseStore): Chore => ({
  name: "delete expired responses",
  dueAt: () => responses.oldest(1)[0]?.expiresAt,
  run: (now) => {
    const expired = responses.oldest(RESPONSES_PER_PURGE_MAX).findLast(({ expiresAt }) => expiresAt <= now);
    if (expired) responses.deleteUpTo(expired.id);
  },
});

const keyDetails = ({ id, name }: StoredKey) => ({ api_key: { id, name } });
