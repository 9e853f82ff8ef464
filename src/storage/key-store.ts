import type { StoredKey } from "../records.ts";

const COLUMNS = `id, name, rights, nonce_hash AS nonceHash, created_at AS createdAt, expires_at AS expiresAt,
  last_used_at AS lastUsedAt, revoked_at AS revokedAt`;

/** The SQL of keys: of API keys or of operators, by their table. Keys are never deleted, so the highest id is also their count. */
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

  /** All keys, revoked and expired ones included, oldest first. */
  list(): StoredKey[] {
    return this.#sql.exec<StoredKey>(`SELECT ${COLUMNS} FROM ${this.#table} WHERE id > 0 ORDER BY id`).toArray();
  }

  /** How many keys there are. */
  count(): number {
    return this.#sql.exec<{ count: number }>(`SELECT coalesce(max(id), 0) AS count FROM ${this.#table}`).one().count;
  }

  setLastUsedAt(id: number, lastUsedAt: number): void {
    this.#cache.delete(id);
    this.#sql.exec(`UPDATE ${this.#table} SET last_used_at = ? WHERE id = ?`, lastUsedAt, id);
  }

  setRevokedAt(id: number, revokedAt: number): void {
    this.#cache.delete(id);
    this.#sql.exec(`UPDATE ${this.#table} SET revoked_at = ? WHERE id = ?`, revokedAt, id);
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
