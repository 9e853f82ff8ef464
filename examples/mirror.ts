/** Keeps a copy of the user groups that exist in an environment, with their state, in an SQLite database. */
import type { DatabaseSync } from "node:sqlite";
import {
  type CallOptions,
  type EventPage,
  type ListedGroup,
  type UserGroupClient,
  UserGroupServiceError,
} from "../client/src/index.ts";

const PAGE_SIZE = 1_000;

const SCHEMA = `
  PRAGMA journal_mode = WAL;
  CREATE TABLE IF NOT EXISTS groups (team_id INTEGER PRIMARY KEY, content TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS position (id INTEGER PRIMARY KEY CHECK (id = 1), cursor TEXT NOT NULL) STRICT;`;

/**
 * Keeps the copy in step until the signal is aborted. Each page of events is one transaction with the cursor after it, so a
 * process that is killed continues where it was. Other connections may read the copy at any time.
 */
export async function mirror(client: UserGroupClient, copy: DatabaseSync, options: CallOptions): Promise<never> {
  copy.exec(SCHEMA);
  for (;;) {
    try {
      const cursor = cursorOf(copy) ?? (await listInto(copy, client, options));
      const input = { cursor, includeGroups: true, pageSize: PAGE_SIZE, pollMs: 1_000 };
      for await (const page of client.followPages(input, options)) inTransaction(copy, () => apply(copy, page));
    } catch (error) {
      if (!(error instanceof UserGroupServiceError && error.code === "cursor_expired")) throw error;
      copy.exec("DELETE FROM position");
    }
  }
}

const cursorOf = (copy: DatabaseSync) =>
  copy.prepare("SELECT cursor FROM position").get()?.cursor as string | undefined;

/** Replaces the copy by the groups that exist. The cursor comes first: a later change is in the list, in the events, or in both. */
async function listInto(copy: DatabaseSync, client: UserGroupClient, options: CallOptions): Promise<string> {
  const cursor = await client.latestEventCursor(options);
  const groups = await Array.fromAsync(client.list({ pageSize: PAGE_SIZE }, options));
  inTransaction(copy, () => {
    copy.exec("DELETE FROM groups");
    for (const group of groups) put(copy, group);
    move(copy, cursor);
  });
  return cursor;
}

/** Applies a page of events. A group that a page names and does not have was deleted. */
function apply(copy: DatabaseSync, { events, groups = [], nextCursor }: EventPage): void {
  const remove = copy.prepare("DELETE FROM groups WHERE team_id = ?");
  for (const { group } of events) if (group) remove.run(group.teamId);
  for (const group of groups) put(copy, group);
  move(copy, nextCursor);
}

const put = (copy: DatabaseSync, group: ListedGroup) =>
  copy.prepare("INSERT OR REPLACE INTO groups VALUES (?, ?)").run(group.teamId, JSON.stringify(group));

const move = (copy: DatabaseSync, cursor: string) =>
  copy.prepare("INSERT OR REPLACE INTO position VALUES (1, ?)").run(cursor);

function inTransaction(copy: DatabaseSync, change: () => void): void {
  copy.exec("BEGIN IMMEDIATE");
  try {
    change();
    copy.exec("COMMIT");
  } catch (error) {
    copy.exec("ROLLBACK");
    throw error;
  }
}
