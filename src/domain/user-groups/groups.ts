import { GROUPS_PER_PURGE_MAX } from "../../../common/limits.ts";
import { fail, ok, type Result } from "../../../common/result.ts";
import type { GroupSnapshot, ListedGroup, UserGroup } from "../../records.ts";
import type { GroupStore } from "../../storage/group-store.ts";
import type { TombstoneStore } from "../../storage/tombstone-store.ts";
import type { Chore } from "../chores.ts";
import type { Admitted } from "../credentials/admission.ts";
import type { Author, PresentedToken } from "../credentials/caller.ts";
import { sameBytes } from "../credentials/credential.ts";
import { dayOf, purgeAtOf } from "../days.ts";
import type { FailureOf } from "../failure.ts";
import type { ChangeLog } from "../feed/change-log.ts";
import { describeUpdate, previousId } from "../feed/event.ts";
import { type IfMatch, inState, type StateFailure } from "./entity-tag.ts";
import { type EndedLeases, LeaseRequests } from "./lease-requests.ts";
import { mergedChanges } from "./merge-patch.ts";
import type { Conditions, Responses } from "./responses.ts";
import {
  bytesOf,
  type GroupWithToken,
  type Guards,
  guardRefusal,
  NO_GRACE,
  newGroup,
  newToken,
  type Presented,
  revise,
  snapshotFor,
  toGroupWithToken,
  toListedGroup,
  type UserGroupChanges,
  type UserGroupDraft,
  type ViewerAnswer,
  withChanges,
} from "./user-group.ts";

/** A group after a change. */
export type Changed = EndedLeases & { group: UserGroup };

/** A group that a caller got or created. */
export type Ensured = { created: boolean; group: GroupWithToken };

export type EnsureFailure = FailureOf<"user_group_not_found" | "environment_full">;
type ChangeFailure = FailureOf<"user_group_id_taken" | "environment_full">;
export type UpdateFailure = StateFailure | ChangeFailure;
export type ViewFailure = FailureOf<"credential_revoked" | "user_group_suspended">;
export type PurgeFailure = StateFailure | FailureOf<"user_group_not_deleted">;
export type TokenFailure = StateFailure | FailureOf<"token_superseded">;

/** How a group is restored: under another id, and with another token. */
export type RestoreOptions = { newProvidedId?: string | undefined; rotateToken: boolean };

/**
 * The groups of one environment: how they change, each change with its event, and when they end. A deleted group can be
 * restored for `undoMs`.
 */
export class Groups {
  readonly #store: GroupStore;
  readonly #changes: ChangeLog;
  readonly #responses: Responses;
  readonly #undoMs: number;
  readonly #tombstones: TombstoneStore;
  readonly #leases = new LeaseRequests();

  constructor(
    { store, tombstones }: { store: GroupStore; tombstones: TombstoneStore },
    changes: ChangeLog,
    responses: Responses,
    undoMs: number,
  ) {
    this.#tombstones = tombstones;
    this.#store = store;
    this.#changes = changes;
    this.#responses = responses;
    this.#undoMs = undoMs;
  }

  find(teamId: number): UserGroup | undefined {
    return this.#store.findByTeamId(teamId);
  }

  findDeleted(teamId: number): UserGroup | undefined {
    return this.#store.findDeleted(teamId);
  }

  findByProvidedId(providedId: string): UserGroup | undefined {
    return this.#store.findByProvidedId(providedId);
  }

  /**
   * The group whose current token is `current`, if it is in a state that `ifMatch` allows. `current` is `undefined` for a token
   * that cannot belong to this environment.
   */
  findByCurrentToken(
    current: PresentedToken | undefined,
    ifMatch: IfMatch | undefined,
  ): Result<UserGroup, TokenFailure> {
    const group = current && this.#store.findByTeamId(current.id);
    if (group && !sameBytes(group.nonce, current.nonce)) return fail({ code: "token_superseded" });
    return inState(group, ifMatch);
  }

  /** The same for a group to delete, unless a guard names another one. */
  findGuarded(
    current: PresentedToken | undefined,
    guards: Guards,
    ifMatch: IfMatch | undefined,
  ): Result<UserGroup, TokenFailure | FailureOf<"user_group_mismatch">> {
    const found = this.findByCurrentToken(current, ifMatch);
    const refusal = found.ok ? guardRefusal(found.value, guards) : undefined;
    return refusal ? fail(refusal) : found;
  }

