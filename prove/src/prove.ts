/** Proves that two customers of an integrator's database see no rows of each other, or names what it cannot judge. */
import { isDeepStrictEqual } from "node:util";
import { CommandError } from "../../common/command-error.ts";
import { Callers, identityOf } from "./callers.ts";
import { type Catalogue, readCatalogue } from "./catalogue.ts";
import { type Compared, checkDefaults, checkNobody, checkSurvival, compareCustomers } from "./customers.ts";
import { couldNotTell, type Database, withRollback } from "./database.ts";
import { Forms } from "./expressions/forms.ts";
import type { Finding } from "./finding.ts";
import { checkFunctions, checkRights } from "./rights.ts";
import type { Setup } from "./setup.ts";
import { callersIn, checkTables } from "./tables.ts";

/** Gives a new connection to `use`, and closes it. */
export type Connect = <T>(use: (database: Database) => Promise<T>) => Promise<T>;

/** What to prove. */
export type Question = {
  /** The SQL of two customers. */
  setups: readonly [Setup, Setup];
  /** The objects that the user has judged, by their names in the output. */
  accept: readonly string[];
  /** Whether the numbers of the database are its own, so that no policy must name an environment. */
  anyEnvironment: boolean;
};

export type Proof = {
  /** Mistakes win over what is not judged. */
  outcome: "proven" | "mistakes" | "not_judged";
  mistakes: Finding[];
  notJudged: Finding[];
  /** What the proof does not say, whatever was found. */
  limits: string[];
  /** Whether the two are people of one customer. */
  arePeople: boolean;
  anyEnvironment: boolean;
  serverVersion: number;
  /** The roles of the login and of both customers' queries. */
  roles: { login: string; customers: [string, string] };
  compared: Compared[];
};

/** The oldest version of PostgreSQL whose catalogue has what is read. */
const VERSION_MIN = 120_000;

/** What no check of a database can judge. */
const LIMITS = [
  "Pools: whether your backend sets the customer in each transaction, and never runs a query outside of it.",
  "Prepared plans: whether your backend prepares a statement as one role or customer, and runs it as another.",
  "SQL that viewers write: it can set any customer, with SET or set_config. Even a role for each customer is not judged.",
  "Side channels: unique and foreign keys, sizes of tables, statistics and response times tell that rows exist.",
  "Errors: PostgreSQL's messages quote values, also of rows that a policy hides. Do not show them to viewers.",
  "Tables that lead from rows to customers: the roles that write them decide who sees the rows.",
  "Whether the rows that a customer sees are their own: only that no other one of the two sees them.",
  "Triggers, rules and jobs that copy rows into other tables, and other logins, databases and replicas.",
  "Other customers than these two, and tables, roles and grants that are made later: run it again after each migration.",
];

const ANY_ENVIRONMENT =
  "Sessions of another environment: whether its numbers and ids are others, because of --any-environment.";

/** The codes of mistakes that a person may judge: of a table that all customers share. */
const ACCEPTABLE = ["rls_disabled", "partition_open", "seen_by_both", "seen_without_setting"];

/** Judges a database, and changes nothing. @throws CommandError if something prevents the check. */
export const prove = (connect: Connect, question: Question): Promise<Proof> =>
  connect((database) => withRollback(database, () => judge(database, question)));

async function judge(database: Database, question: Question): Promise<Proof> {
  const { setups, accept, anyEnvironment } = question;
  const catalogue = await readCatalogue(database);
  const { version, login, unread } = catalogue;
  if (version < VERSION_MIN) throw couldNotTell("this PostgreSQL is older than version 12.");
  const objects = objectsIn(catalogue);
  const accepted = accept.map((name) => meantBy(name, objects) ?? name);
  const isAccepted = (object: string) => accepted.some((name) => isNamed(object, name));
  const found = await examine(database, catalogue, { question, isAccepted });
  const known = [...objects, ...found.findings.map(({ object }) => object)];
  if (unread.length === 0 && !accepted.every((name) => known.some((object) => isNamed(object, name))))
    throw new CommandError(
      "--accept or --allow names nothing that exists, or several objects. Copy the name from the output, such as public.countries or public.orders.own.",
    );

  const findings = [...found.findings, ...setups.flatMap((setup) => checkSurvival(setup, catalogue))]
    .filter(({ code, object }) => !isAccepted(object) || (code !== undefined && !ACCEPTABLE.includes(code)))
    .map(withSafeFix);
  const mistakes = findings.filter(({ code }) => code !== undefined);
  const fixes = new Set(mistakes.map(({ fix }) => sqlOf(fix)));
  const notJudged = findings.filter(({ code, fix }) => code === undefined && !fixes.has(sqlOf(fix)));
  const { arePeople, compared, limits, unset } = found;
  if (findings.length === 0 && compared.length === 0)
    throw couldNotTell(
      `there is no table with row-level security of which both ${arePeople ? "people" : "customers"} see rows. ${unset}${limits[0] ?? "Grant the customers' role SELECT on your tables."} Give customers who have rows.`,
    );
  return {
    outcome: findings.length === 0 ? "proven" : mistakes.length > 0 ? "mistakes" : "not_judged",
    mistakes: withoutRepeats(mistakes),
    notJudged: withoutRepeats(notJudged),
    limits: [
      ...limits,
      ...accept.map((name) => `${name} was judged by a person, because of --accept.`),
      ...(anyEnvironment ? [ANY_ENVIRONMENT] : []),
      ...LIMITS,
    ],
    arePeople,
    anyEnvironment,
    serverVersion: version,
    roles: { login, customers: [identityOf(setups[0], login).role, identityOf(setups[1], login).role] },
    compared,
  };
}

