import type { GroupFilter } from "../domain/user-group.ts";

/** The version of what a cursor holds. A change of that is a new version, and cursors of the old one are refused. */
const VERSION = 1;
const BASE64URL = { alphabet: "base64url", omitPadding: true } as const;

const utf8 = new TextEncoder();
const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Where a list goes on: behind the number `after`, with the same filters. It holds no secret and gives no right; it is
 * base64url so that nobody mistakes it for something to compose.
 */
export const cursorOf = (after: number, { providedIdPrefix, updatedSince }: GroupFilter): string =>
  utf8.encode(JSON.stringify([VERSION, after, providedIdPrefix, updatedSince])).toBase64(BASE64URL);

/** What a cursor says, or `undefined` for anything that is none, another spelling of one included. */
export function readCursor(cursor: string): { after: number; filter: GroupFilter } | undefined {
  try {
    const [, after, providedIdPrefix, updatedSince] = JSON.parse(
      text.decode(Uint8Array.fromBase64(cursor, { alphabet: "base64url" })),
    );
    const isReadable = Number.isSafeInteger(after) && after > 0 && typeof providedIdPrefix === "string";
    const filter = { providedIdPrefix, updatedSince };
    return isReadable && Number.isFinite(updatedSince) && cursorOf(after, filter) === cursor
      ? { after, filter }
      : undefined;
  } catch {
    return undefined;
  }
}
