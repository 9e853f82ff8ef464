import { DurableObject } from "cloudflare:workers";
import { GroupStore } from "../storage/group-store.ts";
import { KeptAnswerStore } from "../storage/kept-answer-store.ts";
import { KeyStore } from "../storage/key-store.ts";
import { migrate } from "../storage/migrations.ts";
import { OutboxStore } from "../storage/outbox-store.ts";
import type { Access, ApiKey, GroupSnapshot, KeptAnswer, RotatedGroup, UserGroup } from "../storage/records.ts";
import { TokenIndex } from "../storage/token-index.ts";
import { newNonce, sameNonce } from "./credential.ts";
import type { FailureOf } from "./failure.ts";
import { type GroupPage, type GroupPageQuery, readPage } from "./group-page.ts";
import { IndexDrain } from "./index-drain.ts";
import {
  IDEMPOTENCY_SECONDS,
  INDEX_BACKSTOP_SECONDS,
  KEPT_ANSWERS_PER_PURGE_MAX,
  LAST_USED_SECONDS,
  PURGE_RETRY_SECONDS,
} from "./limits.ts";
import { log } from "./log.ts";
import { fail, ok, type Result } from "./result.ts";
import {
  ifMatchAllows,
  indexedNoncesOf,
  mapsTo,
  rotated,
  type ShownGroup,
  shown,
  snapshotFor,
  type UserGroupChanges,
  type UserGroupDraft,
  withChanges,
  withIndexed,
} from "./user-group.ts";

/** The part of an API key or a token that its directory judges; the Worker has checked its signature before. */
export type Proof = { id: number; nonce: Uint8Array };

/** A call that may be made again: digests of its Idempotency-Key and of all that it asks, and the id of who signs now. */
export type Repeatable = { key: ArrayBuffer; request: ArrayBuffer; signingId: string };

/** What a new API key is made of. `expiresInSeconds` is absent for a key that never expires. */
export type ApiKeyDraft = { name: string; access: Access; expiresInSeconds?: number | undefined };

type AdmitFailure = FailureOf<"unauthenticated" | "credential_expired" | "credential_revoked" | "insufficient_access">;
type HeldFailure = AdmitFailure | FailureOf<"user_group_not_found" | "token_superseded" | "idempotency_key_reused">;

/**
 * The user groups and API keys of one environment, and the only authority on them. Every RPC method is synchronous: nothing
 * runs between what it reads and what it writes, so ids stay unique, and of two racing rotations one is refused. The
 * platform holds an answer back until the writes before it are durable.
 *
 * Each method that takes a `caller` first judges that API key, so a revoked key is refused from then on.
 */
export class GroupDirectory extends DurableObject<Env> {
  readonly #groups: GroupStore;
  readonly #keys: KeyStore;
  readonly #keptAnswers: KeptAnswerStore;
  readonly #drain: IndexDrain;
  #alarmAt = Number.POSITIVE_INFINITY;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    migrate(ctx.storage);
    this.#groups = new GroupStore(ctx.storage.sql);
    this.#keys = new KeyStore(ctx.storage.sql);
    this.#keptAnswers = new KeptAnswerStore(ctx.storage.sql);
    this.#drain = new IndexDrain(new OutboxStore(ctx.storage.sql), this.#groups, new TokenIndex(env.TOKEN_INDEX));
    if (this.#drain.isBehind()) void ctx.blockConcurrencyWhile(() => this.#restoreAlarm());
  }

