import { CACHE_CONTROL_UNITS_MAX, STALE_SECONDS_MIN } from "../domain/limits.ts";

/** A directive of Cache-Control (RFC 9111, section 5.2): a token, and perhaps a token or a quoted string as its argument. */
const DIRECTIVE = /^\s*([!#$%&'*+\-.^_`|~\w]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|([!#$%&'*+\-.^_`|~\w]+)))?\s*$/;
/** Commas that stand in no quoted string. */
const COMMAS = /,(?=(?:[^"]*"[^"]*")*[^"]*$)/;

/**
 * Whether a request's Cache-Control allows an answer that is some time old: a `max-age` of at least a minute, and neither
 * `no-cache` nor `no-store`. Whatever is malformed or oddly long allows nothing; of several `max-age` the strictest counts.
 */
export function allowsStale(cacheControl: string | undefined): boolean {
  if (cacheControl === undefined || cacheControl.length > CACHE_CONTROL_UNITS_MAX) return false;
  const parts = cacheControl.split(COMMAS).filter((part) => part.trim() !== "");
  const directives = parts.map((part) => DIRECTIVE.exec(part)).filter((directive) => directive !== null);
  const named = (name: string) => directives.filter((directive) => directive[1]?.toLowerCase() === name);
  const ages = named("max-age").map((directive) => {
    const argument = directive[2] ?? directive[3] ?? "";
    return /^\d+$/.test(argument) ? Number(argument) : 0;
  });
  return (
    directives.length === parts.length &&
    ages.length > 0 &&
    Math.min(...ages) >= STALE_SECONDS_MIN &&
    named("no-cache").length + named("no-store").length === 0
  );
}
