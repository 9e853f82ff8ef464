/** Compares what two customers and nobody see of the integrator's tables. */
import type { Catalogue, Relation, Role } from "./catalogue.ts";
import { couldNotTell, type Database, reasonOf, rowsOf, withSavepoint } from "./database.ts";
import { type Finding, listed } from "./finding.ts";
import { bind } from "./fixes.ts";
import { ROWS_MAX, readTable, type Seen } from "./rows.ts";
import type { Setup } from "./setup.ts";
import { comparableTables } from "./tables.ts";
import type { World } from "./world.ts";

/** How many rows of one table each customer sees, for the report. */
export type Compared = { table: string; rows: [number, number] };

/** Runs `work` with what the SQL of a customer assigns. @throws CommandError without PostgreSQL's message, which may contain values. */
const asCustomer = <T>(
  database: Database,
  { option, assignments }: Pick<Setup, "option" | "assignments">,
  work: () => Promise<T>,
): Promise<T> =>
  withSavepoint(database, async () => {
    // The login's own path, on which functions of policies may depend.
    await database.query("SET LOCAL search_path TO DEFAULT");
    for (const { name, value } of assignments)
      await database.query("SELECT pg_catalog.set_config($1, $2, true)", [name, value]).catch((error) => {
        const advice =
          name === "role"
            ? "The user in DATABASE_URL must be a member of the role: GRANT <role> TO <user>."
            : "Try it with psql, as the user in DATABASE_URL.";
        throw couldNotTell(`${option} cannot set ${name}: ${reasonOf(error)}. ${advice}`);
      });
    return work();
  });

const notRead = ({ object }: Relation, how: string): Finding => ({
  object,
  message: `Its rows could not be read ${how}.`,
  fix: `-- Try it again. If you have judged it: --accept ${object}`,
});

/** Rows that are seen although exact policies bind them are seen for another reason: one more policy would change nothing. */
function bindAgain(table: Relation, world: World): string {
  const isJudged = table.policies.some(({ object }) => world.isAccepted(object));
  const isBound = !isJudged && world.comparisons.some(({ relation }) => relation === table.oid);
  return isBound ? "-- Its policies bind its rows: fix the rest first, and run this again." : bind(table, world);
}

/** How many roles read the tables while nobody has set a customer. The policies of all roles are judged. */
const READING_ROLES_MAX = 50;

/**
 * Finds tables of which somebody sees rows while nobody has set a customer. It must run before the first customer is set: a setting is NULL
 * then, and an empty text after it was set and has ended. Both are tried.
 */
export async function checkNobody(
  database: Database,
  { roles, settings }: { roles: readonly Role[]; settings: readonly string[] },
  world: World,
): Promise<Finding[]> {
  const tables = comparableTables(world);
  const seen: { role: string; table: Relation; seen: Seen }[] = [];
  const read = async () => {
    for (const { name, plainName } of roles.slice(0, READING_ROLES_MAX)) {
      const setup = { option: name, assignments: [{ name: "role", value: plainName, isLocal: true }] };
      const readAll = async () => {
        for (const table of tables) seen.push({ role: name, table, seen: await readTable(database, table) });
      };
      // The login may be forbidden to become a role of which it is a member.
      await asCustomer(database, setup, readAll).catch(() => undefined);
    }
  };
  await read();
  await withSavepoint(database, async () => {
    // PostgreSQL takes no value for some names, such as app.my-tenant: nobody can set them.
    for (const name of settings) {
      await database.query("SAVEPOINT one");
      const set = database.query("SELECT pg_catalog.set_config($1, '', true)", [name]);
      await set.catch(() => database.query("ROLLBACK TO SAVEPOINT one"));
    }
    await read();
  });
  return tables.flatMap((table) => {
    const own = seen.filter((each) => each.table === table);
    const seers = [...new Set(own.filter(({ seen }) => seen.hasRows).map(({ role }) => role))];
    const failed = own.find(({ seen }) => seen.failure !== undefined);
    const message = `${listed(seers)} can see rows of this table although nobody has set the customer.`;
    return [
      ...(seers.length > 0
        ? [{ code: "seen_without_setting", object: table.object, message, fix: bindAgain(table, world) }]
        : []),
      ...(failed ? [notRead(table, `as ${failed.role}: ${failed.seen.failure}`)] : []),
    ];
  });
}

