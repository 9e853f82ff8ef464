import type { StoredKey } from "../records.ts";

const KEY_COLUMNS = {
  id: "id",
  name: "name",
  rights: "rights",
  nonceHash: "nonce_hash",
  createdAt: "created_at",
  expiresAt: "expires_at",
  lastUsedAt: "last_used_at",
  revokedAt: "revoked_at",
};

/** The columns of each table, by the fields of a key. */
const COLUMNS = { api_keys: KEY_COLUMNS, operators: { ...KEY_COLUMNS, email: "email" } };

/** The SQL of keys: of API keys or of operators, by their table. */
export class KeyStore {
  readonly #sql: SqlStorage;
  readonly #table: keyof typeof COLUMNS;
  /** What statements select. */
  readonly #selected: string;
  /** Rows as the table has them: every call needs one, and nothing else writes this database. */
  readonly #cache = new Map<number, StoredKey>();

  constructor(sql: SqlStorage, table: keyof typeof COLUMNS) {
    this.#sql = sql;
    this.#table = table;
    this.#selected = Object.entries(COLUMNS[table])
      .map(([field, column]) => `${column} AS ${field}`)
      .join(", ");
  }

  findById(id: number): StoredKey | undefined {
    const cached = this.#cache.get(id);
    if (cached) return cached;
    const key = this.#sql.exec<StoredKey>(`SELECT ${this.#selected} FROM ${this.#table} WHERE id = ?`, id).toArray()[0];
    if (key) this.#cache.set(id, key);
    return key;
  }

  /** The first `count` keys from the id `start` on, revoked and expired ones included, oldest first. */
  page(start: number, count: number): StoredKey[] {
    return this.#sql
      .exec<StoredKey>(`SELECT ${this.#selected} FROM ${this.#table} WHERE id >= ? ORDER BY id LIMIT ?`, start, count)
      .toArray();
  }

  /** The operators with an address, the newest first, revoked and expired ones included. */
  withEmail(email: string): StoredKey[] {
    return this.#sql
      .exec<StoredKey>(`SELECT ${this.#selected} FROM ${this.#table} WHERE email = ? ORDER BY id DESC`, email)
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
  put(key: StoredKey): void {
    this.#cache.delete(key.id);
    this.#write("INSERT OR REPLACE", key);
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
    return this.#write("INSERT", key);
  }

  /** Writes the fields that the table has and the key gives. */
  #write(verb: "INSERT" | "INSERT OR REPLACE", key: Partial<StoredKey>): StoredKey {
    const values = new Map<string, SqlStorageValue | undefined>(Object.entries(key));
    const given = Object.entries(COLUMNS[this.#table]).filter(([field]) => values.get(field) !== undefined);
    const columns = given.map(([, column]) => column).join(", ");
    const statement = `${verb} INTO ${this.#table} (${columns}) VALUES (${given.map(() => "?").join(", ")})`;
    return this.#sql
      .exec<StoredKey>(`${statement} RETURNING ${this.#selected}`, ...given.map(([field]) => values.get(field) ?? null))
      .one();
  }
}
