/** Compares what two customers and nobody see of the integrator's tables. */
import { type Catalogue, qualified, type Relation } from "./catalogue.ts";
import { begin, codeOf, couldNotTell, type Database, identifier, reasonOf, rowsOf, withSavepoint } from "./database.ts";
import { type Findings, listed, type Mistake, verb } from "./finding.ts";
import { isOfQueries, type QueryRoles, reachableRole } from "./roles.ts";
import { asRole, probeTable, ROWS_MAX, readTable, type Seen, seesRows } from "./rows.ts";

/** The SQL of one customer, statement by statement, and the option that gave it. */
export type Setup = { option: string; statements: readonly string[] };

/** The result of a setup: the role of the queries, and the values of the settings, which are compared and never printed. */
type Became = { role: string; values: string };

/** What the tables show to somebody, by the table's oid. */
type View = Map<number, Seen>;
export type CustomerView = { became: Became; view: View };

/** How many rows of one table each customer sees, for the report. */
export type Compared = { table: string; rows: [number, number] };

/** Runs the SQL of a customer. @throws CommandError without PostgreSQL's message, which may contain values. */
async function runSetup(database: Database, { option, statements }: Setup): Promise<void> {
  for (const [index, statement] of statements.entries())
    try {
      await database.query(statement);
    } catch (error) {
      const isRole = codeOf(error) === "42501" && /^set\b.*\brole\b/is.test(statement);
      const advice = isRole
        ? "The user in DATABASE_URL must be a member of the role: GRANT <role> TO <user>."
        : "Try it with psql, as the user in DATABASE_URL.";
      throw couldNotTell(`statement ${index + 1} of the SQL of ${option} failed: ${reasonOf(error)}. ${advice}`);
    }
}

const settingsOf = async (database: Database, names: readonly string[]) =>
  rowsOf<{ name: string; value: string | null }>(
    database,
    "SELECT n AS name, pg_catalog.current_setting(n, true) AS value FROM pg_catalog.unnest($1::pg_catalog.text[]) n",
    [names],
  );

async function becameOf(database: Database, settings: readonly string[]): Promise<Became> {
  const [row] = await rowsOf<{ role: string }>(database, "SELECT current_user::pg_catalog.text AS role");
  return { role: row?.role ?? "", values: JSON.stringify(await settingsOf(database, settings)) };
}

async function readAll(
  database: Database,
  tables: readonly Relation[],
  read: (database: Database, table: Relation) => Promise<Seen>,
): Promise<View> {
  const view: View = new Map();
  for (const table of tables) view.set(table.oid, await read(database, table));
  return view;
}

/** What each of these roles sees before anybody has set a customer. */
export async function readAsNobody(
  database: Database,
  roles: readonly string[],
  tables: readonly Relation[],
): Promise<Map<string, View>> {
  const views = new Map<string, View>();
  for (const role of roles) {
    const view = await asRole(database, role, () => readAll(database, tables, probeTable));
    if (view) views.set(role, view);
  }
  return views;
}

/** The same after the settings were set and have ended: PostgreSQL then reads them as empty texts, and not as NULL. */
export const readAfterEnd = (
  database: Database,
  roles: readonly string[],
  { tables, settings }: { tables: readonly Relation[]; settings: readonly string[] },
): Promise<Map<string, View>> =>
  withSavepoint(database, async () => {
    for (const name of settings) await database.query("SELECT pg_catalog.set_config($1, '', true)", [name]);
    return readAsNobody(database, roles, tables);
  });

/** What a customer sees. */
export const readAsCustomer = (
  database: Database,
  setup: Setup,
  { tables, settings }: { tables: readonly Relation[]; settings: readonly string[] },
): Promise<CustomerView> =>
  withSavepoint(database, async () => {
    await runSetup(database, setup);
    return { became: await becameOf(database, settings), view: await readAll(database, tables, readTable) };
  });

/** Finds tables of which somebody sees rows without being a customer. */
export function checkNobody(
  views: readonly Map<string, View>[],
  tables: readonly Relation[],
  queries: QueryRoles,
): Findings {
  const all = views.flatMap((view) => [...view]);
  const findings = tables.map((table): Findings => {
    const seen = all.flatMap(([role, view]) => ({ role, seen: view.get(table.oid) ?? { kind: "none" as const } }));
    const seers = [...new Set(seen.filter((each) => seesRows(each.seen)).map(({ role }) => role))];
    const own = seers.filter((role) => isOfQueries(role, queries));
    return {
      mistakes: [
        ...seers.filter((role) => !own.includes(role)).map((role) => reachableRole(role, queries, table)),
        ...(own.length === 0 ? [] : [seenWithoutSetting(own, table)]),
      ],
      unjudged: seen.flatMap(({ role, seen }) =>
        seen.kind === "unknown"
          ? [`${qualified(table)} could not be read as ${identifier(role)}: ${seen.reason}.`]
          : [],
      ),
    };
  });
  return {
    mistakes: findings.flatMap(({ mistakes }) => mistakes),
    unjudged: [...new Set(findings.flatMap(({ unjudged }) => unjudged))],
  };
}

const seenWithoutSetting = (roles: readonly string[], table: Relation): Mistake => ({
  code: "seen_without_setting",
  object: qualified(table),
  message: `${listed(roles.map(identifier))} ${verb(roles, ["sees", "see"])} rows of this table although nobody has set the customer.`,
  fix: `Compare the customer's column with nullif(current_setting('<setting>', true), '') in every permissive policy of ${qualified(table)}: NULL is equal to no row.`,
});