  /** The group as the viewer with this token or session sees it at `now`. A signed token of no group was valid once. */
  see(teamId: number, presented: Presented, now: number): Result<GroupSnapshot, ViewFailure> {
    const group = this.#store.findByTeamId(teamId);
    const snapshot = group && snapshotFor(group, presented, now);
    if (!snapshot) return fail({ code: "credential_revoked" });
    if (group.suspendedAt !== null) return fail({ code: "user_group_suspended" });
    this.noteView(group, now);
    return ok(snapshot);
  }

  /** The same for a token, and whether the Worker should write a lease of the answer, for a viewer who `acceptsStale`. */
  view(viewer: PresentedToken, acceptsStale: boolean): Result<ViewerAnswer, ViewFailure> {
    const readAt = Date.now();
    const group = this.see(viewer.id, viewer, readAt);
    if (!group.ok) return group;
    const writeLease = acceptsStale && this.#leases.shouldWriteLease(viewer.nonce, readAt);
    return ok({ readAt, group: group.value, writeLease });
  }

  /** Notes the day on which the group was viewed, at most once a day. The state that its ETag names stays. */
  noteView({ teamId, lastViewedOn }: UserGroup, now: number): void {
    const today = dayOf(now);
    if (this.#changes.notesUse && (lastViewedOn ?? "") < today) this.#store.setLastViewedOn(teamId, today);
  }

  /** One group as lists show it: of those that exist, or of the deleted ones. */
  show(teamId: number, from: "existing" | "deleted"): Result<ListedGroup, FailureOf<"user_group_not_found">> {
    const group = from === "deleted" ? this.findDeleted(teamId) : this.find(teamId);
    return group ? ok(toListedGroup(group)) : fail({ code: "user_group_not_found" });
  }

  /** Gets the group with the draft's id as it is, or creates it if the caller has `groups:write`. */
  ensure({ author, may }: Admitted, draft: UserGroupDraft): Result<Ensured, EnsureFailure> {
    const known = this.findByProvidedId(draft.providedId);
    if (!known && !may("groups:write")) return fail({ code: "user_group_not_found" });
    const group = known ? ok(known) : this.#create(author, draft);
    if (!group.ok) return group;
    return ok({ created: !known, group: toGroupWithToken(group.value, { mayReadToken: may("tokens:read") }) });
  }

  #create(author: Author, draft: UserGroupDraft): Result<UserGroup, FailureOf<"environment_full">> {
    if (this.#changes.isFull) return fail({ code: "environment_full" });
    return ok(
      this.#changes.commit(
        author,
        (group) => ({ type: "user_group.created", group }),
        () => this.#store.insert(newGroup(draft, Date.now())),
      ),
    );
  }

  /** Changes the given fields of the group with this id. An update that changes nothing writes nothing. */
  updateById(
    { author, may }: Admitted,
    providedId: string,
    changes: UserGroupChanges,
    { ifMatch }: Pick<Conditions, "ifMatch">,
  ): Result<GroupWithToken & EndedLeases, UpdateFailure> {
    const found = inState(this.findByProvidedId(providedId), ifMatch);
    if (!found.ok) return found;
    const updated = this.#update(author, found.value, changes);
    if (!updated.ok) return updated;
    const { group, endedLeases } = updated.value;
    return ok({ ...toGroupWithToken(group, { mayReadToken: may("tokens:read") }), endedLeases });
  }

  /** The same for the group with this number, or a merge patch of it. */
  updateByNumber(
    { author }: Admitted,
    teamId: number,
    changes: UserGroupChanges,
    { ifMatch, isMergePatch }: Pick<Conditions, "ifMatch"> & { isMergePatch: boolean },
  ): Result<ListedGroup & EndedLeases, UpdateFailure | FailureOf<"invalid_body">> {
    const found = inState(this.find(teamId), ifMatch);
    if (!found.ok) return found;
    const replacing = isMergePatch ? mergedChanges(found.value, changes) : ok(changes);
    if (!replacing.ok) return replacing;
    const updated = this.#update(author, found.value, replacing.value);
    if (!updated.ok) return updated;
    const { group, endedLeases } = updated.value;
    return ok({ ...toListedGroup(group), endedLeases });
  }

