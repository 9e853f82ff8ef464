/** Rows as the stores read and write them. Times are milliseconds since 1970; nonces are the directory's half of a credential. */

/** What a key may do: `read` sees groups that exist, `write` does everything. */
export type Access = "read" | "write";

/**
 * One customer of an integrator. `mapping` and `properties` stay the JSON text in which they are stored: hardly anything
 * between the request and the answer has a reason to look inside, and what is not taken apart cannot be altered.
 */
export type UserGroup = {
  teamId: number;
  providedId: string;
  name: string;
  mapping: string | null;
  properties: string | null;
  nonce: ArrayBuffer;
  /** The nonce before the last rotation, which viewers may show until `graceEndsAt`. */
  graceNonce: ArrayBuffer | null;
  graceEndsAt: number | null;
  /**
   * Whether the index may have an entry for the token, and for the one before it: 1 or 0, as SQLite has it. The first viewer
   * who allows a stale answer sets it. A rotation with grace takes it over to the token before, one without forgets that.
   */
  indexed: number;
  graceIndexed: number;
  revision: number;
};

/** What a list shows of a group: nothing of its tokens. */
export type ListedGroup = Pick<UserGroup, "teamId" | "providedId" | "name" | "mapping" | "properties"> & {
  createdAt: number;
  updatedAt: number;
};

/** Which groups a list is of. An empty prefix and the time 0 let all of them through. */
export type GroupFilter = { providedIdPrefix: string; updatedSince: number };

/** What a viewer may know of a group, and until when; `null` stands for as long as the token is the current one. */
export type GroupSnapshot = Pick<UserGroup, "teamId" | "providedId" | "name" | "mapping" | "properties"> & {
  validUntil: number | null;
};

/**
 * A token whose entry in the index may differ from what is true. `version` tells whether it was queued again since.
 * `againAt` is set once the index has been told while an earlier write could still come to pass: the time from which on none
 * can, and what is true is written once more.
 */
export type OutboxEntry = { nonce: ArrayBuffer; teamId: number; version: number; againAt: number | null };

/** An API key without its signature, so that nothing here can show it a second time. */
export type ApiKey = {
  id: number;
  name: string;
  access: Access;
  nonce: ArrayBuffer;
  createdAt: number;
  expiresAt: number | null;
  /** The last use, or one less than an hour before it. */
  lastUsedAt: number | null;
  /** When it stopped being good, or, after a roll with grace, when it will. */
  revokedAt: number | null;
};

/** What a rotation is answered with: the group as it was then, and the id of the key that signed its token. */
export type RotatedGroup = Pick<UserGroup, "teamId" | "providedId" | "name" | "nonce" | "revision"> & {
  signingId: string;
};

/**
 * What a call with an Idempotency-Key was answered with, for the same call made again. Key and request are digests;
 * `rotated` is null for a delete, whose answer shows no group.
 */
export type KeptAnswer = { key: ArrayBuffer; request: ArrayBuffer; keptUntil: number; rotated: RotatedGroup | null };
