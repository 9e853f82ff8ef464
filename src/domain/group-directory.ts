import { DurableObject } from "cloudflare:workers";
import {
  DAY_MS,
  ENVIRONMENT_BYTES_MAX,
  EVENT_DAYS_DEFAULT,
  EVENTS_PER_PURGE_MAX,
  IDEMPOTENCY_SECONDS,
  KEYS_PER_ENVIRONMENT_MAX,
  LAST_USED_SECONDS,
  RESPONSES_PER_PURGE_MAX,
} from "../limits.ts";
import type { Access, ApiKey, Lease, ListedGroup, RotatedGroup, StoredResponse, UserGroup } from "../records.ts";
import { EventStore } from "../storage/event-store.ts";
import { GroupStore } from "../storage/group-store.ts";
import { KeyStore } from "../storage/key-store.ts";
import { hasTables, migrate } from "../storage/migrations.ts";
import { ResponseStore } from "../storage/response-store.ts";
import { type Chore, Chores } from "./chores.ts";
import { newNonce, sameBytes } from "./credential.ts";
import { allowsChange, type IfMatch } from "./entity-tag.ts";
import {
  type Author,
  type ChangeDescription,
  type EventPage,
  type EventQuery,
  readEvents,
  updateDetails,
} from "./event.ts";
import type { FailureOf } from "./failure.ts";
import { type GroupPage, type PageQuery, readPage } from "./group-page.ts";
import { LeaseRequests } from "./lease-requests.ts";
import { fail, ok, type Result } from "./result.ts";
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

/** An API key whose signature the Worker has checked, and the request that it makes. */
export type Caller = { id: number; nonceHash: ArrayBuffer; requestId: string };

/** A token whose signature the Worker has checked. `id` is the number of its group. */
export type PresentedToken = { id: number; nonce: Uint8Array };

/** Identifies a retried call: hashes of its Idempotency-Key and of its request, and the id of the current signing key. */
export type IdempotencyRecord = { key: ArrayBuffer; request: ArrayBuffer; signingId: string };

/** A new API key, of whose nonce only the hash is known here. Without `expiresInSeconds` it never expires. */
export type ApiKeyDraft = {
  name: string;
  access: Access;
  nonceHash: ArrayBuffer;
  expiresInSeconds?: number | undefined;
};

/** The answer to a viewer. With `writeLease` the directory asks the Worker to write it to KV. */
export type View = Lease & { writeLease: boolean };

/** The nonces of tokens that a call has ended, and for which KV may hold a lease. */
export type EndedLeases = { endedLeases: ArrayBuffer[] };

type AdmitFailure = FailureOf<"unauthenticated" | "credential_expired" | "credential_revoked" | "insufficient_access">;
type TokenFailure =
  | AdmitFailure
  | FailureOf<
      "user_group_not_found" | "token_superseded" | "idempotency_key_reused" | "revision_mismatch" | "environment_full"
    >;

/**
 * The user groups and API keys of one environment, and the only authority on them. Every RPC method is synchronous: nothing
 * runs between its reads and its writes, so ids stay unique, and of two racing rotations one is refused. The platform sends
 * an answer only after the writes before it are durable ("output gates").
 *
 * Each method that takes a `caller` checks that API key first, so a revoked key is refused from then on. An environment
 * has no tables until its first API key is issued; until then every call is refused without writing anything.
 */