  #update(author: Author, before: UserGroup, changes: UserGroupChanges): Result<Changed, ChangeFailure> {
    const group = withChanges(before, { ...changes, reason: author.reason }, Date.now());
    if (group === before) return ok({ group, endedLeases: [] });
    if (group.providedId !== before.providedId && this.#store.has(group.providedId))
      return fail({ code: "user_group_id_taken" });
    if (bytesOf(group) > bytesOf(before) && this.#changes.isFull) return fail({ code: "environment_full" });
    const isSuspended = group.suspendedAt !== null && before.suspendedAt === null;
    const endedLeases = isSuspended ? this.#leasesOf(before) : [];
    this.#changes.commit(author, describeUpdate(before, group), () => this.#store.replace(before, group));
    return ok({ group, endedLeases });
  }

  /** Replaces a group's token. Viewers may present the old one for `graceSeconds` more. */
  rotate(author: Author, before: UserGroup, graceSeconds: number): Changed {
    const now = Date.now();
    const endedLeases = this.#leasesOf(before);
    const grace =
      graceSeconds > 0
        ? { graceNonce: before.nonce, graceGeneration: before.generation, graceEndsAt: now + graceSeconds * 1000 }
        : NO_GRACE;
    const group = revise(before, { ...grace, ...newToken(), updatedAt: now });
    this.#changes.commit(author, { type: "user_group.token_rotated", group }, () => this.#store.replace(before, group));
    return { group, endedLeases };
  }

  /** Ends all viewer sessions of a group. Its tokens go on working, also one in its grace. */
  endSessions(author: Author, before: UserGroup): void {
    const { generation } = newToken();
    const graceGeneration = before.graceGeneration && newToken().generation;
    const group = { ...before, generation, graceGeneration };
    this.#changes.commit(author, { type: "viewer_sessions.ended", group }, () => this.#store.replace(before, group));
  }

  delete(author: Author, before: UserGroup): Changed {
    const deletedAt = Date.now();
    const endedLeases = this.#leasesOf(before);
    const group = revise(before, { deletedAt });
    this.#changes.commit(author, { type: "user_group.deleted", group }, () => this.#store.delete(group));
    this.#changes.schedule(purgeAtOf(deletedAt, this.#undoMs));
    return { group, endedLeases };
  }

  /** Moves a deleted group back, unless another group has its id now. A group that exists stays as it is. */
  restore(
    author: Author,
    teamId: number,
    { newProvidedId, rotateToken }: RestoreOptions,
    { ifMatch }: Pick<Conditions, "ifMatch">,
  ): Result<Changed, StateFailure | FailureOf<"user_group_id_taken">> {
    const found = inState(this.#store.findByTeamId(teamId) ?? this.#store.findDeleted(teamId), ifMatch);
    if (!found.ok) return found;
    const deleted = found.value;
    if (deleted.deletedAt === null) return ok({ group: deleted, endedLeases: [] });
    const providedId = newProvidedId ?? deleted.providedId;
    if (this.#store.has(providedId)) return fail({ code: "user_group_id_taken" });

    const token = rotateToken ? { ...newToken(), ...NO_GRACE } : {};
    const group = revise(deleted, { ...token, providedId, deletedAt: null });
    const event = { type: "user_group.restored", group, details: previousId(deleted, group) } as const;
    this.#changes.commit(author, event, () => this.#store.restore(group));
    return ok({ group, endedLeases: [] });
  }

  /** Purges a deleted group now. */
  purge(author: Author, teamId: number, ifMatch: IfMatch | undefined): Result<undefined, PurgeFailure> {
    if (this.#store.findByTeamId(teamId)) return fail({ code: "user_group_not_deleted" });
    const deleted = inState(this.#store.findDeleted(teamId), ifMatch);
    if (!deleted.ok) return deleted;
    this.#purge(author, deleted.value);
    return ok(undefined);
  }

  /** Purges a deleted group, and ends the responses that are stored about it. */
  #purge(author: Author, group: Pick<UserGroup, "teamId" | "providedId" | "createdAt">): void {
    this.#changes.commit(author, { type: "user_group.purged", group }, () => {
      this.#store.purge(group.teamId);
      this.#responses.end(group.teamId);
      this.#tombstones.put(group);
    });
    this.#changes.schedule(Date.now());
  }

  /** Purges deleted groups that can no longer be restored. */
  readonly purgeDue: Chore = {
    name: "purge deleted groups",
    dueAt: () => {
      const [oldest] = this.#store.oldestDeleted(1);
      return oldest && purgeAtOf(oldest.deletedAt, this.#undoMs);
    },
    run: (now) => {
      const author: Author = { actor: { kind: "system", id: null, name: "purge" }, requestId: crypto.randomUUID() };
      for (const deleted of this.#store.oldestDeleted(GROUPS_PER_PURGE_MAX))
        if (purgeAtOf(deleted.deletedAt, this.#undoMs) <= now) this.#purge(author, deleted);
    },
  };

  /** The nonces of the group's tokens for which KV may hold a lease. */
  #leasesOf({ nonce, graceNonce }: UserGroup): ArrayBuffer[] {
    const now = Date.now();
    return [nonce, graceNonce].filter((each) => each !== null).filter((each) => this.#leases.mayExist(each, now));
  }
}
