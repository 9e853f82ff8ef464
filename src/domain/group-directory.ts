import { DurableObject } from "cloudflare:workers";
import { fail, ok, type Result } from "../../common/result.ts";
import type { GroupSnapshot, StoredKey } from "../records.ts";
import type { BackupPage, BackupPosition } from "./backup/backup.ts";
import { readDirectory } from "./backup/directory-backup.ts";
import { type RestoreFailure, type RestorePage, type RestoreProgress, type Taken, takePage } from "./backup/restore.ts";
import type { CallerFailure } from "./credentials/admission.ts";
import {
  authorOf,
  type Caller,
  type Operator,
  type PresentedKey,
  type PresentedSession,
  type PresentedToken,
  renameRefusal,
} from "./credentials/caller.ts";
import type { FoundKey, KeyDraft, KeyFailure, KeyPage, KeyQuery, KeyRoll } from "./credentials/keys.ts";
import { type PresentedViewer, type Reason, reasonsOfViewer } from "./credentials/reasons.ts";
import type { Scope } from "./credentials/rights.ts";
import { DirectoryCalls, type Listed } from "./directory-calls.ts";
import { type DirectoryParts, directoryPartsOf } from "./directory-parts.ts";
import type { FailureOf, Idempotent } from "./failure.ts";
import type { ShownGroup } from "./feed/endings.ts";
import {
  type EventPage,
  type EventQuery,
  type NewestPage,
  type NewestQuery,
  readEvents,
  readNewest,
} from "./feed/event.ts";
import { GroupHistory, type HistoryFailure, type HistoryPage, type HistoryQuery } from "./feed/group-history.ts";
import { GroupCount, type GroupCounts, GroupSearch, type SearchQuery } from "./search/group-scans.ts";
import type { StateFailure } from "./user-groups/entity-tag.ts";
import { addGroups, addNames, type GroupPage, type PageQuery, readPage } from "./user-groups/group-page.ts";
import type {
  Ensured,
  EnsureFailure,
  PurgeFailure,
  RestoreOptions,
  TokenFailure,
  UpdateFailure,
  ViewFailure,
} from "./user-groups/groups.ts";
import type { EndedLeases } from "./user-groups/lease-requests.ts";
import { type EnvironmentOverview, type InspectedGroup, inspect, readOverview } from "./user-groups/overview.ts";
import type { Conditions, Outcome, OnceFailure as RepeatFailure } from "./user-groups/responses.ts";
import type {
  GroupWithToken,
  Guards,
  RotatedWithToken,
  UserGroupChanges,
  UserGroupDraft,
  ViewerAnswer,
} from "./user-groups/user-group.ts";
import type { NewSession, SessionsToEnd } from "./user-groups/viewer-sessions.ts";

type FindFailure = CallerFailure | FailureOf<"user_group_not_found">;
type StartFailure = FindFailure | FailureOf<"user_group_suspended">;
type OnceFailure = CallerFailure | RepeatFailure;
type ShownOutcome = Result<ShownGroup & Outcome, OnceFailure | StateFailure>;

/**
 * The user groups and API keys of one environment, and the only authority on them. No method awaits between its reads and its
 * writes, so ids stay unique, and of two racing rotations one is refused. The platform sends an answer only after the writes
 * before it are durable ("output gates").
 *
 * Each method that takes a `caller` checks that API key first, so a revoked key is refused from then on. An environment
 * has no tables until its first API key is issued; until then every call is refused without writing anything.
 */