export class GroupDirectory extends DurableObject<Env> {
  readonly #groups: GroupStore;
  readonly #keys: KeyStore;
  readonly #responses: ResponseStore;
  readonly #events: EventStore;
  readonly #leases = new LeaseRequests();
  readonly #turns = new Turns();
  #hasTables: boolean;
  readonly #chores: Chores;
  /** For how long events are kept. */
  readonly #eventsMs: number;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#hasTables = hasTables(ctx.storage);
    if (this.#hasTables) migrate(ctx.storage);
    this.#groups = new GroupStore(ctx.storage.sql);
    this.#keys = new KeyStore(ctx.storage.sql);
    this.#responses = new ResponseStore(ctx.storage.sql);
    this.#events = new EventStore(ctx.storage.sql);
    this.#eventsMs = daysOf(env.EVENT_DAYS) * DAY_MS;
    this.#chores = new Chores(
      [purgeResponses(this.#responses), purgeEvents(this.#events, this.#eventsMs)],
      (time) => void ctx.waitUntil(ctx.storage.setAlarm(time)),
    );
  }

  /** Gets the group with the draft's id as it is, or creates it. A key with read access gets no token and creates nothing. */
  ensure(
    caller: Caller,
    draft: UserGroupDraft,
  ): Result<
    { created: boolean; group: GroupView },
    AdmitFailure | FailureOf<"user_group_not_found" | "environment_full">
  > {
    const admitted = this.#admit(caller, "read");
    if (!admitted.ok) return admitted;
    const mayReadToken = admitted.value.access === "write";

    const known = this.#groups.findByProvidedId(draft.providedId);
    if (known) return ok({ created: false, group: toGroupView(known, { mayReadToken }) });
    if (admitted.value.access === "read") return fail({ code: "user_group_not_found" });
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
    const group = this.#commit(authorOf(admitted.value, caller), (record) => {
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
  ): Result<
    GroupView,
    AdmitFailure | FailureOf<"user_group_not_found" | "revision_mismatch" | "user_group_id_taken" | "environment_full">
  > {
    const admitted = this.#admit(caller, "write");
    if (!admitted.ok) return admitted;

    const group = this.#groups.findByProvidedId(providedId);
    if (!group) return fail({ code: "user_group_not_found" });
    if (!allowsChange(ifMatch, group)) return fail({ code: "revision_mismatch" });

    const changed = withChanges(group, changes);
    if (changed === group) return ok(toGroupView(group, { mayReadToken: true }));
    if (changed.providedId !== group.providedId && this.#groups.has(changed.providedId))
      return fail({ code: "user_group_id_taken" });
    if (bytesOf(changed) > bytesOf(group) && this.#isFull()) return fail({ code: "environment_full" });

    const updated = this.#commit(authorOf(admitted.value, caller), (record) => {
      const after = this.#replace(group, changed);
      record({ type: "user_group.updated", group: after, details: updateDetails(group, after) });
      return after;
    });
    return ok(toGroupView(updated, { mayReadToken: true }));
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
  ): Result<Omit<RotatedGroup, "signingId"> & { signingId?: string } & EndedLeases, TokenFailure> {
    const found = this.#findByCurrentToken(caller, current, ifMatch, idempotency);
    if (!found.ok) return found;
    const { stored, group, author } = found.value;
    if (stored)
      return stored.rotated ? ok({ ...stored.rotated, endedLeases: [] }) : fail({ code: "idempotency_key_reused" });

    const endedLeases = this.#leasesOf(group);
    const grace =
      graceSeconds > 0
        ? { graceNonce: group.nonce, graceEndsAt: Date.now() + graceSeconds * 1000 }
        : { graceNonce: null, graceEndsAt: null };
    const rotated = this.#commit(author, (record) => {
      const after = this.#replace(group, { ...group, ...grace, nonce: newNonce().buffer });
      record({ type: "user_group.token_rotated", group: after });
      if (idempotency) this.#store(idempotency, { ...toRotatedGroup(after), signingId: idempotency.signingId });
      return after;
    });
    if (idempotency) this.#chores.schedule(Date.now() + IDEMPOTENCY_SECONDS * 1000);
    return ok({ ...toRotatedGroup(rotated), endedLeases });
  }

  /** Deletes the group with this current token, unless a guard names another group or another data source. */
  remove(
    caller: Caller,
    current: PresentedToken | undefined,
    guards: { providedId?: string | undefined; dataSource?: string | undefined; ifMatch?: IfMatch | undefined },
    idempotency: IdempotencyRecord | undefined,
  ): Result<EndedLeases, TokenFailure | FailureOf<"user_group_mismatch">> {
    const found = this.#findByCurrentToken(caller, current, guards.ifMatch, idempotency);
    if (!found.ok) return found;
    const { stored, group, author } = found.value;
    if (stored) return stored.rotated ? fail({ code: "idempotency_key_reused" }) : ok({ endedLeases: [] });

    const { providedId = group.providedId, dataSource } = guards;
    if (providedId !== group.providedId || (dataSource !== undefined && !mapsTo(group, dataSource)))
      return fail({ code: "user_group_mismatch" });

    const endedLeases = this.#leasesOf(group);
    this.#commit(author, (record) => {
      this.#groups.delete(group.teamId);
      record({ type: "user_group.deleted", group });
      if (idempotency) this.#store(idempotency, null);
    });
    if (idempotency) this.#chores.schedule(Date.now() + IDEMPOTENCY_SECONDS * 1000);
    return ok({ endedLeases });
  }

  /**
   * The group as the viewer with this token sees it. A token with a valid signature that belongs to no group was valid once.
   * With `acceptsStale` the answer may ask the Worker to write a lease.
   */
  view(viewer: PresentedToken, acceptsStale: boolean): Result<View, FailureOf<"credential_revoked">> {
    const readAt = Date.now();
    const found = this.#hasTables ? this.#groups.findByTeamId(viewer.id) : undefined;
    const group = snapshotFor(found, viewer.nonce, readAt);
    if (!group) return fail({ code: "credential_revoked" });
    return ok({ readAt, group, writeLease: acceptsStale && this.#leases.noteView(viewer.nonce, readAt) });
  }

  /** One page of the groups. Lists take turns, so that viewers are answered between them. */
  async list(caller: Caller, query: PageQuery): Promise<Result<GroupPage, AdmitFailure>> {
    return this.#inTurn(caller, () => ok(readPage(this.#groups, query)));
  }

  /** One group as lists show it. */
  show(caller: Caller, teamId: number): Result<ListedGroup, AdmitFailure | FailureOf<"user_group_not_found">> {
    const admitted = this.#admit(caller, "read");
    if (!admitted.ok) return admitted;
    const [group] = this.#groups.page({ order: "numbers", start: teamId }, 1);
    return group?.teamId === teamId ? ok(group) : fail({ code: "user_group_not_found" });
  }

  /** One page of the events, oldest first. It takes turns with lists. */
  async listEvents(
    caller: Caller,
    query: EventQuery,
  ): Promise<Result<EventPage, AdmitFailure | FailureOf<"cursor_expired">>> {
    return this.#inTurn(caller, () => readEvents(this.#events, query));
  }

  /** Only checks the caller: before a call is refused for its content, so that a stranger learns nothing about it. */
  checkAccess(caller: Caller, access: Access): Result<undefined, AdmitFailure> {
    const admitted = this.#admit(caller, access);
    return admitted.ok ? ok(undefined) : admitted;
  }

  // Operators are checked by the Worker, which alone has the operator's token.

  /** Issues an API key. The first one of an environment creates its tables. */
  issueKey(
    { name, access, nonceHash, expiresInSeconds }: ApiKeyDraft,
    author: Author,
  ): Result<ApiKey, FailureOf<"environment_full">> {
    const now = Date.now();
    if (!this.#hasTables) {
      migrate(this.ctx.storage);
      this.#hasTables = true;
    }
    if (!this.#hasRoomForKey()) return fail({ code: "environment_full" });
    const expiresAt = expiresInSeconds === undefined ? null : now + expiresInSeconds * 1000;
    return ok(
      this.#commit(author, (record) => {
        const key = this.#keys.insert({ name, access, nonceHash, createdAt: now, expiresAt });
        record({ type: "api_key.issued", details: keyDetails(key) });
        return key;
      }),
    );
  }

  /** All API keys, revoked and expired ones included. */
  listKeys(): ApiKey[] {
    return this.#hasTables ? this.#keys.list() : [];
  }

  /** Revokes an API key. A key that is revoked already keeps its time. */
  revokeKey(id: number, author: Author): Result<undefined, FailureOf<"api_key_not_found">> {
    const key = this.#findKey(id);
    if (!key) return fail({ code: "api_key_not_found" });
    const now = Date.now();
    if (key.revokedAt !== null && key.revokedAt <= now) return ok(undefined);
    this.#commit(author, (record) => {
      this.#revokeAt(key, now);
      record({ type: "api_key.revoked", details: keyDetails(key) });
    });
    return ok(undefined);
  }

  /** Issues a key with the same name, access and expiry, and revokes the old one after `graceSeconds`. */
  rollKey(
    id: number,
    graceSeconds: number,
    nonceHash: ArrayBuffer,
    author: Author,
  ): Result<ApiKey, FailureOf<"api_key_not_found" | "environment_full">> {
    const now = Date.now();
    const key = this.#findKey(id);
    if (!key || refusalOf(key, now)) return fail({ code: "api_key_not_found" });
    if (!this.#hasRoomForKey()) return fail({ code: "environment_full" });
    const { name, access, expiresAt } = key;
    return ok(
      this.#commit(author, (record) => {
        this.#revokeAt(key, now + graceSeconds * 1000);
        const successor = this.#keys.insert({ name, access, expiresAt, nonceHash, createdAt: now });
        record({ type: "api_key.rolled", details: { ...keyDetails(key), successor_id: successor.id } });
        return successor;
      }),
    );
  }

  #revokeAt(key: ApiKey, time: number): void {
    if (key.revokedAt === null || time < key.revokedAt) this.#keys.setRevokedAt(key.id, time);
  }

  #findKey(id: number): ApiKey | undefined {
    return this.#hasTables ? this.#keys.findById(id) : undefined;
  }

  #hasRoomForKey(): boolean {
    return this.#keys.count() < KEYS_PER_ENVIRONMENT_MAX && !this.#isFull();
  }

  /** Whether the environment takes no more data. Whatever ends or removes something goes on. */
  #isFull(): boolean {
    return this.ctx.storage.sql.databaseSize > ENVIRONMENT_BYTES_MAX;
  }

  /** Reads for a caller in its turn. The caller is admitted before it waits, and again when its turn has come. */
  async #inTurn<Value, Failure>(
    caller: Caller,
    read: () => Result<Value, Failure>,
  ): Promise<Result<Value, Failure | AdmitFailure>> {
    const admitted = this.#admit(caller, "read");
    if (!admitted.ok) return admitted;
    return this.#turns.take(caller.id, () => {
      const stillAdmitted = this.#admit(caller, "read");
      return stillAdmitted.ok ? read() : stillAdmitted;
    });
  }

  #admit(caller: Caller, access: Access): Result<ApiKey, AdmitFailure> {
    const key = this.#findKey(caller.id);
    if (!key || !sameBytes(key.nonceHash, caller.nonceHash)) return fail({ code: "unauthenticated" });
    const now = Date.now();
    const refusal = refusalOf(key, now);
    if (refusal) return fail(refusal);
    if (key.lastUsedAt === null || now - key.lastUsedAt >= LAST_USED_SECONDS * 1000)
      this.#keys.setLastUsedAt(key.id, now);
    if (access === "write" && key.access !== "write") return fail({ code: "insufficient_access" });
    return ok(key);
  }

  /**
   * The group whose current token is `current`, or the stored response if the call is a repeat. `current` is `undefined` for
   * a token that cannot belong to this environment.
   */
  #findByCurrentToken(
    caller: Caller,
    current: PresentedToken | undefined,
    ifMatch: IfMatch | undefined,
    idempotency: IdempotencyRecord | undefined,
  ): Result<
    { group: UserGroup; author: Author; stored?: never } | { stored: StoredResponse; author?: never; group?: never },
    TokenFailure
  > {
    const admitted = this.#admit(caller, "write");
    if (!admitted.ok) return admitted;

    const stored = idempotency && this.#responses.find(idempotency.key);
    if (stored && Date.now() < stored.expiresAt)
      return sameBytes(stored.request, idempotency.request) ? ok({ stored }) : fail({ code: "idempotency_key_reused" });

    const group = current && this.#groups.findByTeamId(current.id);
    if (!group) return fail({ code: "user_group_not_found" });
    if (!sameBytes(group.nonce, current.nonce)) return fail({ code: "token_superseded" });
    if (!allowsChange(ifMatch, group)) return fail({ code: "revision_mismatch" });
    if (idempotency && this.#isFull()) return fail({ code: "environment_full" });
    return ok({ group, author: authorOf(admitted.value, caller) });
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

  #store({ key, request }: IdempotencyRecord, rotated: RotatedGroup | null): void {
    this.#responses.insert({ key, request, rotated, expiresAt: Date.now() + IDEMPOTENCY_SECONDS * 1000 });
  }

  /**
   * Runs `change` in one transaction with the event that it records, so that no change is without its event. All changes of
   * this class go through here.
   */
  #commit<Value>(author: Author, change: (record: (event: ChangeDescription) => void) => Value): Value {
    const value = this.ctx.storage.transactionSync(() =>
      change(({ type, group, details = {} }) =>
        this.#events.append({
          ...author,
          at: Date.now(),
          type,
          teamId: group?.teamId ?? null,
          providedId: group?.providedId ?? null,
          details,
        }),
      ),
    );
    this.#chores.schedule(Date.now() + this.#eventsMs);
    return value;
  }

  /** The platform calls this when the alarm is due. */
  override alarm(): void {
    if (this.#hasTables) this.#chores.run();
  }
}

