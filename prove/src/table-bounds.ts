/** To which callers the policies of each table bind the rows that queries read and write. */

import type { Catalogue, Policy, Relation, Role } from "./catalogue.ts";
import type { QueryRoles } from "./roles.ts";
import { type Atom, type Bound, both, either } from "./sql/atoms.ts";
import { Binding, type Judged } from "./sql/binding.ts";

/** A command, as in `pg_policy`: r SELECT, a INSERT, w UPDATE, d DELETE. */
export type Command = "r" | "a" | "w" | "d";
type Write = "INSERT" | "UPDATE" | "DELETE";
/** The condition for rows that are there, or for new ones. */
export type Side = "using" | "check";

const SIDES: readonly (readonly [Command, Side])[] = [
  ["r", "using"],
  ["a", "check"],
  ["w", "using"],
  ["w", "check"],
  ["d", "using"],
];

const UNKNOWN: Judged = { bound: new Map(), problems: [], columns: new Set(), links: new Set(), constants: new Map() };

/** The condition of a policy for existing or new rows. Without WITH CHECK, PostgreSQL checks new rows by USING. */
export const conditionOf = ({ using, check }: Policy, side: Side): string | null =>
  side === "using" ? using : (check ?? using);

export class TableBounds {
  readonly #catalogue: Catalogue;
  readonly #queries: QueryRoles;
  readonly #isAccepted: (policy: Policy) => boolean;
  readonly #binding: Binding;
  readonly #judged = new Map<string, Judged>();

