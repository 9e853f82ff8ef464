/**
 * A step of a database's schema. `readableBy` is the number of the oldest schema whose release can still run on it: for an added
 * table, index or column with a default, the number before; for a change that such a release cannot run on, its own number.
 *
 * The lists are append-only: a released migration is never edited, and a change is a new entry with the next number. It expands
 * first and contracts a release later. So a release runs on the schema of the next one, while a deployment is gradual, and after
 * a rollback, which does not roll SQL back.
 */
export type Migration = { number: number; readableBy: number; statements: string };

/** The feed of events, which each database has. */
const FEED = `
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
  -- Each event has a higher number than last_id, which a restore sets.
  CREATE TABLE feed (id INTEGER PRIMARY KEY, incarnation TEXT NOT NULL, last_id INTEGER NOT NULL) STRICT;
  INSERT INTO feed (id, incarnation, last_id) VALUES (1, lower(hex(randomblob(8))), 0);`;

/** The last page of a backup that was restored into a database, and what its pages have had so far. */
const RESTORE = `
  CREATE TABLE restore (
    id INTEGER PRIMARY KEY,
    page INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    counts TEXT NOT NULL,
    is_done INTEGER NOT NULL,
    rotated_tokens INTEGER NOT NULL,
    revoked_keys INTEGER NOT NULL
  ) STRICT;`;

/** The keys at rest of a database. */
const keys = (table: "api_keys" | "operators") => `
  CREATE TABLE ${table} (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    rights TEXT NOT NULL,
    nonce_hash BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    last_used_at INTEGER,
    revoked_at INTEGER
  ) STRICT;`;

const GROUP_COLUMNS = `name TEXT NOT NULL,
    nonce BLOB NOT NULL,
    generation BLOB NOT NULL,
    grace_nonce BLOB,
    grace_generation BLOB,
    grace_ends_at INTEGER,
    suspended_at INTEGER,
    suspended_reason TEXT,
    last_viewed_on TEXT,
    revision INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    mapping TEXT,
    properties TEXT`;

/** The index that keeps ids unique. A restore makes it last, because two lines of a backup may have one id. */
export const UNIQUE_IDS = "CREATE UNIQUE INDEX user_groups_by_provided_id ON user_groups (provided_id)";
export const NO_UNIQUE_IDS = "DROP INDEX user_groups_by_provided_id";

/** The schema of a directory. */
export const DIRECTORY_MIGRATIONS: Migration[] = [
  {
    number: 18,
    readableBy: 18,
    // Small columns come first: SQLite reads a row from its start, and long values lie in overflow pages.
    statements: `
  CREATE TABLE user_groups (
    team_id INTEGER PRIMARY KEY,
    provided_id TEXT NOT NULL,
    ${GROUP_COLUMNS}
  ) STRICT;
  ${UNIQUE_IDS};
  -- A table of its own: what exists has no condition that a statement could forget.
  CREATE TABLE deleted_groups (
    team_id INTEGER PRIMARY KEY,
    provided_id TEXT NOT NULL,
    deleted_at INTEGER NOT NULL,
    ${GROUP_COLUMNS}
  ) STRICT;
  CREATE INDEX deleted_groups_by_time ON deleted_groups (deleted_at);
  -- The highest team_id among deleted groups, so that it is never used again. AUTOINCREMENT would cost a row written per new group.
  CREATE TABLE newest_deleted (id INTEGER PRIMARY KEY, team_id INTEGER NOT NULL) STRICT;
  INSERT INTO newest_deleted (id, team_id) VALUES (1, 0);
  CREATE TABLE stored_responses (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,
    request BLOB NOT NULL,
    expires_at INTEGER NOT NULL,
    key_id INTEGER,
    team_id INTEGER NOT NULL,
    provided_id TEXT,
    name TEXT,
    nonce BLOB,
    revision INTEGER,
    signing_id TEXT,
    listed TEXT
  ) STRICT;
  -- Sessions and persons whose sessions were ended, by the number of the event. A name is a session's id, or a group and a viewer.
  CREATE TABLE ended_sessions (id INTEGER PRIMARY KEY, ended_at INTEGER NOT NULL, name TEXT NOT NULL UNIQUE) STRICT;
  CREATE INDEX stored_responses_by_group ON stored_responses (team_id);
  -- The purged groups about which responses are still stored: they may be too many for one transaction.
  CREATE TABLE purged_groups (team_id INTEGER PRIMARY KEY) STRICT;
  -- Purged groups that the registry does not know yet.
  CREATE TABLE tombstones (team_id INTEGER PRIMARY KEY, created_at INTEGER NOT NULL) STRICT;
  -- Groups of a backup that were purged and are not restored.
  CREATE TABLE skipped_groups (team_id INTEGER PRIMARY KEY) STRICT;
${keys("api_keys")}
${FEED}
${RESTORE}`,
  },
];

/** The schema of the registry. */
export const REGISTRY_MIGRATIONS: Migration[] = [
  {
    number: 6,
    readableBy: 6,
    statements: `
  CREATE TABLE environments (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    location TEXT,
    created_at INTEGER NOT NULL,
    -- When an admin has erased it. Its row goes when its directory is empty.
    erased_at INTEGER
  ) STRICT;
  CREATE INDEX erased_environments ON environments (erased_at) WHERE erased_at IS NOT NULL;
  -- The purged groups of all environments.
  CREATE TABLE tombstones (
    id INTEGER PRIMARY KEY,
    environment TEXT NOT NULL,
    team_id INTEGER NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX tombstones_by_group ON tombstones (environment, team_id, created_at);
  -- Sessions of the console. They live for hours, so no backup has them.
  CREATE TABLE console_sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    hash BLOB NOT NULL UNIQUE,
    operator_id INTEGER,
    bootstrap_mac BLOB,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    form_ids TEXT NOT NULL
  ) STRICT;
  CREATE INDEX console_sessions_by_operator ON console_sessions (operator_id);
${keys("operators")}
${FEED}
${RESTORE}`,
  },
  {
    number: 7,
    readableBy: 6,
    statements: `
  -- From where the operator of a session has signed in.
  ALTER TABLE console_sessions ADD COLUMN browser TEXT;
  ALTER TABLE console_sessions ADD COLUMN address TEXT;`,
  },
  {
    number: 8,
    readableBy: 6,
    statements: `
  -- By which address an operator signs in with its company. The table has 1,000 rows at most.
  ALTER TABLE operators ADD COLUMN email TEXT;`,
  },
];
