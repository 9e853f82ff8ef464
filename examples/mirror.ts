/** Keeps a copy of the user groups that exist in an environment, with their state, in a database of yours. */
import type { DatabaseSync } from "node:sqlite";
import {
  type CallOptions,
  type ListedGroup,
  type UserGroupClient,
  UserGroupServiceError,
} from "user-group-service/client";
import type { Pool } from "user-group-service/postgres";

const PAGE_SIZE = 1_000;

/** The cursor after some changes, whose groups were deleted or are now so. A new copy has no other groups. */
type Change = { cursor: string; removed: number[]; groups: ListedGroup[]; isNew?: boolean };

/** A database with a copy. It stores a change in one transaction, so a process that is killed continues where it was. */
export type Copy = { cursor: () => Promise<string | undefined>; store: (change: Change) => Promise<void> };

/** Keeps the copy in step until the signal is aborted. */
export async function mirror(client: UserGroupClient, copy: Copy, options: CallOptions): Promise<never> {
  for (let cursor = await copy.cursor(); ; cursor = undefined) {
    try {
      cursor ??= await listInto(copy, client, options);
      const input = { cursor, includeGroups: true, pageSize: PAGE_SIZE, pollMs: 1_000 };
      for await (const { nextCursor, events, groups = [] } of client.followPages(input, options)) {
        const removed = events.flatMap(({ group }) => group?.teamId ?? []);
        await copy.store({ cursor: nextCursor, removed, groups });
      }
    } catch (error) {
      if (!(error instanceof UserGroupServiceError && error.code === "cursor_expired")) throw error;
    }
  }
}

/** Replaces the copy by the groups that exist. The cursor comes first: a later change is in the list, in the events, or in both. */
async function listInto(copy: Copy, client: UserGroupClient, options: CallOptions): Promise<string> {
  const cursor = await client.latestEventCursor(options);
  const groups = await Array.fromAsync(client.list({ pageSize: PAGE_SIZE }, options));
  await copy.store({ cursor, removed: [], groups, isNew: true });
  return cursor;
}

const TABLES = [
  "CREATE TABLE IF NOT EXISTS groups (team_id BIGINT PRIMARY KEY, content TEXT NOT NULL)",
  "CREATE TABLE IF NOT EXISTS position (id INTEGER PRIMARY KEY CHECK (id = 1), cursor TEXT NOT NULL)",
];

type Run = (sql: string, values?: (string | number)[]) => Promise<{ rows: unknown[] }>;

async function write(run: Run, { cursor, removed, groups, isNew }: Change): Promise<void> {
  if (isNew) await run("DELETE FROM groups");
  for (const teamId of removed) await run("DELETE FROM groups WHERE team_id = $1", [teamId]);
  const replace = "ON CONFLICT (team_id) DO UPDATE SET content = excluded.content";
  for (const group of groups)
    await run(`INSERT INTO groups VALUES ($1, $2) ${replace}`, [group.teamId, JSON.stringify(group)]);
  await run("INSERT INTO position VALUES (1, $1) ON CONFLICT (id) DO UPDATE SET cursor = excluded.cursor", [cursor]);
}

/** A copy by transactions of a database. */
const copyBy = (transaction: <Result>(work: (run: Run) => Promise<Result>) => Promise<Result>): Copy => ({
  cursor: () =>
    transaction(async (run) => {
      for (const table of TABLES) await run(table);
      return Object((await run("SELECT cursor FROM position")).rows[0]).cursor;
    }),
  store: (change) => transaction((run) => write(run, change)),
});

/** A copy in SQLite. */
export function sqliteCopy(database: DatabaseSync): Copy {
  const run: Run = async (sql, values = []) => ({ rows: database.prepare(sql.replaceAll("$", "?")).all(...values) });
  database.exec("PRAGMA journal_mode = WAL");
  return copyBy(async (work) => {
    database.exec("BEGIN IMMEDIATE");
    try {
      const result = await work(run);
      database.exec("COMMIT");
      return result;
    } catch (error) {
      database.exec("ROLLBACK");
      throw error;
    }
  });
}

/** A copy in PostgreSQL. */
export const postgresCopy = (pool: Pool): Copy =>
  copyBy(async (work) => {
    const client = await pool.connect();
    let isDone = false;
    try {
      await client.query("BEGIN");
      const result = await work((sql, values) => client.query(sql, values));
      await client.query("COMMIT");
      isDone = true;
      return result;
    } finally {
      // PostgreSQL rolls back the transaction of a connection that it loses.
      client.release(!isDone);
    }
  });
