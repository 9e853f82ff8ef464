/** The exact forms of policies: what binds a row to the caller. Everything else binds nothing. */
import type { Catalogue, Policy, Relation, Routine } from "../catalogue.ts";
import { Links } from "./links.ts";
import {
  type Caller,
  DEPTH_MAX,
  isOperatorOfPostgres,
  type Scope,
  SUBLINKS,
  setsOnlyPath,
  type Term,
  Terms,
} from "./terms.ts";
import { type Node, nodeOf, readTree, TYPES, UnknownTree, usesOf } from "./tree.ts";

/** What ties a row to a caller: how a place, such as a column, is related to it. An environment is tied to the claim that names it. */
export type Bound = { place: string; how: string; caller: Caller };
/** What a condition requires: each of these bounds. Those with one key tie each row to the same callers. */
export type Reading = ReadonlyMap<string, Bound>;

const [EQUAL, ELEMENT, ENVIRONMENT] = ["=", "in", "is the environment of"];
/** Whether the caller is a list, of which one element is the row's. */
export const isList = ({ how }: Bound): boolean => how === ELEMENT;
/** What ties rows to callers. */
export const boundsIn = (reading: Reading): Bound[] => [...reading.values()].filter(({ how }) => how !== ENVIRONMENT);

/** Whether a condition names the environment of a setting. */
export const isPinned = (reading: Reading, setting: string): boolean =>
  [...reading.values()].some(({ how, caller }) => how === ENVIRONMENT && caller[0]?.setting === setting);

const NOTHING: Reading = new Map();
/** How many bounds of a table are kept. Fewer bind less. */
const BOUNDS_MAX = 100;

/** What two conditions require, joined with AND. */
const both = (one: Reading, other: Reading): Reading => new Map([...one, ...other]);

/** What all of several conditions require, joined with OR. */
export const either = ([first = NOTHING, ...rest]: readonly Reading[]): Reading =>
  new Map([...first].filter(([key]) => rest.every((each) => each.has(key))));

/** What binds a place to a caller, if an expression is that place, and another one that caller. */
const boundBy = (place: string | undefined, how: string, caller: Caller | undefined): Reading =>
  place === undefined || !caller ? NOTHING : new Map([[JSON.stringify([place, how, caller]), { place, how, caller }]]);

/** What is compared with a value, or with the elements of an array. */
type Compared = { term: Term; isArray: boolean };

const JSON_ELEMENTS = new Set([3465, 3969]);
const JSONB_EXISTS = 4047;
const STRING_TO_ARRAY = 394;
/** Arrays of int2, int4, int8 and uuid. A text may contain a comma. */
const LISTS = new Set([1005, 1007, 1016, 2951]);

/** The parts of a condition that must all be true. */
const conjunctsOf = (node: Node | undefined): Node[] => {
  if (node?.tag === "BOOLEXPR" && node.word("boolop") === "and") return node.nodes("args").flatMap(conjunctsOf);
  return node ? [node] : [];
};

const isFalse = (node: Node | undefined): boolean => {
  const bytes = node?.tag === "CONST" && node.number("consttype") === TYPES.boolean && node.fields.get("constvalue");
  return bytes instanceof Uint8Array && bytes[0] === 0;
};

export class Forms {
  readonly #catalogue: Catalogue;
  readonly #terms: Terms;
  readonly #isAccepted: (object: string) => boolean;
  /** What tables require, by table, role and depth: several keys into one table multiply what is read. */
  readonly #tables = new Map<string, Reading>();

  /** @param isAccepted whether a person has judged a policy, which then counts as exact */
  constructor(catalogue: Catalogue, isAccepted: (object: string) => boolean) {
    this.#catalogue = catalogue;
    this.#terms = new Terms(catalogue);
    this.#isAccepted = isAccepted;
  }