const idsOf = (seen: Seen | undefined): string[] => (seen?.kind === "rows" ? seen.ids : []);

/** How many rows of a table both customers see. In a large one, it looks up the rows that one customer has read as the other, both ways. */
async function countShared(
  database: Database,
  table: Relation,
  { setups, customers }: { setups: readonly [Setup, Setup]; customers: readonly [CustomerView, CustomerView] },
): Promise<number> {
  const [first, second] = customers.map(({ view }) => idsOf(view.get(table.oid))) as [string[], string[]];
  const others = new Set(second);
  const shared = new Set(first.filter((id) => others.has(id)));
  for (const [ids, other] of [
    [first, setups[1]],
    [second, setups[0]],
  ] as const) {
    if (Math.max(first.length, second.length) < ROWS_MAX || ids.length === 0) continue;
    const again = await withSavepoint(database, async () => {
      await runSetup(database, other);
      return readTable(database, table, ids);
    });
    const known = new Set(ids);
    for (const id of idsOf(again)) if (known.has(id)) shared.add(id);
  }
  return shared.size;
}

/** Finds tables of which both customers see the same rows. */
export async function compareCustomers(
  database: Database,
  tables: readonly Relation[],
  both: { setups: readonly [Setup, Setup]; customers: readonly [CustomerView, CustomerView] },
): Promise<Findings & { compared: Compared[] }> {
  const findings: Findings & { compared: Compared[] } = { mistakes: [], unjudged: [], compared: [] };
  for (const table of tables) {
    const name = qualified(table);
    const seen = both.customers.map(({ view }) => view.get(table.oid) ?? ({ kind: "refused" } as const));
    const rows = seen.map((each) => idsOf(each).length) as [number, number];
    if (rows[0] > 0 && rows[1] > 0) findings.compared.push({ table: name, rows });
    findings.unjudged.push(...gapsOf(name, seen));
    const shared = await countShared(database, table, both);
    if (shared === 0) continue;
    findings.mistakes.push({
      code: "seen_by_both",
      object: name,
      message: `Both customers see the same rows of this table (${shared === 1 ? "1 row" : `${shared} rows`}).`,
      fix: `Compare the customer's column with the setting in every permissive policy of ${name}, and make further ones AS RESTRICTIVE. If all customers may read these rows, give --allow ${name}.`,
    });
  }
  return findings;
}

/** What a comparison of one table leaves open. */
function gapsOf(name: string, seen: readonly Seen[]): string[] {
  if (seen.some(({ kind }) => kind === "unknown"))
    return seen.flatMap((each) => (each.kind === "unknown" ? [`${name} could not be read: ${each.reason}.`] : []));
  if (seen.some(({ kind }) => kind === "some"))
    return [`Rows of ${name} cannot be told apart: the role may read neither all its columns nor its primary key.`];
  const blind = seen.flatMap((each, index) => (seesRows(each) ? [] : [`customer ${index + 1}`]));
  if (blind.length > 0)
    return [`${blind.join(" and ")} ${verb(blind, ["sees", "see"])} no row of ${name}, so no rows were compared.`];
  if (seen.some((each) => idsOf(each).length >= ROWS_MAX))
    return [`${name} is large: ${ROWS_MAX} rows of each customer were compared.`];
  return [];
}

/**
 * Finds what outlives the transaction of a customer. Only a commit shows that, so this one transaction, which is read-only and
 * contains nothing but the customer's SQL, is committed.
 */
export async function checkSurvival(database: Database, setup: Setup, settings: readonly string[]): Promise<Mistake[]> {
  const before = new Map((await settingsOf(database, settings)).map(({ name, value }) => [name, value ?? ""]));
  const roleBefore = (await becameOf(database, [])).role;
  await begin(database);
  await runSetup(database, setup);
  await database.query("COMMIT");
  const survivors = (await settingsOf(database, settings)).filter(
    ({ name, value }) => (value ?? "") !== (before.get(name) ?? ""),
  );
  const { role } = await becameOf(database, []);
  return [
    ...survivors.map(({ name }) => ({
      code: "setting_survives",
      object: name,
      message: `The SQL of ${setup.option} sets ${name} for the connection, and not for the transaction. The next customer who gets this connection from a pool is this customer, until somebody sets another.`,
      fix: `Write SET LOCAL ${name} = …, or set_config('${name}', …, true), in the transaction of each request.`,
    })),
    ...(role === roleBefore
      ? []
      : [
          {
            code: "role_survives",
            object: identifier(role),
            message: `The SQL of ${setup.option} sets the role for the connection, and not for the transaction. A pool gives the connection to the next customer with this role.`,
            fix: `Write SET LOCAL ROLE ${identifier(role)}; in the transaction of each request.`,
          },
        ]),
  ];
}

/** Whether two customers are set in the same way. */
export const areSame = (one: Became, other: Became, settings: readonly string[]): boolean =>
  settings.length > 0 && one.role === other.role && one.values === other.values;

/** Tables whose rows are worth reading: those with row-level security. All rows of the others can be seen, which is a mistake by itself. */
export const comparableTables = ({ relations }: Catalogue, isChecked: (relation: Relation) => boolean): Relation[] =>
  relations.filter((relation) => "rp".includes(relation.kind) && relation.enabled && isChecked(relation));
