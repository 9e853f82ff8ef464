import { refuseEmpty } from "./options.ts";

const ORIGINS_MAX = 10;

/** Returns the origins as browsers send them. Throws a `TypeError` for anything but a list of 1 to 10 origins. */
export function checkedOrigins(origins: readonly string[]): readonly string[] {
  refuseEmpty("origins", origins);
  if (!Array.isArray(origins) || origins.length < 1 || origins.length > ORIGINS_MAX)
    throw new TypeError(`Give origins as a list of 1 to ${ORIGINS_MAX} origins, such as https://app.example.com.`);
  return origins.map((text, index) => {
    refuseEmpty(`origins[${index}]`, text);
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (!url || !/^https?:$/.test(url.protocol) || url.href !== `${url.origin}/`)
      throw new TypeError("Give each of the origins without a path, such as https://app.example.com.");
    return url.origin;
  });
}

/** Whether the page that sends the request is of these origins. Programs send no `Origin`, nor do pages with a GET to their own site. */
export function isFrom(request: Request, origins: readonly string[]): boolean {
  const origin = request.headers.get("Origin");
  return origin === null || origins.includes(origin);
}