  /** Gets the group with the draft's id as it is, or makes one of the draft. */
  ensure(
    caller: Proof,
    draft: UserGroupDraft,
  ): Result<{ created: boolean; group: ShownGroup }, AdmitFailure | FailureOf<"user_group_not_found">> {
    const admitted = this.#admit(caller, "read");
    if (!admitted.ok) return admitted;

    const known = this.#groups.findByProvidedId(draft.providedId);
    if (known) return ok({ created: false, group: shown(known) });
    if (admitted.value.access === "read") return fail({ code: "user_group_not_found" });

    const fresh = {
      providedId: draft.providedId,
      name: draft.name ?? draft.providedId,
      mapping: draft.mapping ?? null,
      properties: draft.properties ?? null,
      nonce: newNonce(),
      graceNonce: null,
      graceEndsAt: null,
      indexed: 0,
      graceIndexed: 0,
      revision: 1,
    };
    return ok({ created: true, group: shown(this.#groups.insert(fresh, Date.now())) });
  }

  /** Changes the fields given, if the group's state is one that `ifMatch` names. No change, no write, no new revision. */
  update(
    caller: Proof,
    providedId: string,
    changes: UserGroupChanges,
    ifMatch: string | undefined,
  ): Result<
    ShownGroup,
    AdmitFailure | FailureOf<"user_group_not_found" | "revision_mismatch" | "user_group_id_taken">
  > {
    const admitted = this.#admit(caller, "write");
    if (!admitted.ok) return admitted;

    const group = this.#groups.findByProvidedId(providedId);
    if (!group) return fail({ code: "user_group_not_found" });
    if (ifMatch !== undefined && !ifMatchAllows(ifMatch, group)) return fail({ code: "revision_mismatch" });

    const changed = withChanges(group, changes);
    if (changed === group) return ok(shown(group));
    if (changed.providedId !== group.providedId && this.#groups.has(changed.providedId))
      return fail({ code: "user_group_id_taken" });
    return ok(shown(this.#replace(group, changed)));
  }

  /**
   * Trades the current token for a new one. Viewers may show the old one for `graceSeconds` more, nobody else. A
   * `repeatable` call made again is answered as it was, whatever has become of the group.
   */
  rotateToken(
    caller: Proof,
    current: Proof | undefined,
    graceSeconds: number,
    repeatable: Repeatable | undefined,
  ): Result<Omit<RotatedGroup, "signingId"> & { signingId?: string }, HeldFailure> {
    const held = this.#findHeld(caller, current, repeatable);
    if (!held.ok) return held;
    const { kept, group } = held.value;
    if (kept) return kept.rotated ? ok(kept.rotated) : fail({ code: "idempotency_key_reused" });
    const grace =
      graceSeconds > 0
        ? { graceNonce: group.nonce, graceIndexed: group.indexed, graceEndsAt: Date.now() + graceSeconds * 1000 }
        : { graceNonce: null, graceIndexed: 0, graceEndsAt: null };
    return ok(rotated(this.#replace(group, { ...group, ...grace, nonce: newNonce(), indexed: 0 }, repeatable)));
  }

  /** Deletes the group whose current token this is, unless a guard names another group or a foreign data source. */
  remove(
    caller: Proof,
    current: Proof | undefined,
    guards: { providedId?: string | undefined; dataSource?: string | undefined },
    repeatable: Repeatable | undefined,
  ): Result<undefined, HeldFailure | FailureOf<"user_group_mismatch">> {
    const held = this.#findHeld(caller, current, repeatable);
    if (!held.ok) return held;
    const { kept, group } = held.value;
    if (kept) return kept.rotated ? fail({ code: "idempotency_key_reused" }) : ok(undefined);
    const { providedId = group.providedId, dataSource } = guards;
    if (providedId !== group.providedId || (dataSource !== undefined && !mapsTo(group, dataSource)))
      return fail({ code: "user_group_mismatch" });

    this.#write(
      group.teamId,
      undefined,
      indexedNoncesOf(group, Date.now()),
      () => this.#groups.delete(group.teamId),
      repeatable && keptAnswerTo(repeatable, null),
    );
    return ok(undefined);
  }

  /**
   * What the viewer who shows this token sees. A token of ours that shows no group was one once. With `allowsStale` the
   * index is told of the token, from its first such viewer on: most tokens never have one, and each entry has its price.
   */
  view(viewer: Proof, allowsStale: boolean | undefined): Result<GroupSnapshot, FailureOf<"credential_revoked">> {
    const group = this.#groups.findByTeamId(viewer.id);
    const snapshot = snapshotFor(group, viewer.nonce, Date.now());
    if (!group || !snapshot) return fail({ code: "credential_revoked" });
    if (allowsStale) this.#index(group, viewer.nonce);
    return ok(snapshot);
  }

  /** One page of the groups, in the order of their numbers. */
  list(caller: Proof, query: GroupPageQuery): Result<GroupPage, AdmitFailure> {
    const admitted = this.#admit(caller, "read");
    return admitted.ok ? ok(readPage(this.#groups, query)) : admitted;
  }

  /** Only judges the caller: for requests that are refused anyway, so that strangers do not learn why. */
  checkAccess(caller: Proof, access: Access): Result<undefined, AdmitFailure> {
    const admitted = this.#admit(caller, access);
    return admitted.ok ? ok(undefined) : admitted;
  }

  // The operator is judged in the Worker, which alone has the operator's token.

  /** Makes an API key. */
  issueKey(draft: ApiKeyDraft): ApiKey {
    const now = Date.now();
    return this.#keys.insert({
      name: draft.name,
      access: draft.access,
      nonce: newNonce(),
      createdAt: now,
      expiresAt: draft.expiresInSeconds === undefined ? null : now + draft.expiresInSeconds * 1000,
    });
  }

  /** All API keys, those that are no longer good included. */
  listKeys(): ApiKey[] {
    return this.#keys.list();
  }

  /** Makes an API key useless from here on. One that was revoked before keeps the time of that. */
  revokeKey(id: number): Result<undefined, FailureOf<"api_key_not_found">> {
    const key = this.#keys.findById(id);
    if (!key) return fail({ code: "api_key_not_found" });
    this.#revokeAt(key, Date.now());
    return ok(undefined);
  }

  /** Makes a key like this one in its place; this one stays good for `graceSeconds`, unless its time is up before. */
  rollKey(id: number, graceSeconds: number): Result<ApiKey, FailureOf<"api_key_not_found">> {
    const now = Date.now();
    const key = this.#keys.findById(id);
    if (!key || refusalOf(key, now)) return fail({ code: "api_key_not_found" });
    const { name, access, expiresAt } = key;
    return ok(
      this.ctx.storage.transactionSync(() => {
        this.#revokeAt(key, now + graceSeconds * 1000);
        return this.#keys.insert({ name, access, expiresAt, nonce: newNonce(), createdAt: now });
      }),
    );
  }

  #revokeAt(key: ApiKey, time: number): void {
    if (key.revokedAt === null || time < key.revokedAt) this.#keys.setRevokedAt(key.id, time);
  }

  #admit(caller: Proof, access: Access): Result<ApiKey, AdmitFailure> {
    const key = this.#keys.findById(caller.id);
    if (!key || !sameNonce(key.nonce, caller.nonce)) return fail({ code: "unauthenticated" });
    const now = Date.now();
    const refusal = refusalOf(key, now);
    if (refusal) return fail(refusal);
    if (key.lastUsedAt === null || now - key.lastUsedAt >= LAST_USED_SECONDS * 1000)
      this.#keys.setLastUsedAt(key.id, now);
    if (access === "write" && key.access !== "write") return fail({ code: "insufficient_access" });
    return ok(key);
  }

  /**
   * The group whose current token is `current`, or what the call was answered with when it was made before. `undefined`
   * stands for a token that cannot be one of this environment.
   */
  #findHeld(
    caller: Proof,
    current: Proof | undefined,
    repeatable: Repeatable | undefined,
  ): Result<{ group: UserGroup; kept?: never } | { kept: KeptAnswer; group?: never }, HeldFailure> {
    const admitted = this.#admit(caller, "write");
    if (!admitted.ok) return admitted;
    const kept = repeatable && this.#keptAnswers.find(repeatable.key);
    if (repeatable && kept && Date.now() < kept.keptUntil)
      return sameNonce(kept.request, repeatable.request) ? ok({ kept }) : fail({ code: "idempotency_key_reused" });
    const group = current && this.#groups.findByTeamId(current.id);
    if (!group) return fail({ code: "user_group_not_found" });
    if (!sameNonce(group.nonce, current.nonce)) return fail({ code: "token_superseded" });
    return ok({ group });
  }

  #replace(before: UserGroup, changed: UserGroup, repeatable?: Repeatable): UserGroup {
    const after = { ...changed, revision: before.revision + 1 };
    const now = Date.now();
    // After a rotation that is the old token: the new one is not indexed before a viewer shows it.
    this.#write(
      after.teamId,
      after,
      indexedNoncesOf(before, now),
      () =>
        after.providedId === before.providedId ? this.#groups.replace(after, now) : this.#groups.rename(after, now),
      repeatable && keptAnswerTo(repeatable, { ...rotated(after), signingId: repeatable.signingId }),
    );
    return after;
  }

  #index(group: UserGroup, nonce: BufferSource): void {
    const ofToken = (each: UserGroup) => indexedNoncesOf(each, Date.now()).filter((known) => sameNonce(known, nonce));
    if (ofToken(group).length > 0) return;
    const after = withIndexed(group, nonce);
    const added = ofToken(after);
    this.#write(after.teamId, after, added, () => this.#groups.markIndexed(after));
  }

  /**
   * Commits a change together with the answer to keep and the announcement of the tokens of which to tell the index, sees to
   * it that an alarm follows, and starts to tell. Where there is neither, the change is all. `after` is what it leaves.
   */
  #write(
    teamId: number,
    after: UserGroup | undefined,
    toTell: ArrayBuffer[],
    change: () => void,
    kept?: KeptAnswer,
  ): void {
    if (toTell.length === 0 && !kept) {
      change();
      return;
    }
    const now = Date.now();
    this.ctx.storage.transactionSync(() => {
      change();
      for (const nonce of toTell) this.#drain.queue(nonce, teamId, { isRevoked: !snapshotFor(after, nonce, now) });
      if (kept) this.#keptAnswers.insert(kept);
    });
    this.#setAlarm(now + INDEX_BACKSTOP_SECONDS * 1000);
    this.ctx.waitUntil(this.#tellIndex({ all: false }));
  }

  /**
   * Runs when an alarm is due, by the platform. It never throws: after six throws the platform would stop calling it
   * (Durable Objects, "Alarms"), and the index would stay behind.
   */
  override async alarm(): Promise<void> {
    this.#alarmAt = Number.POSITIVE_INFINITY;
    await this.#tellIndex({ all: true });
    try {
      this.#forgetAnswers();
    } catch (error) {
      log.error({ message: "Kept answers could not be deleted; it is tried again.", error: String(error) });
      this.#setAlarm(Date.now() + PURGE_RETRY_SECONDS * 1000);
    }
  }

  /**
   * Sets the alarm where changes wait for it and it is gone: after six tries the platform gives one up (Durable Objects,
   * "Alarms"), and it tries in vain where the directory cannot start, as after a release that fails.
   */
  async #restoreAlarm(): Promise<void> {
    if ((await this.ctx.storage.getAlarm()) === null) this.#setAlarm(Date.now());
  }

