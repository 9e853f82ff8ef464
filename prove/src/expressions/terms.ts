/** The terms of exact policies: what identifies the caller, and which columns of a row are compared. */
import { type Catalogue, FIRST_OWN_OID, type Relation, type Routine } from "../catalogue.ts";
import { lowerCase } from "../setup.ts";
import { Node, nodeOf, TYPES, textOf, textsOf } from "./tree.ts";

/** A setting, or a part of its JSON. */
export type Source = { setting: string; path: readonly string[] };
/** What identifies the caller: the first of these that is set. */
export type Caller = readonly Source[];
export const keyOf = ({ setting, path }: Source): string => [setting, ...path].join(" → ");
export const callerKey = (caller: Caller): string => caller.map(keyOf).join(" or ");

/** One level of queries around an expression: the row of a policy, or the tables of a query. */
type Frame = { id: string; relation?: Relation; tables?: Node[] };
type Argument = { node: Node; scope: Scope } | { name: string };
/** Where an expression stands. */
export type Scope = {
  /** The innermost level first. */
  frames: readonly Frame[];
  /** Of the function whose body this is. */
  args: readonly Argument[];
  /** The role that reads. */
  role: number;
  depth: number;
};
/** One side of an equality: a column, as its level, table and number, or the caller. */
export type Operand = { place: string } | { caller: Caller };

export const DEPTH_MAX = 8;
/** How many calls are read in all: functions that use their arguments several times multiply them. */
const CALLS_MAX = 1_000_000;

/** Equality of two values of PostgreSQL's types: only equal values are equal (`pg_proc.dat`). */
const EQUAL = new Set([63, 65, 67, 158, 159, 467, 474, 852, 1718, 1850, 1856, 2956, 3508]);
/** Casts that keep different numbers different: int4(int2), int8(int2 and int4), numeric(int2, int4 and int8). */
const WIDER = new Set([313, 481, 754, 1740, 1781, 1782]);
const CURRENT_SETTING = new Set([2077, 3294]);
/** `->` and `->>` of json and jsonb with a key, and `#>` and `#>>` with a path. */
const KEY_OF_JSON = new Set([3214, 3478, 3947, 3948]);
const PATH_OF_JSON = new Set([3940, 3953, 3217, 3951]);

const TEXTS: ReadonlySet<number> = new Set([TYPES.text, TYPES.varchar]);
const JSONS: ReadonlySet<number> = new Set([TYPES.json, TYPES.jsonb]);
const IDS: ReadonlySet<number> = new Set([
  ...TEXTS,
  TYPES.smallint,
  TYPES.integer,
  TYPES.bigint,
  TYPES.numeric,
  TYPES.uuid,
]);

const spaced = (text: string) =>
  text
    .replaceAll(/[\s;]+/g, " ")
    .replaceAll(/ ?([()]) ?/g, "$1")
    .trim();
const setting = (name: string) => `nullif(current_setting('${name}', true), '')`;
/** Supabase's functions: what they return, and their texts, the only bodies of texts that are known. */
const SUPABASE = new Map<string, Caller>(
  [
    { name: "uid", claim: "sub", type: "uuid" },
    { name: "role", claim: "role", type: "text" },
  ].map(({ name, claim, type }) => [
    spaced(
      `auth.${name}: select coalesce(${setting(`request.jwt.claim.${claim}`)}, (${setting("request.jwt.claims")}::jsonb ->> '${claim}'))::${type}`,
    ),
    [
      { setting: `request.jwt.claim.${claim}`, path: [] },
      { setting: "request.jwt.claims", path: [claim] },
    ],
  ]),
).set(spaced(`auth.jwt: select coalesce(${setting("request.jwt.claim")}, ${setting("request.jwt.claims")})::jsonb`), [
  { setting: "request.jwt.claim", path: [] },
  { setting: "request.jwt.claims", path: [] },
]);

/** Whether a query reads rows and does nothing else: it neither groups, nor joins by UNION, nor locks, nor writes. */
export const isPlainQuery = (query: Node): boolean =>
  query.word("commandType") === "1" &&
  `hasAggs hasWindowFuncs hasRecursive hasModifyingCTE hasForUpdate cteList groupClause groupingSets havingQual windowClause setOperations rowMarks`
    .split(" ")
    .every((field) => query.lacks(field));

