/** Every bound of the service. Each name has its unit. */

export const BODY_BYTES_MAX = 64 * 1024;
/** A form of an operator who has signed in: percent-encoding makes three bytes of one, and there are several fields. */
export const FORM_BYTES_MAX = 4 * BODY_BYTES_MAX;
/** How much of a body that is too large is read and dropped, so that its client sees the refusal. */
export const BODY_DROPPED_BYTES_MAX = 1024 * 1024;
export const BODY_SECONDS_MAX = 10;
/** The first buffer of a body; longer ones follow as the body arrives. */
export const BODY_BUFFER_BYTES_MIN = 1024;
export const BODY_PIECE_BYTES_MAX = 16 * 1024;
/** A body that has not completely arrived by then counts as unfinished. */
export const BODY_FIRST_READ_SECONDS_MAX = 0.1;
/** How many unfinished bodies of one credential, and of all, an isolate reads at the same time. An isolate has 128 MB (Workers, "Limits"). */
export const UNFINISHED_BODIES_OF_CREDENTIAL_MAX = 128;
export const UNFINISHED_BODIES_MAX = 512;
export const BODY_DEPTH_MAX = 64;
/** The form of somebody who signs in, who has no credential yet: its bounds, and how many are unfinished at the same time. */
export const SIGN_IN_BYTES_MAX = 1024;
export const SIGN_IN_SECONDS_MAX = 2;
export const UNFINISHED_SIGN_INS_OF_ADDRESS_MAX = 4;
export const UNFINISHED_SIGN_INS_MAX = 32;
/** Longer bodies, and longer SQL templates, take turns in an isolate: one at a time, with a pause after each in which other requests run. */
export const BODY_PARSED_AT_ONCE_BYTES_MAX = 4 * 1024;
export const SQL_BOUND_AT_ONCE_UNITS_MAX = 1024;
/** The pause after the longest body or template; after a shorter one it is shorter. Long work takes a half of the thread at most. */
export const LONG_WORK_PAUSE_MS = 25;
/** How many requests of one environment wait for their turn: each keeps its body or its group in memory. */
export const WAITING_FOR_TURN_MAX = 1024;

/** How many requests of one caller an isolate handles at the same time, unread answers included, and how many more wait. */
export const PLACES_OF_CALLER_MAX = 32;
export const WAITING_OF_CALLER_MAX = 352;
/** How many viewers of an environment an isolate admits at the same time. Each who waits has a place of its credential. */
export const ADMISSIONS_OF_ENVIRONMENT_MAX = 128;
/** How many views of one group an isolate handles at the same time, once they are admitted, and how many more wait. */
export const PLACES_OF_GROUP_MAX = 256;
export const WAITING_OF_GROUP_MAX = 2048;
export const PLACE_SECONDS_MAX = 8;
export const PLACE_OF_GROUP_SECONDS_MAX = 15;
/**
 * How many bytes an isolate answers to the viewers of one environment in these seconds in answers above `LARGE_ANSWER_BYTES_MIN`: the Worker cannot
 * see which of them a client has read. 2,000 viewers with 64 KiB each take two thirds.
 */
export const LARGE_ANSWER_BYTES_MIN = 8 * 1024;
export const LARGE_ANSWERS_BYTES_MAX = 192 * 1024 * 1024;
export const LARGE_ANSWERS_SECONDS = 30;
/**
 * A shorter answer fits into the buffers of the system, whether its client reads it or not. To hold its place would take more memory than
 * the answer: with 3,000 unread answers of 72 KB, workerd took 446 MB with held places, and 320 MB without.
 */
export const ANSWER_HELD_BYTES_MIN = 128 * 1024;
/** An answer takes a place for each piece of this size, and a client has these seconds to read each. */
export const ANSWER_PIECE_BYTES = 64 * 1024;
export const ANSWER_PIECE_SECONDS_MAX = 10;
/** On one box, garbage is collected, with a delay, after this number of answers, and at most once in these seconds. */
export const GARBAGE_ANSWERS_MIN = 1000;
export const GARBAGE_SECONDS_MIN = 3;
export const GARBAGE_DELAY_MS = 500;

export const TEXT_UNITS_MAX = 255;
export const MAPPING_ENTRIES_MAX = 100;
export const PROPERTIES_BYTES_MAX = 16 * 1024;
export const PROPERTIES_DEPTH_MAX = 32;
export const ISSUES_MAX = 100;
/** All issues of one answer, as JSON. */
export const ISSUES_UNITS_MAX = 64 * 1024;

export const GRACE_SECONDS_MAX = 7 * 24 * 60 * 60;

export const IDEMPOTENCY_KEY_UNITS_MAX = 255;
/** For how long a repeated call with the same Idempotency-Key gets the same answer. */
export const IDEMPOTENCY_SECONDS = 24 * 60 * 60;
/**
 * How many responses one alarm deletes: a few milliseconds of work, also among 2,000,000, whose keys lie in as many pages of
 * their index. If more are left, the next alarm follows at once.
 */
