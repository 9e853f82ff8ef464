/** A date and a time, a fraction of a second, and a zone (RFC 3339, section 5.6). */
const RFC_3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d{1,3}(\d{0,6}))?(?:Z|[+-]\d\d:\d\d)$/i;

/**
 * The first whole millisecond since 1970 that is not before the time; not a number for what is no time. `Date` takes days that a month
 * does not have.
 */
export function millisecondsFrom(text: string): number {
  const [, local = "", beyond = ""] = RFC_3339.exec(text) ?? [];
  const asUtc = Date.parse(`${local}Z`);
  const isReal = !Number.isNaN(asUtc) && new Date(asUtc).toISOString().startsWith(local.toUpperCase());
  return isReal ? Date.parse(text) + (/[1-9]/.test(beyond) ? 1 : 0) : Number.NaN;
}
