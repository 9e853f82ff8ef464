/** Every bound of the service, with its unit last in the name. */

export const BODY_BYTES_MAX = 64 * 1024;
export const BODY_DRAINED_BYTES_MAX = 64 * 1024 * 1024;
export const BODY_DEPTH_MAX = 64;

export const TEXT_UNITS_MAX = 255;
export const MAPPING_ENTRIES_MAX = 100;
export const PROPERTIES_BYTES_MAX = 16 * 1024;
export const PROPERTIES_DEPTH_MAX = 32;
export const ISSUES_MAX = 100;
/** The issues of one answer as JSON. */
export const ISSUES_UNITS_MAX = 64 * 1024;

export const GRACE_SECONDS_MAX = 7 * 24 * 60 * 60;

export const IDEMPOTENCY_KEY_UNITS_MAX = 255;
/** For how long a call made again with the same Idempotency-Key gets the same answer. */
export const IDEMPOTENCY_SECONDS = 24 * 60 * 60;
/** How many answers whose time is over one alarm deletes; the next one follows at once. */
export const KEPT_ANSWERS_PER_PURGE_MAX = 1000;
export const PURGE_RETRY_SECONDS = 60;

export const KEY_SECONDS_MAX = 10 * 365 * 24 * 60 * 60;
export const LAST_USED_SECONDS = 60 * 60;

export const NONCE_BYTES = 16;
export const MAC_BYTES = 16;
export const SIGNING_KEY_BYTES_MIN = 32;
export const SIGNING_KEY_BYTES_MAX = 64;
export const SIGNING_KEYS_MAX = 8;
/** How many credentials one isolate remembers, of those that it verified and of those that it made. */
export const REMEMBERED_MAX = 10_000;

/** A call that the directory has not answered by then is refused. */
export const DIRECTORY_SECONDS_MAX = 8;
export const DIRECTORY_TRIES_MAX = 4;
/** The wait before the second try; it doubles from there. */
export const DIRECTORY_BACKOFF_MS = 50;
export const UNAVAILABLE_RETRY_SECONDS = 1;

/** A stale answer must be allowed to be this old, or it is not stale enough to come from KV. */
export const STALE_SECONDS_MIN = 60;
export const INDEX_READ_SECONDS_MAX = 1;
export const INDEX_WRITE_SECONDS_MAX = 10;
/** KV takes one write a second for each key. */
export const INDEX_WRITE_SPACING_SECONDS = 1;
/** How long a write to KV that was not acknowledged may still come to pass. */
export const INDEX_UNCERTAIN_SECONDS = 60;
/** Half a minute, so that the index is complete within a minute of the end of an outage. */
export const INDEX_BACKOFF_SECONDS_MAX = 30;
/** When the alarm looks after a change whose own drain may have been cut off. */
export const INDEX_BACKSTOP_SECONDS = 5;
/** The platform allows 1,000 operations on KV in one invocation (KV, "Limits"); what is left over has the next one. */
export const INDEX_WRITES_PER_RUN_MAX = 900;
export const INDEX_WRITES_IN_FLIGHT_MAX = 6;
/** How many pages in a row, of which nothing is due, are looked at before calls are let in between: some milliseconds. */
export const INDEX_PAGES_PER_TURN_MAX = 100;
/** The platform ends an alarm that takes 15 minutes, and gives it up after six times (Durable Objects, "Alarms"). */
export const INDEX_RUN_SECONDS_MAX = 120;

export const LIST_GROUPS_MAX = 1000;
export const LIST_GROUPS_DEFAULT = 100;
/** How many groups one page may look at for those that its filters let through. */
export const LIST_ROWS_MAX = 10_000;
/** How many of them are in memory at once. */
export const LIST_ROWS_PER_READ = 100;
/** The ids, names, mappings and properties of one page; as text they cross an RPC, whose values are of 32 MiB at most. */
export const LIST_BYTES_MAX = 8 * 1024 * 1024;

export const SQL_TEMPLATE_BYTES_MAX = 16 * 1024;
export const QUERY_PARAMETERS_MAX = 10_000;
/** The parameters of one query as JSON; a short template could repeat a long property thousands of times. */
export const QUERY_PARAMETER_UNITS_MAX = 1024 * 1024;
export const CACHE_CONTROL_UNITS_MAX = 500;

/** The period of the rate limits in wrangler.toml. */
export const RATE_LIMIT_SECONDS = 60;
