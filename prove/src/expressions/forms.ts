/** The exact forms of policies: what binds a row to the caller. Everything else binds nothing. */
import type { Catalogue, Relation, Routine } from "../catalogue.ts";
import { Links } from "./links.ts";
import {
  ARRAYS,
  type Caller,
  DEPTH_MAX,
  expressionOf,
  hasCondition,
  hasTables,
  isPlainQuery,
  type Operand,
  type Scope,
  setsOnlyPath,
  Terms,
  targetOf,
} from "./terms.ts";
import { type Node, nodeOf, readTree, TYPES, UnknownTree, usesOf } from "./tree.ts";

/** What ties a row to a caller. Bounds with one id tie each row to the same callers. */
export type Bound = {
  id: string;
  caller: Caller;
  /** Whether the caller is a list, of which one element is the row's. */
  isList: boolean;
  /** The number of the column that is equal to the caller, if that is how. */
  column: number | undefined;
};
/** What a condition requires: each of these bounds, and for each of these settings the environment that stands behind it. */
export type Reading = { bounds: Map<string, Bound>; pins: Set<string> };

/** Whether a condition names the environment of a setting. */
export const isPinned = ({ pins }: Reading, setting: string): boolean =>
  [...pins].some((pin) => pin.startsWith(`${JSON.stringify(setting)} `));

const NOTHING: Reading = { bounds: new Map(), pins: new Set() };

/** What two conditions require, joined with AND. */
const both = (one: Reading, other: Reading): Reading => ({
  bounds: new Map([...one.bounds, ...other.bounds]),
  pins: new Set([...one.pins, ...other.pins]),
});

/** What all of several conditions require, joined with OR. */
export const either = ([first = NOTHING, ...rest]: readonly Reading[]): Reading => ({
  bounds: new Map([...first.bounds].filter(([id]) => rest.every(({ bounds }) => bounds.has(id)))),
  pins: new Set([...first.pins].filter((pin) => rest.every(({ pins }) => pins.has(pin)))),
});

function boundBy(place: string, how: string, caller: Caller): Reading {
  const id = `${place} ${how} ${JSON.stringify(caller)}`;
  const column = how === "=" && place.startsWith("row.") ? Number(place.slice(4)) : undefined;
  return { bounds: new Map([[id, { id, caller, isList: how === "in", column }]]), pins: new Set() };
}

const JSON_ELEMENTS = new Set([3465, 3969]);
const JSONB_EXISTS = 4047;
const STRING_TO_ARRAY = 394;
/** random(), clock_timestamp(), timeofday(), gen_random_uuid(). */
const HARMLESS_VOLATILE = new Set([1598, 2649, 274, 3432]);

/** The parts of a condition that must all be true. */
const conjunctsOf = (node: Node | undefined): Node[] => {
  if (node?.tag === "BOOLEXPR" && node.word("boolop") === "and") return node.nodes("args").flatMap(conjunctsOf);
  return node ? [node] : [];
};

const isFalse = (node: Node): boolean => {
  const bytes = node.tag === "CONST" && node.number("consttype") === 16 && node.fields.get("constvalue");
  return bytes instanceof Uint8Array && bytes[0] === 0;
};

export class Forms {
  readonly #catalogue: Catalogue;
  readonly #terms: Terms;
  readonly #isAccepted: (relation: Relation, policy: string) => boolean;

  /** @param isAccepted whether a person has judged a policy, which then counts as exact */
  constructor(catalogue: Catalogue, isAccepted: (relation: Relation, policy: string) => boolean) {
    this.#catalogue = catalogue;
    this.#terms = new Terms(catalogue);
    this.#isAccepted = isAccepted;
  }

  /** What the policies of a table require of a row that a role reads: all restrictive ones, and one of the permissive ones. */
  tableReading(relation: Relation, role: number, depth = 0): Reading {
    if (!relation.enabled) return NOTHING;
    const policies = this.#catalogue.policies.filter(
      (each) => each.relation === relation.oid && each.roles.includes(role),
    );
    const read = ({ tree }: { tree: string | null }) => this.policyReading(relation, tree, role, depth);
    const permissive = policies.filter((each) => each.permissive && !this.#isAccepted(relation, each.name));
    const restrictive = policies.filter((each) => !each.permissive);
    return restrictive.map(read).reduce(both, either(permissive.map(read)));
  }

