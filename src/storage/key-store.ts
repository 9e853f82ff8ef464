import type { StoredKey } from "../records.ts";

const COLUMNS = `id, name, rights, nonce_hash AS nonceHash, created_at AS createdAt, expires_at AS expiresAt,
  last_used_at AS lastUsedAt, revoked_at AS revokedAt`;

/** The SQL of keys: of API keys or of operators, by their table. */
export class KeyStore {
  readonly #sql: SqlStorage;
  readonly #table: "api_keys" | "operators";
  /** Rows as the table has them: every call needs one, and nothing else writes this database. */
  readonly #cache = new Map<number, StoredKey>();

  constructor(sql: SqlStorage, table: "api_keys" | "operators") {
    this.#sql = sql;
    this.#table = table;
  }

  findById(id: number): StoredKey | undefined {
    const cached = this.#cache.get(id);
    if (cached) return cached;
    const key = this.#sql.exec<StoredKey>(`SELECT ${COLUMNS} FROM ${this.#table} WHERE id = ?`, id).toArray()[0];
    if (key) this.#cache.set(id, key);
    return key;
  }

  /** The first `count` keys from the id `start` on, revoked and expired ones included, oldest first. */
  page(start: number, count: number): StoredKey[] {
    return this.#sql
      .exec<StoredKey>(`SELECT ${COLUMNS} FROM ${this.#table} WHERE id >= ? ORDER BY id LIMIT ?`, start, count)
      .toArray();
  }

  /** When the first `count` keys with the name and the rights of this one were made after it. */
  creationsAfter({ id, name, rights }: StoredKey, count: number): number[] {
    return this.#sql
      .exec<{ createdAt: number }>(
        `SELECT created_at AS createdAt FROM ${this.#table} WHERE id > ? AND name = ? AND rights = ? ORDER BY id LIMIT ?`,
        id,
        name,
        rights,
        count,
      )
      .toArray()
      .map(({ createdAt }) => createdAt);
  }

  /** How many keys there are, valid or not. */
  count(): number {
    return this.#sql.exec<{ count: number }>(`SELECT count(*) AS count FROM ${this.#table} WHERE id > 0`).one().count;
  }

  /** The key that ended longest before `now`, by its expiry or revocation. */
  endedFirst(now: number): number | undefined {
    const { id } = this.#sql
      .exec<{ id: number | null }>(
        `SELECT id, min(min(coalesce(revoked_at, expires_at), coalesce(expires_at, revoked_at))) AS ended_at
          FROM ${this.#table} WHERE id > 0 AND (revoked_at <= ?1 OR expires_at <= ?1)`,
        now,
      )
      .one();
    return id ?? undefined;
  }

  delete(id: number): void {
    this.#cache.delete(id);
    this.#sql.exec(`DELETE FROM ${this.#table} WHERE id = ?`, id);
  }

  setLastUsedAt(id: number, lastUsedAt: number): void {
    this.#cache.delete(id);
    this.#sql.exec(`UPDATE ${this.#table} SET last_used_at = ? WHERE id = ?`, lastUsedAt, id);
  }

  setRevokedAt(id: number, revokedAt: number): void {
    this.#cache.delete(id);
    this.#sql.exec(`UPDATE ${this.#table} SET revoked_at = ? WHERE id = ?`, revokedAt, id);
  }

  /** Writes a key as it is, in the place of any with its id. */
  put({ id, name, rights, nonceHash, createdAt, expiresAt, lastUsedAt, revokedAt }: StoredKey): void {
    this.#cache.delete(id);
    this.#sql.exec(
      `INSERT OR REPLACE INTO ${this.#table} (id, name, rights, nonce_hash, created_at, expires_at, last_used_at, revoked_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      id,
      name,
      rights,
      nonceHash,
      createdAt,
      expiresAt,
      lastUsedAt,
      revokedAt,
    );
  }

  /** The highest id of a key. */
  highestId(): number {
    return this.#sql.exec<{ highest: number }>(`SELECT coalesce(max(id), 0) AS highest FROM ${this.#table}`).one()
      .highest;
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
    this.#sql.exec(`UPDATE ${this.#table} SET revoked_at = ?1 WHERE revoked_at IS NULL OR revoked_at > ?1`, now);
  }

  /** Adds a key under an id that no key had before. */
  insert(key: Omit<StoredKey, "id" | "lastUsedAt" | "revokedAt">): StoredKey {
    return this.#sql
      .exec<StoredKey>(
        `INSERT INTO ${this.#table} (name, rights, nonce_hash, created_at, expires_at) VALUES (?, ?, ?, ?, ?)
          RETURNING ${COLUMNS}`,
        key.name,
        key.rights,
        key.nonceHash,
        key.createdAt,
        key.expiresAt,
      )
      .one();
  }
}
