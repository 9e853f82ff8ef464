import { LAST_USED_SECONDS, LIST_ITEMS_MAX, SUCCESSORS_TRIED_MAX } from "../../../common/limits.ts";
import { fail, ok, type Result } from "../../../common/result.ts";
import type { EventDetails, StoredEvent, StoredKey } from "../../records.ts";
import type { KeyStore } from "../../storage/key-store.ts";
import type { FailureOf } from "../failure.ts";
import type { ChangeLog } from "../feed/change-log.ts";
import type { ChangeDescription } from "../feed/event.ts";
import type { Read } from "../turns.ts";
import type { Author, PresentedKey } from "./caller.ts";
import { sameBytes } from "./credential.ts";

/** A new key, of whose nonce only the hash is known here. Without `expiresInSeconds` it never expires. */
export type KeyDraft = {
  name: string;
  rights: string;
  nonceHash: ArrayBuffer;
  expiresInSeconds?: number | undefined;
  /** Of an operator, in lower case. */
  email?: string;
};

/** How a key is replaced: by one with this nonce, while the old one stays valid for `graceSeconds`. */
export type KeyRoll = { graceSeconds: number; nonceHash: ArrayBuffer };

/** Asks for at most `limit` keys from the number `start` on. */
export type KeyQuery = { start: number; limit: number };

/** Some keys, and the number of the next; `null` after the last one. */
export type KeyPage = { keys: StoredKey[]; next: number | null };

/** A key, and the event that revoked or rolled it, if one did and the feed still has it. */
export type FoundKey = { key: StoredKey; ending: StoredEvent | undefined };

export type KeyFailure = FailureOf<"unauthenticated" | "credential_expired" | "credential_revoked">;

/** What the keys of one Durable Object are keys of, as events name it. */
type Subject = "api_key" | "operator";

/**
 * The keys of one Durable Object: API keys in a directory, operators in the registry. Each change has its event. At most
 * `countMax` are stored; when there are as many, a new one takes the place of the one that ended longest ago.
 */
export class Keys {
  readonly #subject: Subject;
  readonly #store: KeyStore;
  readonly #changes: ChangeLog;
  readonly #countMax: number;

  constructor(subject: Subject, store: KeyStore, changes: ChangeLog, countMax: number) {
    this.#subject = subject;
    this.#store = store;
    this.#changes = changes;
    this.#countMax = countMax;
  }

  /** The presented key, if it is valid now. Notes the time of its use, at most once an hour. */
  authenticate({ id, nonceHash }: PresentedKey): Result<StoredKey, KeyFailure> {
    const key = this.#store.findById(id);
    return key && sameBytes(key.nonceHash, nonceHash) ? this.#use(key) : fail({ code: "unauthenticated" });
  }

  /** The key of a session, if it is valid now. Notes the time of its use, too. */
  authenticateSession(id: number): Result<StoredKey, KeyFailure> {
    const key = this.#store.findById(id);
    return key ? this.#use(key) : fail({ code: "credential_revoked" });
  }

  #use(key: StoredKey): Result<StoredKey, KeyFailure> {
    const now = Date.now();
    const refusal = refusalOf(key, now);
    if (refusal) return fail(refusal);
    if (this.#changes.notesUse && (key.lastUsedAt === null || now - key.lastUsedAt >= LAST_USED_SECONDS * 1000))
      this.#store.setLastUsedAt(key.id, now);
    return ok(key);
  }

  /** One page of the keys, revoked and expired ones included, oldest first. */
  list({ start, limit }: KeyQuery): Read<KeyPage> {
    const found = this.#store.page(start, limit + 1);
    return {
      page: { keys: found.slice(0, limit), next: found[limit]?.id ?? null },
      share: Math.min(1, found.length / LIST_ITEMS_MAX),
    };
  }

