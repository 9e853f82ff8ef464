/** The terms of exact policies: what identifies the caller, and which columns of a row are compared. */
import { type Catalogue, FIRST_OWN_OID, type Relation, type Routine } from "../catalogue.ts";
import { lowerCase } from "../setup.ts";
import { type Node, nodeOf, TYPES, textOf, textsOf } from "./tree.ts";

/** A setting, or a part of its JSON. */
export type Source = { setting: string; path: readonly string[] };
/** What identifies the caller: the first of these that is set. */
export type Caller = readonly Source[];
export const keyOf = ({ setting, path }: Source): string => [setting, ...path].join(" → ");
export const callerKey = (caller: Caller): string => caller.map(keyOf).join(" or ");

/** One level of queries around an expression: the row of a policy, or the tables of a query. */
type Frame = { id: string; relation?: Relation; tables?: Node[] };
/** Where an expression stands. */
export type Scope = {
  /** The innermost level first. */
  frames: readonly Frame[];
  /** Of the function whose body this is. */
  args: readonly { node: Node; scope: Scope }[];
  /** The role that reads. */
  role: number;
  depth: number;
};
/** What an expression is: a column, as its level, table and number, or the caller, or a constant text; nothing if it is not known. */
export type Term = { place?: string; caller?: Caller; text?: string | undefined };

export const DEPTH_MAX = 8;
/** How many calls are read in all: functions that use their arguments several times multiply them. */
const CALLS_MAX = 1_000_000;
/** PostgreSQL's `SubLinkType`. */
export const SUBLINKS = { exists: "0", any: "2", value: "4", array: "6" } as const;

/** Equality of two values of PostgreSQL's types: only equal values are equal (`pg_proc.dat`). */
const EQUAL = new Set([63, 65, 67, 158, 159, 467, 474, 852, 1718, 1850, 1856, 2956, 3508]);
/** Casts that keep different numbers different: int4(int2), int8(int2 and int4), numeric(int2, int4 and int8). */
const WIDER = new Set([313, 481, 754, 1740, 1781, 1782]);
const CURRENT_SETTING = new Set([2077, 3294]);
/** `->` and `->>` of json and jsonb with a key, and `#>` and `#>>` with a path. */
const KEY_OF_JSON = new Set([3214, 3478, 3947, 3948]);
const PATH_OF_JSON = new Set([3940, 3953, 3217, 3951]);

const oidsOf = (...names: (keyof typeof TYPES)[]): ReadonlySet<number> => new Set(names.map((name) => TYPES[name]));
const TEXTS = oidsOf("text", "varchar");
const IDS = oidsOf("text", "varchar", "smallint", "integer", "bigint", "numeric", "uuid");
/** What a setting can be cast to. */
const VALUES = new Set([...IDS, ...oidsOf("json", "jsonb")]);

const spaced = (text: string) =>
  text
    .replaceAll(/[\s;]+/g, " ")
    .replaceAll(/ ?([()]) ?/g, "$1")
    .trim();
const claim = (suffix: string, path: string[]): Caller => [
  { setting: `request.jwt.claim${suffix}`, path: [] },
  { setting: "request.jwt.claims", path },
];
/** Supabase's functions: their texts, the only bodies of texts that are known, and what they return. */
const SUPABASE: Record<string, Caller> = {
  "auth.uid(): select coalesce(nullif(current_setting('request.jwt.claim.sub', true), ''),(nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub'))::uuid":
    claim(".sub", ["sub"]),
  "auth.role(): select coalesce(nullif(current_setting('request.jwt.claim.role', true), ''),(nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'role'))::text":
    claim(".role", ["role"]),
  "auth.jwt(): select coalesce(nullif(current_setting('request.jwt.claim', true), ''), nullif(current_setting('request.jwt.claims', true), ''))::jsonb":
    claim("", []),
};

const isSame = (from: number, to: number): boolean => from === to || (TEXTS.has(from) && TEXTS.has(to));
const BOOLEANS = ["BOOLEXPR", "BOOLEANTEST", "NULLTEST", "SCALARARRAYOPEXPR", "DISTINCTEXPR"];
/** The arrays of int2, int4, int8, text and uuid, by the types of their elements. */
const ARRAYS: Record<number, number> = { 21: 1005, 23: 1007, 20: 1016, 25: 1009, 2950: 2951 };

