import type { GroupSnapshot, GroupState, ListedGroup, RotatedGroup, UserGroup } from "../../records.ts";
import { newNonce, sameBytes } from "../credentials/credential.ts";

/** The fields of a new group. */
export type UserGroupDraft = {
  providedId: string;
  name?: string | undefined;
  mapping?: string | null | undefined;
  properties?: string | null | undefined;
};

/** The fields that the Worker needs to answer with a group. Without a `nonce` the answer shows no token. */
export type GroupView = Omit<
  UserGroup,
  "nonce" | "generation" | "graceNonce" | "graceGeneration" | "graceEndsAt" | "suspendedAt" | "mapping"
> & {
  nonce: ArrayBuffer | undefined;
};

/** The view of a group for a caller that may read its token, or may not. */
export const toGroupView = (
  { teamId, providedId, name, properties, revision, nonce }: UserGroup,
  { mayReadToken }: { mayReadToken: boolean },
): GroupView => ({ teamId, providedId, name, properties, revision, nonce: mayReadToken ? nonce : undefined });

/** What a token is made of in the directory: two times 128 random bits. */
export const newToken = (): Pick<UserGroup, "nonce" | "generation"> => ({
  nonce: newNonce().buffer,
  generation: newNonce().buffer,
});

/** What a group has after a token without a grace. */
export const NO_GRACE = { graceNonce: null, graceGeneration: null, graceEndsAt: null };

/** The response to a rotation. The signing key matters only for a response that is stored. */
export const toRotatedGroup = (
  { teamId, providedId, name, nonce, revision }: UserGroup,
  signingId: string | undefined,
): RotatedGroup => ({ teamId, providedId, name, nonce, revision, signingId });

/** The changes of an update; an absent field stays as it is, and `null` clears it. */
export type UserGroupChanges = Omit<Partial<UserGroupDraft>, "providedId"> & {
  newProvidedId?: string | undefined;
  suspended?: boolean | undefined;
};

/**
 * The strong validator of a group's state (RFC 9110, section 8.8). The team id is part of it, because a new group with the
 * id of a deleted one starts at revision 1 again and must not match the old one's tag.
 */
export const etagOf = (group: Pick<UserGroup, "teamId" | "revision">): string => `"${group.teamId}.${group.revision}"`;

/** The group after `changes` at the time `now`, or the same object if they change nothing. */
export function withChanges(group: UserGroup, changes: UserGroupChanges, now: number): UserGroup {
  const suspendedAt = changes.suspended ? (group.suspendedAt ?? now) : null;
  const changed: Pick<UserGroup, keyof UserGroupDraft | "suspendedAt"> = {
    providedId: changes.newProvidedId ?? group.providedId,
    name: changes.name ?? group.name,
    mapping: changes.mapping === undefined ? group.mapping : changes.mapping,
    properties: changes.properties === undefined ? group.properties : changes.properties,
    suspendedAt: changes.suspended === undefined ? group.suspendedAt : suspendedAt,
  };
  const isChanged = Object.entries(changed).some(([field, value]) => value !== Reflect.get(group, field));
  return isChanged ? { ...group, ...changed } : group;
}

const utf8 = new TextEncoder();

/** The size in UTF-8 of what a group's owner can make it hold. */
export const bytesOf = ({ providedId, name, mapping, properties }: UserGroup): number =>
  utf8.encode(providedId + name + (mapping ?? "") + (properties ?? "")).length;

/** The state of a group that lists show. */
export const stateOf = ({ suspendedAt, deletedAt }: Pick<ListedGroup, "suspendedAt" | "deletedAt">): GroupState =>
  deletedAt !== null ? "deleted" : suspendedAt !== null ? "suspended" : "active";

/** Whether the group's mapping contains `dataSource`. */
export function mapsTo(group: UserGroup, dataSource: string): boolean {
  return Object.values(JSON.parse(group.mapping ?? "{}")).includes(dataSource);
}

/** What a viewer presents: the nonce of a token, or the generation in a session. */
export type Presented = { nonce: BufferSource; generation?: never } | { generation: BufferSource; nonce?: never };

/**
 * The group as a viewer sees it at `now`: with the current token or a session of it, or with the previous one during its
 * grace; `undefined` for any other.
 */
export function snapshotFor(
  group: UserGroup | undefined,
  { nonce, generation }: Presented,
  now: number,
): GroupSnapshot | undefined {
  if (!group) return undefined;
  const { teamId, providedId, name, mapping, properties, graceEndsAt } = group;
  const snapshot = { teamId, providedId, name, mapping, properties };
  const [current, previous, presented] = nonce
    ? [group.nonce, group.graceNonce, nonce]
    : [group.generation, group.graceGeneration, generation];
  if (sameBytes(current, presented)) return { ...snapshot, validUntil: null };
  const isInGrace = previous !== null && graceEndsAt !== null && now < graceEndsAt && sameBytes(previous, presented);
  return isInGrace ? { ...snapshot, validUntil: graceEndsAt } : undefined;
}
