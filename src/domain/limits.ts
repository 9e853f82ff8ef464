/** Every bound of the service, with its unit last in the name. */

export const BODY_BYTES_MAX = 64 * 1024;
export const BODY_DRAINED_BYTES_MAX = 64 * 1024 * 1024;
export const BODY_DEPTH_MAX = 64;

export const TEXT_UNITS_MAX = 255;
export const MAPPING_ENTRIES_MAX = 100;
export const PROPERTIES_BYTES_MAX = 16 * 1024;
export const PROPERTIES_DEPTH_MAX = 32;
export const ISSUES_MAX = 100;

export const GRACE_SECONDS_MAX = 7 * 24 * 60 * 60;

export const KEY_SECONDS_MAX = 10 * 365 * 24 * 60 * 60;
export const LAST_USED_SECONDS = 60 * 60;

export const NONCE_BYTES = 16;
export const MAC_BYTES = 16;
export const SIGNING_KEY_BYTES_MIN = 32;
export const SIGNING_KEY_BYTES_MAX = 64;
export const SIGNING_KEYS_MAX = 8;

export const UNAVAILABLE_RETRY_SECONDS = 1;
/** The period of the rate limits in wrangler.toml. */
export const RATE_LIMIT_SECONDS = 60;
