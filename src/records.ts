import type { ContentField, StoredValue } from "../common/content.ts";

/** Rows as the stores read and write them. Times are milliseconds since 1970. */

/** What integrators give of a group. */
export type GroupContent = { [Field in ContentField]: StoredValue<Field> };

/** What viewers and lists show of a group. */
export type PublicGroup = { teamId: number } & GroupContent;

/** A group as lists show it. A group without `deletedAt` exists. */
export type ListedGroup = PublicGroup & {
  /** Since when viewers are refused, or `null`. */
  suspendedAt: number | null;
  /** What the call that suspended the group gave as its reason, or `null`. */
  suspendedReason: string | null;
  /** The day of the last view that the directory answered, in UTC as YYYY-MM-DD, or `null`. */
  lastViewedOn: string | null;
  /** Counts the changes of the group. Lists show it as part of an entity tag. */
  revision: number;
  createdAt: number;
  updatedAt: number;
  deletedAt: number | null;
};

/** What of a group is secret. */
export type GroupToken = {
  /** The directory's half of the current token. */
  nonce: ArrayBuffer;
  /** Random bits of the current token, which its viewer sessions have too: a session of another token is refused. */
  generation: ArrayBuffer;
  /** Both from before the last rotation. Viewers may present that token and its sessions until `graceEndsAt`. */
  graceNonce: ArrayBuffer | null;
  graceGeneration: ArrayBuffer | null;
  graceEndsAt: number | null;
};

/** One customer of an integrator. */
export type UserGroup = ListedGroup & GroupToken;

/** Whether viewers see a group, are refused, or find none. */
export const GROUP_STATES = ["active", "suspended", "deleted"] as const;
export type GroupState = (typeof GROUP_STATES)[number];

/** A group as its viewers see it. `validUntil` is the end of a grace, or `null` for the current token. */
export type GroupSnapshot = PublicGroup & { validUntil: number | null };

/** An answer of the directory to a viewer, as KV keeps it. `readAt` is the time at which the directory read the group. */
export type Lease = { readAt: number; group: GroupSnapshot };

/** A key at rest. Only the SHA-256 of its nonce is stored, so the key itself cannot be shown a second time. */
export type StoredKey = {
  id: number;
  name: string;
  /** Of an API key `read`, `write` or scopes with blanks between them; of an operator the role. */
  rights: string;
  nonceHash: ArrayBuffer;
  createdAt: number;
  expiresAt: number | null;
  /** The last use, or a time less than an hour before it. */
  lastUsedAt: number | null;
  /** When the key was revoked, or, after a roll with grace, when it will be. */
  revokedAt: number | null;
  /** The address in lower case by which an operator signs in with its company. API keys and a registry of release 1.0 have none. */
  email?: string | null;
};

/**
 * A session in which an operator uses the console. `hash` is the SHA-256 of its cookie. That of the bootstrap token has no
 * `operatorId`, and an HMAC of the token, so that replacing the token ends it. `formIds` are the forms that were sent in it.
 */
export type StoredConsoleSession = {
  id: number;
  hash: ArrayBuffer;
  operatorId: number | null;
  bootstrapMac: ArrayBuffer | null;
  createdAt: number;
  lastUsedAt: number;
  formIds: string;
  /** From where the operator has signed in. `null` of a session that release 1.0 has started. */
  browser: string | null;
  address: string | null;
};

/** The location hints of Durable Objects (Durable Objects, "Data location"). */
export const LOCATIONS = ["wnam", "enam", "sam", "weur", "eeur", "apac", "oc", "afr", "me"] as const;
export type Location = (typeof LOCATIONS)[number];

/** An environment as the registry records it, by the name of its directory. `location` is a hint of where to place it. */
export type StoredEnvironment = {
  id: number;
  name: string;
  location: Location | null;
  createdAt: number;
};

/**
 * What a rotation answers: the group as it was then, and the id of the signing key of its token, if that is not the current
 * one.
 */
export type RotatedGroup = Pick<UserGroup, "teamId" | "providedId" | "name" | "nonce" | "revision"> & {
  signingId: string | undefined;
};

/**
 * The response to a call with an Idempotency-Key, to be given again when the call is repeated. `key` and `request` are
 * SHA-256 hashes. `teamId` is the group, and `keyId` the API key that made the call, or `null` for an operator.
 */
export type StoredResponse = {
  keyId: number | null;
  teamId: number;
  key: ArrayBuffer;
  request: ArrayBuffer;
  expiresAt: number;
  /** Of a rotation by token, of a deletion by token, which shows no group, or of a call by number. */
  response:
    | { kind: "rotated"; group: RotatedGroup }
    | { kind: "removed"; teamId: number }
    | { kind: "listed"; group: ListedGroup };
};

/** The end of one session, or of a person's sessions. `id` is that of its event. */
export type EndedSession = { id: number; name: string; endedAt: number };

/** A group that was purged, of any environment. A group of a backup with the same number and time stays purged. */
export type Tombstone = Pick<UserGroup, "teamId" | "createdAt">;

/** Who made a change. The operator without an id is the bootstrap token. */
export type Actor = { kind: "api_key" | "operator" | "system"; id: number | null; name: string };

/** The types of changes, on which the schemas, the documents and the client depend. */
export const EVENT_TYPES = [
  "user_group.created",
  "user_group.updated",
  "user_group.token_rotated",
  "user_group.suspended",
  "user_group.resumed",
  "user_group.deleted",
  "user_group.restored",
  "user_group.purged",
  "viewer_sessions.ended",
  "api_key.issued",
  "api_key.rolled",
  "api_key.revoked",
  "operator.issued",
  "operator.rolled",
  "operator.revoked",
  "environment.created",
  "environment.restored",
  "environment.erased",
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/**
 * The published fields that only some events have: the first two those of an update, the next three those of ended sessions, the
 * others those of a key, an operator or an environment. `changed` also has the names of changed properties, which are not published:
 * `changedIn` divides them.
 */
export type EventDetails = {
  changed?: string[];
  previous_provided_id?: string;
  session_id?: string;
  viewer_id?: string;
  reason?: string;
  api_key?: { id: number; name: string };
  operator?: { id: number; name: string };
  successor_id?: number;
  environment?: { workspace: string; environment: string | null };
  /** Of a restore that checked no signatures. */
  unsigned?: true;
};

/** A change, without any value of what it changed. */
export type ChangeEvent = {
  at: number;
  type: EventType;
  actor: Actor;
  requestId: string;
  teamId: number | null;
  providedId: string | null;
  details: EventDetails;
};

/** An event with its number in the feed. */
export type StoredEvent = ChangeEvent & { id: number };
