import type { FeedPosition } from "../../domain/feed/event.ts";
import type { HistoryPosition } from "../../domain/feed/group-history.ts";
import type { PageStart } from "../../domain/user-groups/group-page.ts";

/** The version of the cursor's content. A change of the content is a new version, and cursors of the old one are refused. */
const VERSION = 2;
const BASE64URL = { alphabet: "base64url", omitPadding: true } as const;

const EVENTS = "events";
const HISTORY = "history";

const utf8 = new TextEncoder();
const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Where a list continues: at a number, or with a prefix at an id. */
export type Cursor = { start: PageStart; prefix: string | undefined };

/** The text of a cursor. It is no secret and gives no right; base64url keeps clients from composing it. */
const cursorOf = ({ start, prefix }: Cursor): string =>
  utf8.encode(JSON.stringify([VERSION, start, ...(prefix === undefined ? [] : [prefix])])).toBase64(BASE64URL);

/** The cursor of a list of groups; `null` after its last page. Only that of a list in the order of ids has the prefix. */
export const listCursorOf = (next: PageStart | null, prefix: string | undefined): string | null =>
  typeof next === "string" ? cursorOf({ start: next, prefix }) : numberCursorOf(next);

/** The cursor of a list that continues at a number; `null` after its last page. */
export const numberCursorOf = (next: number | null): string | null =>
  next === null ? null : cursorOf({ start: next, prefix: undefined });

/** Parses a cursor; `undefined` for any other text, and for another spelling of one. */
export function parseCursor(cursor: string): Cursor | undefined {
  try {
    const [, start, prefix] = JSON.parse(text.decode(Uint8Array.fromBase64(cursor, { alphabet: "base64url" })));
    const isStart =
      prefix === undefined
        ? Number.isSafeInteger(start) && start > 0
        : typeof prefix === "string" && prefix !== "" && typeof start === "string" && start.startsWith(prefix);
    return isStart && cursorOf({ start, prefix }) === cursor ? { start, prefix } : undefined;
  } catch {
    return undefined;
  }
}

/** The text of a cursor of events. `feed` is the name of the environment's directory. */
export const eventCursorOf = (feed: string, { incarnation, after }: FeedPosition): string =>
  utf8.encode(JSON.stringify([VERSION, EVENTS, feed, incarnation, after])).toBase64(BASE64URL);

/** Parses a cursor of this feed's events; `undefined` for any other text, and for a cursor of another feed. */
export function parseEventCursor(cursor: string, feed: string): FeedPosition | undefined {
  try {
    const [, , , incarnation, after] = JSON.parse(
      text.decode(Uint8Array.fromBase64(cursor, { alphabet: "base64url" })),
    );
    const isPosition = typeof incarnation === "string" && Number.isSafeInteger(after) && after >= 0;
    return isPosition && eventCursorOf(feed, { incarnation, after }) === cursor ? { incarnation, after } : undefined;
  } catch {
    return undefined;
  }
}

/** The text of a cursor of a group's events, newest first. */
export const historyCursorOf = (feed: string, teamId: number, { incarnation, before }: HistoryPosition): string =>
  utf8.encode(JSON.stringify([VERSION, HISTORY, feed, teamId, incarnation, before])).toBase64(BASE64URL);

/** Parses a cursor of this group's events; `undefined` for any other text, and for a cursor of another group or feed. */
export function parseHistoryCursor(cursor: string, feed: string, teamId: number): HistoryPosition | undefined {
  try {
    const [, , , , incarnation, before] = JSON.parse(
      text.decode(Uint8Array.fromBase64(cursor, { alphabet: "base64url" })),
    );
    const isPosition = typeof incarnation === "string" && Number.isSafeInteger(before) && before > 0;
    const position = { incarnation, before };
    return isPosition && historyCursorOf(feed, teamId, position) === cursor ? position : undefined;
  } catch {
    return undefined;
  }
}
