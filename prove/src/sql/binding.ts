/**
 * Finds out to which callers a condition binds a row. It knows a few forms, and gives nothing for any other: a column that is equal to
 * what identifies the caller, a list of that, and rows that lead to such a row in a table that queries cannot change.
 */

import type { Catalogue, Policy, Relation, StoredFunction } from "../catalogue.ts";
import { type Bound, both, boundBy, either, isUnbound, NOTHING } from "./atoms.ts";
import { type CastProblem, isBuiltIn, Lookup, type TemporaryProblem } from "./lookup.ts";
import { type Closure, type Column, type Place, type Row, type Scope, within } from "./scope.ts";
import { parseExpression } from "./sql-parser.ts";
import { Unreadable } from "./sql-tokens.ts";
import { childrenOf, type Expression, type Select } from "./sql-tree.ts";
import { type Term, Terms } from "./terms.ts";
import { areComparable, elementOf } from "./types.ts";

/** A subquery that is followed from row to row. */
type Query = {
  inner: Scope;
  at: Place;
  select: Select;
  /** A column outside that is equal to what the subquery selects. */
  joined?: { one: Column; other: Column | undefined }[];
  /** The row whose selected column is equal to the caller. */
  caller?: { row: Row; bound: Bound };
};

/** Why a known form is not exact after all. */
export type Problem =
  | TemporaryProblem
  | CastProblem
  | { kind: "writable"; table: Relation; via: { table: Relation; column: string; parentColumn: string } };

/** What is known of a condition of a policy. */
export type Judged = {
  bound: Bound;
  problems: Problem[];
  /** The columns of its table that are compared with the caller. */
  columns: ReadonlySet<string>;
  /** The columns that lead to a row of a table, which belongs to the caller: `column table-oid`. */
  links: ReadonlySet<string>;
  /** The constants by which a role of its own is known, by the table and the column: `table-oid column`. */
  constants: ReadonlyMap<string, string>;
};

/** What the engine asks about tables. */
export type Tables = {
  /** Whether a query can add or change rows of a table. */
  isWritable: (relation: Relation) => boolean;
  /** The atoms to which rows are bound that a query can write into a table. */
  writesBound: (relation: Relation) => Bound;
  /** The atoms to which rows are bound that a query can read from a table. */
  readsBound: (relation: Relation) => Bound;
};

export class Binding {
  readonly #catalogue: Catalogue;
  readonly #tables: Tables;
  readonly #lookup: Lookup;
  readonly #terms: Terms;
  /** What is noted about the condition that is read. */
  #noted = noteOf(undefined);

  constructor(catalogue: Catalogue, tables: Tables) {
    this.#catalogue = catalogue;
    this.#tables = tables;
    this.#lookup = new Lookup(catalogue, (problem) => this.#noted.problems.push(problem));
    this.#terms = new Terms(catalogue, this.#lookup);
  }