  /** The keys with these numbers, as far as they are stored, each with the event that ended it or will end it. */
  find(ids: readonly number[]): FoundKey[] {
    return ids.flatMap((id) => {
      const key = this.#store.findById(id);
      return key ? [{ key, ending: this.#endingOf(key) }] : [];
    });
  }

  /** The event that revoked or rolled a key, if the feed still has it. After a roll with grace it is older than the end of the key. */
  #endingOf(key: StoredKey): StoredEvent | undefined {
    if (key.revokedAt === null) return undefined;
    const types = [`${this.#subject}.revoked`, `${this.#subject}.rolled`];
    const isIt = ({ type, details }: StoredEvent) => types.includes(type) && details[this.#subject]?.id === key.id;
    const times = [key.revokedAt, ...this.#store.creationsAfter(key, SUCCESSORS_TRIED_MAX)];
    for (const time of times) {
      const event = this.#changes.findFrom(time, isIt);
      if (event) return event;
    }
    return undefined;
  }

  isEmpty(): boolean {
    return this.#store.count() === 0;
  }

  issue(author: Author, { expiresInSeconds, ...draft }: KeyDraft): Result<StoredKey, FailureOf<"environment_full">> {
    if (!this.#hasRoom()) return fail({ code: "environment_full" });
    const now = Date.now();
    const expiresAt = expiresInSeconds === undefined ? null : now + expiresInSeconds * 1000;
    return ok(
      this.#changes.commit(
        author,
        (key) => this.#event("issued", key),
        () => this.#insert({ ...draft, createdAt: now, expiresAt }),
      ),
    );
  }

  /** The key, unless it has expired or was revoked. */
  findValid(id: number): StoredKey | undefined {
    const key = this.#store.findById(id);
    return key && !refusalOf(key, Date.now()) ? key : undefined;
  }

  /** The operator who signs in by this address, unless it has expired or was revoked. After a roll, that is the successor. */
  findValidByEmail(email: string): StoredKey | undefined {
    return this.#store.withEmail(email).find((key) => !refusalOf(key, Date.now()));
  }

  /** When the key with this id ends; `null` if it does not. */
  endOf(id: number | null): number | null {
    const key = id === null ? undefined : this.#store.findById(id);
    return (key && endOf(key)) ?? null;
  }

  /** Revokes a key. A key that is revoked already keeps its time. Returns whether there is such a key. */
  revoke(author: Author, id: number): boolean {
    const key = this.#store.findById(id);
    const now = Date.now();
    if (key && (key.revokedAt === null || key.revokedAt > now))
      this.#changes.commit(author, this.#event("revoked", key), () => this.#store.setRevokedAt(id, now));
    return key !== undefined;
  }

  /**
   * Issues a key with the same name, rights, expiry and address, and revokes the old one after `graceSeconds`. Returns `undefined` if
   * there is no valid key with this number.
   */
  roll(
    author: Author,
    id: number,
    { graceSeconds, nonceHash }: KeyRoll,
  ): Result<StoredKey, FailureOf<"environment_full">> | undefined {
    const key = this.findValid(id);
    if (!key) return undefined;
    if (!this.#hasRoom()) return fail({ code: "environment_full" });
    const now = Date.now();
    const { name, rights, expiresAt, email } = key;
    const kept = { name, rights, expiresAt, ...(email && { email }) };
    const revokedAt = Math.min(now + graceSeconds * 1000, key.revokedAt ?? Number.POSITIVE_INFINITY);
    return ok(
      this.#changes.commit(
        author,
        (successor) => this.#event("rolled", key, { successor_id: successor.id }),
        () => {
          const successor = this.#insert({ ...kept, nonceHash, createdAt: now });
          this.#store.setRevokedAt(id, revokedAt);
          return successor;
        },
      ),
    );
  }

  /** Whether there is room for a new key: not if all are valid. */
  #hasRoom(): boolean {
    const hasPlace = this.#store.count() < this.#countMax || this.#store.endedFirst(Date.now()) !== undefined;
    return hasPlace && !this.#changes.isFull;
  }

  #event(what: "issued" | "rolled" | "revoked", { id, name }: StoredKey, details?: EventDetails): ChangeDescription {
    return { type: `${this.#subject}.${what}`, details: { [this.#subject]: { id, name }, ...details } };
  }

  #insert(key: Parameters<KeyStore["insert"]>[0]): StoredKey {
    const ended = this.#store.count() < this.#countMax ? undefined : this.#store.endedFirst(key.createdAt);
    if (ended !== undefined) this.#store.delete(ended);
    return this.#store.insert(key);
  }
}

/** When a key ends or has ended, by its expiry or by a revocation after a grace; `undefined` if it does not. */
export function endOf({ revokedAt, expiresAt }: StoredKey): number | undefined {
  const ends = [revokedAt, expiresAt].filter((end) => end !== null);
  return ends.length === 0 ? undefined : Math.min(...ends);
}

/** Why a key is no longer valid at `now`, if it is not. */
function refusalOf(key: StoredKey, now: number): FailureOf<"credential_revoked" | "credential_expired"> | undefined {
  if (key.revokedAt !== null && key.revokedAt <= now) return { code: "credential_revoked" };
  if (key.expiresAt !== null && key.expiresAt <= now) return { code: "credential_expired" };
  return undefined;
}
