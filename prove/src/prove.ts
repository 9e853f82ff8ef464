/** Proves that two customers of an integrator's database see no rows of each other, or names what it cannot judge. */
import { CommandError } from "../../common/command-error.ts";
import { areSame, Callers, identityOf } from "./callers.ts";
import { type Catalogue, type Relation, readCatalogue } from "./catalogue.ts";
import { type Compared, checkDefaults, checkNobody, checkSurvival, compareCustomers } from "./customers.ts";
import { couldNotTell, type Database, identifier, withRollback } from "./database.ts";
import { Forms } from "./expressions/forms.ts";
import { type Findings, joined, type Mistake, type NotJudged } from "./finding.ts";
import { Fixes } from "./fixes.ts";
import { checkFunctions, checkRights } from "./rights.ts";
import type { Setup } from "./setup.ts";
import { callersIn, checkTables, comparableTables, policyName } from "./tables.ts";

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

export type Proof = Findings & {
  /** Mistakes win over what is not judged. */
  outcome: "proven" | "mistakes" | "not_judged";
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

/** Judges a database, and changes nothing. @throws CommandError if something prevents the check. */
export const prove = (connect: Connect, question: Question): Promise<Proof> =>
  connect((database) =>
    withRollback(database, async () => {
      const { setups, accept } = question;
      const catalogue = await readCatalogue(database, setups.flatMap(rolesIn));
      if (catalogue.version < VERSION_MIN) throw couldNotTell("this PostgreSQL is older than version 12.");
      const unknown = setups.flatMap(({ option, unknown }) => unknown.map((statement) => otherSql(option, statement)));
      const objects = objectsByName(catalogue);
      const isAccepted = (object: string) =>
        accept.some((name) => [object, unquoted(object)].includes(name) || objects.get(name) === object);
      const found =
        unknown.length > 0
          ? { ...joined({ notJudged: unknown }), arePeople: false, compared: [], unset: "" }
          : await examine(database, catalogue, { question, isAccepted });
      const known = [...objects.keys(), ...[...found.mistakes, ...found.notJudged].map(({ object }) => object)];
      if (
        catalogue.unread.length === 0 &&
        accept.some((name) => !known.some((each) => each === name || unquoted(each) === name))
      )
        throw new CommandError(
          "--accept or --allow names nothing that exists, or several objects. Copy the name from the output, such as public.countries or public.orders.own.",
        );

      const mistakes = [...found.mistakes, ...setups.flatMap(checkSurvival)]
        .filter((each) => !ACCEPTABLE.includes(each.code) || !isAccepted(each.object))
        .map(withSafeFix);
      const fixes = new Set(mistakes.map(({ fix }) => sqlOf(fix)));
      const notJudged = found.notJudged
        .filter(({ object, fix }) => !isAccepted(object) && !fixes.has(sqlOf(fix)))
        .map(withSafeFix);
      const all = { ...found, mistakes: withoutRepeats(mistakes), notJudged: withoutRepeats(notJudged) };
      return conclude(all, catalogue, question);
    }),
  );

const rolesIn = ({ assignments }: Setup) => assignments.filter(({ name }) => name === "role").map(({ value }) => value);

/** The codes of mistakes that a person may judge: of a table that all customers share. */
const ACCEPTABLE = ["rls_disabled", "partition_open", "seen_by_both", "seen_without_setting"];

type Found = Findings & { arePeople: boolean; compared: Compared[]; unset: string };

function conclude({ unset, ...found }: Found, { version, login }: Catalogue, question: Question): Proof {
  const { accept, anyEnvironment, setups } = question;
  const isProven = found.mistakes.length === 0 && found.notJudged.length === 0;
  if (isProven && found.compared.length === 0)
    throw couldNotTell(
      `there is no table with row-level security of which both ${found.arePeople ? "people" : "customers"} see rows. ${unset}${found.limits[0] ?? "Grant the customers' role SELECT on your tables."} Give customers who have rows.`,
    );
  return {
    ...found,
    outcome: isProven ? "proven" : found.mistakes.length > 0 ? "mistakes" : "not_judged",
    anyEnvironment,
    serverVersion: version,
    roles: { login, customers: [identityOf(setups[0], login).role, identityOf(setups[1], login).role] },
    limits: [
      ...found.limits,
      ...accept.map((name) => `${name} was judged by a person, because of --accept.`),
      ...(anyEnvironment ? [ANY_ENVIRONMENT] : []),
      ...LIMITS,
    ],
  };
}

const otherSql = (option: string, statement: string): NotJudged => ({
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
  const identities = [identityOf(setups[0], catalogue.login), identityOf(setups[1], catalogue.login)] as const;
  const [first, second] = identities;
  if (areSame(first, second))
    throw couldNotTell("the SQL of both customers sets the same role and the same settings. Give two customers.");
  const forms = new Forms(catalogue, (relation, policy) => isAccepted(policyName(relation, policy)));
  const callers = new Callers(identities);
  const fixes = new Fixes(catalogue, { callers, anyEnvironment });
  const judged = joined(
    checkRights(catalogue, { forms, fixes }),
    checkTables({ catalogue, forms, fixes, callers, isAccepted, anyEnvironment }),
    { notJudged: checkFunctions(catalogue, { forms, fixes }) },
  );

  const read = callersIn(catalogue, forms);
  const [shared] = read;
  // What most tables compare is the same for two people of one customer.
  const arePeople = shared !== undefined && callers.areSame(shared);
  const ofPolicies = read.flatMap((caller) => caller.map(({ setting }) => setting));
  const settings = [...new Set([...first.settings.keys(), ...second.settings.keys(), ...ofPolicies])];
  const roles = catalogue.roles
    .filter(({ attributes }) => !attributes.includes("SUPERUSER") && !attributes.includes("BYPASSRLS"))
    .map(({ name }) => name)
    // A role for each customer is a customer by itself.
    .filter((name) => first.role === second.role || name === catalogue.login);
  const tables = comparableTables(catalogue, isAccepted);
  const comparison = { tables, arePeople, fixOf: (table: Relation) => fixes.bind(table) };
  const defaults = await checkDefaults(database, catalogue, settings);
  const nobody = await checkNobody(database, { roles, settings }, comparison);
  const compared = await compareCustomers(database, setups, comparison);
  const unset = callers.unsetIn(read).join(" and ");
  return {
    ...joined(judged, { mistakes: defaults }, nobody, compared),
    arePeople,
    compared: compared.compared,
    unset: unset && `The policies read ${unset}, which the SQL of a customer does not set: set it, too. `,
  };
}

/** A line in a name would end the comment of a fix. */
const withSafeFix = <Finding extends NotJudged>(finding: Finding): Finding => ({
  ...finding,
  fix: finding.fix.replace(/(?<=^|\s)-- [\s\S]*$/, (comment) => comment.replaceAll(/[\n\r]+/g, " ")),
});

/** A fix without its comment. */
const sqlOf = (fix: string): string => fix.split(" -- ")[0] ?? fix;

const unquoted = (object: string) =>
  object.replaceAll(/"((?:[^"]|"")*)"/g, (_, name: string) => name.replaceAll('""', '"'));

