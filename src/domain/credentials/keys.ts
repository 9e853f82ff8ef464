import { LAST_USED_SECONDS, LIST_GROUPS_MAX } from "../../limits.ts";
import type { StoredKey } from "../../records.ts";
import type { KeyStore } from "../../storage/key-store.ts";
import type { FailureOf } from "../failure.ts";
import { fail, ok, type Result } from "../result.ts";
import type { Read } from "../turns.ts";
import type { PresentedKey } from "./caller.ts";
import { sameBytes } from "./credential.ts";

/** A new key, of whose nonce only the hash is known here. Without `expiresInSeconds` it never expires. */
export type KeyDraft = {
  name: string;
  rights: string;
  nonceHash: ArrayBuffer;
  expiresInSeconds?: number | undefined;
};

/** Asks for at most `limit` keys from the number `start` on. */
export type KeyQuery = { start: number; limit: number };

/** Some keys, and the number of the next; `null` after the last one. */
export type KeyPage = { keys: StoredKey[]; next: number | null };

export type KeyFailure = FailureOf<"unauthenticated" | "credential_expired" | "credential_revoked">;

/**
 * The rules of the keys of one Durable Object: API keys in a directory, operators in the registry. At most `countMax` are
 * stored; when there are as many, a new one takes the place of the one that ended longest ago.
 */
export class Keys {
  readonly #store: KeyStore;
  readonly #countMax: number;

  constructor(store: KeyStore, countMax: number) {
    this.#store = store;
    this.#countMax = countMax;
  }

  /** The presented key, if it is valid now. Notes the time of its use, at most once an hour. */
  authenticate({ id, nonceHash }: PresentedKey): Result<StoredKey, KeyFailure> {
    const key = this.#store.findById(id);
    if (!key || !sameBytes(key.nonceHash, nonceHash)) return fail({ code: "unauthenticated" });
    const now = Date.now();
    const refusal = refusalOf(key, now);
    if (refusal) return fail(refusal);
    if (key.lastUsedAt === null || now - key.lastUsedAt >= LAST_USED_SECONDS * 1000)
      this.#store.setLastUsedAt(key.id, now);
    return ok(key);
  }

  /** One page of the keys, revoked and expired ones included, oldest first. */
  list({ start, limit }: KeyQuery): Read<KeyPage> {
    const found = this.#store.page(start, limit + 1);
    return {
      page: { keys: found.slice(0, limit), next: found[limit]?.id ?? null },
      share: Math.min(1, found.length / LIST_GROUPS_MAX),
    };
  }

  isEmpty(): boolean {
    return this.#store.count() === 0;
  }

  /** Whether there is room for a new key: not if all are valid. */
  hasRoom(): boolean {
    return this.#store.count() < this.#countMax || this.#store.endedFirst(Date.now()) !== undefined;
  }

  issue({ name, rights, nonceHash, expiresInSeconds }: KeyDraft): StoredKey {
    const now = Date.now();
    const expiresAt = expiresInSeconds === undefined ? null : now + expiresInSeconds * 1000;
    return this.#insert({ name, rights, nonceHash, createdAt: now, expiresAt });
  }

  find(id: number): StoredKey | undefined {
    return this.#store.findById(id);
  }

  /** The key, unless it has expired or was revoked. */
  findValid(id: number): StoredKey | undefined {
    const key = this.#store.findById(id);
    return key && !refusalOf(key, Date.now()) ? key : undefined;
  }

  /** When the key with this id ends, by its expiry or by a revocation after a grace; `null` if it does not. */
  endOf(id: number | null): number | null {
    const key = id === null ? undefined : this.#store.findById(id);
    const ends = [key?.expiresAt, key?.revokedAt].filter((end) => typeof end === "number");
    return ends.length > 0 ? Math.min(...ends) : null;
  }

  /** Revokes a key now. */
  revoke(key: StoredKey): void {
    this.#revokeAt(key, Date.now());
  }

  /** Issues a key with the same name, rights and expiry, and revokes the old one after `graceSeconds`. */
  roll(key: StoredKey, graceSeconds: number, nonceHash: ArrayBuffer): StoredKey {
    const now = Date.now();
    const { name, rights, expiresAt } = key;
    const successor = this.#insert({ name, rights, expiresAt, nonceHash, createdAt: now });
    this.#revokeAt(key, now + graceSeconds * 1000);
    return successor;
  }

  #insert(key: Parameters<KeyStore["insert"]>[0]): StoredKey {
    const ended = this.#store.count() < this.#countMax ? undefined : this.#store.endedFirst(key.createdAt);
    if (ended !== undefined) this.#store.delete(ended);
    return this.#store.insert(key);
  }

  #revokeAt(key: StoredKey, time: number): void {
    if (key.revokedAt === null || time < key.revokedAt) this.#store.setRevokedAt(key.id, time);
  }
}

/** Whether the key is revoked now. One that will be after a grace is not. */
export const isRevoked = ({ revokedAt }: StoredKey): boolean => revokedAt !== null && revokedAt <= Date.now();

/** Why a key is no longer valid at `now`, if it is not. */
function refusalOf(key: StoredKey, now: number): FailureOf<"credential_revoked" | "credential_expired"> | undefined {
  if (key.revokedAt !== null && key.revokedAt <= now) return { code: "credential_revoked" };
  if (key.expiresAt !== null && key.expiresAt <= now) return { code: "credential_expired" };
  return undefined;
}
