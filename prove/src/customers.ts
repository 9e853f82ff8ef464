/** Compares what two customers and nobody see of the integrator's tables. */

import { type Catalogue, isPathSafe, qualified, type Relation } from "./catalogue.ts";
import { begin, codeOf, couldNotTell, type Database, identifier, reasonOf, rowsOf, withSavepoint } from "./database.ts";
import { type Findings, joined, listed, type Mistake, verb } from "./finding.ts";
import type { Policies } from "./policies/policies.ts";
import { isOfQueries, reachableRole } from "./roles.ts";
import { asRole, probeTable, ROWS_MAX, readTable, type Seen, seesRows } from "./rows.ts";
import { type Caller, isUnbound } from "./sql/atoms.ts";

/** The SQL of one customer, statement by statement, and the option that gave it. */
export type Setup = { option: string; statements: readonly string[] };

/** What the tables show to somebody, by the table's oid. */
type View = Map<number, Seen>;
/** What a customer sees, and whether its `search_path` looks into PostgreSQL's own schema first. */
export type CustomerView = { caller: Caller; view: View; isPathSafe: boolean };

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

async function callerOf(database: Database, names: readonly string[]): Promise<Caller> {
  const [row] = await rowsOf<{ role: string }>(database, "SELECT current_user::pg_catalog.text AS role");
  const settings = await settingsOf(database, names);
  return { role: row?.role ?? "", settings: new Map(settings.map(({ name, value }) => [name, value ?? ""])) };
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

/** The settings that have a value before anybody has set one. */
export const readPresent = async (database: Database, names: readonly string[]): Promise<string[]> =>
  (await settingsOf(database, names)).flatMap(({ name, value }) => (value === null || value === "" ? [] : [name]));

/** Finds settings to which the server itself gives a value, and not a role or a database, which is another mistake. */
export const checkPresent = (present: readonly string[], { roleSettings }: Catalogue): Mistake[] =>
  present
    .filter((name) => !roleSettings.some(({ names }) => names.some((each) => each.toLowerCase() === name)))
    .map((name) => ({
      code: "default_setting",
      object: "the server",
      message: `${name} has a value on a new connection, so one on which nobody has set the customer sees the rows of one.`,
      fix: `ALTER SYSTEM RESET ${name}; SELECT pg_catalog.pg_reload_conf(); -- If a file of the server's settings has it, delete the line there.`,
    }));

/** How many roles read the tables before a customer is set. The policies of all roles are judged. */
const READING_ROLES_MAX = 50;

/** What each of these roles sees before anybody has set a customer. */
export async function readAsNobody(
  database: Database,
  roles: readonly string[],
  tables: readonly Relation[],
): Promise<Map<string, View>> {
  const views = new Map<string, View>();
  for (const role of roles.slice(0, READING_ROLES_MAX)) {
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
    const path = await settingsOf(database, ["search_path"]);
    return {
      caller: await callerOf(database, settings),
      view: await readAll(database, tables, readTable),
      isPathSafe: path.every(({ value }) => isPathSafe(value?.split(",") ?? [])),
    };
  });

/** Finds tables of which somebody sees rows without being a customer. */
export function checkNobody(
  views: readonly Map<string, View>[],
  tables: readonly Relation[],
  policies: Policies,
): Partial<Findings> {
  const all = views.flatMap((view) => [...view]);
  const findings = tables.map((table): Partial<Findings> => {
    const seen = all.flatMap(([role, view]) => ({ role, seen: view.get(table.oid) ?? { kind: "none" as const } }));
    const seers = [...new Set(seen.filter((each) => seesRows(each.seen)).map(({ role }) => role))];
    const own = seers.filter((role) => isOfQueries(role, policies.queries));
    const unread = seen.flatMap(({ role, seen }) => (seen.kind === "unknown" ? [{ role, reason: seen.reason }] : []));
    return {
      mistakes: [
        ...seers.filter((role) => !own.includes(role)).map((role) => reachableRole(role, policies, table)),
        ...(own.length === 0 ? [] : [seenWithoutSetting(own, table, policies)]),
      ],
      notJudged: unread.slice(0, 1).map(({ role, reason }) => notRead(table, `as ${identifier(role)}: ${reason}`)),
    };
  });
  return joined(...findings);
}

const notRead = (table: Relation, how: string) => ({
  object: qualified(table),
  message: `The table could not be read ${how}.`,
  fix: `-- Try it again. If you have judged it: --accept ${qualified(table)}`,
});

const seenWithoutSetting = (roles: readonly string[], table: Relation, policies: Policies): Mistake => ({
  code: "seen_without_setting",
  object: qualified(table),
  message: `${listed(roles.map(identifier))} ${verb(roles, ["sees", "see"])} rows of this table although nobody has set the customer.`,
  fix: boundFix(table, policies),
});

/** SQL that binds the rows that customers read to one of them: in each policy that does not, or in a further one. */
function boundFix(table: Relation, { catalogue, queries, bounds, suggestions }: Policies): string {
  const condition = suggestions.conditionFor(table);
  const roles = [...new Set(queries.customers)].map(identifier).join(", ");
  if (condition === undefined) return `REVOKE SELECT ON ${qualified(table)} FROM ${roles};`;
  const open = catalogue.policies.filter(
    (policy) =>
      policy.relation === table.oid &&
      policy.permissive &&
      "r*".includes(policy.command) &&
      policy.roles.some((role) => isOfQueries(role, queries)) &&
      isUnbound(bounds.judge(policy, "using").bound),
  );
  if (open.length === 0) return suggestions.newPolicy(table, `AS RESTRICTIVE TO ${roles} USING (${condition})`);
  return open
    .map(({ name }) => `ALTER POLICY ${identifier(name)} ON ${qualified(table)} USING (${condition});`)
    .join(" ");
}

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
  both: { setups: readonly [Setup, Setup]; customers: readonly [CustomerView, CustomerView]; policies: Policies },
): Promise<Findings & { compared: Compared[] }> {
  const { policies } = both;
  const [whose, others] = policies.arePeople ? ["person", "people"] : ["customer", "customers"];
  const findings: Findings & { compared: Compared[] } = { mistakes: [], notJudged: [], limits: [], compared: [] };
  for (const table of tables) {
    const name = qualified(table);
    const seen = both.customers.map(({ view }) => view.get(table.oid) ?? ({ kind: "refused" } as const));
    const rows = seen.map((each) => idsOf(each).length) as [number, number];
    if (rows[0] > 0 && rows[1] > 0) findings.compared.push({ table: name, rows });
    const failed = seen.find((each) => each.kind === "unknown");
    if (failed?.kind === "unknown") findings.notJudged.push(notRead(table, `: ${failed.reason}`));
    else findings.limits.push(...gapsOf(name, seen, whose ?? ""));
    const shared = await countShared(database, table, both);
    if (shared === 0) continue;
    findings.mistakes.push({
      code: "seen_by_both",
      object: name,
      message: `Both ${others} see the same rows of this table (${shared === 1 ? "1 row" : `${shared} rows`}).`,
      fix: `${boundFix(table, policies)} -- If all ${others} may read these rows: --allow ${name}`,
    });
  }
  return findings;
}