  /** What the policies of a table require of each row that a role reads. */
  tableReading(relation: Relation, role: number, depth = 0): Reading {
    const isOpen = ({ permissive, roles, object }: Policy) =>
      permissive && roles.includes(role) && !this.#isAccepted(object);
    const policies = relation.enabled ? relation.policies.filter(isOpen) : [];
    const key = `${relation.oid} ${role} ${depth}`;
    const read = () => either(policies.map((policy) => this.rowsReading(relation, policy, role, depth)));
    const reading = this.#tables.get(key) ?? new Map([...read()].slice(0, BOUNDS_MAX));
    this.#tables.set(key, reading);
    return reading;
  }

  /** What is required of the rows that a permissive policy shows: by it, and by all restrictive ones. */
  rowsReading(relation: Relation, policy: Policy, role: number, depth = 0): Reading {
    const restrictive = relation.policies.filter(({ permissive, roles }) => !permissive && roles.includes(role));
    return [policy, ...restrictive].map((each) => this.policyReading(relation, each, role, depth)).reduce(both);
  }

  /** What one policy requires by itself. */
  policyReading(relation: Relation, { tree }: Policy, role: number, depth = 0): Reading {
    return this.#read(nodeOf(tree), { frames: [{ id: "row", relation }], args: [], role, depth });
  }

