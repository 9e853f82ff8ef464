/**
 * The schema as an append-only list: each entry runs once in each directory, in order. An entry that was released is
 * never edited, because directories exist that have run it.
 */
const MIGRATIONS = [
  // AUTOINCREMENT: a number is never given out again, not even that of the newest row once it is deleted.
  `CREATE TABLE user_groups (
    team_id INTEGER PRIMARY KEY AUTOINCREMENT,
    provided_id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    mapping TEXT,
    properties TEXT,
    nonce BLOB NOT NULL,
    grace_nonce BLOB,
    grace_ends_at INTEGER,
    revision INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE api_keys (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    access TEXT NOT NULL,
    nonce BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    last_used_at INTEGER,
    revoked_at INTEGER
  ) STRICT;`,
  `CREATE TABLE outbox (
    nonce BLOB PRIMARY KEY,
    team_id INTEGER NOT NULL,
    version INTEGER NOT NULL,
    queued_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;`,
  // The index was told of every token until then; of new ones it is told when a viewer first allows a stale answer.
  `ALTER TABLE user_groups ADD COLUMN indexed INTEGER NOT NULL DEFAULT 1;
  ALTER TABLE user_groups ADD COLUMN grace_indexed INTEGER NOT NULL DEFAULT 1;`,
  `CREATE TABLE kept_answers (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,
    request BLOB NOT NULL,
    kept_until INTEGER NOT NULL,
    team_id INTEGER,
    provided_id TEXT,
    name TEXT,
    nonce BLOB,
    revision INTEGER,
    signing_id TEXT
  ) STRICT;`,
  // The same without AUTOINCREMENT, which writes a row of its own with each new group. What it kept on record stands in a
  // table that is written only when the newest group is deleted. The columns keep their order: SQLite then copies a million
  // rows in a second or two.
  `CREATE TABLE user_groups_anew (
    team_id INTEGER PRIMARY KEY,
    provided_id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    mapping TEXT,
    properties TEXT,
    nonce BLOB NOT NULL,
    grace_nonce BLOB,
    grace_ends_at INTEGER,
    revision INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    indexed INTEGER NOT NULL DEFAULT 1,
    grace_indexed INTEGER NOT NULL DEFAULT 1
  ) STRICT;
  INSERT INTO user_groups_anew SELECT * FROM user_groups;
  CREATE TABLE newest_deleted (id INTEGER PRIMARY KEY, team_id INTEGER NOT NULL) STRICT;
  INSERT INTO newest_deleted (id, team_id)
    SELECT 1, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'user_groups'), 0);
  DROP TABLE user_groups;
  ALTER TABLE user_groups_anew RENAME TO user_groups;`,
  `ALTER TABLE outbox ADD COLUMN again_at INTEGER;
  ALTER TABLE outbox ADD COLUMN again_version INTEGER;`,
];

/**
 * Brings the database to the newest level, in one transaction. The level is kept in a table, since Durable Objects refuse
 * `PRAGMA user_version`.
 */
export function migrate(storage: DurableObjectStorage): void {
  const { sql } = storage;
  storage.transactionSync(() => {
    sql.exec("CREATE TABLE IF NOT EXISTS migrations (level INTEGER PRIMARY KEY, ran_at INTEGER NOT NULL) STRICT");
    const { level } = sql.exec<{ level: number }>("SELECT coalesce(max(level), 0) AS level FROM migrations").one();
    for (const [index, statements] of MIGRATIONS.entries()) {
      if (index < level) continue;
      sql.exec(statements);
      sql.exec("INSERT INTO migrations (level, ran_at) VALUES (?, ?)", index + 1, Date.now());
    }
  });
}