/** The one expression that a query returns. */
export const targetOf = (query: Node): Node | undefined => {
  const targets = query.nodes("targetList").filter((each) => each.word("resjunk") !== "true");
  return targets.length === 1 && targets[0] ? targets[0].node("expr") : undefined;
};

const jointreeOf = (query: Node) => query.node("jointree") ?? new Node("FROMEXPR");
export const hasTables = (query: Node): boolean => jointreeOf(query).nodes("fromlist").length > 0;
export const hasCondition = (query: Node): boolean => jointreeOf(query).node("quals") !== undefined;

/** The expression of a query without a table and without a condition. */
export const expressionOf = (query: Node | undefined): Node | undefined =>
  query && isPlainQuery(query) && !hasTables(query) && !hasCondition(query) ? targetOf(query) : undefined;

const isSame = (from: number, to: number): boolean => from === to || (TEXTS.has(from) && TEXTS.has(to));
const BOOLEANS = ["BOOLEXPR", "BOOLEANTEST", "NULLTEST", "SCALARARRAYOPEXPR", "DISTINCTEXPR"];
/** Arrays of int2, int4, int8, text and uuid, and the types of their elements. */
export const ARRAYS = new Map<number, number>([
  [1005, TYPES.smallint],
  [1007, TYPES.integer],
  [1016, TYPES.bigint],
  [TYPES.texts, TYPES.text],
  [2951, TYPES.uuid],
]);

/** The type of an expression; 0 if it is not known. */
function typeOf(node: Node): number {
  if (BOOLEANS.includes(node.tag)) return TYPES.boolean;
  if (node.tag === "SUBLINK") {
    const target = node.node("subselect") && targetOf(node.node("subselect") as Node);
    const [kind, type] = [node.word("subLinkType"), target ? typeOf(target) : 0];
    if (kind === "4") return type;
    return kind === "6" ? ([...ARRAYS].find(([, element]) => element === type)?.[0] ?? 0) : TYPES.boolean;
  }
  const field = "vartype consttype resulttype funcresulttype opresulttype paramtype coalescetype"
    .split(" ")
    .find((name) => node.fields.has(name));
  return field === undefined ? 0 : node.number(field);
}

export class Terms {
  readonly #catalogue: Catalogue;
  readonly #relations: Map<number, Relation>;
  readonly #routines: Map<number, Routine>;
  readonly #bodies = new Map<number, Node | undefined>();
  #queries = 0;
  #calls = 0;

  constructor(catalogue: Catalogue) {
    this.#catalogue = catalogue;
    this.#relations = new Map(catalogue.relations.map((each) => [each.oid, each]));
    this.#routines = new Map(catalogue.routines.map((each) => [each.oid, each]));
  }

  /** Whether a function is as initdb has made it. */
  isOwnOfPostgres(oid: number): boolean {
    return oid < FIRST_OWN_OID && !this.#routines.has(oid);
  }

  /** What identifies the caller, if an expression is exactly that. */
  callerOf(node: Node, scope: Scope): Caller | undefined {
    return scope.depth > DEPTH_MAX ? undefined : this.#callers[node.tag]?.(node, scope);
  }