  constructor(catalogue: Catalogue, queries: QueryRoles, isAccepted: (policy: Policy) => boolean) {
    this.#catalogue = catalogue;
    this.#queries = queries;
    this.#isAccepted = isAccepted;
    this.#binding = new Binding(catalogue, {
      isWritable: (relation) => this.isWritable(relation),
      writesBound: (relation) => this.writesBound(relation),
      readsBound: (relation) => this.#readsBound(relation),
    });
  }

  /** Whether a function that runs as its owner returns nothing but what is bound to its caller. */
  get binding(): Binding {
    return this.#binding;
  }

  /** The commands and conditions that a policy takes part in. */
  static sidesOf({ command }: Policy): (readonly [Command, Side])[] {
    return SIDES.filter(([each]) => command === "*" || command === each);
  }

  /** What is known of a condition of a policy. */
  judge(policy: Policy, side: Side): Judged {
    const judged = this.#judgeAlone(policy, side);
    return this.#isContradicted(policy, judged) ? { ...judged, bound: new Map() } : judged;
  }

  #judgeAlone(policy: Policy, side: Side): Judged {
    const sql = conditionOf(policy, side);
    return sql === null ? UNKNOWN : this.judgeCondition(sql, policy);
  }

  /** Whether a policy of one role knows it by another constant than the other policies do. */
  isContradicted(policy: Policy): boolean {
    return (["using", "check"] as const).some((side) => this.#isContradicted(policy, this.#judgeAlone(policy, side)));
  }

  /** Whether a policy of one role knows it by another constant than an earlier policy, or by that of another role. Those for reading come first. */
  #isContradicted(policy: Policy, { constants }: Judged): boolean {
    if (constants.size === 0) return false;
    const rank = ({ command, name }: Policy) => `${"r*".includes(command) ? 0 : 1} ${name}`;
    const earlier = this.#catalogue.policies.filter(
      (each) => each.relation === policy.relation && this.#isOfOneCustomer(each) && rank(each) < rank(policy),
    );
    return earlier.some((each) =>
      (["using", "check"] as const).some((side) => {
        const others = this.#judgeAlone(each, side).constants;
        const isSame = each.roles[0] === policy.roles[0];
        return [...constants].some(([key, value]) => others.has(key) && (others.get(key) === value) !== isSame);
      }),
    );
  }

  /** What is known of a condition, if the policy had it. */
  judgeCondition(sql: string, policy: Policy): Judged {
    const key = `${policy.relation} ${policy.name} ${sql}`;
    const known = this.#judged.get(key);
    if (known) return known;
    // A policy that leads to itself knows nothing of itself.
    this.#judged.set(key, UNKNOWN);
    const relation = this.#catalogue.relations.find(({ oid }) => oid === policy.relation);
    const judged = relation
      ? this.#binding.ofCondition(sql, relation, { policy, ofOneRole: this.#isOfOneCustomer(policy) })
      : UNKNOWN;
    this.#judged.set(key, judged);
    return judged;
  }

  /** The policies that apply to a role for a command. */
  applied(relation: Relation, role: string, command: Command): Policy[] {
    return this.#catalogue.policies.filter(
      (each) => each.relation === relation.oid && each.roles.includes(role) && [command, "*"].includes(each.command),
    );
  }

  /** The atoms to which all policies together bind the rows of a table, for a role and a command. */
  ofTable(relation: Relation, role: string, [command, side]: readonly [Command, Side]): Bound {
    if (!relation.enabled || !this.#binds(role, relation)) return new Map();
    const applied = this.applied(relation, role, command);
    const boundOf = (policy: Policy): Bound => (this.#isAccepted(policy) ? "any" : this.judge(policy, side).bound);
    const permissive = applied
      .filter((policy) => policy.permissive)
      .map(boundOf)
      .reduce(either, "any");
    const restrictive = applied.filter((policy) => !policy.permissive);
    // Somebody has judged that it keeps people apart, whose customer is bound by what is permissive.
    if (restrictive.some(this.#isAccepted) && permissive !== "any" && permissive.size > 0) return "any";
    return restrictive
      .filter((policy) => !this.#isAccepted(policy))
      .map(boundOf)
      .reduce(both, permissive);
  }

  /** Whether a query can add or change rows of a table, by its name, its parents or children, or a view. */
  isWritable(relation: Relation, privileges: readonly Write[] = ["INSERT", "UPDATE"]): boolean {
    return (
      this.writtenBy(relation, privileges).length > 0 || this.#family(relation).some((each) => this.#isCascaded(each))
    );
  }

  /** The tables and views by which a query can write into a table. */
  writtenBy(relation: Relation, privileges: readonly Write[] = ["INSERT", "UPDATE"]): Relation[] {
    const family = this.#family(relation);
    const views = family.flatMap((each) => this.#viewsThatWrite(each, privileges));
    return [...family.filter((each) => this.#isWritten(each, privileges)), ...views];
  }

  #isWritten(relation: Relation, privileges: readonly Write[]): boolean {
    const commands = { INSERT: "a", UPDATE: "w", DELETE: "d" } as const;
    return Object.entries(relation.privileges).some(([role, held]) =>
      privileges.some(
        (privilege) =>
          held.includes(privilege) &&
          !(
            relation.enabled &&
            this.#binds(role, relation) &&
            !this.applied(relation, role, commands[privilege]).some(({ permissive }) => permissive)
          ),
      ),
    );
  }

  /** A view that runs as its owner writes with the owner's rights. */
  #viewsThatWrite(relation: Relation, privileges: readonly string[]): Relation[] {
    return this.#catalogue.relations.filter(
      (view) =>
        view.kind === "v" &&
        !isInvoker(view) &&
        this.#reads(view, relation.oid) &&
        Object.values(view.privileges).some((held) => held.some((each) => privileges.includes(each))),
    );
  }

  #reads(view: Relation, oid: number): boolean {
    const below = this.#catalogue.relations.filter((each) => each.kind === "v" && view.reads.includes(each.oid));
    return view.reads.includes(oid) || below.some((each) => this.#reads(each, oid));
  }

  /** A foreign key that writes new values into its table, if somebody changes the row that it names. */
  #isCascaded({ oid }: Relation): boolean {
    const { foreignKeys, relations } = this.#catalogue;
    return foreignKeys.some(({ table, parent, onUpdate, onDelete }) => {
      const named = relations.find((each) => each.oid === parent);
      if (table !== oid || parent === oid || !named) return false;
      return (
        ("cd".includes(onUpdate) && this.#isWritten(named, ["UPDATE"])) ||
        (onDelete === "d" && this.#isWritten(named, ["DELETE"]))
      );
    });
  }

  /** A table, its parents and its children, whose rows it shows or is written by. */
  #family(relation: Relation): Relation[] {
    const { relations } = this.#catalogue;
    const family = new Set([relation]);
    for (const each of family)
      for (const other of relations)
        if (each.parents.includes(other.oid) || other.parents.includes(each.oid)) family.add(other);
    return [...family];
  }

  #rolesWith(relation: Relation, privilege: "SELECT" | "INSERT" | "UPDATE"): string[] {
    return Object.entries(relation.privileges).flatMap(([role, held]) => (held.includes(privilege) ? [role] : []));
  }

  /** The atoms to which rows are bound that a query can write into a table. */
  writesBound(relation: Relation): Bound {
    if (this.writtenBy(relation).some((each) => each !== relation)) return new Map();
    const inserted = this.#rolesWith(relation, "INSERT").map((role) => this.ofTable(relation, role, ["a", "check"]));
    const updated = this.#rolesWith(relation, "UPDATE").flatMap((role) =>
      (["using", "check"] as const).map((side) => this.ofTable(relation, role, ["w", side])),
    );
    return [...inserted, ...updated].reduce(either, "any");
  }

  #readsBound(relation: Relation): Bound {
    const roles = this.#rolesWith(relation, "SELECT");
    const read = roles.map((role) => this.ofTable(relation, role, ["r", "using"]));
    return roles.length === 0 ? new Map<string, Atom>() : read.reduce(either, "any");
  }

  /** Whether row-level security binds a role. */
  #binds(name: string, relation: Relation): boolean {
    const role = this.#catalogue.roles.find((each) => each.name === name);
    return role !== undefined && !isUnbound(role) && (relation.forced || role.oid !== relation.ownerOid);
  }

  /** Whether a policy applies to one role alone, and customers have roles of their own. */
  #isOfOneCustomer({ roles }: Policy): boolean {
    const [first, second] = this.#queries.customers;
    return first !== second && roles.length === 1 && roles[0] !== this.#queries.login;
  }
}

const isUnbound = ({ superuser, bypassrls }: Role): boolean => superuser || bypassrls;

/** Whether a view reads its tables as the role that queries it. */
export const isInvoker = ({ options }: Relation): boolean =>
  options.some((option) => /^security_invoker=(?:t(?:r(?:ue?)?)?|y(?:es?)?|on|1)$/i.test(option));