/** Finds tables of which both customers see the same rows. */
export async function compareCustomers(
  database: Database,
  { setups, arePeople }: { setups: readonly [Setup, Setup]; arePeople: boolean },
  world: World,
): Promise<{ compared: Compared[]; findings: Finding[]; limits: string[] }> {
  const [whose, others] = arePeople ? ["person", "people"] : ["customer", "customers"];
  const [compared, findings, limits]: [Compared[], Finding[], string[]] = [[], [], []];
  // Without tables, too, both must be possible.
  for (const setup of setups) await asCustomer(database, setup, async () => undefined);
  for (const table of comparableTables(world)) {
    const read = (setup: Setup, among?: readonly string[]) =>
      asCustomer(database, setup, () => readTable(database, table, among));
    const seen = [await read(setups[0]), await read(setups[1])] as const;
    const [one, other] = [new Set(seen[0].ids), new Set(seen[1].ids)];
    if (one.size > 0 && other.size > 0) compared.push({ table: table.object, rows: [one.size, other.size] });
    const failure = seen[0].failure ?? seen[1].failure;
    if (failure === undefined) limits.push(...gapsOf(table.object, seen, whose));
    else findings.push(notRead(table, `: ${failure}`));
    // Of a large table, each has read only a part: what one has read is read again as the other.
    const ofOne = other.size > 0 ? (await read(setups[0], [...other])).ids.filter((id) => other.has(id)) : [];
    const ofOther = one.size > 0 ? (await read(setups[1], [...one])).ids.filter((id) => one.has(id)) : [];
    const shared = new Set([...ofOne, ...ofOther]).size;
    if (shared > 0)
      findings.push({
        code: "seen_by_both",
        object: table.object,
        message: `Both ${others} see the same rows of this table (${shared === 1 ? "1 row" : `${shared} rows`}).`,
        fix: `${bindAgain(table, world)} -- If all ${others} may read these rows: --accept ${table.object}`,
      });
  }
  return { compared, findings, limits };
}

/** What a comparison of one table leaves open. */
function gapsOf(name: string, seen: readonly Seen[], whose: string): string[] {
  if (seen.some(({ hasRows, ids }) => hasRows && ids.length === 0))
    return [`Rows of ${name} cannot be told apart: the role may read neither all its columns nor its primary key.`];
  const blind = seen.flatMap(({ hasRows }, index) => (hasRows ? [] : [`${whose} ${index + 1}`]));
  if (blind.length > 0) return [`${blind.join(" and ")} cannot see a row of ${name}, so no rows were compared.`];
  if (seen.some(({ ids }) => ids.length >= ROWS_MAX))
    return [`${name} is large: ${ROWS_MAX} rows of each ${whose} were compared.`];
  return [];
}

/** A setting's name, of which a part may be a word of SQL. */
const settingSql = (name: string): string => name.replaceAll(/[^.]+/g, (part) => `"${part.replaceAll('"', '""')}"`);

/** Finds settings of a customer that have a value although nobody has set one: by a role, the database or the server. */
export async function checkDefaults(
  database: Database,
  { roleSettings }: Catalogue,
  settings: readonly string[],
): Promise<Finding[]> {
  const found = (name: string, object: string, altered: string, fix: string): Finding => ({
    code: "default_setting",
    object,
    message: `${name} has a value on each new connection${altered}, so one on which nobody has set the customer sees the rows of one.`,
    fix,
  });
  const byRole = roleSettings.filter(({ name }) => [...settings, "role", "row_security"].includes(name));
  const present = await rowsOf<{ name: string }>(
    database,
    "SELECT n AS name FROM pg_catalog.unnest($1::pg_catalog.text[]) n WHERE pg_catalog.current_setting(n, true) <> ''",
    [settings.filter((each) => !roleSettings.some(({ name }) => name === each))],
  );
  const reload =
    "SELECT pg_catalog.pg_reload_conf(); -- If a file of the server's settings has it, delete the line there.";
  return [
    ...byRole.map(({ role, altered, name }) =>
      found(name, role ?? "the database", ` (ALTER ${altered} SET)`, `ALTER ${altered} RESET ${settingSql(name)};`),
    ),
    ...present.map(({ name }) => found(name, "the server", "", `ALTER SYSTEM RESET ${settingSql(name)}; ${reload}`)),
  ];
}

/** Finds what the SQL of a customer sets for the connection, and not for the transaction. */
export const checkSurvival = ({ option, assignments }: Setup, { roles }: Catalogue): Finding[] =>
  assignments
    .filter(({ isLocal }) => !isLocal)
    .map(({ name, value }) => ({
      code: name === "role" ? "role_survives" : "setting_survives",
      object: name === "role" ? (roles.find(({ plainName }) => plainName === value)?.name ?? value) : name,
      message: `The SQL of ${option} sets ${name} for the connection, and not for the transaction. The next customer who gets this connection from a pool is this customer, until somebody sets another.`,
      fix: `-- In your backend's SQL, write SET LOCAL in place of SET, or true in place of false in set_config('${name}', …, false).`,
    }));
