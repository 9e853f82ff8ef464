import type { StoredKey } from "../records.ts";
import { Table } from "./table.ts";

const KEY_FIELDS = ["id", "name", "rights", "nonceHash", "createdAt", "expiresAt", "lastUsedAt", "revokedAt"] as const;

/** The fields of a key that each table has. */
const FIELDS = { api_keys: KEY_FIELDS, operators: [...KEY_FIELDS, "email"] } as const;

/** The SQL of keys: of API keys or of operators, by their table. */
export class KeyStore {
  readonly #sql: SqlStorage;
  readonly #name: keyof typeof FIELDS;
  readonly #table: Table<StoredKey>;
  /** Rows as the table has them: every call needs one, and nothing else writes this database. */
  readonly #cache = new Map<number, StoredKey>();

  constructor(sql: SqlStorage, name: keyof typeof FIELDS) {
    this.#sql = sql;
    this.#name = name;
    this.#table = new Table(sql, name, FIELDS[name]);
  }

  findById(id: number): StoredKey | undefined {
    const cached = this.#cache.get(id);
    if (cached) return cached;
    const key = this.#table.find("id = ?", id);
    if (key) this.#cache.set(id, key);
    return key;
  }

  /** The first `count` keys from the id `start` on, revoked and expired ones included, oldest first. */
  page(start: number, count: number): StoredKey[] {
    return this.#table.list("id >= ? ORDER BY id LIMIT ?", start, count);
  }

  /** The operators with an address, the newest first, revoked and expired ones included. */
  withEmail(email: string): StoredKey[] {
    return this.#table.list("email = ? ORDER BY id DESC", email);
  }

  /** When the first `count` keys with the name and the rights of this one were made after it. */
  creationsAfter({ id, name, rights }: StoredKey, count: number): number[] {
    return this.#table
      .list("id > ? AND name = ? AND rights = ? ORDER BY id LIMIT ?", id, name, rights, count)
      .map(({ createdAt }) => createdAt);
  }

  /** How many keys there are, valid or not. */
  count(): number {
    return this.#sql.exec<{ count: number }>(`SELECT count(*) AS count FROM ${this.#name} WHERE id > 0`).one().count;
  }

  /** The key that ended longest before `now`, by its expiry or revocation. */
  endedFirst(now: number): number | undefined {
    const { id } = this.#sql
      .exec<{ id: number | null }>(
        `SELECT id, min(min(coalesce(revoked_at, expires_at), coalesce(expires_at, revoked_at))) AS ended_at
          FROM ${this.#name} WHERE id > 0 AND (revoked_at <= ?1 OR expires_at <= ?1)`,
        now,
      )
      .one();
    return id ?? undefined;
  }

  delete(id: number): void {
    this.#cache.delete(id);
    this.#table.delete("id = ?", id);
  }

  setLastUsedAt(id: number, lastUsedAt: number): void {
    this.#cache.delete(id);
    this.#table.set(id, "lastUsedAt", lastUsedAt);
  }

  setRevokedAt(id: number, revokedAt: number): void {
    this.#cache.delete(id);
    this.#table.set(id, "revokedAt", revokedAt);
  }

  /** Writes a key as it is, in the place of any with its id. */
  put(key: StoredKey): void {
    this.#cache.delete(key.id);
    this.#table.insert(key, "INSERT OR REPLACE");
  }

  /** The highest id of a key. */
  highestId(): number {
    return this.#table.number("coalesce(max(id), 0)");
  }

  /** Lets the next key have a higher id than this one: SQLite remembers the highest that it has seen. */
  setLastId(id: number): void {
    const none = { name: "", rights: "", nonceHash: new ArrayBuffer(0), createdAt: 0 };
    this.put({ id, ...none, expiresAt: null, lastUsedAt: null, revokedAt: null });
    this.delete(id);
  }

  /** Revokes all keys. */
  revokeAll(now: number): void {
    this.#cache.clear();
    this.#sql.exec(`UPDATE ${this.#name} SET revoked_at = ?1 WHERE revoked_at IS NULL OR revoked_at > ?1`, now);
  }

  /** Adds a key under an id that no key had before. */
  insert(key: Omit<StoredKey, "id" | "lastUsedAt" | "revokedAt">): StoredKey {
    return this.#table.add(key);
  }
}
