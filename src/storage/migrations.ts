import { CHECKED_BYTES_MAX } from "../../common/limits.ts";
import type { Migration } from "./schema.ts";

/** Starts the message of the error that `Schema` throws. Of an error, only the message crosses an RPC unchanged. */
export const UNKNOWN_SCHEMA = "Unknown schema:";

/** Starts the message of the error that a database throws while a backup is restored into it. */
export const RESTORING = "Restoring:";

/** The tables of one database. They are created by the first change, so that reading an object creates nothing. */
export class Schema {
  readonly #storage: DurableObjectStorage;
  readonly #migrations: Migration[];
  #exists: boolean;
  /** Whether a backup is restored into the database, which is closed for all but the restore then. */
  isRestoring = false;

  /** Runs the migrations that a database with tables has not run yet. Throws for a database of another release. */
  constructor(storage: DurableObjectStorage, migrations: Migration[]) {
    this.#storage = storage;
    this.#migrations = migrations;
    this.#exists = storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'migrations'").toArray().length > 0;
    if (!this.#exists) return;
    this.#migrate();
    this.isRestoring = storage.sql.exec("SELECT 1 FROM restore WHERE is_done = 0").toArray().length > 0;
  }

  /** Whether the database has its tables. Throws while a backup is restored into it, since nobody may use them then. */
  get exists(): boolean {
    if (this.isRestoring) throw new Error(`${RESTORING} the backup is not complete.`);
    return this.#exists;
  }

  /** Creates the tables unless the database has them. */
  create(): void {
    if (this.exists) return;
    this.#migrate();
    this.#exists = true;
  }

  /**
   * Writes to the disk, and keeps nothing: SQLite writes the changed page when the transaction ends. If the disk is full, the call
   * whose transaction it is fails with SQLITE_FULL.
   */
  probeDisk(): void {
    this.#storage.kv.put("probe", true);
    this.#storage.kv.delete("probe");
  }

  /** Throws if SQLite finds the database damaged. A large one is not examined: nobody could use the object meanwhile. */
  checkIntegrity(): void {
    const { sql } = this.#storage;
    if (sql.databaseSize > CHECKED_BYTES_MAX) return;
    const [found] = sql.exec<{ quick_check: string }>("PRAGMA quick_check(1)").toArray();
    if (found?.quick_check !== "ok") throw new Error(`${found?.quick_check}: SQLITE_CORRUPT`);
  }

  /** The number of the schema of this release. */
  get number(): number {
    return Math.max(...this.#migrations.map(({ number }) => number));
  }

  /** Whether this release can run on a database with this number: one of its list, or a later one that was made from its own and says so. */
  #canRunOn(level: number): boolean {
    if (this.#migrations.some(({ number }) => number === level)) return true;
    const { sql } = this.#storage;
    const hasOwn = sql.exec("SELECT 1 FROM migrations WHERE level = ?", this.number).toArray().length > 0;
    if (!hasOwn) return false;
    const { oldest } = sql.exec<{ oldest: number }>("SELECT max(readable_by) AS oldest FROM migrations").one();
    return oldest <= this.number;
  }

  /** Runs in one transaction. The number is kept in a table, because Durable Objects refuse `PRAGMA user_version`. */
  #migrate(): void {
    const { sql } = this.#storage;
    this.#storage.transactionSync(() => {
      sql.exec(
        "CREATE TABLE IF NOT EXISTS migrations (level INTEGER PRIMARY KEY, readable_by INTEGER NOT NULL, ran_at INTEGER NOT NULL) STRICT",
      );
      const { level } = sql.exec<{ level: number | null }>("SELECT max(level) AS level FROM migrations").one();
      if (level !== null && !this.#canRunOn(level))
        throw new Error(
          `${UNKNOWN_SCHEMA} the database has number ${level}, which this release cannot read. Run the release that has written it, or the one before that.`,
        );
      for (const { number, readableBy, statements } of this.#migrations) {
        if (number <= (level ?? 0)) continue;
        sql.exec(statements);
        const row = [number, readableBy, Date.now()];
        sql.exec("INSERT INTO migrations (level, readable_by, ran_at) VALUES (?, ?, ?)", ...row);
      }
    });
  }
}
