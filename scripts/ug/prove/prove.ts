/** Proves that two customers of an integrator's database see no rows of each other, or finds the mistakes. */
import { CommandError } from "../errors.ts";
import { type Catalogue, qualified, type Relation, ROLES_MAX, readCatalogue, readRoles } from "./catalogue.ts";
import { settingNamesIn, wordsIn } from "./customer-sql.ts";
import {
  areSame,
  type Compared,
  checkNobody,
  checkSurvival,
  comparableTables,
  compareCustomers,
  readAfterEnd,
  readAsCustomer,
  readAsNobody,
  type Setup,
} from "./customers.ts";
import { couldNotTell, type Database, withRollback } from "./database.ts";
import type { Findings, Mistake } from "./finding.ts";
import { checkPolicyFunctions, policiesOf, settingNamesOf } from "./policies.ts";
import { type Allowed, checkFunctions, checkRelations, rolesThat } from "./relations.ts";
import { checkDefaultPrivileges, checkRoleSettings, checkRoles, type QueryRoles } from "./roles.ts";

/** Gives a new connection to `use`, and closes it. */
export type Connect = <T>(use: (database: Database) => Promise<T>) => Promise<T>;

/** What to prove: the SQL of two customers, and the tables, views and functions that their user has checked. */
export type Question = { setups: readonly [Setup, Setup]; allow: readonly string[] };

export type Proof = Findings & {
  serverVersion: number;
  /** The roles of the login and of both customers' queries. */
  roles: { login: string; customers: [string, string] };
  compared: Compared[];
};

/** What no check of a database can judge. */
const NEVER_JUDGED = [
  "Pools: whether your backend sets the customer in each transaction, and never runs a query outside of it.",
  "Prepared plans: whether your backend prepares a statement as one role or customer, and runs it as another.",
  "SQL that viewers write: it can set any customer, with SET or set_config. For such SQL, give each customer a role of their own.",
  "Side channels: unique and foreign keys, sequences, sizes of tables, statistics and response times tell that rows exist.",
  "Whether the rows that a customer sees are their own: only that no other one of the two sees them.",
  "Triggers, rules and jobs that copy rows into other tables, and other logins, databases and replicas.",
  "Other customers than these two, and tables, roles and grants that are made later: run it again after each migration.",
];

/** Looks for mistakes, and changes nothing. @throws CommandError if something prevents the check. */
export async function prove(connect: Connect, question: Question): Promise<Proof> {
  const { proof, settings } = await connect((database) => withRollback(database, () => examine(database, question)));
  for (const setup of question.setups)
    proof.mistakes.push(...(await connect((database) => checkSurvival(database, setup, settings))));
  proof.mistakes = withoutRepeats(proof.mistakes);
  if (proof.mistakes.length === 0 && proof.compared.length === 0)
    throw couldNotTell(
      `there is no table with row-level security of which both customers see rows. ${proof.unjudged[0] ?? "Grant the customers' role SELECT on your tables."} Give customers who have rows.`,
    );
  return { ...proof, unjudged: [...proof.unjudged, ...NEVER_JUDGED] };
}