/** Parses a number of days, fractions allowed. A text that is none counts as the default. */
function daysOf(text: string): number {
  const days = Number(text || Number.NaN);
  return days >= 0 && Number.isFinite(days) ? days : EVENT_DAYS_DEFAULT;
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

/** Deletes events after `keepMs`, but never the newest: its id tells which come after it. */
const purgeEvents = (events: EventStore, keepMs: number): Chore => ({
  name: "delete old events",
  dueAt: () => {
    const [oldest, second] = events.oldest(2);
    return oldest && second ? oldest.at + keepMs : undefined;
  },
  run: (now) => {
    const old = events
      .oldest(EVENTS_PER_PURGE_MAX + 1)
      .slice(0, -1)
      .findLast(({ at }) => at + keepMs <= now);
    if (old) events.deleteUpTo(old.id);
  },
});

const keyDetails = ({ id, name }: ApiKey) => ({ api_key: { id, name } });

const authorOf = ({ id, name }: ApiKey, { requestId }: Caller): Author => ({
  actor: { kind: "api_key", id, name },
  requestId,
});

/** Why a key is no longer valid at `now`, if it is not. */
function refusalOf(key: ApiKey, now: number): FailureOf<"credential_revoked" | "credential_expired"> | undefined {
  if (key.revokedAt !== null && key.revokedAt <= now) return { code: "credential_revoked" };
  if (key.expiresAt !== null && key.expiresAt <= now) return { code: "credential_expired" };
  return undefined;
}