/** The type of an expression; 0 if it is not known. */
function typeOf(node: Node): number {
  if (BOOLEANS.includes(node.tag)) return TYPES.boolean;
  if (node.tag === "SUBLINK") {
    const target = node.node("subselect")?.target;
    const [kind, type] = [node.word("subLinkType"), target ? typeOf(target) : 0];
    if (kind === SUBLINKS.value) return type;
    return kind === SUBLINKS.array ? (ARRAYS[type] ?? 0) : TYPES.boolean;
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

  /** What an expression is, if it is exactly that. */
  termOf(node: Node | undefined, scope: Scope): Term {
    return (node && scope.depth <= DEPTH_MAX ? this.#terms[node.tag]?.(node, scope) : undefined) ?? {};
  }

  readonly #terms: Record<string, (node: Node, scope: Scope) => Term | undefined> = {
    CONST: (node) => ({ text: textOf(node) }),
    VAR: (node, { frames }) => {
      const frame = frames[node.number("varlevelsup")];
      const [table, column] = [node.number("varno"), node.number("varattno")];
      const own = frame?.tables?.[table - 1];
      const relation = frame?.relation && table === 1 ? frame.relation : own && this.tableOf(own);
      const isStored = relation?.columns.some(({ number, generated }) => number === column && !generated);
      if (!frame || !isStored) return undefined;
      return { place: frame.relation ? `row.${column}` : `${frame.id}.${table}.${column}` };
    },
    PARAM: (node, scope) => {
      const given = node.word("paramkind") === "0" ? scope.args[node.number("paramid") - 1] : undefined;
      return given && this.termOf(given.node, given.scope);
    },
    RELABELTYPE: (node, scope) => {
      const arg = node.node("arg");
      return arg && this.#isRelabel(node, arg) ? this.termOf(arg, scope) : undefined;
    },
    COERCEVIAIO: (node, scope) => {
      const [arg, type] = [node.node("arg"), node.number("resulttype")];
      const { caller, place } = this.termOf(arg, scope);
      if (!arg || !this.#isDeterministic(node.number("resultcollid"))) return undefined;
      if (caller) return this.#isOf(VALUES, type) ? { caller } : undefined;
      return place !== undefined && this.#isOf(IDS, typeOf(arg)) && TEXTS.has(type) ? { place } : undefined;
    },
    COERCETODOMAIN: (node, scope) =>
      this.#catalogue.domains.get(node.number("resulttype"))?.limited === false
        ? this.termOf(node.node("arg"), scope)
        : undefined,
    NULLIFEXPR: (node, scope) => {
      const [first, second] = node.nodes("args").map((each) => this.termOf(each, scope));
      return first?.caller && second?.text === "" ? first : undefined;
    },
    COALESCEEXPR: (node, scope) => {
      const callers = node.nodes("args").map((each) => this.termOf(each, scope).caller);
      return callers.every((each) => each !== undefined) ? { caller: callers.flat() } : undefined;
    },
    SUBLINK: (node, scope) => {
      const query = node.word("subLinkType") === SUBLINKS.value ? node.node("subselect") : undefined;
      const expression = query?.expression;
      return query && expression && this.termOf(expression, this.within(query, scope));
    },
    OPEXPR: (node, scope) => {
      const [json, path] = node.nodes("args");
      const operator = node.number("opfuncid");
      const { caller } = this.termOf(json, scope);
      const { text } = KEY_OF_JSON.has(operator) ? this.termOf(path, scope) : {};
      const keys = path && PATH_OF_JSON.has(operator) ? textsOf(path) : text === undefined ? undefined : [text];
      return caller && keys && isOperatorOfPostgres(node)
        ? { caller: caller.map((source) => ({ ...source, path: [...source.path, ...keys] })) }
        : undefined;
    },
    FUNCEXPR: (node, scope) => {
      const [first] = node.nodes("args");
      const oid = node.number("funcid");
      if (CURRENT_SETTING.has(oid)) {
        const name = lowerCase(this.termOf(first, scope).text ?? "");
        return name.includes(".") ? { caller: [{ setting: name, path: [] }] } : undefined;
      }
      if (WIDER.has(oid)) return this.termOf(first, scope);
      const caller = this.supabaseCaller(this.#routines.get(oid));
      return caller ? { caller } : this.inBody(node, scope, (body, inner) => this.termOf(body.expression, inner));
    },
  };

  /** What a function of Supabase returns, whose text nothing of one's own could change. */
  supabaseCaller(routine: Routine | undefined): Caller | undefined {
    if (routine?.language !== "sql" || routine.tree !== null || this.#catalogue.isHidden) return undefined;
    const isPlain = !routine.definer && routine.settings.length === 0;
    const isKnown = isPlain && oidsOf("uuid", "text", "jsonb").has(routine.returns);
    return isKnown ? SUPABASE[spaced(`${routine.signature}: ${routine.source}`)] : undefined;
  }

  /** An elementary cast of a column of a function's rows. */
  uncast(node: Node | undefined): Node | undefined {
    return node?.tag === "COERCEVIAIO" && IDS.has(node.number("resulttype")) ? node.node("arg") : node;
  }

  isEquality(node: Node): boolean {
    const isKnown = EQUAL.has(node.number("opfuncid")) && isOperatorOfPostgres(node);
    return isKnown && this.#isDeterministic(node.number("inputcollid"));
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
  inBody<Found>(node: Node, scope: Scope, read: (body: Node, scope: Scope) => Found): Found | undefined {
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
      const query = isExact && tree?.tag === "QUERY" && tree.isPlainQuery ? tree : undefined;
      const target = query?.target;
      this.#bodies.set(routine.oid, target && isSame(typeOf(target), routine.returns) ? query : undefined);
    }
    return this.#bodies.get(routine.oid);
  }

  /** Whether a type is one of some, or an enum. */
  #isOf(types: ReadonlySet<number>, type: number): boolean {
    return types.has(type) || this.#catalogue.enums.has(type);
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

/** PostgreSQL plans an operator of one's own by what it says of itself, such as its commutator, whatever function it calls. */
export const isOperatorOfPostgres = (node: Node): boolean => node.number("opno") < FIRST_OWN_OID;

export const setsOnlyPath = ({ settings }: Routine): boolean =>
  settings.every((each) => each.startsWith("search_path="));
