import type {
  Access,
  ApiKey,
  GroupFilter,
  GroupSnapshot,
  ListedGroup,
  RotatedGroup,
  UserGroup,
} from "../storage/records.ts";
import { sameNonce } from "./credential.ts";

export type { Access, ApiKey, GroupFilter, GroupSnapshot, ListedGroup, UserGroup };

/** What the wire calls `api_environment_tag`; `null` is the environment without one. */
export type EnvironmentTag = "Customer" | "Testing" | null;

/** The scope in which a `user_group_id` is unique, and in which an API key acts. */
export type Environment = { workspace: string; tag: EnvironmentTag };

/** What a new group is made of. */
export type UserGroupDraft = {
  providedId: string;
  name?: string | undefined;
  mapping?: string | null | undefined;
  properties?: string | null | undefined;
};

/**
 * What the Worker sees of a group: enough to answer with it and to make its token. No answer shows the mapping, which
 * stays for what version 0.1 was promised (`test/domain/versions.test.ts`).
 */
export type ShownGroup = Pick<
  UserGroup,
  "teamId" | "providedId" | "name" | "mapping" | "properties" | "nonce" | "revision"
>;

/** What the Worker sees of this group. */
export const shown = ({ teamId, providedId, name, mapping, properties, nonce, revision }: UserGroup): ShownGroup => ({
  teamId,
  providedId,
  name,
  mapping,
  properties,
  nonce,
  revision,
});

/** What a rotation is answered with, but for who signs the token. */
export const rotated = ({ teamId, providedId, name, nonce, revision }: UserGroup): Omit<RotatedGroup, "signingId"> => ({
  teamId,
  providedId,
  name,
  nonce,
  revision,
});

/** What an update may change; a field that is absent stays as it is, and `null` clears it. */
export type UserGroupChanges = Omit<Partial<UserGroupDraft>, "providedId"> & { newProvidedId?: string | undefined };

/**
 * The strong validator of a group's state (RFC 9110, section 8.8). The team id is part of it: a group that was deleted
 * and made anew starts again at revision 1, and must not pass for the old one.
 */
export const etagOf = (group: Pick<UserGroup, "teamId" | "revision">): string => `"${group.teamId}.${group.revision}"`;

/**
 * Whether an `If-Match` header (RFC 9110, section 13.1.1) allows a change of `group`. Weak validators never match, as
 * the RFC asks.
 */
export function ifMatchAllows(ifMatch: string, group: UserGroup): boolean {
  return ifMatch.trim() === "*" || ifMatch.split(",").some((etag) => etag.trim() === etagOf(group));
}

/** The group after `changes`, or the very same object when they change nothing. */
export function withChanges(group: UserGroup, changes: UserGroupChanges): UserGroup {
  const next: UserGroup = {
    ...group,
    providedId: changes.newProvidedId ?? group.providedId,
    name: changes.name ?? group.name,
    mapping: changes.mapping === undefined ? group.mapping : changes.mapping,
    properties: changes.properties === undefined ? group.properties : changes.properties,
  };
  const changed =
    next.providedId !== group.providedId ||
    next.name !== group.name ||
    next.mapping !== group.mapping ||
    next.properties !== group.properties;
  return changed ? next : group;
}

/** Whether the group's mapping leads to `dataSource`. */
export function mapsTo(group: UserGroup, dataSource: string): boolean {
  return Object.values(JSON.parse(group.mapping ?? "{}")).includes(dataSource);
}

/**
 * What a viewer sees who shows the token with this nonce at `now`: the group, for the current token and for the one
 * before it while its grace lasts; `undefined` for any other.
 */
export function snapshotFor(group: UserGroup | undefined, nonce: BufferSource, now: number): GroupSnapshot | undefined {
  if (!group) return undefined;
  const { teamId, providedId, name, mapping, properties, graceEndsAt } = group;
  const snapshot = { teamId, providedId, name, mapping, properties };
  if (sameNonce(group.nonce, nonce)) return { ...snapshot, validUntil: null };
  const inGrace = nonceInGrace(group, now);
  return inGrace && sameNonce(inGrace, nonce) ? { ...snapshot, validUntil: graceEndsAt } : undefined;
}

/** The nonce of the token before the current one, while its grace lasts. */
const nonceInGrace = ({ graceNonce, graceEndsAt }: UserGroup, now: number): ArrayBuffer | null =>
  graceEndsAt !== null && now < graceEndsAt ? graceNonce : null;

/** The nonces for which the index may have an entry that shows the group at `now`: one of a grace that has ended shows none. */
export const indexedNoncesOf = (group: UserGroup, now: number): ArrayBuffer[] => {
  const inGrace = nonceInGrace(group, now);
  return [...(group.indexed ? [group.nonce] : []), ...(inGrace && group.graceIndexed ? [inGrace] : [])];
};

/** The group with the token of this nonce, the current one or the one before it, marked as known to the index. */
export const withIndexed = (group: UserGroup, nonce: BufferSource): UserGroup =>
  sameNonce(group.nonce, nonce) ? { ...group, indexed: 1 } : { ...group, graceIndexed: 1 };
