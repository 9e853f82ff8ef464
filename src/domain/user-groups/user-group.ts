import { COLUMNS, CONTENT_FIELDS, type ContentField, type GroupField } from "../../../common/content.ts";
import type {
  GroupContent,
  GroupSnapshot,
  GroupState,
  GroupToken,
  Lease,
  ListedGroup,
  PublicGroup,
  RotatedGroup,
  UserGroup,
} from "../../records.ts";
import { utf8 } from "../bytes.ts";
import { newNonce, sameBytes } from "../credentials/credential.ts";
import type { FailureOf } from "../failure.ts";

/** The content of a new group. */
export type UserGroupDraft = Pick<GroupContent, "providedId"> & {
  [Field in GroupField]?: GroupContent[Field] | undefined;
};

/** The changes of an update; an absent field stays as it is, and `null` clears it. */
export type UserGroupChanges = Omit<UserGroupDraft, "providedId"> & {
  newProvidedId?: string | undefined;
  suspended?: boolean | undefined;
};

/** A group in the answer to an integrator. `nonce` is missing if the caller may not read the token. */
export type GroupWithToken = Omit<PublicGroup, "mapping"> & { revision: number; nonce: ArrayBuffer | undefined };

/** The group for a caller that may read its token, or may not. */
export function toGroupWithToken(group: UserGroup, { mayReadToken }: { mayReadToken: boolean }): GroupWithToken {
  const { mapping: _, ...content } = toPublicGroup(group);
  return { ...content, revision: group.revision, nonce: mayReadToken ? group.nonce : undefined };
}

/** The answer to a rotation. `nonce` is missing if the caller may not read the token. */
export type RotatedWithToken = Omit<RotatedGroup, "nonce"> & { nonce: ArrayBuffer | undefined };

/** The answer to a viewer. With `writeLease` the directory asks the Worker to write it to KV. */
export type ViewerAnswer = Lease & { writeLease: boolean };

/** The response to a rotation. The signing key matters only for a response that is stored. */
export const toRotatedGroup = (
  { teamId, providedId, name, nonce, revision }: UserGroup,
  signingId: string | undefined,
): RotatedGroup => ({ teamId, providedId, name, nonce, revision, signingId });

/** The group without its secrets. */
export function toListedGroup(group: UserGroup): ListedGroup {
  const { suspendedAt, suspendedReason, lastViewedOn, revision, createdAt, updatedAt, deletedAt } = group;
  const state = { suspendedAt, suspendedReason, lastViewedOn, revision, createdAt, updatedAt, deletedAt };
  return { ...toPublicGroup(group), ...state };
}

/** What viewers see of the group. */
export const toPublicGroup = (group: PublicGroup): PublicGroup => ({ teamId: group.teamId, ...contentOf(group) });

type SomeContent = { [Field in ContentField]?: string | null | undefined };

/** The content of a group after some changes. A field of which neither has a value is `null`. */
function contentOf(group: Partial<GroupContent>, changes: SomeContent = {}): GroupContent {
  const content: SomeContent = {};
  for (const field of CONTENT_FIELDS) {
    const changed = changes[field];
    content[field] = changed === undefined ? (group[field] ?? null) : changed;
  }
  return content as GroupContent;
}

/** What a token is made of in the directory: two times 128 random bits. */
export const newToken = (): Pick<GroupToken, "nonce" | "generation"> => ({
  nonce: newNonce().buffer,
  generation: newNonce().buffer,
});

/** The columns of a group without a previous token. */
export const NO_GRACE = { graceNonce: null, graceGeneration: null, graceEndsAt: null };

const NOT_SUSPENDED = { suspendedAt: null, suspendedReason: null };

/** A group that is created at the time `now`. */
export const newGroup = (draft: UserGroupDraft, now: number): Omit<UserGroup, "teamId"> => ({
  ...contentOf({ providedId: draft.providedId, name: draft.providedId }, draft),
  ...newToken(),
  ...NO_GRACE,
  ...NOT_SUSPENDED,
  lastViewedOn: null,
  revision: 1,
  createdAt: now,
  updatedAt: now,
  deletedAt: null,
});

/** The next revision of a group. */
export const revise = (group: UserGroup, changed: Partial<Omit<UserGroup, "teamId" | "revision">>): UserGroup => ({
  ...group,
  ...changed,
  revision: group.revision + 1,
});