  /** What one policy requires. */
  policyReading(relation: Relation, tree: string | null, role: number, depth = 0): Reading {
    const root = nodeOf(tree);
    return root ? this.#read(root, { frames: [{ id: "row", relation }], args: [], role, depth }) : NOTHING;
  }

  /** Why a stored expression is not known: a node of another kind, or a call of a function that is not as safe as the others. */
  problemIn(tree: string | null, { mayBeRandom }: { mayBeRandom: boolean }): string | undefined {
    if (tree === null) return "it cannot be read";
    try {
      const functions = [...usesOf(readTree(tree)).functions];
      const isRefused = (oid: number) =>
        this.#catalogue.volatile.has(oid) &&
        this.#terms.isOwnOfPostgres(oid) &&
        !(mayBeRandom && HARMLESS_VOLATILE.has(oid));
      return functions.some(isRefused)
        ? "it calls a function that can change a setting, run a text as SQL, or answer as it likes"
        : undefined;
    } catch (error) {
      if (error instanceof UnknownTree) return error.message;
      throw error;
    }
  }

  /** Whether a function in reach shows no more than a query with the same words would. @throws UnknownTree */
  isSafe(routine: Routine): boolean {
    const { tree, leakproof, definer, isPart } = routine;
    if (definer || leakproof || isPart || !setsOnlyPath(routine)) return false;
    const isKnown = this.#terms.supabaseCaller(routine) !== undefined;
    return isKnown || this.problemIn(tree, { mayBeRandom: true }) === undefined;
  }

  #read(node: Node, scope: Scope): Reading {
    return scope.depth > DEPTH_MAX ? NOTHING : (this.#readings[node.tag]?.(node, scope) ?? NOTHING);
  }

  readonly #readings: Record<string, (node: Node, scope: Scope) => Reading | undefined> = {
    BOOLEXPR: (node, scope) => {
      const parts = node.nodes("args").map((each) => this.#read(each, scope));
      if (node.word("boolop") === "and") return parts.reduce(both);
      return node.word("boolop") === "or" ? either(parts) : NOTHING;
    },
    COALESCEEXPR: (node, scope) => {
      const [first, second] = node.nodes("args");
      return first && second && isFalse(second) ? this.#read(first, scope) : NOTHING;
    },
    BOOLEANTEST: (node, scope) => {
      const arg = node.node("arg");
      return arg && node.word("booltesttype") === "0" ? this.#read(arg, scope) : NOTHING;
    },
    OPEXPR: (node, scope) => {
      const [left, right] = node.nodes("args");
      if (!left || !right) return NOTHING;
      if (this.#terms.isEquality(node))
        return both(this.#readEquality(left, right, scope), this.#readEquality(right, left, scope));
      const list = node.number("opfuncid") === JSONB_EXISTS ? this.#terms.callerOf(left, scope) : undefined;
      const place = this.#terms.placeOf(right, scope);
      return list && place !== undefined ? boundBy(place, "in", list) : NOTHING;
    },
    SCALARARRAYOPEXPR: (node, scope) => {
      const [left, right] = node.nodes("args");
      const operand = this.#terms.operandOf(left, scope);
      if (!operand || !right || node.word("useOr") !== "true" || !this.#terms.isEquality(node)) return NOTHING;
      const place = "caller" in operand ? this.#terms.placeOf(right, scope) : undefined;
      const own = place !== undefined && "caller" in operand ? boundBy(place, "has", operand.caller) : NOTHING;
      return both(own, this.#readList(right, scope, operand));
    },
    SUBLINK: (node, scope) => this.#readSublink(node, scope),
    FUNCEXPR: (node, scope) =>
      this.#terms.inBody(node, scope, (body, inner) => {
        const expression = expressionOf(body);
        return expression && this.#read(expression, inner);
      }),
  };

  #readEquality(one: Node, other: Node, scope: Scope): Reading {
    const caller = this.#terms.callerOf(one, scope);
    const place = this.#terms.placeOf(other, scope);
    if (!caller) return place === undefined ? NOTHING : this.#readScalar(one, scope, { place });
    const [source, ...more] = caller;
    const name = this.#terms.literalOf(other, scope);
    const isEnvironment =
      source?.path.join() === "aud" && more.length === 0 && (place !== undefined || name?.includes("/"));
    const pins = new Set(
      source && isEnvironment ? [`${JSON.stringify(source.setting)} ${place ?? JSON.stringify(name)}`] : [],
    );
    return both(place === undefined ? NOTHING : boundBy(place, "=", caller), { bounds: new Map(), pins });
  }

  #readSublink(node: Node, scope: Scope): Reading {
    const [query, test] = [node.node("subselect"), node.node("testexpr")];
    const type = node.word("subLinkType");
    // EXISTS
    if (type === "0" && query) return this.#readSet(query, scope, undefined);
    // = ANY, IN
    if (type === "2" && query && test?.tag === "OPEXPR" && this.#terms.isEquality(test)) {
      const [left, right] = test.nodes("args");
      const operand = this.#terms.operandOf(left, scope);
      const isRow = right?.tag === "PARAM" && right.word("paramkind") === "2";
      return operand && isRow ? this.#readSet(query, scope, operand) : NOTHING;
    }
    const expression = type === "4" ? expressionOf(query) : undefined;
    return query && expression ? this.#read(expression, this.#terms.within(query, scope)) : NOTHING;
  }