export const RESPONSES_PER_PURGE_MAX = 250;
/** The most that the groups in these responses hold, in UTF-8. */
export const RESPONSE_BYTES_PER_PURGE_MAX = 1024 * 1024;
export const PURGE_RETRY_SECONDS = 60;
/** The log has each alarm that is later. */
export const LATE_ALARM_SECONDS = 60;

/** At this number, a new key takes the place of the one that ended longest ago. */
export const KEYS_PER_ENVIRONMENT_MAX = 1000;
export const KEY_SECONDS_MAX = 10 * 365 * 24 * 60 * 60;
/** The same bound as for API keys. */
export const OPERATORS_MAX = 1000;
/** `last_used_at` of a key is written at most this often. */
export const LAST_USED_SECONDS = 60 * 60;
export const OPERATOR_TOKEN_UNITS_MIN = 32;
/** How many words of a malformed header Authorization are searched for a secret. */
export const AUTHORIZATION_WORDS_MAX = 3;

/** A SQLite database of a Durable Object holds 10 GB (Durable Objects, "Limits"). Above this size nothing is added. */
export const ENVIRONMENT_BYTES_MAX = 9_000_000_000;

/** A console session ends after the first time without a use, and after the second time in any case. */
export const CONSOLE_SESSION_IDLE_SECONDS = 30 * 60;
export const CONSOLE_SESSION_SECONDS_MAX = 8 * 60 * 60;
/** The last use of a console session is written at most this often. */
export const CONSOLE_SESSION_NOTE_SECONDS = 60;
/** When an operator has more, the oldest one ends. */
export const CONSOLE_SESSIONS_PER_OPERATOR_MAX = 20;
/** How many sent forms of a console session are stored. A form that is older than all of them is refused, so that none is applied twice. */
export const CONSOLE_FORMS_REMEMBERED_MAX = 200;
export const CONSOLE_COOKIE_BYTES = 32;

/** An e-mail address: what a mail server takes (RFC 5321, section 4.5.3.1.3, without the brackets). */
export const EMAIL_UNITS_MAX = 254;
/** The assertion of a proxy, in a header: groups of large companies make some kilobytes. */
export const ASSERTION_UNITS_MAX = 16 * 1024;
/** How far the clock of the provider may differ, for `exp`, `iat` and `nbf`. */
export const ASSERTION_CLOCK_SECONDS_MAX = 30;
/** How old an assertion may be, and how far ahead its end: a month, the longest session of Cloudflare Access, and a minute for the clocks. */
export const ASSERTION_SPAN_DAYS_MAX = 31;
export const ASSERTION_SPAN_SECONDS_MAX = ASSERTION_SPAN_DAYS_MAX * 24 * 60 * 60 + 60;
/** Where a page asks for the operator's own key, an assertion that is not older stands for it. */
export const ASSERTION_RECENT_SECONDS_MAX = 15 * 60;
/** The provider's public keys are fetched once in this time. */
export const PROVIDER_KEYS_SECONDS = 5 * 60;
/** Besides, they are fetched for an unknown `kid` once in this time, so five times in five minutes. */
export const PROVIDER_KEYS_UNKNOWN_SECONDS = 60;
/** For how long they are used while the provider does not answer. */
export const PROVIDER_KEYS_STALE_SECONDS_MAX = 24 * 60 * 60;
export const PROVIDER_KEYS_FETCH_SECONDS_MAX = 2;
export const PROVIDER_KEYS_BYTES_MAX = 64 * 1024;
export const PROVIDER_KEYS_MAX = 50;
/** How often a request looks whether another one has fetched the keys. */
export const PROVIDER_KEYS_POLL_MS = 20;
export const KEY_ID_UNITS_MAX = 255;
export const RSA_BITS_MIN = 2048;
export const RSA_BITS_MAX = 8192;

/** How many environments the switcher of the console offers. */
export const ENVIRONMENTS_NEAR_MAX = 8;
/** What the overview of an environment counts and notices. */
export const GROUPS_COUNTED_MAX = 10_000;
export const KEY_UNUSED_DAYS = 90;
export const KEY_ENDING_DAYS = 14;

export const NONCE_BYTES = 16;
export const SHA256_BYTES = 32;
export const MAC_BYTES = 16;
export const SIGNING_KEY_BYTES_MIN = 32;
export const SIGNING_KEY_BYTES_MAX = 64;
export const SIGNING_KEYS_MAX = 8;
/** How many verified credentials one isolate caches. */
export const VERIFIED_CREDENTIALS_MAX = 10_000;
/** How many tokens of groups one isolate caches after making them. */
export const MINTED_TOKENS_MAX = 10_000;