type Found = Pick<Proof, "limits" | "arePeople" | "compared"> & { findings: Finding[]; unset: string };

const otherSql = ({ option }: Setup, statement: string): Finding => ({
  object: option,
  message: `Its SQL has a statement that is not run: ${statement} … It may only have SET LOCAL x.y = constant, SET LOCAL ROLE, and SELECT set_config('x.y' or 'role', constant, true).`,
  fix: "-- Leave the statement out, and give what it sets as constants.",
});

async function examine(
  database: Database,
  catalogue: Catalogue,
  { question, isAccepted }: { question: Question; isAccepted: (object: string) => boolean },
): Promise<Found> {
  const { setups, anyEnvironment } = question;
  const unknown = setups.flatMap((setup) => setup.unknown.map((statement) => otherSql(setup, statement)));
  if (unknown.length > 0) return { findings: unknown, limits: [], arePeople: false, compared: [], unset: "" };
  const identities = [identityOf(setups[0], catalogue.login), identityOf(setups[1], catalogue.login)] as const;
  const [first, second] = identities;
  if (first.settings.size > 0 && isDeepStrictEqual(first, second))
    throw couldNotTell("the SQL of both customers sets the same role and the same settings. Give two customers.");
  const forms = new Forms(catalogue, isAccepted);
  const callers = new Callers(identities);
  const world = { catalogue, forms, callers, comparisons: [], isAccepted, anyEnvironment };
  const judged = [...checkRights(world), ...checkTables(world), ...checkFunctions(world)];

  const read = callersIn(world);
  // What most policies compare is the same for two people of one customer.
  const arePeople = read.slice(0, 1).some((caller) => callers.areSame(caller));
  const ofPolicies = read.flatMap((caller) => caller.map(({ setting }) => setting));
  const settings = [...new Set([...first.settings.keys(), ...second.settings.keys(), ...ofPolicies])];
  const roles = catalogue.roles
    .filter(({ attributes }) => !attributes.includes("SUPERUSER") && !attributes.includes("BYPASSRLS"))
    // A role for each customer is a customer by itself.
    .filter(({ isLogin }) => first.role === second.role || isLogin);
  const defaults = await checkDefaults(database, catalogue, settings);
  const nobody = await checkNobody(database, { roles, settings }, world);
  const { compared, findings, limits } = await compareCustomers(database, { setups, arePeople }, world);
  const unset = callers.unsetIn(read).join(" and ");
  return {
    findings: [...judged, ...defaults, ...nobody, ...findings],
    limits,
    arePeople,
    compared,
    unset: unset && `The policies read ${unset}, which the SQL of a customer does not set: set it, too. `,
  };
}

/** Quoted names and texts of a fix, and its comment after them. */
const PARTS = /("[^"]*"|'[^']*')|(?<=^|\s)-- [\s\S]*/g;

/** A line in a name would end the comment of a fix. */
const withSafeFix = (finding: Finding): Finding => ({
  ...finding,
  fix: finding.fix.replace(PARTS, (part, quoted) => quoted ?? part.replaceAll(/[\n\r]+/g, " ")),
});

/** A fix without its comment, unless it is all a comment. */
const sqlOf = (fix: string): string => fix.replace(PARTS, (_, quoted) => quoted ?? "").trim() || fix;

/** The names of all that a person may judge. */
const objectsIn = ({ relations, routines, roles }: Catalogue): string[] => [
  ...relations.flatMap(({ object, policies }) => [object, ...policies.map((policy) => policy.object)]),
  ...routines.map(({ signature }) => signature),
  ...roles.map(({ name }) => name),
];

/** Whether a name is that of an object, with or without its quotes. */
const isNamed = (object: string, name: string): boolean =>
  [object, object.replaceAll(/"((?:[^"]|"")*)"/g, (_, plain: string) => plain.replaceAll('""', '"'))].includes(name);

/** The object that a name means for `--accept`. One table or function may be named without its schema or its arguments. */
function meantBy(name: string, objects: readonly string[]): string | undefined {
  const isMeant = (object: string) =>
    [object, object.replace(/\(.*/, "")].some((each) => `.${each}`.endsWith(`.${name}`));
  const all = objects.filter((object) => isNamed(object, name));
  const [one, ...more] = all.length > 0 ? all : objects.filter(isMeant);
  return more.length === 0 ? one : undefined;
}

function withoutRepeats(findings: readonly Finding[]): Finding[] {
  return [...new Map(findings.map((each) => [`${each.code ?? each.message} ${each.object}`, each])).values()];
}