/** The object that a name means for `--accept`. One table or function may be named without its schema or its arguments. */
function objectsByName({ relations, routines, policies, roles }: Catalogue): Map<string, string> {
  const named = [
    ...relations.map(({ object, schema, name }) => ({ object, names: [name, `${schema}.${name}`, object] })),
    ...routines.map(({ signature, schema, name }) => ({
      object: signature,
      names: [name, `${schema}.${name}`, signature],
    })),
    ...roles.map(({ name }) => ({ object: identifier(name), names: [identifier(name)] })),
    ...policies.flatMap(({ relation, name }) => {
      const table = relations.find(({ oid }) => oid === relation);
      return table ? [{ object: policyName(table, name), names: [policyName(table, name)] }] : [];
    }),
  ];
  const byName = Map.groupBy(
    named.flatMap(({ object, names }) => names.map((name) => ({ object, name }))),
    ({ name }) => name,
  );
  return new Map(
    [...byName].flatMap(([name, all]) => {
      const objects = new Set(all.map(({ object }) => object));
      return objects.size === 1 || objects.has(name) ? [[name, objects.has(name) ? name : (all[0]?.object ?? "")]] : [];
    }),
  );
}

function withoutRepeats<Finding extends Mistake | NotJudged>(findings: readonly Finding[]): Finding[] {
  const keyOf = (each: Finding) => ("code" in each ? `${each.code} ${each.object}` : `${each.object} ${each.message}`);
  return [...new Map(findings.map((each) => [keyOf(each), each])).values()];
}