  /** The atoms to which a condition of a policy binds the rows of its table, and the problems of known forms in it. */
  ofCondition(sql: string, relation: Relation, { policy, ofOneRole }: { policy: Policy; ofOneRole: boolean }): Judged {
    const row: Row = { alias: relation.name, relation };
    const [before, noted] = [this.#noted, noteOf(row)];
    this.#noted = noted;
    try {
      const place = { scopes: [{ rows: [row], values: [] }], called: undefined, asOwner: false, depth: 0, ofOneRole };
      const bound = this.#bound({ expression: parseExpression(sql), place }, row);
      // A function that writes rows somewhere could be called before the row is compared.
      return { ...noted, bound: this.#callsUnknown(policy) ? NOTHING : bound };
    } catch (error) {
      if (error instanceof Unreadable) return { ...noted, bound: NOTHING };
      throw error;
    } finally {
      this.#noted = before;
    }
  }

  /** Whether a function that runs as its owner returns nothing but what is bound to its caller. */
  isBoundToCaller(stored: StoredFunction): boolean {
    const place: Place = { scopes: [], called: { stored, args: [] }, asOwner: true, depth: 0, ofOneRole: false };
    const body = stored.searchPath === null && stored.parsedBody === null ? undefined : this.#lookup.body(stored);
    return body !== undefined && this.#isOwn({ expression: body, place });
  }

  /** Whether an expression shows of tables only rows that are bound to the caller. */
  #isOwn({ expression, place }: Closure): boolean {
    if (this.#terms.term({ expression, place })) return true;
    if (expression.kind === "cast") return this.#isOwn({ expression: expression.of, place });
    if (expression.kind !== "subquery") return false;
    const { select } = expression;
    if (select.sources.length === 0)
      return (
        select.conditions.length === 0 &&
        select.targets.every((target) => target !== "*" && this.#isOwn({ expression: target, place }))
      );
    const inner = this.#lookup.scopeOf(select, place);
    if (!inner || inner.values.length > 0) return false;
    const at = within(inner, place);
    return (
      inner.rows.every((row) => !isUnbound(this.#reached(row, { inner, at, select }, new Set([row])))) &&
      [...select.targets, ...select.conditions].every(
        (each) => each === "*" || this.#asksOwn({ expression: each, place: at }),
      )
    );
  }

  /** Whether all subqueries and functions in an expression, by which it could tell of other rows, show only rows of the caller. */
  #asksOwn(closure: Closure): boolean {
    const { expression, place } = closure;
    if (expression.kind === "opaque" && expression.parts === undefined) return false;
    if (expression.kind === "operation" && !ORDINARY.test(expression.operator)) return false;
    if (expression.kind === "subquery" && expression.select.sources.length > 0) return this.#isOwn(closure);
    if (expression.kind === "call" && !this.#lookup.isHarmless(expression.name, place)) {
      const body = this.#lookup.inlined(closure);
      if (!body || !this.#asksOwn(body)) return false;
    }
    return childrenOf(expression).every((each) => this.#asksOwn({ expression: each, place }));
  }

  /** Whether a policy calls a function that may write, and that was not understood. */
  #callsUnknown({ functions, callsVolatile }: Policy): boolean {
    const called = this.#catalogue.functions.filter(({ oid }) => functions.includes(oid));
    return callsVolatile || called.some((stored) => stored.isVolatile && !this.#lookup.isPure(stored));
  }

  #bound({ expression, place }: Closure, row: Row): Bound {
    const of = (each: Expression): Bound => this.#bound({ expression: each, place }, row);
    switch (expression.kind) {
      case "constant":
        return expression.value === null || (expression.isBoolean && expression.value === "false") ? "any" : NOTHING;
      case "and":
        return expression.parts.map(of).reduce(both);
      case "or":
        return expression.parts.map(of).reduce(either);
      case "isTrue":
        return of(expression.of);
      case "operation":
        return this.#compared(expression, { place, row });
      case "any":
        return this.#listed(expression, { place, row });
      case "subquery":
        return this.#subqueried(expression, { place, row });
      case "call":
        return this.#called(expression, { place, row });
      default:
        return NOTHING;
    }
  }

  #compared(
    { operator, left, right }: Expression & { kind: "operation" },
    { place, row }: { place: Place; row: Row },
  ): Bound {
    const [one, other] = [
      { expression: left, place },
      { expression: right, place },
    ] as const;
    if (operator === "?") return this.#contained(one, other, row);
    if (operator !== "=") return NOTHING;
    return both(this.#equal(one, other, row), this.#equal(other, one, row));
  }

  /** `column = value` */
  #equal(one: Closure, other: Closure, row: Row): Bound {
    const column = this.#lookup.column(one);
    if (column?.row !== row) return NOTHING;
    const term = this.#terms.term(other);
    if (term && !term.isList && areComparable(column.type, term.type)) return this.#boundTo(term, column);
    const constant = other.place.ofOneRole ? this.#lookup.constant(other) : undefined;
    if (constant !== undefined && areComparable(column.type, column.type)) {
      this.#noted.constants.set(`${column.row.relation.oid} ${column.name}`, constant);
      return boundBy(column.name, [{ kind: "user", of: "current" }]);
    }
    const selected = this.#lookup.selected(other);
    return selected ? this.#member(row, column, selected) : NOTHING;
  }

  #boundTo({ atom }: Term, { row, name }: Column): Bound {
    if (row === this.#noted.row) this.#noted.columns.add(name);
    return boundBy(name, [atom]);
  }

  /** `json ? column`: the array in a claim contains the text. */
  #contained(one: Closure, other: Closure, row: Row): Bound {
    const [term, column] = [this.#terms.term(one), this.#lookup.column(other)];
    const isText = column?.row === row && column.type === "text";
    return column && isText && term?.type === "jsonb" ? this.#boundTo(term, column) : NOTHING;
  }

  /** `column = ANY (list)`, `caller = ANY (column)` */
  #listed({ left, array }: Expression & { kind: "any" }, { place, row }: { place: Place; row: Row }): Bound {
    if (array.kind === "array") {
      const equals = array.items.map((right): Expression => ({ kind: "operation", operator: "=", left, right }));
      return equals.map((expression) => this.#bound({ expression, place }, row)).reduce(either, "any");
    }
    const [one, many] = [left, array].map((expression) => ({ expression, place })) as [Closure, Closure];
    const column = this.#lookup.column(one);
    return column?.row === row ? this.#inList(column, many) : this.#inColumn(one, many, row);
  }

  #inList(column: Column, many: Closure): Bound {
    const list = this.#terms.term(many);
    const element = list?.isList ? (elementOf(list.type) ?? list.type) : undefined;
    // The separator may be a part of a text or of an enum's label, but of no number or UUID.
    const isExact =
      element !== undefined &&
      areComparable(column.type, element) &&
      (!list?.isSplit || areComparable(column.type, "int8") || areComparable(column.type, "uuid"));
    if (list && isExact) return this.#boundTo(list, column);
    const selected = this.#lookup.selected(many);
    return selected ? this.#member(column.row, column, selected) : NOTHING;
  }

  #inColumn(one: Closure, many: Closure, row: Row): Bound {
    const members = this.#lookup.column(many);
    const [term, element] = [this.#terms.term(one), members && elementOf(members.type)];
    if (!term || term.isList) return NOTHING;
    const selected = members ? undefined : this.#lookup.selected(many);
    if (selected) return this.#memberOfCaller(row, term, selected);
    if (members?.row !== row || element === undefined) return NOTHING;
    return areComparable(element, term.type) ? this.#boundTo(term, members) : NOTHING;
  }

  /** `caller IN (SELECT person FROM members WHERE …)` */
  #memberOfCaller(row: Row, term: Term, { select, place }: { select: Select; place: Place }): Bound {
    const [target] = select.targets;
    const inner = this.#lookup.scopeOf(select, place);
    if (!inner || target === undefined || target === "*") return NOTHING;
    const at = within(inner, place);
    const column = this.#lookup.column({ expression: target, place: at });
    if (!column || !areComparable(column.type, term.type)) return NOTHING;
    const caller = { row: column.row, bound: boundBy(column.name, [term.atom]) };
    return this.#reached(row, { inner, at, select, caller }, new Set([row]));
  }

  #subqueried({ select, as }: Expression & { kind: "subquery" }, { place, row }: { place: Place; row: Row }): Bound {
    if (this.#lookup.mayAggregate(select, place)) return NOTHING;
    const [target] = select.targets;
    const isValue = as === "value" && target !== undefined && target !== "*";
    if (select.sources.length > 0) {
      const member = this.#member(row, undefined, { select, place });
      const inner = isValue ? this.#lookup.scopeOf(select, place) : undefined;
      return inner && isValue
        ? both(member, this.#bound({ expression: target, place: within(inner, place) }, row))
        : member;
    }
    const conditions = select.conditions.map((each) => this.#bound({ expression: each, place }, row));
    const own = isValue ? this.#bound({ expression: target, place }, row) : NOTHING;
    return conditions.reduce(both, own);
  }

  #called(call: Expression & { kind: "call" }, { place, row }: { place: Place; row: Row }): Bound {
    if (isBuiltIn(call.name, "coalesce"))
      return call.args.map((each) => this.#bound({ expression: each, place }, row)).reduce(either, "any");
    const body = this.#lookup.inlined({ expression: call, place });
    return body ? this.#bound(body, row) : NOTHING;
  }

  /** The atoms of a row for which a subquery finds rows. `column` is the one that is equal to what the subquery selects. */
  #member(row: Row, column: Column | undefined, { select, place }: { select: Select; place: Place }): Bound {
    const inner = this.#lookup.scopeOf(select, place);
    if (!inner) return NOTHING;
    const at = within(inner, place);
    const [target] = select.targets;
    const joined =
      column && target !== undefined && target !== "*"
        ? [{ one: column, other: this.#lookup.column({ expression: target, place: at }) }]
        : [];
    return this.#reached(row, { inner, at, select, joined }, new Set([row]));
  }

  /** The atoms of a row, and of those that it leads to in a subquery. */
  #reached(row: Row, query: Query, seen: Set<Row>): Bound {
    const { inner, at, select, joined = [] } = query;
    const conditions = select.conditions.flatMap(conjunctsOf);
    let bound: Bound = NOTHING;
    if (inner.rows.includes(row)) {
      if (query.caller?.row === row) bound = query.caller.bound;
      for (const expression of conditions) bound = both(bound, this.#bound({ expression, place: at }, row));
      // Row-level security applies to what the caller reads, but not within a function that runs as its owner.
      if (!at.asOwner) bound = both(bound, this.#tables.readsBound(row.relation));
    }
    const pairs = conditions.flatMap((each) => this.#pairOf(each, at));
    for (const { one, other } of [...joined, ...pairs]) {
      const [from, to] = one.row === row ? [one, other] : [other, one];
      if (from?.row !== row || !to || !inner.rows.includes(to.row) || seen.has(to.row)) continue;
      if (!areComparable(from.type, to.type)) continue;
      seen.add(to.row);
      const beyond = this.#reached(to.row, query, seen);
      bound = both(bound, this.#trusted(from, to, beyond));
    }
    return bound;
  }

  /** Two columns that a condition compares. */
  #pairOf(expression: Expression, place: Place): { one: Column; other: Column }[] {
    if (expression.kind !== "operation" || expression.operator !== "=") return [];
    const one = this.#lookup.column({ expression: expression.left, place });
    const other = this.#lookup.column({ expression: expression.right, place });
    return one && other && one.row !== other.row ? [{ one, other }] : [];
  }

  /** Of what is known of a row in a subquery, what queries cannot change to their advantage. */
  #trusted(from: Column, to: Column, beyond: Bound): Bound {
    const table = to.row.relation;
    if (isUnbound(beyond)) return NOTHING;
    if (!this.#tables.isWritable(table)) return this.#linked(beyond, from, to);
    if (this.#isForeignKey(from, to)) {
      const written = this.#tables.writesBound(table);
      const held = either(beyond, written);
      if (!isUnbound(held)) return this.#linked(held, from, to);
    }
    const via = { table: from.row.relation, column: from.name, parentColumn: to.name };
    this.#noted.problems.push({ kind: "writable", table, via });
    return NOTHING;
  }

  #linked(bound: Bound, { row, name }: Column, to: Column): Bound {
    if (row === this.#noted.row) this.#noted.links.add(`${name} ${to.row.relation.oid}`);
    return bound === "any" ? bound : boundBy(name, bound.values());
  }

  /** Whether a foreign key guarantees that the row exists that a row names, and no other can take its place. */
  #isForeignKey(from: Column, to: Column): boolean {
    const { relations, foreignKeys } = this.#catalogue;
    const child = from.row.relation;
    // Keys and unique columns do not reach the children of a table, other than its partitions.
    const hasChildren = [child, to.row.relation].some(
      ({ kind, oid }) => kind === "r" && relations.some(({ parents }) => parents.includes(oid)),
    );
    return (
      !hasChildren &&
      foreignKeys.some(
        ({ table, parent, columns, parentColumns, strict }) =>
          strict &&
          table === child.oid &&
          parent === to.row.relation.oid &&
          columns.length === 1 &&
          columns[0] === from.name &&
          parentColumns[0] === to.name,
      )
    );
  }
}

/** Operators of PostgreSQL whose functions read nothing but their arguments. */
const ORDINARY = /^(?:[-+*/%=<>]|<>|!=|<=|>=|\|\||->>?|#>>?|@>|<@|&&|\?[|&]?|!?~~?\*?)$/;

const noteOf = (row: Row | undefined) => ({
  ...{ row, problems: [] as Problem[], columns: new Set<string>(), links: new Set<string>() },
  constants: new Map<string, string>(),
});

const conjunctsOf = (expression: Expression): Expression[] =>
  expression.kind === "and" ? expression.parts.flatMap(conjunctsOf) : [expression];