  readonly #callers: Record<string, (node: Node, scope: Scope) => Caller | undefined> = {
    PARAM: (node, scope) => {
      const given = argumentOf(node, scope);
      return given && "node" in given ? this.callerOf(given.node, given.scope) : undefined;
    },
    RELABELTYPE: (node, scope) => {
      const arg = node.node("arg");
      return arg && this.#isRelabel(node, arg) ? this.callerOf(arg, scope) : undefined;
    },
    COERCEVIAIO: (node, scope) => {
      const [arg, type] = [node.node("arg"), node.number("resulttype")];
      const isKnown = IDS.has(type) || JSONS.has(type) || this.#catalogue.enums.has(type);
      return arg && isKnown && this.#isDeterministic(node.number("resultcollid"))
        ? this.callerOf(arg, scope)
        : undefined;
    },
    COERCETODOMAIN: (node, scope) => {
      const arg = node.node("arg");
      const isUnlimited = this.#catalogue.domains.get(node.number("resulttype"))?.limited === false;
      return arg && isUnlimited ? this.callerOf(arg, scope) : undefined;
    },
    NULLIFEXPR: (node, scope) => {
      const [first, second] = node.nodes("args");
      return first && second && this.literalOf(second, scope) === "" ? this.callerOf(first, scope) : undefined;
    },
    COALESCEEXPR: (node, scope) => {
      const all = node.nodes("args").map((each) => this.callerOf(each, scope));
      return all.every((each) => each !== undefined) ? all.flat() : undefined;
    },
    SUBLINK: (node, scope) => {
      const query = node.word("subLinkType") === "4" ? node.node("subselect") : undefined;
      const expression = expressionOf(query);
      return query && expression ? this.callerOf(expression, this.within(query, scope)) : undefined;
    },
    OPEXPR: (node, scope) => {
      const [json, path] = node.nodes("args");
      const [operator, key] = [node.number("opfuncid"), path && this.literalOf(path, scope)];
      const isPath = PATH_OF_JSON.has(operator) && path !== undefined;
      const keys = isPath ? textsOf(path) : KEY_OF_JSON.has(operator) && key !== undefined ? [key] : undefined;
      const caller = json && keys && this.callerOf(json, scope);
      return caller && keys && caller.map((source) => ({ ...source, path: [...source.path, ...keys] }));
    },
    FUNCEXPR: (node, scope) => {
      const [first] = node.nodes("args");
      const oid = node.number("funcid");
      if (first && CURRENT_SETTING.has(oid)) {
        const name = lowerCase(this.literalOf(first, scope) ?? "");
        return name.includes(".") ? [{ setting: name, path: [] }] : undefined;
      }
      if (first && WIDER.has(oid)) return this.callerOf(first, scope);
      const inBody = (body: Node, inner: Scope) => {
        const expression = expressionOf(body);
        return expression && this.callerOf(expression, inner);
      };
      return this.supabaseCaller(this.#routines.get(oid)) ?? this.inBody(node, scope, inBody);
    },
  };