export const SESSION_SECONDS_MIN = 60;
export const SESSION_SECONDS_DEFAULT = 300;
/** For how long verifiers may cache the public keys. */
export const JWKS_SECONDS = 300;
/** The longest time for which an offline verifier accepts a session that was revoked. */
export const SESSION_SECONDS_MAX = 60 * 60;
/** How far the clock of the Worker that minted a session may be ahead. */
export const SESSION_CLOCK_SECONDS_MAX = 60;
export const SESSION_ORIGINS_MAX = 10;
/** A domain name of 253 characters (RFC 1035, section 2.3.4), and a port. */
export const HOST_UNITS_MAX = 259;
/** `https://` and a host. */
export const ORIGIN_UNITS_MAX = 8 + HOST_UNITS_MAX;
/** The claims that an integrator adds to a session: how many, and all of them as JSON in UTF-8. */
export const CLAIMS_MAX = 20;
export const CLAIMS_BYTES_MAX = 2 * 1024;
/** The properties of the viewer in a session, as JSON in UTF-8. */
export const VIEWER_PROPERTIES_BYTES_MAX = 2 * 1024;
/** The variables in a session, as JSON in UTF-8. */
export const SESSION_VARIABLES_BYTES_MAX = 4 * 1024;
/** The text of a session: proxies and servers refuse longer headers. */
export const SESSION_UNITS_MAX = 8_000;
/** The longest time for which a session may answer its viewer without the directory. */
export const SESSION_STALE_SECONDS_MAX = 300;
/** How far the directory's time in a session may be ahead of the Worker's. One from further ahead does not answer. */
export const SESSION_STALE_CLOCK_SECONDS_MAX = 5;
/** How long an ended session is remembered: the longest lifetime of a session, and 5 minutes for clocks that differ. */
export const ENDED_SESSION_SECONDS = 65 * 60;
export const ENDED_SESSIONS_PER_SWEEP_MAX = 1000;
/** How many ends of sessions and persons an environment stores. Beyond, all sessions of the person or the group end. */
export const ENDED_SESSIONS_MAX = 100_000;
/** The texts of the verified sessions that an instance of the Worker caches, and how often it looks for expired ones. */
export const VERIFIED_SESSIONS_UNITS_MAX = 2 * 1024 * 1024;
export const VERIFIED_SESSIONS_SWEEP_SECONDS = 60;

/** A call that the directory has not answered in this time is refused. */
export const DIRECTORY_SECONDS_MAX = 8;
export const DIRECTORY_TRIES_MAX = 4;
/** The wait before the second try. It doubles with each further try. */
export const DIRECTORY_BACKOFF_MS = 50;
export const UNAVAILABLE_RETRY_SECONDS = 1;

/** A `max-age` shorter than this is answered by the directory. */
export const STALE_SECONDS_MIN = 60;
/** No viewer gets an answer from KV that is older than this, whatever `max-age` it sends. */
export const LEASE_SECONDS_MAX = 300;
/** How far the clock of the directory may be ahead of the Worker's. A lease from further ahead is ignored. */
export const LEASE_CLOCK_SECONDS_MAX = 5;
/** A token gets a lease when two viewers that accept stale answers ask the directory within this time. */
export const LEASE_VIEWS_SECONDS = 60;
/** The directory asks for a lease of one token at most this often. */
export const LEASE_SPACING_SECONDS = 10;
/** How many tokens a directory keeps in memory to decide about leases. */
export const LEASE_TOKENS_MAX = 10_000;
export const LEASE_READ_SECONDS_MAX = 1;

export const LIST_ITEMS_MAX = 1000;
export const LIST_ITEMS_DEFAULT = 100;
/** The pause of an object after a full page of a list; after a smaller one it is shorter. With it lists take a third of its thread at most. */
export const LIST_PAUSE_MS = 25;
/** How many reads of one caller may wait for their turn. */
export const READS_WAITING_MAX = 60;
/** The ids, names, mappings and properties of one page, in UTF-8. */
export const LIST_BYTES_MAX = 1024 * 1024;