  /** A value that a query finds, such as `(SELECT team FROM people WHERE …)`. */
  #readScalar(node: Node, scope: Scope, operand: Operand): Reading {
    const query = node.tag === "SUBLINK" && node.word("subLinkType") === "4" ? node.node("subselect") : undefined;
    const read = (body: Node, inner: Scope, within: Scope): Reading => {
      const expression = expressionOf(body);
      return expression ? this.#readScalar(expression, within, operand) : this.#readSet(body, inner, operand);
    };
    if (query) return read(query, scope, this.#terms.within(query, scope));
    return this.#terms.inBody(node, scope, (body, inner) => read(body, inner, inner)) ?? NOTHING;
  }

  /** An array with which an operand is compared. */
  #readList(node: Node, scope: Scope, operand: Operand): Reading {
    const query = node.tag === "SUBLINK" ? node.node("subselect") : undefined;
    if (query && node.word("subLinkType") === "6") return this.#readSet(query, scope, operand);
    const expression = query && node.word("subLinkType") === "4" ? expressionOf(query) : undefined;
    if (query && expression) return this.#readList(expression, this.#terms.within(query, scope), operand);
    const caller = this.#listOf(node, scope);
    if (caller) return "place" in operand ? boundBy(operand.place, "in", caller) : NOTHING;
    const inBody = (body: Node, inner: Scope) => {
      const returned = expressionOf(body);
      return returned && this.#readList(returned, inner, operand);
    };
    return this.#terms.inBody(node, scope, inBody) ?? NOTHING;
  }

  /** `string_to_array(<caller>, ',')`, cast to integers or uuids. */
  #listOf(node: Node, scope: Scope): Caller | undefined {
    const [call, element] = [node.node("arg"), node.node("elemexpr")];
    // A text may contain a comma.
    const isList = ARRAYS.has(node.number("resulttype")) && node.number("resulttype") !== TYPES.texts;
    const isCast = element?.tag === "COERCEVIAIO" && element.node("arg")?.tag === "CASETESTEXPR";
    if (node.tag !== "ARRAYCOERCEEXPR" || !isList || !isCast) return undefined;
    const [list, separator] = call?.tag === "FUNCEXPR" ? call.nodes("args") : [];
    if (!call || !list || !separator || call.number("funcid") !== STRING_TO_ARRAY) return undefined;
    return this.#terms.literalOf(separator, scope) === "," ? this.#terms.callerOf(list, scope) : undefined;
  }

  /** The rows of a query, of which one must be equal to the operand, or must exist. */
  #readSet(query: Node, scope: Scope, operand: Operand | undefined): Reading {
    if (!isPlainQuery(query) || scope.depth > DEPTH_MAX) return NOTHING;
    const inner = this.#terms.within(query, scope);
    const call = operand && this.#callIn(query);
    if (!call) return this.#readTables(query, inner, operand);
    const [list] = call.nodes("args");
    const caller = JSON_ELEMENTS.has(call.number("funcid")) && list ? this.#terms.callerOf(list, inner) : undefined;
    if (caller) return "place" in operand ? boundBy(operand.place, "in", caller) : NOTHING;
    return this.#terms.inBody(call, inner, (body, within) => this.#readSet(body, within, operand)) ?? NOTHING;
  }

  /** The function whose rows a query returns: `SELECT f()`, or `SELECT x FROM f() x`. */
  #callIn(query: Node): Node | undefined {
    const target = this.#terms.uncast(targetOf(query));
    if (!target || hasCondition(query)) return undefined;
    if (!hasTables(query))
      return target.tag === "FUNCEXPR" && target.word("funcretset") === "true" ? target : undefined;
    const [table, ...more] = query.nodes("rtable");
    const [call] = table && table.word("rtekind") === "3" && more.length === 0 ? table.nodes("functions") : [];
    const isColumn = target.tag === "VAR" && target.word("varattno") === "1" && target.word("varlevelsup") === "0";
    const expression = call && isColumn ? call.node("funcexpr") : undefined;
    return expression?.tag === "FUNCEXPR" ? expression : undefined;
  }

  /** Tables, joined by equalities with the row and with the caller. */
  #readTables(query: Node, scope: Scope, operand: Operand | undefined): Reading {
    const conditions: Node[] = [];
    const { id = "", tables: entries = [] } = scope.frames[0] ?? {};
    const tables = entries.map((entry) => this.#terms.tableOf(entry));
    const isTableOrJoin = (entry: Node, index: number) =>
      entry.lacks("tablesample") && (tables[index] !== undefined || entry.word("rtekind") === "2");
    const isInner = collectConditions(query.node("jointree"), conditions);
    if (entries.length === 0 || !isInner || !entries.every(isTableOrJoin)) return NOTHING;

    const links = new Links(id);
    const link = (one: Operand | undefined, other: Operand | undefined) => one && other && links.join(one, other);
    for (const condition of conditions) {
      const [one, other] =
        condition.tag === "OPEXPR" && this.#terms.isEquality(condition) ? condition.nodes("args") : [];
      link(this.#terms.operandOf(one, scope), this.#terms.operandOf(other, scope));
    }
    link(operand && this.#terms.operandOf(targetOf(query), scope), operand);

    const path = links.pathOf(tables);
    const readings = links.outerPlaces().flatMap((place) => [
      ...links.callersOf(place).map((caller) => boundBy(place, `by ${path} of`, caller)),
      ...tables.map((table, index) => {
        const isReference = table && this.#isReference(links, place, { entry: `${id}.${index + 1}`, table }, scope);
        if (!isReference) return NOTHING;
        const { bounds, pins } = this.tableReading(table, scope.role, scope.depth + 1);
        const own = [...bounds.values()].map((each) => boundBy(place, `by ${path} of ${each.id} of`, each.caller));
        return own.reduce(both, { bounds: new Map(), pins });
      }),
    ]);
    return readings.reduce(both, NOTHING);
  }

  /** Whether a foreign key of the row's table, all of whose columns are compared, references a table of a query. */
  #isReference(
    links: Links,
    place: string,
    { entry, table }: { entry: string; table: Relation },
    scope: Scope,
  ): boolean {
    const referencing = scope.frames[1]?.relation;
    // A child of a table may repeat its keys.
    if (table.kind === "r" && this.#catalogue.relations.some(({ parent }) => parent === table.object)) return false;
    return this.#catalogue.foreignKeys.some(
      (key) =>
        key.table === referencing?.oid &&
        key.parent === table.oid &&
        key.columns.some((column) => place === `row.${column}`) &&
        key.columns.every((column, index) => links.areEqual(`row.${column}`, `${entry}.${key.parentColumns[index]}`)),
    );
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
