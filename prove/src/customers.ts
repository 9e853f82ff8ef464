/** Compares what two customers and nobody see of the integrator's tables. */
import type { Catalogue, Relation } from "./catalogue.ts";
import { couldNotTell, type Database, identifier, reasonOf, rowsOf, withSavepoint } from "./database.ts";
import { type Findings, joined, listed, type Mistake, type NotJudged } from "./finding.ts";
import { asRole, OWN_PATH, probeTable, ROWS_MAX, readTable, type Seen, seesRows } from "./rows.ts";
import type { Setup } from "./setup.ts";

/** How many rows of one table each customer sees, for the report. */
export type Compared = { table: string; rows: [number, number] };

/** What is compared: the tables, the words for the two, and SQL that binds the rows of a table. */
export type Comparison = {
  tables: readonly Relation[];
  arePeople: boolean;
  fixOf: (table: Relation) => string;
};

/** Assigns what the SQL of a customer assigns. @throws CommandError without PostgreSQL's message, which may contain values. */
async function become(database: Database, { option, assignments }: Setup): Promise<void> {
  for (const { name, value } of assignments)
    try {
      await database.query("SELECT pg_catalog.set_config($1, $2, true)", [name, value]);
    } catch (error) {
      const advice =
        name === "role"
          ? "The user in DATABASE_URL must be a member of the role: GRANT <role> TO <user>."
          : "Try it with psql, as the user in DATABASE_URL.";
      throw couldNotTell(`${option} cannot set ${name}: ${reasonOf(error)}. ${advice}`);
    }
}

/** Runs `work` as a customer. */
const asCustomer = <T>(database: Database, setup: Setup, work: () => Promise<T>): Promise<T> =>
  withSavepoint(database, async () => {
    await database.query(OWN_PATH);
    await become(database, setup);
    return work();
  });

const notRead = (table: Relation, how: string): NotJudged => ({
  object: table.object,
  message: `Its rows could not be read ${how}.`,
  fix: `-- Try it again. If you have judged it: --accept ${table.object}`,
});

/** How many roles read the tables while nobody has set a customer. The policies of all roles are judged. */
const READING_ROLES_MAX = 50;

/**
 * Finds tables of which somebody sees rows while nobody has set a customer. It must run before the first customer is set: a setting is NULL
 * then, and an empty text after it was set and has ended. Both are tried.
 */
export async function checkNobody(
  database: Database,
  { roles, settings }: { roles: readonly string[]; settings: readonly string[] },
  { tables, fixOf }: Comparison,
): Promise<Findings> {
  const seen: { role: string; table: Relation; seen: Seen }[] = [];
  const read = async () => {
    for (const role of roles.slice(0, READING_ROLES_MAX))
      await asRole(database, role, async () => {
        for (const table of tables) seen.push({ role, table, seen: await probeTable(database, table) });
      });
  };
  await read();
  await withSavepoint(database, async () => {
    for (const name of settings) await database.query("SELECT pg_catalog.set_config($1, '', true)", [name]);
    await read();
  });
  return joined(
    ...tables.map((table): Partial<Findings> => {
      const own = seen.filter((each) => each.table === table);
      const seers = [...new Set(own.filter((each) => seesRows(each.seen)).map(({ role }) => role))];
      const unread = own.flatMap(({ role, seen }) =>
        seen.kind === "unknown" ? [notRead(table, `as ${identifier(role)}: ${seen.reason}`)] : [],
      );
      if (seers.length === 0) return { notJudged: unread.slice(0, 1) };
      const message = `${listed(seers.map(identifier))} can see rows of this table although nobody has set the customer.`;
      const mistake = { code: "seen_without_setting", object: table.object, message, fix: fixOf(table) };
      return { mistakes: [mistake], notJudged: unread.slice(0, 1) };
    }),
  );
}

const idsOf = (seen: Seen | undefined): string[] => (seen?.kind === "rows" ? seen.ids : []);

