import type { ApiKey } from "./records.ts";

const COLUMNS = `id, name, access, nonce, created_at AS createdAt, expires_at AS expiresAt, last_used_at AS lastUsedAt,
  revoked_at AS revokedAt`;

/** The SQL of API keys. */
export class KeyStore {
  readonly #sql: SqlStorage;
  /** Keys as the table has them: every call asks for one, and nobody else writes this database. */
  readonly #read = new Map<number, ApiKey>();

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  findById(id: number): ApiKey | undefined {
    const read = this.#read.get(id);
    if (read) return read;
    const key = this.#sql.exec<ApiKey>(`SELECT ${COLUMNS} FROM api_keys WHERE id = ?`, id).toArray()[0];
    if (key) this.#read.set(id, key);
    return key;
  }

  /** All keys, revoked and expired ones included, in the order in which they were made. */
  list(): ApiKey[] {
    return this.#sql.exec<ApiKey>(`SELECT ${COLUMNS} FROM api_keys WHERE id > 0 ORDER BY id`).toArray();
  }

  setLastUsedAt(id: number, lastUsedAt: number): void {
    this.#read.delete(id);
    this.#sql.exec("UPDATE api_keys SET last_used_at = ? WHERE id = ?", lastUsedAt, id);
  }

  setRevokedAt(id: number, revokedAt: number): void {
    this.#read.delete(id);
    this.#sql.exec("UPDATE api_keys SET revoked_at = ? WHERE id = ?", revokedAt, id);
  }

  /** Adds a key and answers with it, under an id that no key had before. */
  insert(key: Pick<ApiKey, "name" | "access" | "nonce" | "createdAt" | "expiresAt">): ApiKey {
    return this.#sql
      .exec<ApiKey>(
        `INSERT INTO api_keys (name, access, nonce, created_at, expires_at) VALUES (?, ?, ?, ?, ?) RETURNING ${COLUMNS}`,
        key.name,
        key.access,
        key.nonce,
        key.createdAt,
        key.expiresAt,
      )
      .one();
  }
}
