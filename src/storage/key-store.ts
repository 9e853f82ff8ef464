import type { ApiKey } from "../records.ts";

const COLUMNS = `id, name, access, nonce_hash AS nonceHash, created_at AS createdAt, expires_at AS expiresAt,
  last_used_at AS lastUsedAt, revoked_at AS revokedAt`;

/** The SQL of API keys. Keys are never deleted, so the highest id is also their count. */
export class KeyStore {
  readonly #sql: SqlStorage;
  /** Rows as the table has them: every call needs one, and nothing else writes this database. */
  readonly #cache = new Map<number, ApiKey>();

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  findById(id: number): ApiKey | undefined {
    const cached = this.#cache.get(id);
    if (cached) return cached;
    const key = this.#sql.exec<ApiKey>(`SELECT ${COLUMNS} FROM api_keys WHERE id = ?`, id).toArray()[0];
    if (key) this.#cache.set(id, key);
    return key;
  }

  /** All keys, revoked and expired ones included, oldest first. */
  list(): ApiKey[] {
    return this.#sql.exec<ApiKey>(`SELECT ${COLUMNS} FROM api_keys WHERE id > 0 ORDER BY id`).toArray();
  }

  /** How many keys there are. */
  count(): number {
    return this.#sql.exec<{ count: number }>("SELECT coalesce(max(id), 0) AS count FROM api_keys").one().count;
  }

  setLastUsedAt(id: number, lastUsedAt: number): void {
    this.#cache.delete(id);
    this.#sql.exec("UPDATE api_keys SET last_used_at = ? WHERE id = ?", lastUsedAt, id);
  }

  setRevokedAt(id: number, revokedAt: number): void {
    this.#cache.delete(id);
    this.#sql.exec("UPDATE api_keys SET revoked_at = ? WHERE id = ?", revokedAt, id);
  }

  /** Adds a key under an id that no key had before. */
  insert(key: Pick<ApiKey, "name" | "access" | "nonceHash" | "createdAt" | "expiresAt">): ApiKey {
    return this.#sql
      .exec<ApiKey>(
        `INSERT INTO api_keys (name, access, nonce_hash, created_at, expires_at) VALUES (?, ?, ?, ?, ?)
          RETURNING ${COLUMNS}`,
        key.name,
        key.access,
        key.nonceHash,
        key.createdAt,
        key.expiresAt,
      )
      .one();
  }
}
