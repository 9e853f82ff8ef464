import {
  BACKUP_ROWS_MAX,
  ENDED_SESSIONS_MAX,
  KEYS_PER_ENVIRONMENT_MAX,
  LIST_BYTES_MAX,
  NUMBERS_SKIPPED_BY_RESTORE,
} from "../../../common/limits.ts";
import { fail, ok, type Result } from "../../../common/result.ts";
import type { StoredEvent } from "../../records.ts";
import type { EndedSessionStore } from "../../storage/ended-session-store.ts";
import type { EventStore } from "../../storage/event-store.ts";
import type { GroupStore } from "../../storage/group-store.ts";
import type { KeyStore } from "../../storage/key-store.ts";
import type { TombstoneStore } from "../../storage/tombstone-store.ts";
import type { FailureOf } from "../failure.ts";
import type { Read } from "../turns.ts";
import { nameOfEnded } from "../user-groups/ended-sessions.ts";
import { bytesOf } from "../user-groups/user-group.ts";
import {
  type BackupItem,
  type BackupPage,
  type BackupPosition,
  bytesOfEvent,
  hasLostEvents,
  OpenPage,
  positionIn,
  withOneMore,
} from "./backup.ts";
import { checkCounts, checkRoom, type RestorePage, type RestoreTarget, UnfitLine } from "./restore.ts";

/** The stores of a directory. */
export type DirectoryStores = {
  groups: GroupStore;
  keys: KeyStore;
  events: EventStore;
  endedSessions: EndedSessionStore;
};

/** The tables in the order in which a backup reads them. */
const TABLES = ["numbers", "deleted", "ended_sessions", "events"] as const;

/**
 * Reads an environment's backup, page by page. Groups and ended sessions come first. After them comes the whole feed, and with each
 * event since the backup began the present state of what it names, which replaces the earlier line. The page that reaches the end of
 * the feed has all keys and the footer: it is read in one run, so the backup is as of then.
 */
export function readDirectory(
  stores: DirectoryStores,
  schema: number,
  position: BackupPosition | undefined,
): Result<Read<BackupPage>, FailureOf<"cursor_expired">> {
  const { events } = stores;
  const begun = positionIn(events, position);
  if (!begun.ok) return begun;
  const page = new OpenPage();
  if (!position) page.addHeader(schema);
  let at: BackupPosition | undefined = begun.value;
  while (at && at.table < TABLES.length - 1) {
    const next: BackupPosition | undefined = readTable(stores, at, page);
    if (next && next.table === at.table) return readOf(page, next);
    at = next;
  }
  // A first page that gets here has read all in one run, and has nothing to correct.
  if (position && hasLostEvents(events, Math.max(at.start, at.seq))) return fail({ code: "cursor_expired" });
  return readOf(page, readEvents(stores, at, page));
}

/** Reads rows of a table while the page has room. Returns where to go on: in the same table, or at the start of the next one. */
function readTable(stores: DirectoryStores, at: BackupPosition, page: OpenPage): BackupPosition {
  const table = TABLES[at.table];
  const { room } = page;
  const nextTable = { ...at, table: at.table + 1, start: 0 };
  if (table === "ended_sessions") {
    if (room === 0) return at;
    const rows = stores.endedSessions.page(at.start, at.seq, room);
    let { counts } = at;
    for (const record of rows) {
      page.add({ kind: "ended_session", record }, 200);
      counts = withOneMore(counts, "ended_sessions");
    }
    const last = rows.at(-1);
    return last && rows.length === room ? { ...at, start: last.id, counts } : { ...nextTable, counts };
  }
  const order = table === "deleted" ? table : "numbers";
  const sizes = stores.groups.sizes({ order, start: at.start }, room + 1);
  let bytes = page.bytes;
  const end = sizes.slice(0, room).findIndex((size) => {
    bytes += size.bytes;
    return bytes > LIST_BYTES_MAX;
  });
  const count = end === -1 ? room : Math.max(end, page.hasRow ? 0 : 1);
  for (const [index, record] of stores.groups.whole(order, at.start, count).entries())
    page.add({ kind: "user_group", record }, sizes[index]?.bytes ?? 0);
  const next = sizes[count];
  return next ? { ...at, start: next.teamId } : nextTable;
}

