import { attempt } from "../../../common/attempt.ts";
import { fromBase64url, toBase64url, utf8, utf8Text } from "../../domain/bytes.ts";
import type { FeedPosition } from "../../domain/feed/event.ts";
import type { HistoryPosition } from "../../domain/feed/group-history.ts";
import type { PageStart } from "../../domain/user-groups/group-page.ts";

/** The version of the cursor's content. A change of the content is a new version, and cursors of the old one are refused. */
const VERSION = 2;

const EVENTS = "events";
const HISTORY = "history";

/** Where a list continues: at a number, in a search or none, or with a prefix at an id. */
export type Cursor = { start: PageStart; prefix: string | undefined; search: string | undefined };
/** The conditions of a list to which its cursors belong. */
type Filters = { prefix?: string | undefined; search?: string | undefined };

/** The text of a cursor. It is no secret and gives no right; base64url keeps clients from composing it. */
const encode = (...parts: unknown[]): string => toBase64url(utf8.encode(JSON.stringify([VERSION, ...parts])));

/** The parts of a cursor; none of a text that is no list in JSON. */
function partsOf(cursor: string): unknown[] {
  const [, ...parts] = attempt(() => [...JSON.parse(utf8Text.decode(fromBase64url(cursor)))]) ?? [];
  return parts;
}

const isNumber = (value: unknown, min: number): value is number => Number.isSafeInteger(value) && Number(value) >= min;

/** Without a search, the cursor has the form of 1.1. */
function cursorOf({ start, prefix, search }: Cursor): string {
  if (search !== undefined) return encode(start, null, search);
  return prefix === undefined ? encode(start) : encode(start, prefix);
}

/** The cursor of a list of groups; `null` after its last page. Only that of a list in the order of ids has the prefix. */
export function listCursorOf(next: PageStart | null, { prefix, search }: Filters): string | null {
  if (next === null) return null;
  return cursorOf({ start: next, prefix: typeof next === "string" ? prefix : undefined, search });
}

/** The cursor of a list that continues at a number; `null` after its last page. */
export const numberCursorOf = (next: number | null): string | null => listCursorOf(next, {});

/** Parses a cursor; `undefined` for any other text, and for another spelling of one. */
export function parseCursor(cursor: string): Cursor | undefined {
  const [start, prefix, search] = partsOf(cursor);
  const parsed = typeof prefix === "string" ? prefixStart(start, prefix) : numberStart(start, search);
  return parsed && cursorOf(parsed) === cursor ? parsed : undefined;
}

const numberStart = (start: unknown, search: unknown): Cursor | undefined =>
  isNumber(start, 1) && (search === undefined || typeof search === "string")
    ? { start, prefix: undefined, search }
    : undefined;

const prefixStart = (start: unknown, prefix: string): Cursor | undefined =>
  prefix !== "" && typeof start === "string" && start.startsWith(prefix)
    ? { start, prefix, search: undefined }
    : undefined;

/** The text of a cursor of events. `feed` is the name of the environment's directory. */
export const eventCursorOf = (feed: string, { incarnation, after }: FeedPosition): string =>
  encode(EVENTS, feed, incarnation, after);

/** Parses a cursor of this feed's events; `undefined` for any other text, and for a cursor of another feed. */
export function parseEventCursor(cursor: string, feed: string): FeedPosition | undefined {
  const [, , incarnation, after] = partsOf(cursor);
  if (typeof incarnation !== "string" || !isNumber(after, 0)) return undefined;
  const position = { incarnation, after };
  return eventCursorOf(feed, position) === cursor ? position : undefined;
}

/** The text of a cursor of a group's events, newest first. */
export const historyCursorOf = (feed: string, teamId: number, { incarnation, before }: HistoryPosition): string =>
  encode(HISTORY, feed, teamId, incarnation, before);

/** Parses a cursor of this group's events; `undefined` for any other text, and for a cursor of another group or feed. */
export function parseHistoryCursor(cursor: string, feed: string, teamId: number): HistoryPosition | undefined {
  const [, , , incarnation, before] = partsOf(cursor);
  if (typeof incarnation !== "string" || !isNumber(before, 1)) return undefined;
  const position = { incarnation, before };
  return historyCursorOf(feed, teamId, position) === cursor ? position : undefined;
}
