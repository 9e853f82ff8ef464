/**
 * Finds out to which callers a condition binds a row. It knows a few forms, and gives nothing for any other: a column that is equal to
 * what identifies the caller, a list of that, and rows that lead to such a row in a table that queries cannot change.
 */

import {
  type Catalogue,
  type CatalogueType,
  isPathSafe,
  type Policy,
  type Relation,
  type StoredFunction,
} from "../catalogue.ts";
import { type Atom, type Atoms, boundBy, partOf } from "./atoms.ts";
import { parseBody, parseExpression } from "./sql-parser.ts";
import { Unreadable } from "./sql-tokens.ts";
import { childrenOf, type Expression, type Select, type TypeName } from "./sql-tree.ts";
import { areComparable, elementOf, isInjective, type KnownType, keepsApart, knownType } from "./types.ts";

/** The atoms to which a row is bound; `"any"` for what no row fulfils. */
export type Bound = Atoms | "any";

const NOTHING: Atoms = new Map();

export const both = (one: Bound, other: Bound): Bound =>
  one === "any" || other === "any" ? "any" : new Map([...one, ...other]);

export const either = (one: Bound, other: Bound): Bound => {
  if (one === "any") return other;
  return other === "any" ? one : new Map([...one].filter(([key]) => other.has(key)));
};

/** A row of a table in a condition: that of the policy, or one of a subquery. */
type Row = { alias: string; relation: Relation };

/** A name in a subquery that stands for what a function returns. */
type Value = { names: string[][]; closure: Closure };

type Scope = { rows: Row[]; values: Value[] };

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

/** Where names are looked up. */
type Place = {
  scopes: Scope[];
  /** The function whose body is read, and what it was called with. */
  called: { stored: StoredFunction; args: Closure[] } | undefined;
  /** Whether it runs as the owner of a function, who sees other rows. */
  asOwner: boolean;
  /** Calls of functions within functions. */
  depth: number;
  /** A text by which a role of its own is known, in a policy for this role alone. */
  ofOneRole: boolean;
};

/** An expression with the place in which its names are looked up. */
type Closure = { expression: Expression; place: Place };

/** What identifies the caller, or a list of it. */
type Term = { atom: Atom; type: KnownType; isList: boolean; isSplit?: true };

/** Why a known form is not exact after all. */
export type Problem =
  | { kind: "temporary"; stored: StoredFunction; table: Relation }
  | { kind: "writable"; table: Relation; via: { table: Relation; column: string; parentColumn: string } };

/** What is known of a condition of a policy. */
export type Judged = {
  bound: Bound;
  problems: Problem[];
  /** The columns of its table that are compared with the caller. */
  columns: ReadonlySet<string>;
  /** The columns that lead to a row of a table, which belongs to the caller: `column table-oid`. */
  links: ReadonlySet<string>;
};

