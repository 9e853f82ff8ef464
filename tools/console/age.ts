/** Makes data that was added within seconds look as if it was added over some weeks: what pictures show then looks like real use. */
import { globSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

const DAY_MS = 24 * 60 * 60 * 1000;
const SPREAD_MS = 20 * DAY_MS;
/** How long ago the newest change seems to be. */
const NEWEST_MS = 25 * 60 * 1000;

/** Spreads the times in the databases of a service that does not run. Times in the future stay: a key that ends soon still does. */
export function age(folder: string): void {
  for (const path of globSync("state/*/*.sqlite", { cwd: folder })) {
    const database = new DatabaseSync(join(folder, path));
    const columns = timesIn(database);
    if (columns.length > 0) spread(database, columns);
    if (columns.some(({ table }) => table === "user_groups")) database.exec(`${LAST_VIEWS}; ${ENDS}`);
    database.close();
  }
}

const LAST_VIEWS =
  "UPDATE user_groups SET last_viewed_on = date('now', '-' || (team_id * 5 % 9) || ' days') WHERE team_id % 7 > 0";

/** The spread makes hours of the millisecond between a suspension or a deletion and its event. */
const ENDS = [
  ["user_groups", "suspended"],
  ["deleted_groups", "deleted"],
]
  .map(
    ([table, state]) => `UPDATE ${table} SET ${state}_at = (SELECT max(at) FROM events
      WHERE events.team_id = ${table}.team_id AND type = 'user_group.${state}') WHERE ${state}_at IS NOT NULL`,
  )
  .join(";");

type Column = { table: string; name: string };

function spread(database: DatabaseSync, columns: Column[]): void {
  const now = Date.now();
  const past = columns.flatMap((column) => timesOf(database, column)).filter((at) => at <= now);
  const [first, last] = [Math.min(...past), Math.max(...past)];
  const factor = SPREAD_MS / Math.max(1, last - first);
  for (const { table, name } of columns)
    database
      .prepare(`UPDATE ${table} SET ${name} = CAST(? - (? - ${name}) * ? AS INTEGER) WHERE ${name} <= ?`)
      .run(now - NEWEST_MS, last, factor, now);
}

/** The columns with times, in milliseconds since 1970. Their names end in "at". */
const timesIn = (database: DatabaseSync): Column[] =>
  database
    .prepare(
      `SELECT m.name AS "table", c.name AS name FROM sqlite_master m JOIN pragma_table_info(m.name) c
        WHERE m.type = 'table' AND m.name NOT LIKE '\\_cf%' ESCAPE '\\' AND m.name NOT IN ('migrations', 'console_sessions') AND (c.name = 'at' OR c.name LIKE '%\\_at' ESCAPE '\\')`,
    )
    .all()
    .map(({ table, name }) => ({ table: String(table), name: String(name) }));

const timesOf = (database: DatabaseSync, { table, name }: Column): number[] =>
  database
    .prepare(`SELECT ${name} AS at FROM ${table} WHERE ${name} IS NOT NULL`)
    .all()
    .map(({ at }) => Number(at));
