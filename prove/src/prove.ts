/** Proves that two customers of an integrator's database see no rows of each other, or finds the mistakes. */
import { CommandError } from "../../common/command-error.ts";
import { type Catalogue, qualified, type Relation, ROLES_MAX, readCatalogue, readRoles } from "./catalogue.ts";
import {
  areSame,
  type Compared,
  checkFurtherCustomers,
  checkNobody,
  checkPresent,
  checkSurvival,
  comparableTables,
  compareCustomers,
  readAfterEnd,
  readAsCustomer,
  readAsNobody,
  readPresent,
  type Setup,
} from "./customers.ts";
import { couldNotTell, type Database, identifier, withRollback } from "./database.ts";
import { type Findings, joined, type Mistake, type NotJudged } from "./finding.ts";
import { callerFunctionsOf, checkPolicyFunctions } from "./policies/functions.ts";
import { mayBeAccepted, type Policies, settingNamesOf } from "./policies/policies.ts";
import { type Allowed, checkFunctions, checkRelations, rolesThat } from "./relations.ts";
import { checkRights } from "./rights.ts";
import { checkDefaultPrivileges, checkRoleSettings, checkRoles, type QueryRoles } from "./roles.ts";
import { settingNamesIn, wordsIn } from "./sql/customer-sql.ts";
import { arePeopleOf, Callers, policyName, Suggestions, unsetNames } from "./suggestions.ts";
import { TableBounds } from "./table-bounds.ts";

/** Gives a new connection to `use`, and closes it. */
export type Connect = <T>(use: (database: Database) => Promise<T>) => Promise<T>;

/**
 * What to prove: the SQL of two customers, the tables, views and functions that their user has checked (`allow`), and the policies and
 * other objects that the user has judged (`accept`).
 */
export type Question = { setups: readonly [Setup, Setup]; allow: readonly string[]; accept: readonly string[] };

export type Proof = Findings & {
  /** Mistakes win over what is not judged. */
  outcome: "proven" | "mistakes" | "not_judged";
  /** Whether the two are people of one customer. */
  arePeople: boolean;
  serverVersion: number;
  /** The roles of the login and of both customers' queries. */
  roles: { login: string; customers: [string, string] };
  compared: Compared[];
};

/** What no check of a database can judge. */
const LIMITS = [
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
  const { proof, settings, unset } = await connect((database) =>
    withRollback(database, () => examine(database, question)),
  );
  for (const setup of question.setups)
    proof.mistakes.push(...(await connect((database) => checkSurvival(database, setup, settings))));
  proof.mistakes = withoutRepeats(proof.mistakes);
  const fixes = new Set(proof.mistakes.map(({ fix }) => sqlOf(fix)));
  proof.notJudged = accepted(proof.notJudged, question.accept).filter(({ fix }) => !fixes.has(sqlOf(fix)));
  proof.outcome = outcomeOf(proof);
  if (proof.outcome === "proven" && proof.compared.length === 0)
    throw couldNotTell(
      `there is no table with row-level security of which both ${proof.arePeople ? "people" : "customers"} see rows. ${unset}${proof.limits[0] ?? "Grant the customers' role SELECT on your tables."} Give customers who have rows.`,
    );
  return { ...proof, limits: [...proof.limits, ...LIMITS] };
}

function outcomeOf({ mistakes, notJudged }: Findings): Proof["outcome"] {
  if (mistakes.length > 0) return "mistakes";
  return notJudged.length > 0 ? "not_judged" : "proven";
}

const accepted = (notJudged: readonly NotJudged[], accept: readonly string[]): NotJudged[] => [
  ...new Map(
    notJudged
      .filter(({ object }) => !accept.some((name) => isNamed(object, name)))
      .map((each) => [`${each.object} ${each.message}`, each]),
  ).values(),
];

/** A fix without its comment. */
const sqlOf = (fix: string): string => fix.split(" -- ")[0] ?? fix;

const isNamed = (object: string, name: string): boolean => object === name || object.replaceAll('"', "") === name;

type Examined = { proof: Proof; settings: string[]; unset: string };

