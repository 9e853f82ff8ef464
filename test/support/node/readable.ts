/** Reads all that somebody can read, and calls all that they can call, to compare it with what `ug prove` says. */
import { type Database, rowsOf, withRollback, withSavepoint } from "../../../prove/src/database.ts";

/** The arguments with which functions are called. */
const ARGUMENTS: Record<string, readonly string[]> = {
  integer: ["1", "2", "3"],
  bigint: ["1", "2", "3"],
  text: ["1", "2", "b", "app.n"],
  uuid: ["00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"],
};
const CALLS_MAX = 12;

const RELATIONS = `
  SELECT format('%I.%I', n.nspname, c.relname) AS name, c.relkind IN ('r', 'p') AS "isTable",
    array_agg(quote_ident(a.attname) ORDER BY a.attnum) FILTER (WHERE has_column_privilege(c.oid, a.attnum, 'SELECT')) AS columns
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.oid >= 16384 GROUP BY c.oid, n.nspname ORDER BY c.oid`;
const ROUTINES = `
  SELECT f.oid::regprocedure::text AS name, format('%I.%I', n.nspname, f.proname) AS call,
    ARRAY(SELECT format_type(t, NULL) FROM unnest(f.proargtypes) t) AS types
  FROM pg_proc f JOIN pg_namespace n ON n.oid = f.pronamespace
  WHERE f.oid >= 16384 AND f.prokind IN ('f', 'a') AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = f.oid AND d.deptype = 'e') ORDER BY f.oid`;
const ROLES = `SELECT quote_ident(r.rolname) AS name FROM pg_roles r
  WHERE pg_has_role(session_user, r.oid, 'MEMBER') AND NOT r.rolsuper AND r.rolname !~ '^pg_'`;

/** The texts of the rows of each table, view and call, as each role that the login can become; undefined if PostgreSQL refuses. */
export type Readable = { name: string; isTable: boolean; rows: string[] | undefined }[];

/** Reads as a customer, or as nobody if the SQL is empty. */
export const readEverything = (database: Database, sql: string): Promise<Readable> =>
  withRollback(database, async () => {
    const roles = await rowsOf<{ name: string }>(database, ROLES);
    const found: Readable = [];
    for (const { name } of roles)
      await withSavepoint(database, async () => {
        await database.query("SET LOCAL search_path = pg_catalog");
        for (const each of sql.split(";").filter((part) => part.trim() !== "")) await database.query(each);
        await database.query(`SET LOCAL ROLE ${name}`);
        found.push(...(await readAsRole(database)).map((each) => ({ ...each, name: `${each.name} as ${name}` })));
      });
    return found;
  });

async function readAsRole(database: Database): Promise<Readable> {
  const relations = await rowsOf<{ name: string; isTable: boolean; columns: string[] | null }>(database, RELATIONS);
  const readable: Readable = [];
  const readTables = async (suffix: string) => {
    for (const { name, isTable, columns } of relations)
      if (columns !== null)
        readable.push({
          name: name + suffix,
          isTable,
          rows: await textsOf(database, `SELECT ROW(${columns.join(", ")})::text AS text FROM ${name}`),
        });
  };
  await readTables("");
  const routines = await rowsOf<{ name: string; call: string; types: string[] }>(database, ROUTINES);
  for (const { name, call, types } of routines)
    for (const list of argumentsOf(types))
      readable.push({
        name: `${name} with ${list}`,
        isTable: false,
        rows: await textsOf(database, `SELECT ${call}(${list})::text AS text`),
      });
  // A call may have changed a setting.
  if (routines.length > 0) await readTables(" after the calls");
  return readable;
}

function argumentsOf(types: readonly string[]): string[] {
  let lists = [""];
  for (const type of types)
    lists = lists.flatMap((list) =>
      (ARGUMENTS[type] ?? []).map((value) => `${list === "" ? "" : `${list}, `}'${value}'::${type}`),
    );
  return lists.slice(0, CALLS_MAX);
}

async function textsOf(database: Database, sql: string): Promise<string[] | undefined> {
  await database.query("SAVEPOINT reading");
  try {
    const rows = await rowsOf<{ text: string | null }>(database, sql);
    await database.query("RELEASE SAVEPOINT reading");
    return rows.map(({ text }) => String(text)).toSorted();
  } catch {
    await database.query("ROLLBACK TO SAVEPOINT reading");
    return undefined;
  }
}

/** What shows a text that names another customer, as `of 2` does. */
export const foreignIn = (readable: Readable, own: string): string[] =>
  readable.flatMap(({ name, rows = [] }) =>
    rows.flatMap((text) =>
      [...text.matchAll(/\bof (\w+)/g)].filter(([, whose]) => whose !== own).map(() => `${name}: ${text}`),
    ),
  );

/** The rows of tables, with the name of each table and role. */
export const rowsIn = (readable: Readable): string[] =>
  readable.filter(({ isTable }) => isTable).flatMap(({ name, rows = [] }) => rows.map((text) => `${name}: ${text}`));