/** Finds tables of which both customers see the same rows. */
export async function compareCustomers(
  database: Database,
  setups: readonly [Setup, Setup],
  { tables, arePeople, fixOf }: Comparison,
): Promise<Findings & { compared: Compared[] }> {
  const [whose, others] = arePeople ? ["person", "people"] : ["customer", "customers"];
  const read = (setup: Setup) =>
    asCustomer(database, setup, async () => {
      const view: Seen[] = [];
      for (const table of tables) view.push(await readTable(database, table));
      return view;
    });
  const views = [await read(setups[0]), await read(setups[1])] as const;
  const findings: Findings & { compared: Compared[] } = { mistakes: [], notJudged: [], limits: [], compared: [] };
  for (const [index, table] of tables.entries()) {
    const seen = views.map((view) => view[index] ?? ({ kind: "refused" } as const)) as [Seen, Seen];
    const rows: [number, number] = [idsOf(seen[0]).length, idsOf(seen[1]).length];
    if (rows[0] > 0 && rows[1] > 0) findings.compared.push({ table: table.object, rows });
    const failed = seen.find((each) => each.kind === "unknown");
    if (failed?.kind === "unknown") findings.notJudged.push(notRead(table, `: ${failed.reason}`));
    else findings.limits.push(...gapsOf(table.object, seen, whose));
    const shared = await countShared(database, table, { setups, seen });
    if (shared > 0)
      findings.mistakes.push({
        code: "seen_by_both",
        object: table.object,
        message: `Both ${others} see the same rows of this table (${shared === 1 ? "1 row" : `${shared} rows`}).`,
        fix: `${fixOf(table)} -- If all ${others} may read these rows: --accept ${table.object}`,
      });
  }
  return findings;
}

/** How many rows of a table both customers see: those that one has read are read again as the other, both ways. */
async function countShared(
  database: Database,
  table: Relation,
  { setups, seen }: { setups: readonly [Setup, Setup]; seen: readonly [Seen, Seen] },
): Promise<number> {
  const shared = new Set<string>();
  for (const [index, setup] of setups.toReversed().entries()) {
    const ids = new Set(idsOf(seen[index]));
    const again =
      ids.size > 0 ? await asCustomer(database, setup, () => readTable(database, table, [...ids])) : undefined;
    for (const id of idsOf(again)) if (ids.has(id)) shared.add(id);
  }
  return shared.size;
}

/** What a comparison of one table leaves open. */
function gapsOf(name: string, seen: readonly Seen[], whose: string): string[] {
  if (seen.some(({ kind }) => kind === "some"))
    return [`Rows of ${name} cannot be told apart: the role may read neither all its columns nor its primary key.`];
  const blind = seen.flatMap((each, index) => (seesRows(each) ? [] : [`${whose} ${index + 1}`]));
  if (blind.length > 0) return [`${blind.join(" and ")} cannot see a row of ${name}, so no rows were compared.`];
  if (seen.some((each) => idsOf(each).length >= ROWS_MAX))
    return [`${name} is large: ${ROWS_MAX} rows of each ${whose} were compared.`];
  return [];
}

/** Finds settings of a customer that have a value although nobody has set one: by a role, the database or the server. */
export async function checkDefaults(
  database: Database,
  { roleSettings, database: name }: Catalogue,
  settings: readonly string[],
): Promise<Mistake[]> {
  const consequence = "so one on which nobody has set the customer sees the rows of one.";
  const byRole = roleSettings
    .filter((each) => [...settings, "role", "row_security"].includes(each.name))
    .map(({ role, inDatabase, name: setting }): Mistake => {
      const place = inDatabase ? `DATABASE ${identifier(name)}` : "ALL";
      const altered =
        role === null
          ? inDatabase
            ? place
            : "ROLE ALL"
          : `ROLE ${identifier(role)}${inDatabase ? ` IN ${place}` : ""}`;
      return {
        code: "default_setting",
        object: role === null ? "the database" : identifier(role),
        message: `${setting} has a value on each new connection (ALTER ${altered} SET), ${consequence}`,
        fix: `ALTER ${altered} RESET ${setting};`,
      };
    });
  const present = await rowsOf<{ name: string }>(
    database,
    "SELECT n AS name FROM pg_catalog.unnest($1::pg_catalog.text[]) n WHERE pg_catalog.current_setting(n, true) <> ''",
    [settings.filter((each) => !roleSettings.some(({ name: known }) => known === each))],
  );
  const byServer = present.map(({ name: setting }) => ({
    code: "default_setting",
    object: "the server",
    message: `${setting} has a value on each new connection, ${consequence}`,
    fix: `ALTER SYSTEM RESET ${setting}; SELECT pg_catalog.pg_reload_conf(); -- If a file of the server's settings has it, delete the line there.`,
  }));
  return [...byRole, ...byServer];
}

/** Finds what the SQL of a customer sets for the connection, and not for the transaction. */
export const checkSurvival = ({ option, assignments }: Setup): Mistake[] =>
  assignments
    .filter(({ isLocal }) => !isLocal)
    .map(({ name, value }) => ({
      code: name === "role" ? "role_survives" : "setting_survives",
      object: name === "role" ? identifier(value) : name,
      message: `The SQL of ${option} sets ${name} for the connection, and not for the transaction. The next customer who gets this connection from a pool is this customer, until somebody sets another.`,
      fix: `-- In your backend's SQL, write SET LOCAL in place of SET, or true in place of false in set_config('${name}', …, false).`,
    }));