export class GroupDirectory extends DurableObject<Env> {
  #parts: DirectoryParts;
  readonly #calls = new DirectoryCalls(() => this.#parts);

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#parts = directoryPartsOf(ctx, env);
  }

  /**
   * Gets the group with the draft's id as it is, or creates it if the key has `groups:write`. A retry after a lost answer reports
   * that it found the group, as it would to a client that calls again.
   */
  ensure(caller: Caller, draft: UserGroupDraft): Idempotent<Ensured, CallerFailure | EnsureFailure> {
    return this.#calls.as(caller, "groups:read", (admitted) => this.#parts.groups.ensure(admitted, draft));
  }

  /** Changes the given fields. An update that changes nothing writes nothing. */
  update(
    caller: Caller,
    providedId: string,
    changes: UserGroupChanges,
    conditions: Pick<Conditions, "ifMatch">,
  ): Result<GroupWithToken & EndedLeases, CallerFailure | UpdateFailure> {
    return this.#calls.as(caller, "groups:write", (admitted) =>
      this.#parts.groups.updateById(admitted, providedId, changes, conditions),
    );
  }

  /** The same for the group with this number, or a merge patch of it. The answer never has a token. */
  updateByNumber(
    caller: Caller,
    teamId: number,
    changes: UserGroupChanges,
    conditions: Pick<Conditions, "ifMatch"> & { isMergePatch: boolean },
  ): Result<ShownGroup & EndedLeases, CallerFailure | UpdateFailure | FailureOf<"invalid_body">> {
    const refusal = renameRefusal(caller, changes.newProvidedId);
    if (refusal) return fail(refusal);
    return this.#calls.shown(caller, "groups:write", (admitted) =>
      this.#parts.groups.updateByNumber(admitted, teamId, changes, conditions),
    );
  }

  /**
   * Replaces the current token by a new one. Viewers may present the old token for `graceSeconds` more; for all else it has
   * ended. A repeated call with the same Idempotency-Key gets the same answer, whatever has happened to the group since.
   */
  rotateToken(
    caller: Caller,
    current: PresentedToken | undefined,
    graceSeconds: number,
    conditions: Conditions,
  ): Result<RotatedWithToken & Outcome, OnceFailure | TokenFailure> {
    return this.#calls.as(caller, "tokens:rotate", (admitted) =>
      this.#parts.repeatable.rotate(admitted, current, graceSeconds, conditions),
    );
  }

  /** Replaces the token of the group with this number. The answer does not have the new one. */
  rotateByNumber(caller: Caller, teamId: number, graceSeconds: number, conditions: Conditions): ShownOutcome {
    return this.#calls.shown(caller, "tokens:rotate", (admitted) =>
      this.#parts.repeatable.rotateByNumber(admitted, teamId, graceSeconds, conditions),
    );
  }

  /** Deletes the group with this current token, unless a guard names another group or another data source. */
  remove(
    caller: Caller,
    current: PresentedToken | undefined,
    guards: Guards,
    conditions: Conditions,
  ): Result<Outcome, OnceFailure | TokenFailure | FailureOf<"user_group_mismatch">> {
    return this.#calls.as(caller, "groups:delete", (admitted) =>
      this.#parts.repeatable.remove(admitted, current, guards, conditions),
    );
  }

  /** Deletes the group with this number. The answer is the deleted group. */
  removeByNumber(caller: Caller, teamId: number, conditions: Conditions): ShownOutcome {
    return this.#calls.shown(caller, "groups:delete", (admitted) =>
      this.#parts.repeatable.removeByNumber(admitted, teamId, conditions),
    );
  }

  /**
   * Moves a deleted group back as it was, with its token, unless another group has its id now. A group that exists stays as
   * it is. With `rotateToken` it gets a new token, and the old one stays revoked.
   */
  restore(
    caller: Caller,
    teamId: number,
    options: RestoreOptions,
    conditions: Conditions,
  ): Idempotent<ShownGroup & Outcome, OnceFailure | StateFailure | FailureOf<"user_group_id_taken">> {
    const refusal = renameRefusal(caller, options.newProvidedId);
    if (refusal) return fail(refusal);
    return this.#calls.shown(caller, "groups:write", (admitted) =>
      this.#parts.repeatable.restore(admitted, teamId, options, conditions),
    );
  }

  /** Erases a deleted group now. Its events stay, which have its ids and nothing else of it. A repeat finds no group. */
  purge(caller: Caller, teamId: number, conditions: Conditions): Result<undefined, OnceFailure | PurgeFailure> {
    return this.#calls.as(caller, "groups:delete", (admitted) =>
      this.#parts.repeatable.purge(admitted, teamId, conditions),
    );
  }

  /** The group as the viewer with this token sees it. With `acceptsStale` the answer may ask the Worker to write a lease. */
  view(viewer: PresentedToken, acceptsStale: boolean): Idempotent<ViewerAnswer, ViewFailure> {
    return this.#calls.ifCreated(
      ({ groups }) => groups.view(viewer, acceptsStale),
      fail({ code: "credential_revoked" }),
    );
  }

  /** What a session for viewers of the group with this id is made of. It changes no group, so the call can be repeated. */
  startSession(caller: Caller, providedId: string, viewerId?: string): Idempotent<NewSession, StartFailure> {
    return this.#calls.as(caller, "sessions:create", ({ keyId }) =>
      this.#parts.sessions.start(keyId, { providedId }, viewerId),
    );
  }

  /** As `startSession`, of the group with this number. */
  startSessionByNumber(caller: Caller, teamId: number, viewerId?: string): Idempotent<NewSession, StartFailure> {
    return this.#calls.as(caller, "sessions:create", ({ keyId }) =>
      this.#parts.sessions.start(keyId, { teamId }, viewerId),
    );
  }

  /** The group as the viewer with this session sees it. The key that minted the session must still be valid. */
  viewSession(session: PresentedSession): Idempotent<GroupSnapshot, ViewFailure> {
    return this.#calls.ifCreated(({ sessions }) => sessions.view(session), fail({ code: "credential_revoked" }));
  }

  /** Ends one session, a person's, or all of a group's. A session that no longer views is left as it is. */
  endSessions(caller: Caller, ending: SessionsToEnd): Result<undefined, FindFailure> {
    return this.#calls.as(caller, "sessions:create", ({ author }) => this.#parts.sessions.end(author, ending));
  }

  /** Ends the sessions of the person `viewerId` of the group with this number; without one, all of the group's. */
  endSessionsByNumber(caller: Caller, teamId: number, viewerId: string | undefined): Result<undefined, FindFailure> {
    return this.#calls.as(caller, "sessions:create", ({ author }) =>
      this.#parts.sessions.endOfGroup(author, { teamId }, viewerId),
    );
  }

  /** One page of the groups. Lists take turns, so that viewers are answered between them. */
  list(caller: Caller, query: PageQuery): Listed<GroupPage> {
    return this.#calls.inTurns(caller, "groups:read", ({ stores }) => ok(readPage(stores.groups, query)));
  }

  /** One page of the groups that pass the conditions of a search. */
  search(caller: Caller, query: SearchQuery): Listed<GroupPage> {
    const search = new GroupSearch(query);
    return this.#calls.inTurns(caller, "groups:read", ({ stores }) => ok(search.turn(stores.groups)));
  }

  /** One group as lists show it: of those that exist, or of the deleted ones. */
  show(caller: Caller, teamId: number, from: "existing" | "deleted"): Idempotent<ShownGroup, FindFailure> {
    return this.#calls.shown(caller, "groups:read", () => this.#parts.groups.show(teamId, from));
  }

  /** One page of the events, oldest first. It takes turns with lists. For `withGroups` the caller needs `groups:read` too. */
  async listEvents(caller: Caller, query: EventQuery): Listed<EventPage, FailureOf<"cursor_expired">> {
    const admitted = query.withGroups ? this.#calls.admit(caller, "groups:read") : undefined;
    if (admitted && !admitted.ok) return admitted;
    return this.#calls.inTurns(caller, "events:read", ({ stores }) => {
      const read = readEvents(stores.events, query);
      return read.ok && query.withGroups ? ok(addGroups(stores.groups, read.value)) : read;
    });
  }

  /** One page of the events, newest first. */
  listNewestEvents(caller: Caller, query: NewestQuery): Listed<NewestPage> {
    return this.#calls.inTurns(caller, "events:read", ({ stores }) => {
      const read = readNewest(stores.events, query);
      return ok(query.withNames ? addNames(stores.groups, read) : read);
    });
  }

  /** One page of a group's events, newest first; also of a deleted or purged group, as long as its events are kept. */
  history(caller: Caller, teamId: number, query: HistoryQuery): Listed<HistoryPage, HistoryFailure> {
    const history = new GroupHistory(teamId, query);
    return this.#calls.inTurns(caller, "events:read", ({ stores }) =>
      stores.groups.wasUsed(teamId) ? history.turn(stores.events) : fail({ code: "user_group_not_found" }),
    );
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

  /** How the environment is: its size, its groups, the keys that somebody should look at. It takes turns with lists. */
  overview(operator: Operator): Listed<EnvironmentOverview> {
    return this.#calls.inTurns(operator, undefined, ({ stores }) =>
      ok(readOverview(stores, this.ctx.storage.sql.databaseSize, Date.now())),
    );
  }

  /** How many groups there are in each state, up to bounds. */
  countGroups(operator: Operator): Listed<GroupCounts> {
    const count = new GroupCount();
    return this.#calls.inTurns(operator, undefined, ({ stores }) => ok(count.turn(stores.groups)));
  }

  /** A group, of those that exist or of the deleted ones, and who has suspended and deleted it. */
  inspect(operator: Operator, teamId: number): Idempotent<InspectedGroup, FindFailure> {
    return this.#calls.as(operator, "groups:read", () => inspect(this.#parts.stores, teamId));
  }

  /** Only checks the caller: before a call is refused for its content, so that a stranger learns nothing about it. */
  checkCaller(caller: Caller, scope: Scope | undefined): Idempotent<undefined, CallerFailure> {
    return this.#calls.as(caller, scope, () => ok(undefined));
  }

  /** The API key that calls. */
  identify(key: PresentedKey): Idempotent<StoredKey, KeyFailure> {
    return this.#calls.identify(key);
  }

  // The calls of operators alone, whom the registry has admitted.

  /** Issues an API key. The first one of an environment creates its tables. */
  issueKey(operator: Operator, draft: KeyDraft): Result<StoredKey, FailureOf<"environment_full">> {
    this.#parts.schema.create();
    return this.#parts.keys.issue(authorOf(operator), draft);
  }

  /** One page of the API keys, revoked and expired ones included. It takes turns with lists. */
  async listKeys(operator: Operator, query: KeyQuery): Listed<KeyPage> {
    if (!this.#parts.schema.exists) return ok({ keys: [], next: null, hasWaited: false });
    return this.#calls.inTurns(operator, undefined, ({ keys }) => ok(keys.list(query)));
  }

  /** The API keys with these numbers, each with the event that ended it, for an operator whom the registry has admitted. */
  findKeys(operator: Operator, ids: readonly number[]): Idempotent<FoundKey[], CallerFailure> {
    return this.#calls.as(operator, undefined, () => ok(this.#parts.keys.find(ids)));
  }

  /** Why viewers with this token or session are refused, if they are. It is no view. */
  explainViewer(operator: Operator, viewer: PresentedViewer): Idempotent<Reason[], CallerFailure> {
    return this.#calls.as(operator, undefined, () => ok(reasonsOfViewer(this.#parts, viewer, Date.now())));
  }

  /** Whether no API key was issued yet. */
  hasNoKeys(): boolean {
    return this.#calls.ifCreated(({ keys }) => keys.isEmpty(), true);
  }

  /** Revokes an API key. A key that is revoked already keeps its time. */
  revokeKey(operator: Operator, id: number): Idempotent<undefined, FailureOf<"api_key_not_found">> {
    const isFound = this.#calls.ifCreated(({ keys }) => keys.revoke(authorOf(operator), id), false);
    return isFound ? ok(undefined) : fail({ code: "api_key_not_found" });
  }

  /** Issues a key with the same name, rights and expiry, and revokes the old one after `graceSeconds`. */
  rollKey(
    operator: Operator,
    id: number,
    roll: KeyRoll,
  ): Result<StoredKey, FailureOf<"api_key_not_found" | "environment_full">> {
    const rolled = this.#calls.ifCreated(({ keys }) => keys.roll(authorOf(operator), id, roll), undefined);
    return rolled ?? fail({ code: "api_key_not_found" });
  }

  /** One page of a backup. It takes turns with lists. */
  backup(operator: Operator, position: BackupPosition | undefined): Listed<BackupPage, FailureOf<"cursor_expired">> {
    return this.#calls.inTurns(operator, undefined, ({ stores, schema }) =>
      readDirectory(stores, schema.number, position),
    );
  }

  /** How far a restore has come. */
  restoreProgress(): RestoreProgress {
    return this.#parts.restore.progress();
  }

  /** Takes the next page of a backup. The first one begins again from the start; after an invalid one nothing is left. */
  async restorePage(page: RestorePage): Promise<Idempotent<Taken, RestoreFailure>> {
    const taken = await takePage(this.#parts.restore, page, () => this.#clear());
    if (taken.ok && taken.value.isDone && !taken.value.isRepeated) this.#parts.changes.schedule(Date.now());
    return taken;
  }

  /** Gives up a restore: nothing of it is left. */
  async abandonRestore(): Promise<void> {
    if (this.#parts.schema.isRestoring) await this.#clear();
  }

  /** Deletes everything, for the registry: groups, keys, events and the alarm. Purged groups stay purged. */
  async erase(): Promise<void> {
    // While a backup is restored, the tables may be read by nobody but the restore, and nothing is purged.
    if (!this.#parts.schema.isRestoring && this.#parts.schema.exists) await this.#parts.tombstones.handOverAll();
    await this.#clear();
  }

  async #clear(): Promise<DirectoryParts> {
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
    this.#parts = directoryPartsOf(this.ctx, this.env);
    return this.#parts;
  }

  /** The platform calls this when the alarm is due. */
  override async alarm(): Promise<void> {
    if (this.#parts.schema.isRestoring || !this.#parts.schema.exists) return;
    const { chores, tombstones } = this.#parts;
    chores.run();
    if (await tombstones.handOver()) chores.scheduleNext();
  }
}