/** The text of a search. */
export const SEARCH_UNITS_MAX = 100;
/** How many groups one statement of a search reads at most. */
export const SEARCH_STEP_ROWS = 250;
/** A turn of a search also ends when it has read this much of the database: 64 pages that are in no cache take 3 ms on a slow disk. */
export const SEARCH_TURN_BYTES_MAX = 256 * 1024;
/** The default page size of SQLite. Of a row that is longer, a search reads only the first page. */
export const DATABASE_PAGE_BYTES = 4096;
/** A turn of a search ends after this number of groups, or of UTF-16 units of ids and names. */
export const SEARCH_TURN_ROWS_MAX = 1000;
export const SEARCH_TURN_UNITS_MAX = 64_000;
/** As many units of ASCII count as one unit of a text that has to be decomposed, which takes several times as long. */
export const DECOMPOSED_UNIT_WEIGHT = 4;
/** One call of a search ends after this number of groups. */
export const SEARCH_ROWS_MAX = 100_000;
/** How many events one statement of a group's history reads, which is a turn, and how many one call reads. */
export const HISTORY_STEP_ROWS = 2000;
export const HISTORY_ROWS_MAX = 100_000;
/** One call of a search or a history ends after this time, among many others: less than `DIRECTORY_SECONDS_MAX`. */
export const SCAN_SECONDS_MAX = 5;
/** How much a full turn of a search or a history takes of the thread, as a share of a full page of a list. */
export const SCAN_TURN_SHARE = 0.1;
/** How many events from the time of a suspension or deletion on are searched for its own. */
export const ENDING_EVENTS_EXAMINED_MAX = 1000;

export const SQL_TEMPLATE_BYTES_MAX = 16 * 1024;
/** For how many days events are kept if the variable EVENT_DAYS is missing or empty. */
export const EVENT_DAYS_DEFAULT = 90;
/** For how many days a deleted group can be restored if the variable UNDO_DAYS is missing or empty. */
export const UNDO_DAYS_DEFAULT = 30;
/** How many purged groups a directory hands to the registry in one call, and when it tries again. */
export const TOMBSTONES_PER_CALL_MAX = 500;
export const TOMBSTONE_RETRY_SECONDS = 60;
/** How far above a backup's highest number a restored environment goes on, so that nothing that was made since gets a number twice. */
export const NUMBERS_SKIPPED_BY_RESTORE = 1_000_000;
/** The rows of a page of a backup: it holds up viewers for as long as half a page of a list. */
export const BACKUP_ROWS_MAX = 500;
/** The largest database that is examined for damage after a crash: reading one of 64 MB took 0.1 s. */
export const CHECKED_BYTES_MAX = 64 * 1024 * 1024;
/** For how long an isolate answers /ready from memory, and how long the registry may take. */
export const READY_SECONDS_MAX = 5;
export const READY_TIMEOUT_SECONDS = 5;
/** After how long the alarm finishes an erasure that a crash interrupted. */
export const ERASE_RETRY_SECONDS = 10;
/** A page of a backup has these rows, or a list's bytes, all keys and the footer. */
export const RESTORE_BYTES_MAX = 2 * 1024 * 1024;
/** The highest number in a line of a restore, so that counters can go on above it as exact numbers. */
export const NUMBER_MAX = 2 ** 52 - 1;
/** The names of changed fields in an event of a restore: more than a group has. */
export const CHANGED_FIELDS_MAX = 50;
/** The name of an ended session in a restore: a group's number and a viewer's id, each unit of which is six as JSON. */
export const ENDED_NAME_UNITS_MAX = 32 + 6 * TEXT_UNITS_MAX;
/** How many deleted groups one alarm purges. If more are left, the next alarm follows at once. */
export const GROUPS_PER_PURGE_MAX = 100;
export const EVENTS_MAX = 1000;
export const EVENTS_DEFAULT = 100;
/** How many changed properties an event names. */
export const CHANGED_PROPERTIES_MAX = 10;
/** How many events a page with a filter examines. */
export const EVENTS_EXAMINED_MAX = 1000;
/** How many events from a time on are searched for the one that ended a key. */
export const EVENTS_NEAR_MAX = 50;
/** How many keys of the same name are tried as the successor of a key. */
export const SUCCESSORS_TRIED_MAX = 3;
/** How many environments a page with a search examines. */
export const ENVIRONMENTS_EXAMINED_MAX = 10_000;
/** How many expired events one alarm deletes. If more are left, the next alarm follows at once. */
export const EVENTS_PER_PURGE_MAX = 1000;
/** How many of the oldest events a new one displaces in a full environment. 20 short ones are about as long as the longest. */
export const EVENTS_DISPLACED_MAX = 20;
/** The most days that EVENT_DAYS and UNDO_DAYS can set: a hundred years. */
export const DAYS_MAX = 36_500;
export const DAY_MS = 24 * 60 * 60 * 1000;

export const QUERY_PARAMETERS_MAX = 10_000;
/** The parameters of one query, as JSON in UTF-8; a short template could repeat a long property thousands of times. */
export const QUERY_PARAMETERS_BYTES_MAX = 64 * 1024;
/** The values that a page gives for a template: how many, the items of a list, and all of them as JSON in UTF-8. */
export const QUERY_VALUES_MAX = 50;
export const QUERY_VALUES_ITEMS_MAX = 100;
export const QUERY_VALUES_BYTES_MAX = 16 * 1024;
export const CACHE_CONTROL_UNITS_MAX = 500;

/** The period of the rate limits in wrangler.toml. */
export const RATE_LIMIT_SECONDS = 60;