const DEPTH_MAX = 10;
const UNKNOWN_TYPE: CatalogueType = { schema: "", name: "", array: false };

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
  /** What is noted about the condition that is read. */
  #noted: { row: Row | undefined; problems: Problem[]; columns: Set<string>; links: Set<string> } = noteOf(undefined);

  constructor(catalogue: Catalogue, tables: Tables) {
    this.#catalogue = catalogue;
    this.#tables = tables;
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
    const body = stored.searchPath === null && stored.parsedBody === null ? undefined : this.#body(stored);
    return body !== undefined && this.#isOwn({ expression: body, place });
  }

  /** Whether an expression shows of tables only rows that are bound to the caller. */
  #isOwn({ expression, place }: Closure): boolean {
    if (this.#term({ expression, place })) return true;
    if (expression.kind === "cast") return this.#isOwn({ expression: expression.of, place });
    if (expression.kind !== "subquery") return false;
    const { select } = expression;
    if (select.sources.length === 0)
      return (
        select.conditions.length === 0 &&
        select.targets.every((target) => target !== "*" && this.#isOwn({ expression: target, place }))
      );
    const inner = this.#entered(select, place);
    if (!inner || inner.values.length > 0) return false;
    const at = within(inner, place);
    return inner.rows.every((row) => {
      const bound = this.#reached(row, { inner, at, select }, new Set([row]));
      return bound === "any" || bound.size > 0;
    });
  }

  /** Whether a policy calls a function that may write, and that was not understood. */
  #callsUnknown({ functions, callsVolatile }: Policy): boolean {
    const called = this.#catalogue.functions.filter(({ oid }) => functions.includes(oid));
    return callsVolatile || called.some((stored) => stored.isVolatile && !this.#isPure(stored, 0));
  }

  /** Whether a function does nothing but read. */
  #isPure(stored: StoredFunction, depth: number): boolean {
    const body = depth < DEPTH_MAX ? this.#body(stored) : undefined;
    return body !== undefined && this.#callsPure(body, stored, depth);
  }

  #callsPure(expression: Expression, within: StoredFunction, depth: number): boolean {
    if (expression.kind === "opaque") return false;
    if (expression.kind === "call") {
      const place = { scopes: [], called: { stored: within, args: [] }, asOwner: false, depth, ofOneRole: false };
      const stored = this.#function(expression, place);
      if (
        stored ? !this.#isPure(stored, depth + 1) : !PURE.some((name) => this.#isBuiltIn(expression.name, name, place))
      )
        return false;
    }
    return childrenOf(expression).every((each) => this.#callsPure(each, within, depth));
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
    const column = this.#column(one);
    if (column?.row !== row) return NOTHING;
    const term = this.#term(other);
    if (term && !term.isList && areComparable(column.type, term.type)) return this.#boundTo(term, column);
    const isOfRole = other.place.ofOneRole && this.#constant(other) !== undefined;
    if (isOfRole && areComparable(column.type, column.type))
      return boundBy(column.name, [{ kind: "user", of: "current" }]);
    const selected = this.#selected(other);
    return selected ? this.#member(row, column, selected) : NOTHING;
  }

  #boundTo({ atom }: Term, { row, name }: Column): Bound {
    if (row === this.#noted.row) this.#noted.columns.add(name);
    return boundBy(name, [atom]);
  }

  /** `json ? column`: the array in a claim contains the text. */
  #contained(one: Closure, other: Closure, row: Row): Bound {
    const [term, column] = [this.#term(one), this.#column(other)];
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
    const column = this.#column(one);
    return column?.row === row ? this.#inList(column, many) : this.#inColumn(one, many, row);
  }

  #inList(column: Column, many: Closure): Bound {
    const list = this.#term(many);
    const element = list?.isList ? (elementOf(list.type) ?? list.type) : undefined;
    // The separator may be a part of a text, but of no number or UUID.
    const isExact =
      element !== undefined &&
      areComparable(column.type, element) &&
      !(list?.isSplit && areComparable(column.type, "text"));
    if (list && isExact) return this.#boundTo(list, column);
    const selected = this.#selected(many);
    return selected ? this.#member(column.row, column, selected) : NOTHING;
  }

  #inColumn(one: Closure, many: Closure, row: Row): Bound {
    const members = this.#column(many);
    const [term, element] = [this.#term(one), members && elementOf(members.type)];
    if (!term || term.isList) return NOTHING;
    const selected = members ? undefined : this.#selected(many);
    if (selected) return this.#memberOfCaller(row, term, selected);
    if (members?.row !== row || element === undefined) return NOTHING;
    return areComparable(element, term.type) ? this.#boundTo(term, members) : NOTHING;
  }

  /** `caller IN (SELECT person FROM members WHERE …)` */
  #memberOfCaller(row: Row, term: Term, { select, place }: { select: Select; place: Place }): Bound {
    const [target] = select.targets;
    const inner = this.#entered(select, place);
    if (!inner || target === undefined || target === "*") return NOTHING;
    const at = within(inner, place);
    const column = this.#column({ expression: target, place: at });
    if (!column || !areComparable(column.type, term.type)) return NOTHING;
    const caller = { row: column.row, bound: boundBy(column.name, [term.atom]) };
    return this.#reached(row, { inner, at, select, caller }, new Set([row]));
  }

  #subqueried({ select, as }: Expression & { kind: "subquery" }, { place, row }: { place: Place; row: Row }): Bound {
    if (this.#mayAggregate(select, place)) return NOTHING;
    const [target] = select.targets;
    const isValue = as === "value" && target !== undefined && target !== "*";
    if (select.sources.length > 0) {
      const member = this.#member(row, undefined, { select, place });
      const inner = isValue ? this.#entered(select, place) : undefined;
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
    const body = this.#inlined({ expression: call, place });
    return body ? this.#bound(body, row) : NOTHING;
  }

  /** The atoms of a row for which a subquery finds rows. `column` is the one that is equal to what the subquery selects. */
  #member(row: Row, column: Column | undefined, { select, place }: { select: Select; place: Place }): Bound {
    const inner = this.#entered(select, place);
    if (!inner) return NOTHING;
    const at = within(inner, place);
    const [target] = select.targets;
    const joined =
      column && target !== undefined && target !== "*"
        ? [{ one: column, other: this.#column({ expression: target, place: at }) }]
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
    const one = this.#column({ expression: expression.left, place });
    const other = this.#column({ expression: expression.right, place });
    return one && other && one.row !== other.row ? [{ one, other }] : [];
  }

  /** Of what is known of a row in a subquery, what queries cannot change to their advantage. */
  #trusted(from: Column, to: Column, beyond: Bound): Bound {
    const table = to.row.relation;
    if (beyond !== "any" && beyond.size === 0) return NOTHING;
    if (!this.#tables.isWritable(table)) return this.#linked(beyond, from, to);
    if (this.#isForeignKey(from, to)) {
      const written = this.#tables.writesBound(table);
      const held = either(beyond, written);
      if (held === "any" || held.size > 0) return this.#linked(held, from, to);
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

  /** Whether a subquery may select an aggregate, which is one row even if the conditions find none. */
  #mayAggregate({ targets }: Select, place: Place): boolean {
    return targets.some((target) => target !== "*" && this.#hasUnknown(target, place));
  }

  #hasUnknown(expression: Expression, place: Place): boolean {
    if (expression.kind === "opaque") return true;
    const isUnknown =
      expression.kind === "call" &&
      !PURE.some((name) => this.#isBuiltIn(expression.name, name, place)) &&
      !this.#inlined({ expression, place });
    return isUnknown || childrenOf(expression).some((each) => this.#hasUnknown(each, place));
  }

  /** The rows that a subquery reads; `undefined` for what is no table, and for an aggregate. */
  #entered(select: Select, place: Place): Scope | undefined {
    if (this.#mayAggregate(select, place)) return undefined;
    const scope: Scope = { rows: [], values: [] };
    for (const source of select.sources) {
      if (source.kind === "table") {
        const relation = this.#relation(source.path, place);
        if (!relation) return undefined;
        scope.rows.push({ alias: source.alias, relation });
      } else {
        const { alias, column, call } = source;
        const names = [alias, "value", ...(column === undefined ? [] : [column])];
        const closure = { expression: call, place };
        scope.values.push({ names: names.flatMap((name) => [[name], [alias, name]]), closure });
      }
    }
    return scope;
  }

  #relation(path: readonly string[], place: Place): Relation | undefined {
    const [name, schema] = path.toReversed();
    const { relations, mayCreateTemporary } = this.#catalogue;
    const found = relations.filter((each) => each.name === name && (schema === undefined || each.schema === schema));
    const stored = place.called?.stored;
    const searched = schema === undefined ? stored?.searchPath : null;
    const [table] = searched ? searched.flatMap((each) => found.filter((one) => one.schema === each)) : found;
    if (!table || !"rp".includes(table.kind) || (!searched && found.length !== 1)) return undefined;
    if (schema === undefined && stored?.parsedBody === null && mayCreateTemporary && searched?.at(-1) !== "pg_temp") {
      this.#noted.problems.push({ kind: "temporary", stored, table });
      return undefined;
    }
    return table;
  }

  /** The subquery by which an expression gets its value, perhaps in the body of a function. */
  #selected({ expression, place }: Closure): { select: Select; place: Place } | undefined {
    if (expression.kind === "cast") return this.#selected({ expression: expression.of, place });
    if (expression.kind === "call") {
      const body = this.#inlined({ expression, place });
      return body && this.#selected(body);
    }
    if (expression.kind !== "subquery" || expression.as === "exists") return undefined;
    const { select } = expression;
    const [target] = select.targets;
    const [source] = select.sources;
    if (select.sources.length === 1 && source?.kind === "call" && select.conditions.length === 0)
      return this.#selected({ expression: source.call, place });
    if (select.sources.length > 0) return { select, place };
    return target === undefined || target === "*" ? undefined : this.#selected({ expression: target, place });
  }

  /** The body of a function that a call names, with its arguments. */
  #inlined({ expression, place }: Closure): Closure | undefined {
    if (expression.kind !== "call" || place.depth >= DEPTH_MAX) return undefined;
    const stored = this.#function(expression, place);
    const body = stored && this.#body(stored);
    if (!stored || !body) return undefined;
    const args = expression.args.map((of, index): Closure => {
      const type = { ...(stored.argTypes[index] ?? UNKNOWN_TYPE), limited: false };
      return { expression: { kind: "cast", of, type }, place };
    });
    const [asOwner, depth] = [place.asOwner || stored.definer, place.depth + 1];
    return { expression: body, place: { scopes: [], called: { stored, args }, asOwner, depth, ofOneRole: false } };
  }

  #function({ name, args }: Expression & { kind: "call" }, place: Place): StoredFunction | undefined {
    const [last, schema] = name.toReversed();
    const found = this.#catalogue.functions.filter(
      (each) =>
        each.name === last && (schema === undefined || each.schema === schema) && each.argTypes.length === args.length,
    );
    // What PostgreSQL writes back without a schema is its own.
    if (schema === undefined && place.called?.stored.parsedBody !== null) return undefined;
    return found.length === 1 ? found[0] : undefined;
  }

  /** The body of a function in SQL, or of one in PL/pgSQL that does nothing but return. */
  #body(stored: StoredFunction): Expression | undefined {
    if (!["sql", "plpgsql"].includes(stored.language) || stored.setsOthers) return undefined;
    const isSafe = stored.searchPath === null ? this.#catalogue.isPathSafe : isPathSafe(stored.searchPath);
    if (stored.parsedBody === null && !isSafe) return undefined;
    try {
      return parseBody(stored.parsedBody ?? stored.body);
    } catch (error) {
      if (error instanceof Unreadable) return undefined;
      throw error;
    }
  }

  /** What a name or a parameter stands for, if that is no column. */
  #meant({ expression, place }: Closure): Closure | undefined {
    if (expression.kind === "parameter") return place.called?.args[expression.place - 1];
    if (expression.kind !== "name") return undefined;
    for (const { rows, values } of place.scopes) {
      const value = values.find(({ names }) => names.some((name) => isSame(name, expression.path)));
      if (value) return value.closure;
      if (rows.some((row) => columnOf(row, expression.path) !== undefined)) return undefined;
    }
    const { stored, args } = place.called ?? {};
    const [name, of] = expression.path.toReversed();
    const isOwn = of === undefined || of === stored?.name;
    const at = isOwn && name !== "" ? (stored?.argNames.indexOf(name ?? "") ?? -1) : -1;
    return args?.[at];
  }

  #column({ expression, place }: Closure): Column | undefined {
    if (expression.kind === "bytes") return this.#textColumn({ expression: expression.of, place }, "bytes");
    if (expression.kind === "cast") {
      const column = this.#column({ expression: expression.of, place });
      if (!column && isText(expression.type)) return this.#textColumn({ expression: expression.of, place }, "cast");
      const type = knownType(expression.type, this.#catalogue.types);
      return column && type !== undefined && isInjective(column.type, type) ? { ...column, type } : undefined;
    }
    const meant = this.#meant({ expression, place });
    if (meant) return this.#column(meant);
    const named = this.#namedColumn({ expression, place });
    const type = named && this.#typeOf(named.row.relation, named.name);
    return named && type !== undefined ? { ...named, type } : undefined;
  }

  /** A column that folds or pads, such as one of citext, as a text of bytes. A cast keeps the column's collation. */
  #textColumn(closure: Closure, by: "bytes" | "cast"): Column | undefined {
    const column = this.#column(closure);
    if (column) return isInjective(column.type, "text") ? { ...column, type: "text" } : undefined;
    const meant = this.#meant(closure);
    if (meant) return this.#textColumn(meant, by);
    const { expression, place } = closure;
    if (expression.kind === "cast")
      return isText(expression.type) ? this.#textColumn({ expression: expression.of, place }, by) : undefined;
    const named = this.#namedColumn(closure);
    if (!named || (by === "cast" && named.row.relation.foldingCollations.includes(named.name))) return undefined;
    const type = named.row.relation.types[named.name];
    const isFolded = type !== undefined && !type.array && ["text", "varchar", "bpchar", "citext"].includes(type.name);
    return isFolded ? { ...named, type: "text" } : undefined;
  }

  #namedColumn({ expression, place }: Closure): { row: Row; name: string } | undefined {
    if (expression.kind !== "name") return undefined;
    for (const { rows } of place.scopes) {
      const found = rows.flatMap((row) => {
        const name = columnOf(row, expression.path);
        return name === undefined ? [] : [{ row, name }];
      });
      if (found.length > 0) return found.length === 1 ? found[0] : undefined;
    }
    return undefined;
  }

  #typeOf({ types, foldedColumns }: Relation, column: string): KnownType | undefined {
    const type = types[column];
    return type && !foldedColumns.includes(column) ? this.#known(type) : undefined;
  }

  #known(type: CatalogueType): KnownType | undefined {
    return knownType({ ...type, limited: false }, this.#catalogue.types);
  }

  /** The value of a constant, perhaps one with which a function was called. */
  #constant(closure: Closure): string | undefined {
    const { expression, place } = closure;
    if (expression.kind === "cast") return this.#constant({ expression: expression.of, place });
    if (expression.kind === "constant") return expression.value ?? undefined;
    const meant = this.#meant(closure);
    return meant && this.#constant(meant);
  }

  /** What identifies the caller. */
  #term({ expression, place }: Closure): Term | undefined {
    const of = (each: Expression): Term | undefined => this.#term({ expression: each, place });
    switch (expression.kind) {
      case "user":
        if (expression.of === "current" && place.asOwner) return undefined;
        return { atom: { kind: "user", of: expression.of }, type: "name", isList: false };
      case "cast": {
        const term = of(expression.of);
        return term && this.#cast(term, knownType(expression.type, this.#catalogue.types));
      }
      case "bytes":
        return of(expression.of);
      case "operation":
        return this.#memberOf(expression.operator, { expression: expression.right, place }, of(expression.left));
      case "subscript":
        return this.#memberOf("->", { expression: expression.index, place }, of(expression.of));
      case "subquery": {
        const { select, as } = expression;
        const [target] = select.targets;
        if (as === "exists" || target === undefined || target === "*" || select.targets.length > 1) return undefined;
        if (select.sources.some(({ kind }) => kind === "table")) return undefined;
        const inner = this.#entered(select, place);
        const term = inner && this.#term({ expression: target, place: within(inner, place) });
        return term && as === "list" ? { ...term, isList: true } : term;
      }
      case "call":
        return this.#callTerm(expression, place);
      default: {
        const meant = this.#meant({ expression, place });
        return meant && this.#term(meant);
      }
    }
  }

  #cast(term: Term, type: KnownType | undefined): Term | undefined {
    if (type === undefined || !keepsApart(term.type, type)) return undefined;
    return { ...term, type, isList: term.isList || elementOf(type) !== undefined };
  }

  /** `json -> 'key'`, `json ->> 'key'`, `json #>> '{a,b}'` */
  #memberOf(operator: string, right: Closure, term: Term | undefined): Term | undefined {
    const key = this.#constant(right);
    if (!term || key === undefined || !["json", "jsonb"].includes(term.type) || term.isList) return undefined;
    const isPath = operator === "#>" || operator === "#>>";
    if (!isPath && operator !== "->" && operator !== "->>") return undefined;
    if (isPath && !/^\{[\w,-]+\}$/.test(key)) return undefined;
    const atom = partOf(term.atom, isPath ? key.slice(1, -1).split(",") : [key]);
    return atom && { atom, type: operator.endsWith(">>") ? "text" : term.type, isList: false };
  }

  #callTerm(call: Expression & { kind: "call" }, place: Place): Term | undefined {
    const { args, name } = call;
    const [first, second] = args;
    const of = (each: Expression | undefined): Term | undefined => each && this.#term({ expression: each, place });
    if (this.#isBuiltIn(name, "current_setting", place)) {
      const setting = first && this.#constant({ expression: first, place })?.toLowerCase();
      // Others than those of the integrator have values that nobody has set.
      if (!setting?.includes(".")) return undefined;
      return { atom: { kind: "setting", name: setting, path: [] }, type: "text", isList: false };
    }
    if (isBuiltIn(name, "nullif"))
      return second && this.#constant({ expression: second, place }) !== undefined ? of(first) : undefined;
    if (isBuiltIn(name, "coalesce")) return firstOf(args.filter((each) => !isNull(each)).map(of));
    return this.#listTerm(call, place) ?? this.#ownTerm(call, place);
  }

  /** Functions of PostgreSQL that make a list of a text or of JSON, or take a part of it. */
  #listTerm({ args, name }: Expression & { kind: "call" }, place: Place): Term | undefined {
    const is = (...names: string[]) => names.some((each) => this.#isBuiltIn(name, each, place));
    const [first, ...rest] = args;
    const term = first && this.#term({ expression: first, place });
    if (!first || !term) return undefined;
    const keys = rest.map((each) => this.#constant({ expression: each, place }));
    if (is("json_extract_path_text", "jsonb_extract_path_text") && keys.every((key) => key !== undefined)) {
      const atom = partOf(term.atom, keys);
      return atom && { atom, type: "text", isList: false };
    }
    if (is("string_to_array") && rest.length === 1 && keys[0] && !term.isList && term.type === "text")
      return { ...term, type: "text[]", isList: true, isSplit: true };
    if (rest.length > 0) return undefined;
    if (is("json_array_elements_text", "jsonb_array_elements_text")) return { ...term, type: "text", isList: true };
    if (is("unnest") && term.isList) return { ...term, type: elementOf(term.type) ?? term.type };
    return undefined;
  }

  /** A function of the integrator that returns what identifies the caller. */
  #ownTerm(call: Expression & { kind: "call" }, place: Place): Term | undefined {
    const stored = this.#function(call, place);
    const body = this.#inlined({ expression: call, place });
    const term = body && this.#term(body);
    if (!stored || !term) return undefined;
    const made = this.#cast(term, this.#known(stored.returns));
    return made && stored.returnsSet ? { ...made, isList: true } : made;
  }

  /** In a body that PostgreSQL reads at each call, a function of the integrator could be meant. */
  #isBuiltIn(path: readonly string[], name: string, { called }: Place): boolean {
    if (!isBuiltIn(path, name)) return false;
    const isSure = path.length === 2 || called?.stored.parsedBody !== null;
    return isSure || !this.#catalogue.functions.some((each) => each.name === name);
  }
}