  /** What a function of Supabase returns, whose text nothing of one's own could change. */
  supabaseCaller(routine: Routine | undefined): Caller | undefined {
    if (routine?.language !== "sql" || routine.tree !== null || routine.definer || this.#catalogue.isHidden)
      return undefined;
    const types: number[] = [TYPES.uuid, TYPES.text, TYPES.jsonb];
    return routine.settings.length === 0 && types.includes(routine.returns)
      ? SUPABASE.get(spaced(`${routine.schema}.${routine.name}: ${routine.source}`))
      : undefined;
  }

  /** The column that an expression is. */
  placeOf(node: Node, scope: Scope): string | undefined {
    return this.#places[node.tag]?.(node, scope);
  }

  readonly #places: Record<string, (node: Node, scope: Scope) => string | undefined> = {
    VAR: (node, scope) => {
      const frame = scope.frames[node.number("varlevelsup")];
      const [table, column] = [node.number("varno"), node.number("varattno")];
      const own = frame?.tables?.[table - 1];
      const relation = frame?.relation && table === 1 ? frame.relation : own && this.tableOf(own);
      const isStored = relation?.columns.some(({ number, generated }) => number === column && !generated);
      if (!frame || !isStored) return undefined;
      return frame.relation ? `row.${column}` : `${frame.id}.${table}.${column}`;
    },
    PARAM: (node, scope) => {
      const given = argumentOf(node, scope);
      return given && ("name" in given ? given.name : this.placeOf(given.node, given.scope));
    },
    RELABELTYPE: (node, scope) => {
      const arg = node.node("arg");
      return arg && this.#isRelabel(node, arg) ? this.placeOf(arg, scope) : undefined;
    },
    COERCEVIAIO: (node, scope) => {
      const arg = node.node("arg");
      const isId = arg && (IDS.has(typeOf(arg)) || this.#catalogue.enums.has(typeOf(arg)));
      const isText = TEXTS.has(node.number("resulttype")) && this.#isDeterministic(node.number("resultcollid"));
      return isId && isText ? this.placeOf(arg, scope) : undefined;
    },
    FUNCEXPR: (node, scope) => {
      const [first] = node.nodes("args");
      return first && WIDER.has(node.number("funcid")) ? this.placeOf(first, scope) : undefined;
    },
  };

  operandOf(node: Node | undefined, scope: Scope): Operand | undefined {
    const place = node && this.placeOf(node, scope);
    if (place !== undefined) return { place };
    const caller = node && this.callerOf(node, scope);
    return caller && { caller };
  }

  /** The text of a constant, also of one that a function was called with. */
  literalOf(node: Node, scope: Scope): string | undefined {
    if (node.tag === "CONST") return textOf(node);
    const given = argumentOf(node, scope);
    if (given && "node" in given) return this.literalOf(given.node, given.scope);
    const arg = node.tag === "RELABELTYPE" ? node.node("arg") : undefined;
    return arg && this.#isRelabel(node, arg) ? this.literalOf(arg, scope) : undefined;
  }

  /** An elementary cast of a column of a function's rows. */
  uncast(node: Node | undefined): Node | undefined {
    return node?.tag === "COERCEVIAIO" && IDS.has(node.number("resulttype")) ? node.node("arg") : node;
  }

  isEquality(node: Node): boolean {
    return EQUAL.has(node.number("opfuncid")) && this.#isDeterministic(node.number("inputcollid"));
  }

  /** The table of an entry of a query's list, if it is one. */
  tableOf(entry: Node): Relation | undefined {
    const relation = entry.word("rtekind") === "0" ? this.#relations.get(entry.number("relid")) : undefined;
    return relation && "rp".includes(relation.kind) ? relation : undefined;
  }

  /** The scope of the expressions of a query. */
  within(query: Node, scope: Scope): Scope {
    this.#queries += 1;
    return { ...scope, frames: [{ id: `q${this.#queries}`, tables: query.nodes("rtable") }, ...scope.frames] };
  }

  /** Reads the body of a call of one's own function, as a query with its arguments. */
  inBody<Found>(node: Node, scope: Scope, read: (body: Node, scope: Scope) => Found | undefined): Found | undefined {
    const routine = node.tag === "FUNCEXPR" ? this.#routines.get(node.number("funcid")) : undefined;
    const body = routine && this.#bodyOf(routine);
    this.#calls += 1;
    if (!body || scope.depth > DEPTH_MAX || this.#calls > CALLS_MAX) return undefined;
    const args = node.nodes("args").map((each) => ({ node: each, scope }));
    return read(body, { frames: [], args, role: scope.role, depth: scope.depth + 1 });
  }

  /** The one query of a function that PostgreSQL has stored as a tree, runs as its caller, and whose value needs no further cast. */
  #bodyOf(routine: Routine): Node | undefined {
    if (!this.#bodies.has(routine.oid)) {
      // A list of lists, for BEGIN ATOMIC, or the query, for RETURN.
      const tree = nodeOf(routine.tree?.replace(/^\(\(([\s\S]*)\)\)$/, "$1") ?? null);
      const isExact = routine.kind === "f" && routine.isPlain && !routine.definer && setsOnlyPath(routine);
      const query = isExact && tree?.tag === "QUERY" && isPlainQuery(tree) ? tree : undefined;
      const target = query && targetOf(query);
      this.#bodies.set(routine.oid, target && isSame(typeOf(target), routine.returns) ? query : undefined);
    }
    return this.#bodies.get(routine.oid);
  }

  #isDeterministic(collation: number): boolean {
    return this.#catalogue.deterministicCollations.has(collation);
  }

  /** Whether another name of a type keeps its values: a domain as its type, text as varchar. */
  #isRelabel(node: Node, arg: Node): boolean {
    const baseOf = (type: number): number => {
      const domain = this.#catalogue.domains.get(type);
      return domain ? baseOf(domain.base) : type;
    };
    const [from, to] = [baseOf(typeOf(arg)), node.number("resulttype")];
    return isSame(from, to) && node.number("resulttypmod") === -1 && this.#isDeterministic(node.number("resultcollid"));
  }
}

export const setsOnlyPath = ({ settings }: Routine): boolean =>
  settings.every((each) => each.startsWith("search_path="));

const argumentOf = (node: Node, scope: Scope): Argument | undefined =>
  node.tag === "PARAM" && node.word("paramkind") === "0" ? scope.args[node.number("paramid") - 1] : undefined;