async function examine(database: Database, question: Question): Promise<{ proof: Proof; settings: string[] }> {
  const sql = question.setups.flatMap(({ statements }) => statements).join(";\n");
  let roles = await readRoles(database, wordsIn(sql));
  let catalogue = await readCatalogue(database, roles);
  const settings = [...new Set([...settingNamesIn(sql), ...settingNamesOf(catalogue)])];
  const isAllowed = allowedOf(catalogue, question.allow);
  const tables = comparableTables(catalogue, (table) => isReadable(table) && !isAllowed(table));
  // Before the first customer: later, a setting that has ended is no longer NULL.
  const asNobody = await readAsNobody(database, boundRoles(catalogue), tables);

  const customers = [
    await readAsCustomer(database, question.setups[0], { tables, settings }),
    await readAsCustomer(database, question.setups[1], { tables, settings }),
  ] as const;
  const [first, second] = [customers[0].became, customers[1].became];
  if (areSame(first, second, settings))
    throw couldNotTell("the SQL of both customers sets the same role and the same settings. Give two customers.");
  const queries: QueryRoles = { login: catalogue.login, customers: [first.role, second.role] };
  if (queries.customers.some((name) => !roles.some((role) => role.name === name))) {
    roles = await readRoles(database, [...wordsIn(sql), ...queries.customers]);
    catalogue = await readCatalogue(database, roles);
  }

  const isNobody = (role: string) => first.role === second.role || role === catalogue.login;
  const ended = await readAfterEnd(database, boundRoles(catalogue).filter(isNobody), { tables, settings });
  const before = new Map([...asNobody].filter(([role]) => isNobody(role)));
  const seen = [
    checkNobody([before, ended], tables, queries),
    await compareCustomers(database, tables, { setups: question.setups, customers }),
  ] as const;
  const read = checkCatalogue(catalogue, { queries, settings, isAllowed });
  const proof: Proof = {
    serverVersion: catalogue.version,
    roles: { login: catalogue.login, customers: [first.role, second.role] },
    mistakes: [...read.mistakes, ...seen.flatMap(({ mistakes }) => mistakes)],
    unjudged: [
      ...(roles.length >= ROLES_MAX
        ? [`Only ${ROLES_MAX} of the roles that ${catalogue.login} can become were checked.`]
        : []),
      ...seen.flatMap(({ unjudged }) => unjudged),
      ...read.unjudged,
      ...allowedSentences(question.allow),
    ],
    compared: seen[1].compared,
  };
  return { proof, settings };
}

const isReadable = (table: Relation): boolean => rolesThat(table, ["SELECT"]).length > 0;

/** Roles that see no row unless a policy says so. The others are mistakes by themselves. */
const boundRoles = ({ roles }: Catalogue): string[] =>
  roles.filter(({ superuser, bypassrls }) => !superuser && !bypassrls).map(({ name }) => name);

function checkCatalogue(
  catalogue: Catalogue,
  { queries, settings, isAllowed }: { queries: QueryRoles; settings: readonly string[]; isAllowed: Allowed },
): Findings {
  const functions = checkPolicyFunctions(catalogue);
  return {
    mistakes: [
      ...checkRoles(catalogue, queries),
      ...checkRoleSettings(catalogue, settings),
      ...checkRelations(policiesOf(catalogue, queries), isAllowed),
      ...functions.mistakes,
      ...checkFunctions(catalogue, isAllowed),
      ...checkDefaultPrivileges(catalogue),
    ],
    unjudged: [
      ...functions.unjudged,
      ...catalogue.ownersCode.map((sentence) => `${sentence}: read it yourself.`),
      ...catalogue.readableSequences.map(
        (name) => `The sequence ${name} can be read: it counts the rows of all customers.`,
      ),
    ],
  };
}

/** @throws CommandError if a name names nothing. */
function allowedOf({ relations, functions }: Catalogue, allow: readonly string[]): Allowed {
  const namesOf = ({ schema, name }: { schema: string; name: string }) => [
    name,
    `${schema}.${name}`,
    qualified({ schema, name }),
  ];
  const all = new Set([...relations, ...functions].flatMap(namesOf));
  if (allow.some((name) => !all.has(name)))
    throw new CommandError(
      "--allow names a table, view or function that does not exist. Write its name with its schema, such as public.countries.",
    );
  return (object) => namesOf(object).some((name) => allow.includes(name));
}

const allowedSentences = (allow: readonly string[]): string[] =>
  allow.map((name) => `${name} was not checked, because of --allow.`);

function withoutRepeats(mistakes: readonly Mistake[]): Mistake[] {
  const known = new Map(mistakes.map((each) => [`${each.code} ${each.object}`, each]));
  return [...known.values()];
}