/** What a comparison of one table leaves open. */
function gapsOf(name: string, seen: readonly Seen[], whose: string): string[] {
  if (seen.some(({ kind }) => kind === "some"))
    return [`Rows of ${name} cannot be told apart: the role may read neither all its columns nor its primary key.`];
  const blind = seen.flatMap((each, index) => (seesRows(each) ? [] : [`${whose} ${index + 1}`]));
  if (blind.length > 0)
    return [`${blind.join(" and ")} ${verb(blind, ["sees", "see"])} no row of ${name}, so no rows were compared.`];
  if (seen.some((each) => idsOf(each).length >= ROWS_MAX))
    return [`${name} is large: ${ROWS_MAX} rows of each ${whose} were compared.`];
  return [];
}

/** Finds customers with roles of their own, of which one is a member of a role that sees rows: of a further customer. */
export function checkFurtherCustomers(
  asNobody: ReadonlyMap<string, View>,
  customers: readonly [string, string],
  { memberships }: Catalogue,
): Mistake[] {
  if (customers[0] === customers[1]) return [];
  return customers.flatMap((customer) => {
    const inherited = new Set([customer]);
    for (const member of inherited)
      for (const each of memberships) if (each.member === member) inherited.add(each.role);
    return [...inherited]
      .filter((role) => !customers.includes(role) && [...(asNobody.get(role)?.values() ?? [])].some(seesRows))
      .map((role) => ({
        code: "customer_role_granted",
        object: identifier(customer),
        message: `${identifier(customer)}, the role of one customer, is a member of ${identifier(role)}, which sees rows by itself, as the role of another customer does.`,
        fix: `REVOKE ${identifier(role)} FROM ${memberships
          .filter((each) => each.role === role && inherited.has(each.member))
          .map(({ member }) => identifier(member))
          .join(", ")};`,
      }));
  });
}

/**
 * Finds what outlives the transaction of a customer. Only a commit shows that, so this one transaction, which is read-only and
 * contains nothing but the customer's SQL, is committed.
 */
export async function checkSurvival(database: Database, setup: Setup, settings: readonly string[]): Promise<Mistake[]> {
  const before = new Map((await settingsOf(database, settings)).map(({ name, value }) => [name, value ?? ""]));
  const roleBefore = (await callerOf(database, [])).role;
  await begin(database);
  await runSetup(database, setup);
  await database.query("COMMIT");
  const survivors = (await settingsOf(database, settings)).filter(
    ({ name, value }) => (value ?? "") !== (before.get(name) ?? ""),
  );
  const { role } = await callerOf(database, []);
  return [
    ...survivors.map(({ name }) => ({
      code: "setting_survives",
      object: name,
      message: `The SQL of ${setup.option} sets ${name} for the connection, and not for the transaction. The next customer who gets this connection from a pool is this customer, until somebody sets another.`,
      fix: `-- In your backend's SQL, write SET LOCAL ${name} = … in place of SET, or set_config('${name}', …, true) in place of false.`,
    })),
    ...(role === roleBefore
      ? []
      : [
          {
            code: "role_survives",
            object: identifier(role),
            message: `The SQL of ${setup.option} sets the role for the connection, and not for the transaction. A pool gives the connection to the next customer with this role.`,
            fix: `-- In your backend's SQL, write SET LOCAL ROLE ${identifier(role)}; in place of SET ROLE, in the transaction of each request.`,
          },
        ]),
  ];
}

/** Whether two customers are set in the same way. */
export const areSame = (one: Caller, other: Caller): boolean =>
  one.settings.size > 0 &&
  one.role === other.role &&
  [...one.settings].every(([name, value]) => other.settings.get(name) === value);

/** Tables whose rows are worth reading: those with row-level security. All rows of the others can be seen, which is a mistake by itself. */
export const comparableTables = ({ relations }: Catalogue, isChecked: (relation: Relation) => boolean): Relation[] =>
  relations.filter((relation) => "rp".includes(relation.kind) && relation.enabled && isChecked(relation));
