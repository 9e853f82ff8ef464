import { CACHE_CONTROL_UNITS_MAX, STALE_SECONDS_MIN } from "../../../common/limits.ts";

/** A directive of Cache-Control (RFC 9111, section 5.2): a token, with or without a token or a quoted string as argument. */
const DIRECTIVE = /^\s*([!#$%&'*+\-.^_`|~\w]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([!#$%&'*+\-.^_`|~\w]+)))?\s*$/;
/** Commas outside of quoted strings. */
const COMMAS = /,(?=(?:[^"]*"[^"]*")*[^"]*$)/;

/**
 * How old an answer a request's Cache-Control accepts, in seconds: its `max-age`, if that is at least a minute and there is
 * neither `no-cache` nor `no-store`. `undefined` accepts no stale answer, and so does a header that is malformed or very
 * long. Of several `max-age` the smallest counts.
 */
export function maxAgeOf(cacheControl: string | undefined): number | undefined {
  const maxAge = cacheControl === undefined ? undefined : askedMaxAgeOf(cacheControl);
  return maxAge !== undefined && maxAge !== Number.POSITIVE_INFINITY && maxAge >= STALE_SECONDS_MIN
    ? maxAge
    : undefined;
}

/**
 * How old an answer may be that the session has allowed to be stale, in seconds: the request's `max-age`, or any age without
 * one. `undefined` asks for a fresh answer, as `no-cache`, `no-store` and a malformed header do.
 */
export const oldestAnswerOf = (cacheControl: string | undefined): number | undefined =>
  askedMaxAgeOf(cacheControl ?? "");

function askedMaxAgeOf(cacheControl: string): number | undefined {
  if (cacheControl.length > CACHE_CONTROL_UNITS_MAX) return undefined;
  const parts = cacheControl.split(COMMAS).filter((part) => part.trim() !== "");
  const directives = parts.map((part) => DIRECTIVE.exec(part)).filter((directive) => directive !== null);
  const named = (name: string) => directives.filter((directive) => directive[1]?.toLowerCase() === name);
  const ages = named("max-age").map((directive) => {
    const argument = directive[2] ?? directive[3] ?? "";
    return /^\d+$/.test(argument) ? Number(argument) : 0;
  });
  const isMalformed = directives.length !== parts.length;
  const isForbidden = named("no-cache").length + named("no-store").length > 0;
  return isMalformed || isForbidden ? undefined : Math.min(...ages);
}