  /** Deletes kept answers whose time is over, a bounded number at a time, and sets the alarm for the next one. */
  #forgetAnswers(): void {
    const now = Date.now();
    const oldest = this.#keptAnswers.oldest(KEPT_ANSWERS_PER_PURGE_MAX);
    const over = oldest.findLast(({ keptUntil }) => keptUntil <= now);
    if (over) this.#keptAnswers.deleteUpTo(over.id);
    const [next] = this.#keptAnswers.oldest(1);
    if (next) this.#setAlarm(Math.max(now, next.keptUntil));
  }

  async #tellIndex(scope: { all: boolean }): Promise<void> {
    const next = await this.#drain.run(scope);
    if (next !== undefined) this.#setAlarm(next);
  }

  /** Sets the alarm, unless this instance has set one that comes earlier. An alarm that finds nothing to do costs little. */
  #setAlarm(time: number): void {
    if (time >= this.#alarmAt) return;
    this.#alarmAt = time;
    this.ctx.waitUntil(this.ctx.storage.setAlarm(time));
  }
}

const keptAnswerTo = ({ key, request }: Repeatable, rotated: RotatedGroup | null): KeptAnswer => ({
  key,
  request,
  rotated,
  keptUntil: Date.now() + IDEMPOTENCY_SECONDS * 1000,
});

/** Why a key is no longer good at `now`, if it is not. */
function refusalOf(key: ApiKey, now: number): FailureOf<"credential_revoked" | "credential_expired"> | undefined {
  if (key.revokedAt !== null && key.revokedAt <= now) return { code: "credential_revoked" };
  if (key.expiresAt !== null && key.expiresAt <= now) return { code: "credential_expired" };
  return undefined;
}