/** Reads events with the corrections that they call for, up to the footer if the page has room for all. */
function readEvents(stores: DirectoryStores, at: BackupPosition, page: OpenPage): BackupPosition | null {
  const { events, groups, keys } = stores;
  let { start, counts } = at;
  const corrected = new Set<number | string>();
  const found = events.page(start, Math.max(1, page.room));
  for (const event of found) {
    if (page.items.length >= BACKUP_ROWS_MAX || page.bytes > LIST_BYTES_MAX) break;
    page.add({ kind: "event", record: event }, bytesOfEvent(event));
    counts = withOneMore(counts, "events");
    if (event.id > at.seq) counts = correct(stores, event, { page, counts, corrected });
    start = event.id;
  }
  if (start < events.newestId()) return { ...at, start, counts };
  const all = keys.page(0, Number.MAX_SAFE_INTEGER);
  for (const record of all) page.add({ kind: "api_key", record }, 0);
  const record = { ended_sessions: 0, events: 0, ...counts, groups: groups.count(), api_keys: all.length };
  page.add({ kind: "footer", record }, 0);
  return null;
}

/** Adds the present state of what an event names, once in a page. Purged groups have none: their event removes them. */
function correct(
  { groups, endedSessions }: DirectoryStores,
  event: StoredEvent,
  { page, counts, corrected }: { page: OpenPage; counts: Record<string, number>; corrected: Set<number | string> },
): Record<string, number> {
  const { teamId } = event;
  if (teamId !== null && !corrected.has(teamId)) {
    corrected.add(teamId);
    const record = groups.findByTeamId(teamId) ?? groups.findDeleted(teamId);
    if (record) page.add({ kind: "user_group", record }, bytesOf(record));
  }
  const name = event.type === "viewer_sessions.ended" ? nameOfEnded(event) : undefined;
  const ended = name === undefined || corrected.has(name) ? undefined : endedSessions.find(name);
  if (!ended) return counts;
  corrected.add(ended.name);
  page.add({ kind: "ended_session", record: ended }, 200);
  return withOneMore(counts, "ended_sessions");
}

const readOf = (page: OpenPage, next: BackupPosition | null): Result<Read<BackupPage>, never> =>
  ok({
    page: { items: page.items, next },
    share: Math.min(1, Math.max(page.items.length / BACKUP_ROWS_MAX, page.bytes / LIST_BYTES_MAX)),
  });

/** Restores an environment's backup into the stores of its directory. */
export function directoryTarget(
  { groups, keys, events, endedSessions }: DirectoryStores,
  tombstones: TombstoneStore,
): RestoreTarget {
  const putGroup = (record: Extract<BackupItem, { kind: "user_group" }>["record"], skipped: number[]) => {
    if (skipped.includes(record.teamId)) tombstones.noteSkipped(record.teamId);
    else groups.put(record);
  };

  return {
    isEmpty: () => keys.count() === 0 && groups.isEmpty(),
    isUnchanged: () => !events.hasAfterRestore(),
    begin: () => groups.setUniqueIds(false),

    put(item: BackupItem, { skipped }: RestorePage): void {
      if (item.kind === "user_group") putGroup(item.record, skipped);
      else if (item.kind === "api_key") keys.put(item.record);
      else if (item.kind === "ended_session") endedSessions.put(item.record);
      else if (item.kind === "event") {
        const { type, teamId } = item.record;
        events.put(item.record);
        if (type !== "user_group.purged" || teamId === null) return;
        groups.drop(teamId);
        tombstones.deleteSkipped(teamId);
      } else if (item.kind !== "header") throw new UnfitLine(`No environment has a line of the kind ${item.kind}.`);
    },

    finish(footer, counts, { rotateTokens, revokeKeys }): void {
      const skipped = tombstones.skipped();
      checkRoom("API keys", keys.count(), KEYS_PER_ENVIRONMENT_MAX);
      checkRoom("ended sessions", endedSessions.count(), ENDED_SESSIONS_MAX);
      checkCounts(footer, {
        groups: groups.count() + skipped.count,
        api_keys: counts.api_key ?? 0,
        events: counts.event ?? 0,
        ended_sessions: counts.ended_session ?? 0,
      });
      groups.setUniqueIds(true);
      const now = Date.now();
      if (rotateTokens) groups.rotateAll(now);
      if (revokeKeys) keys.revokeAll(now);
      const highest = Math.max(groups.highestTeamId(), events.highestTeamId(), skipped.highest);
      groups.setLastTeamId(highest + NUMBERS_SKIPPED_BY_RESTORE - 1);
      keys.setLastId(keys.highestId() + NUMBERS_SKIPPED_BY_RESTORE - 1);
      events.setLastId(events.newestId() + NUMBERS_SKIPPED_BY_RESTORE - 1);
      tombstones.deleteAllSkipped();
    },
  };
}