  /** Why a stored expression is not known: a node of another kind, or a call of a function that is not as safe as the others. */
  problemIn(tree: string | null): string | undefined {
    if (tree === null) return "it cannot be read";
    try {
      const functions = [...usesOf(readTree(tree)).functions];
      return functions.some((oid) => this.#catalogue.volatile.has(oid) && this.#terms.isOwnOfPostgres(oid))
        ? "it calls a function that can change a setting, run a text as SQL, or answer as it likes"
        : undefined;
    } catch (error) {
      if (error instanceof UnknownTree) return error.message;
      throw error;
    }
  }

  /** Whether a function in reach shows no more than a query with the same words would. */
  isSafe(routine: Routine): boolean {
    const { tree, leakproof, definer, isPart } = routine;
    if (definer || leakproof || isPart || !setsOnlyPath(routine) || this.isFalselyImmutable(routine)) return false;
    return this.#terms.supabaseCaller(routine) !== undefined || this.problemIn(tree) === undefined;
  }

  /** Whether PostgreSQL may keep the result of a function that depends on the caller: in an index, or in a plan. */
  isFalselyImmutable(routine: Routine): boolean {
    const { immutable, kind, tree } = routine;
    if (!immutable || kind === "a") return false;
    if (tree === null) return this.#terms.supabaseCaller(routine) !== undefined;
    const isKnown = this.problemIn(tree) === undefined;
    return isKnown && [...usesOf(readTree(tree)).functions].some((oid) => this.#catalogue.mutable.has(oid));
  }

  #read(node: Node | undefined, scope: Scope): Reading {
    return (node && scope.depth <= DEPTH_MAX ? this.#readings[node.tag]?.(node, scope) : undefined) ?? NOTHING;
  }

  readonly #readings: Record<string, (node: Node, scope: Scope) => Reading | undefined> = {
    BOOLEXPR: (node, scope) => {
      const parts = node.nodes("args").map((each) => this.#read(each, scope));
      if (node.word("boolop") === "and") return parts.reduce(both);
      return node.word("boolop") === "or" ? either(parts) : NOTHING;
    },
    COALESCEEXPR: (node, scope) => {
      const [first, second] = node.nodes("args");
      return isFalse(second) ? this.#read(first, scope) : NOTHING;
    },
    BOOLEANTEST: (node, scope) => (node.word("booltesttype") === "0" ? this.#read(node.node("arg"), scope) : NOTHING),
    OPEXPR: (node, scope) => {
      const [left, right] = node.nodes("args");
      if (this.#terms.isEquality(node))
        return both(this.#readEquality(left, right, scope), this.#readEquality(right, left, scope));
      if (node.number("opfuncid") !== JSONB_EXISTS || !isOperatorOfPostgres(node)) return NOTHING;
      return boundBy(this.#terms.termOf(right, scope).place, ELEMENT, this.#terms.termOf(left, scope).caller);
    },
    SCALARARRAYOPEXPR: (node, scope) => {
      const [left, right] = node.nodes("args");
      if (node.word("useOr") !== "true" || !this.#terms.isEquality(node)) return NOTHING;
      const term = this.#terms.termOf(left, scope);
      const has = boundBy(this.#terms.termOf(right, scope).place, "has", term.caller);
      return both(has, this.#readValues(right, scope, { term, isArray: true }));
    },
    SUBLINK: (node, scope) => {
      const [query, test, type] = [node.node("subselect"), node.node("testexpr"), node.word("subLinkType")];
      if (type === SUBLINKS.exists) return this.#readQuery(query, scope);
      if (type === SUBLINKS.any && test?.tag === "OPEXPR" && this.#terms.isEquality(test)) {
        const [left, right] = test.nodes("args");
        if (right?.tag !== "PARAM" || right.word("paramkind") !== "2") return NOTHING;
        return this.#readQuery(query, scope, { term: this.#terms.termOf(left, scope), isArray: false });
      }
      const expression = type === SUBLINKS.value ? query?.expression : undefined;
      return query && this.#read(expression, this.#terms.within(query, scope));
    },
    FUNCEXPR: (node, scope) => this.#terms.inBody(node, scope, (body, inner) => this.#read(body.expression, inner)),
  };

  /** What follows from a caller, or a column, being equal to something. */
  #readEquality(one: Node | undefined, other: Node | undefined, scope: Scope): Reading {
    const [term, { place, text }] = [this.#terms.termOf(one, scope), this.#terms.termOf(other, scope)];
    if (term.place !== undefined) return this.#readValues(other, scope, { term, isArray: false });
    const [source, ...more] = term.caller ?? [];
    const name = place ?? (text?.includes("/") ? JSON.stringify(text) : undefined);
    const environment = source?.path.join() === "aud" && more.length === 0 ? term.caller : undefined;
    return both(boundBy(place, EQUAL, term.caller), boundBy(name, ENVIRONMENT, environment));
  }

  /** What follows from a term being equal to a value, or to an element of an array: one of the caller, of a query, or of a function. */
  #readValues(node: Node | undefined, scope: Scope, compared: Compared): Reading {
    if (!node) return NOTHING;
    const { term, isArray } = compared;
    const list = isArray ? this.#arrayOf(node, scope) : this.#elementsOf(node, scope);
    if (list) return boundBy(term.place, ELEMENT, list);
    const [query, type] = [node.node("subselect"), node.tag === "SUBLINK" && node.word("subLinkType")];
    if (type === SUBLINKS.value) return this.#readQuery(query, scope, compared);
    if (type === SUBLINKS.array && isArray) return this.#readQuery(query, scope, { term, isArray: false });
    return this.#terms.inBody(node, scope, (body, inner) => this.#readQuery(body, inner, compared)) ?? NOTHING;
  }

  /** The caller in `jsonb_array_elements_text(<caller>)`. */
  #elementsOf(node: Node, scope: Scope): Caller | undefined {
    const isCall = node.tag === "FUNCEXPR" && JSON_ELEMENTS.has(node.number("funcid"));
    return isCall ? this.#terms.termOf(node.nodes("args")[0], scope).caller : undefined;
  }

  /** The caller in `string_to_array(<caller>, ',')`, cast to integers or uuids. */
  #arrayOf(node: Node, scope: Scope): Caller | undefined {
    const [call, element] = [node.node("arg"), node.node("elemexpr")];
    const isCast = element?.tag === "COERCEVIAIO" && element.node("arg")?.tag === "CASETESTEXPR";
    if (node.tag !== "ARRAYCOERCEEXPR" || !LISTS.has(node.number("resulttype")) || !isCast) return undefined;
    if (call?.tag !== "FUNCEXPR" || call.number("funcid") !== STRING_TO_ARRAY) return undefined;
    const [list, separator] = call.nodes("args").map((each) => this.#terms.termOf(each, scope));
    return separator?.text === "," ? list?.caller : undefined;
  }

  /** The rows of a query, of which one must be equal to a term, or must exist. */
  #readQuery(query: Node | undefined, scope: Scope, compared?: Compared): Reading {
    if (!query?.isPlainQuery || scope.depth > DEPTH_MAX) return NOTHING;
    const inner = this.#terms.within(query, scope);
    const values = compared && this.#valuesIn(query);
    if (values) return this.#readValues(values, inner, compared);
    return compared?.isArray ? NOTHING : this.#readTables(query, inner, compared?.term);
  }

  /** What a query without tables and conditions returns: `SELECT x`, or `SELECT x FROM f() x`. */
  #valuesIn(query: Node): Node | undefined {
    const target = this.#terms.uncast(query.target);
    if (!target || query.hasCondition) return undefined;
    if (!query.hasTables) return target;
    const [table, ...more] = query.nodes("rtable");
    const [call] = table && table.word("rtekind") === "3" && more.length === 0 ? table.nodes("functions") : [];
    const isColumn = target.tag === "VAR" && target.word("varattno") === "1" && target.word("varlevelsup") === "0";
    return isColumn ? call?.node("funcexpr") : undefined;
  }

  /** Tables, joined by equalities with the row and with the caller. */
  #readTables(query: Node, scope: Scope, term: Term = {}): Reading {
    const conditions: Node[] = [];
    const { id = "", tables: entries = [] } = scope.frames[0] ?? {};
    const tables = entries.map((entry) => this.#terms.tableOf(entry));
    const isTableOrJoin = (entry: Node, index: number) =>
      entry.lacks("tablesample") && (tables[index] !== undefined || entry.word("rtekind") === "2");
    const isInner = collectConditions(query.node("jointree"), conditions);
    if (entries.length === 0 || !isInner || !entries.every(isTableOrJoin)) return NOTHING;

    const links = new Links(id);
    links.join(this.#terms.termOf(query.target, scope), term);
    for (const condition of conditions)
      if (condition.tag === "OPEXPR" && this.#terms.isEquality(condition))
        links.join(...condition.nodes("args").map((each) => this.#terms.termOf(each, scope)));

    const path = links.pathOf(tables);
    const members = links
      .outerPlaces()
      .flatMap((place) => links.callersOf(place).map((caller) => boundBy(place, `by ${path} of`, caller)));
    const references = this.#referencesIn(tables, links, scope).map(({ place, table }) => {
      const own = [...this.tableReading(table, scope.role, scope.depth + 1)].map(([key, bound]) =>
        bound.how === ENVIRONMENT
          ? new Map([[`${place} by ${path} of ${key}`, bound]])
          : boundBy(place, `by ${path} of ${key} of`, bound.caller),
      );
      return own.reduce(both, NOTHING);
    });
    return [...members, ...references].reduce(both, NOTHING);
  }

  /** The columns of the row's foreign keys, all of whose columns are compared, and the tables of a query that they reference. */
  #referencesIn(tables: readonly (Relation | undefined)[], links: Links, { frames: [query, row] }: Scope) {
    return tables.flatMap((table, index) => {
      // A child of a table may repeat its keys.
      if (!table || table.hasChildren) return [];
      const columnOf = (number: number | undefined) => `${query?.id}.${index + 1}.${number}`;
      const keys = this.#catalogue.foreignKeys.filter(
        ({ table: referencing, parent, columns, parentColumns }) =>
          referencing === row?.relation?.oid &&
          parent === table.oid &&
          columns.every((column, position) => links.areEqual(`row.${column}`, columnOf(parentColumns[position]))),
      );
      return keys.flatMap(({ columns }) => columns.map((column) => ({ place: `row.${column}`, table })));
    });
  }
}

/** Collects the conditions of inner joins and of WHERE. Returns whether there is no other join. */
function collectConditions(node: Node | undefined, conditions: Node[]): boolean {
  if (!node || node.tag === "RANGETBLREF") return true;
  if (node.tag !== "FROMEXPR" && (node.tag !== "JOINEXPR" || node.word("jointype") !== "0")) return false;
  conditions.push(...conjunctsOf(node.node("quals")));
  const joined = [...node.nodes("fromlist"), node.node("larg"), node.node("rarg")];
  return joined.every((each) => collectConditions(each, conditions));
}