async function examine(database: Database, question: Question): Promise<Examined> {
  const sql = question.setups.flatMap(({ statements }) => statements).join(";\n");
  let roles = await readRoles(database, wordsIn(sql));
  let catalogue = await readCatalogue(database, roles);
  const settings = [...new Set([...settingNamesIn(sql), ...settingNamesOf(catalogue)])];
  const isAllowed = allowedOf(catalogue, question.allow);
  checkAccepted(catalogue, question.accept);
  const tables = comparableTables(catalogue, (table) => isReadable(table) && !isAllowed(table));
  const present = await readPresent(database, settings);
  // Before the first customer: later, a setting that has ended is no longer NULL.
  const asNobody = await readAsNobody(database, boundRoles(catalogue), tables);

  const customers = [
    await readAsCustomer(database, question.setups[0], { tables, settings }),
    await readAsCustomer(database, question.setups[1], { tables, settings }),
  ] as const;
  const [first, second] = [customers[0].caller, customers[1].caller];
  if (areSame(first, second))
    throw couldNotTell("the SQL of both customers sets the same role and the same settings. Give two customers.");
  const queries: QueryRoles = { login: catalogue.login, customers: [first.role, second.role] };
  if (queries.customers.some((name) => !roles.some((role) => role.name === name))) {
    roles = await readRoles(database, [...wordsIn(sql), ...queries.customers]);
    catalogue = await readCatalogue(database, roles);
  }
  catalogue.isPathSafe &&= customers.every(({ isPathSafe }) => isPathSafe);

  const policies = policiesOf(catalogue, { queries, callers: new Callers([first, second]), accept: question.accept });
  const isNobody = (role: string) => first.role === second.role || role === catalogue.login;
  const ended = await readAfterEnd(database, boundRoles(catalogue).filter(isNobody), { tables, settings });
  const before = new Map([...asNobody].filter(([role]) => isNobody(role)));
  const compared = await compareCustomers(database, tables, { setups: question.setups, customers, policies });
  const found = joined(
    checkCatalogue(policies, { settings, isAllowed }),
    { mistakes: checkFurtherCustomers(asNobody, [first.role, second.role], catalogue) },
    checkNobody([before, ended], tables, policies),
    { mistakes: checkPresent(present, catalogue) },
    { notJudged: roles.length >= ROLES_MAX ? [tooManyRoles(catalogue.login)] : [] },
    compared,
  );
  const proof: Proof = {
    outcome: "proven",
    arePeople: policies.arePeople,
    serverVersion: catalogue.version,
    roles: { login: catalogue.login, customers: [first.role, second.role] },
    ...found,
    limits: [
      ...found.limits,
      ...question.allow.map((name) => `${name} was not checked, because of --allow.`),
      ...question.accept.map((name) => `${name} was judged by a person, because of --accept.`),
    ],
    compared: compared.compared,
  };
  return { proof, settings, unset: unsetSentence(policies) };
}

const tooManyRoles = (login: string): NotJudged => ({
  object: identifier(login),
  message: `It can become more than ${ROLES_MAX} roles, and the others were not checked.`,
  fix: `-- Give the roles to several logins, and prove each. If you have judged the others: --accept ${identifier(login)}`,
});

/** What the checks of policies read. */
function policiesOf(
  catalogue: Catalogue,
  { queries, callers, accept }: { queries: QueryRoles; callers: Callers; accept: readonly string[] },
): Policies {
  const callerFunctions = callerFunctionsOf(catalogue);
  const bounds = new TableBounds(catalogue, queries, (policy) => {
    const relation = catalogue.relations.find(({ oid }) => oid === policy.relation);
    const isGiven = relation && accept.some((name) => isNamed(policyName(policy, relation), name));
    return isGiven === true && mayBeAccepted({ catalogue, callerFunctions }, policy);
  });
  const arePeople = arePeopleOf(catalogue, { bounds, callers, queries });
  const suggestions = new Suggestions(catalogue, { bounds, callers, arePeople });
  return { catalogue, callerFunctions, queries, callers, bounds, suggestions, arePeople };
}

/** Names what the policies compare, and the SQL of neither customer sets. */
function unsetSentence(policies: Policies): string {
  const names = unsetNames(policies.catalogue, policies);
  if (names.length === 0) return "";
  return `The policies read ${names.join(" and ")}, which the SQL of a customer does not set: set it, too. `;
}

const isReadable = (table: Relation): boolean => rolesThat(table, ["SELECT"]).length > 0;

/** Roles that see no row unless a policy says so. The others are mistakes by themselves. */
const boundRoles = ({ roles }: Catalogue): string[] =>
  roles.filter(({ superuser, bypassrls }) => !superuser && !bypassrls).map(({ name }) => name);

function checkCatalogue(
  policies: Policies,
  { settings, isAllowed }: { settings: readonly string[]; isAllowed: Allowed },
): Findings {
  const { catalogue, queries } = policies;
  return joined(
    { mistakes: [...checkRoles(catalogue, queries), ...checkRoleSettings(catalogue, settings)] },
    checkRelations(policies, isAllowed),
    { mistakes: [...checkPolicyFunctions(catalogue), ...checkFunctions(policies, isAllowed)] },
    checkRights(policies, isAllowed),
    {
      mistakes: checkDefaultPrivileges(catalogue),
      limits: catalogue.readableSequences.map(
        (name) => `The sequence ${name} can be read: it counts the rows of all customers.`,
      ),
    },
  );
}

/** @throws CommandError if --accept names nothing that could be judged. */
function checkAccepted(
  { login, relations, policies, ownersCode, foreignKeys }: Catalogue,
  accept: readonly string[],
): void {
  const nameOf = (oid: number, name: string) =>
    relations.filter((each) => each.oid === oid).map((relation) => `${qualified(relation)}.${identifier(name)}`);
  const all = [
    identifier(login),
    ...relations.map(qualified),
    ...policies.flatMap(({ relation, name }) => nameOf(relation, name)),
    ...ownersCode.flatMap(({ relation, name }) => (relation === 0 ? [identifier(name)] : nameOf(relation, name))),
    ...foreignKeys.flatMap(({ table, name }) => nameOf(table, name)),
  ];
  if (accept.some((name) => !all.some((object) => isNamed(object, name))))
    throw new CommandError(
      "--accept names a policy, trigger, rule or foreign key that does not exist. Copy the name from the output, such as public.orders.own.",
    );
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

function withoutRepeats(mistakes: readonly Mistake[]): Mistake[] {
  const known = new Map(mistakes.map((each) => [`${each.code} ${each.object}`, each]));
  return [...known.values()];
}
