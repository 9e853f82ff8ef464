/**
 * The schema of a directory. No release before 1.0 has been deployed, so until then this is one migration that may be
 * edited; each edit raises its number. From 1.0 on the list is append-only: a released migration is never edited, and a
 * change of the schema is a new entry with the next number.
 */
const MIGRATIONS: { number: number; statements: string }[] = [
  {
    number: 8,
    // Small columns come first: SQLite reads a row from its start, and long values lie in overflow pages.
    statements: `CREATE TABLE user_groups (
      team_id INTEGER PRIMARY KEY,
      provided_id TEXT NOT NULL UNIQUE,
      name TEXT NOT NULL,
      nonce BLOB NOT NULL,
      grace_nonce BLOB,
      grace_ends_at INTEGER,
      revision INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL,
      mapping TEXT,
      properties TEXT
    ) STRICT;
    -- The highest team_id among deleted groups, so that it is never used again. AUTOINCREMENT would cost a row written per new group.
    CREATE TABLE newest_deleted (id INTEGER PRIMARY KEY, team_id INTEGER NOT NULL) STRICT;
    INSERT INTO newest_deleted (id, team_id) VALUES (1, 0);
    CREATE TABLE api_keys (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      name TEXT NOT NULL,
      access TEXT NOT NULL,
      nonce_hash BLOB NOT NULL,
      created_at INTEGER NOT NULL,
      expires_at INTEGER,
      last_used_at INTEGER,
      revoked_at INTEGER
    ) STRICT;
    CREATE TABLE stored_responses (
      id INTEGER PRIMARY KEY,
      key BLOB NOT NULL UNIQUE,
      request BLOB NOT NULL,
      expires_at INTEGER NOT NULL,
      team_id INTEGER,
      provided_id TEXT,
      name TEXT,
      nonce BLOB,
      revision INTEGER,
      signing_id TEXT
    ) STRICT;
    CREATE TABLE events (
      id INTEGER PRIMARY KEY,
      at INTEGER NOT NULL,
      type TEXT NOT NULL,
      actor TEXT NOT NULL,
      request_id TEXT NOT NULL,
      team_id INTEGER,
      provided_id TEXT,
      details TEXT NOT NULL
    ) STRICT;
    CREATE TABLE feed (id INTEGER PRIMARY KEY, incarnation TEXT NOT NULL) STRICT;
    INSERT INTO feed (id, incarnation) VALUES (1, lower(hex(randomblob(8))));`,
  },
];

/** Starts the message of the error that `migrate` throws. Of an error, only the message crosses an RPC unchanged. */
export const UNKNOWN_SCHEMA = "Unknown schema:";

/** Whether the database has its tables. Asking creates nothing. */
export function hasTables({ sql }: DurableObjectStorage): boolean {
  return sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'migrations'").toArray().length > 0;
}

/**
 * Creates the tables, or runs the migrations that the database has not run yet, in one transaction. Throws for a database
 * whose number is not in the list. The number is kept in a table, because Durable Objects refuse `PRAGMA user_version`.
 */
export function migrate(storage: DurableObjectStorage): void {
  const { sql } = storage;
  storage.transactionSync(() => {
    sql.exec("CREATE TABLE IF NOT EXISTS migrations (level INTEGER PRIMARY KEY, ran_at INTEGER NOT NULL) STRICT");
    const { level } = sql.exec<{ level: number | null }>("SELECT max(level) AS level FROM migrations").one();
    if (level !== null && !MIGRATIONS.some(({ number }) => number === level))
      throw new Error(`${UNKNOWN_SCHEMA} the database has number ${level}, which this release cannot read.`);
    for (const { number, statements } of MIGRATIONS) {
      if (number <= (level ?? 0)) continue;
      sql.exec(statements);
      sql.exec("INSERT INTO migrations (level, ran_at) VALUES (?, ?)", number, Date.now());
    }
  });
}