/** The next revision of a group, after `changes` at the time `now`; or the same object if they change nothing. */
export function withChanges(
  group: UserGroup,
  changes: UserGroupChanges & { reason: string | undefined },
  now: number,
): UserGroup {
  const content = contentOf(group, { ...changes, providedId: changes.newProvidedId });
  const suspension = suspensionOf(group, changes, now);
  const isContentChanged = changedFields(group, content).length > 0;
  if (!isContentChanged && suspension.suspendedAt === group.suspendedAt) return group;
  return revise(group, { ...content, ...suspension, updatedAt: isContentChanged ? now : group.updatedAt });
}

/** A group that is suspended already keeps its time and its reason. */
function suspensionOf(
  { suspendedAt, suspendedReason }: UserGroup,
  { suspended, reason }: UserGroupChanges & { reason: string | undefined },
  now: number,
): Pick<UserGroup, "suspendedAt" | "suspendedReason"> {
  if (!(suspended ?? suspendedAt !== null)) return NOT_SUSPENDED;
  return suspendedAt === null
    ? { suspendedAt: now, suspendedReason: reason ?? null }
    : { suspendedAt, suspendedReason };
}

/** The published names of the fields whose content differs. */
export const changedFields = (before: GroupContent, after: GroupContent): string[] =>
  CONTENT_FIELDS.filter((field) => before[field] !== after[field]).map((field) => COLUMNS[field]);

/** The size in UTF-8 of what a group's owner can make it hold. */
export const bytesOf = (group: GroupContent): number =>
  utf8.encode(CONTENT_FIELDS.map((field) => group[field]).join("")).length;

/**
 * The strong validator of a group's state (RFC 9110, section 8.8). The team id is part of it, because a new group with the
 * id of a deleted one starts at revision 1 again and must not match the old one's tag.
 */
export const etagOf = (group: Pick<UserGroup, "teamId" | "revision">): string => `"${group.teamId}.${group.revision}"`;

/** The state of a group that lists show. */
export const stateOf = ({ suspendedAt, deletedAt }: Pick<ListedGroup, "suspendedAt" | "deletedAt">): GroupState =>
  deletedAt !== null ? "deleted" : suspendedAt !== null ? "suspended" : "active";

/** The id that a group to delete must have, and the data source that its mapping must contain. */
export type Guards = { providedId?: string | undefined; dataSource?: string | undefined };

/** The failure of the first guard that does not match the group. */
export function guardRefusal(
  group: UserGroup,
  { providedId, dataSource }: Guards,
): FailureOf<"user_group_mismatch"> | undefined {
  if (providedId !== undefined && providedId !== group.providedId)
    return { code: "user_group_mismatch", guard: "user_group_id" };
  if (dataSource !== undefined && !Object.values(JSON.parse(group.mapping ?? "{}")).includes(dataSource))
    return { code: "user_group_mismatch", guard: "data_source_provided_id" };
  return undefined;
}

/** What a viewer presents: the nonce of a token, or the generation in a session. */
export type Presented = { nonce: BufferSource; generation?: never } | { generation: BufferSource; nonce?: never };

/**
 * The group as a viewer sees it at `now`: with the current token or a session of it, or with the previous one during its
 * grace; `undefined` for any other.
 */
export function snapshotFor(
  group: UserGroup,
  { nonce, generation }: Presented,
  now: number,
): GroupSnapshot | undefined {
  const [current, previous, presented] = nonce
    ? [group.nonce, group.graceNonce, nonce]
    : [group.generation, group.graceGeneration, generation];
  if (sameBytes(current, presented)) return { ...toPublicGroup(group), validUntil: null };
  const { graceEndsAt } = group;
  const isInGrace = previous !== null && graceEndsAt !== null && now < graceEndsAt && sameBytes(previous, presented);
  return isInGrace ? { ...toPublicGroup(group), validUntil: graceEndsAt } : undefined;
}

/** Why `what` may not be this JSON, if it may not: it has more than `bytesMax` bytes. */
export function sizeRefusal(what: string, json: string, bytesMax: number): string | undefined {
  const bytes = utf8.encode(json).length;
  return bytes > bytesMax ? `The ${what} are ${bytes} bytes of JSON; ${bytesMax} is the most.` : undefined;
}

/** Why a mapping may not have so many entries, if it may not. */
export const entriesRefusal = (entries: number, most: number): string | undefined =>
  entries > most ? `A mapping of ${entries} entries is too large; ${most} is the most.` : undefined;