/** Functions of PostgreSQL that the prover knows, which only read. */
const PURE = [
  ...["current_setting", "nullif", "coalesce", "string_to_array", "unnest"],
  ...["json_extract_path_text", "jsonb_extract_path_text", "json_array_elements_text", "jsonb_array_elements_text"],
];

const noteOf = (row: Row | undefined) => ({
  ...{ row, problems: [] as Problem[], columns: new Set<string>(), links: new Set<string>() },
});

type Column = { row: Row; name: string; type: KnownType };

/** Whether a type is text without a limit, whose collation is the database's: that is never one that folds. */
const isText = ({ name, schema, limited, array }: TypeName): boolean =>
  ["text", "varchar"].includes(name) && (schema ?? "pg_catalog") === "pg_catalog" && !limited && !array;

const within = (inner: Scope, place: Place): Place => ({ ...place, scopes: [inner, ...place.scopes] });

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((part, index) => part === other[index]);

const isBuiltIn = (path: readonly string[], name: string): boolean =>
  path.at(-1) === name && (path.length === 1 || (path.length === 2 && path[0] === "pg_catalog"));

const conjunctsOf = (expression: Expression): Expression[] =>
  expression.kind === "and" ? expression.parts.flatMap(conjunctsOf) : [expression];

/** The column of a row that a path names. */
function columnOf({ alias, relation }: Row, path: readonly string[]): string | undefined {
  const [name = "", of] = path.toReversed();
  return path.length <= 2 && (of === undefined || of === alias) && relation.columns.includes(name) ? name : undefined;
}

const isNull = (expression: Expression): boolean =>
  expression.kind === "cast" ? isNull(expression.of) : expression.kind === "constant" && expression.value === null;

/** The first of several terms that has a value: each of them must identify the caller. */
function firstOf(terms: readonly (Term | undefined)[]): Term | undefined {
  const known = terms.filter((term) => term !== undefined);
  const [first] = known;
  const isUniform = known.length === terms.length && known.every(({ type, isList }) => type === first?.type && !isList);
  if (!first || !isUniform) return undefined;
  return known.length === 1 ? first : { ...first, atom: { kind: "first", of: known.map(({ atom }) => atom) } };
}
