/**
 * PostgreSQL's stored expressions (`pg_node_tree`): what its parser has understood, with the oid of each function, operator, type and
 * column. The form is that of `nodeToString` in PostgreSQL's `src/backend/nodes/outfuncs.c`.
 */

/** A value in a tree: a node, a list, a word, the bytes of a constant, or nothing. */
export type Value = Node | Value[] | string | Uint8Array | null;

export class Node {
  readonly tag: string;
  readonly fields: Map<string, Value>;

  constructor(tag: string, fields = new Map<string, Value>()) {
    this.tag = tag;
    this.fields = fields;
  }

  /** A field that is a node. */
  node(field: string): Node | undefined {
    const value = this.fields.get(field);
    return value instanceof Node ? value : undefined;
  }

  /** The nodes of a field that is a list. */
  nodes(field: string): Node[] {
    const value = this.fields.get(field);
    return Array.isArray(value) ? value.filter((each) => each instanceof Node) : [];
  }

  /** A field that is a number, such as an oid; 0 if it is missing. */
  number(field: string): number {
    return Number(this.fields.get(field) ?? 0);
  }

  word(field: string): string {
    return String(this.fields.get(field) ?? "");
  }

  /** Whether a field that is a list, a node or a flag says nothing. */
  lacks(field: string): boolean {
    const value = this.fields.get(field) ?? null;
    return value === null || value === "false" || value === "0" || (Array.isArray(value) && value.length === 0);
  }

  /** Whether a query reads rows and does nothing else: it neither groups, nor joins by UNION, nor locks, nor writes. */
  get isPlainQuery(): boolean {
    return this.word("commandType") === "1" && BESIDES.every((field) => this.lacks(field));
  }

  /** The one expression that a query returns. */
  get target(): Node | undefined {
    const [target, ...more] = this.nodes("targetList").filter((each) => each.word("resjunk") !== "true");
    return more.length === 0 ? target?.node("expr") : undefined;
  }

  get hasTables(): boolean {
    return this.node("jointree")?.lacks("fromlist") === false;
  }

  get hasCondition(): boolean {
    return this.node("jointree")?.lacks("quals") === false;
  }

  /** The expression of a query without a table and without a condition. */
  get expression(): Node | undefined {
    return this.isPlainQuery && !this.hasTables && !this.hasCondition ? this.target : undefined;
  }
}

/** The fields of a query that does more than to read rows. */
const BESIDES =
  `hasAggs hasWindowFuncs hasRecursive hasModifyingCTE hasForUpdate cteList groupClause groupingSets havingQual windowClause setOperations
  rowMarks`.split(/\s+/);

/** A tree that this reader does not understand. */
export class UnknownTree extends Error {}

/** PostgreSQL escapes spaces, tabs and lines in a word, and no other spaces. */
const TOKEN = /(?:\\.|[^ \n\t(){}\\])+|[(){}]/gsu;
const DEPTH_MAX = 1000;
/** Markers of lists of numbers and of sets. */
const LIST_KINDS = ["i", "o", "x", "b"];

/** Reads the text of a tree. @throws UnknownTree if it has another form. */
export function readTree(text: string): Value {
  const tokens = text.match(TOKEN) ?? [];
  let at = 0;
  const refuse = (how: string): never => {
    throw new UnknownTree(`a stored expression ${how}`);
  };
  const take = (): string => {
    at += 1;
    return tokens[at - 1] ?? refuse("ends early");
  };
  const until = (end: string, depth: number): Value[] => {
    const values: Value[] = [];
    while (tokens[at] !== end) values.push(value(depth));
    at += 1;
    return values;
  };
  const bytes = (depth: number): Uint8Array | null => {
    const length = take();
    if (tokens[at] !== "[") return null;
    at += 1;
    const read = until("]", depth).map((each) => Number(each) & 255);
    return length === "<>" ? null : Uint8Array.from(read);
  };
  const node = (depth: number): Node => {
    const tag = take();
    // Versions before 15 write the other one.
    const read = new Node(tag === "COALESCE" ? "COALESCEEXPR" : tag);
    while (tokens[at] !== "}") {
      const label = take();
      if (!label.startsWith(":")) refuse(`of the kind ${read.tag} has another form`);
      read.fields.set(label.slice(1), label === ":constvalue" ? bytes(depth) : value(depth));
    }
    at += 1;
    return read;
  };
  const value = (outer: number): Value => {
    const [depth, token] = [outer + 1, take()];
    if (depth > DEPTH_MAX) refuse("is too deep");
    if (token === "{") return node(depth);
    if (token === "(") {
      const values = until(")", depth);
      return LIST_KINDS.some((kind) => values[0] === kind) ? values.slice(1) : values;
    }
    if (token === ")" || token === "}") refuse("has another form");
    return token === "<>" ? null : token.replaceAll(/\\(.)/gsu, "$1");
  };
  const root = value(0);
  if (at !== tokens.length) refuse("has another form");
  return root;
}

/** The node that a stored expression is; undefined if it is not understood. */
export function nodeOf(text: string | null): Node | undefined {
  try {
    const root = text === null ? undefined : readTree(text);
    return root instanceof Node ? root : undefined;
  } catch (error) {
    if (error instanceof UnknownTree) return undefined;
    throw error;
  }
}

/** The fields that name a function. */
const FUNCTIONS = ["funcid", "opfuncid", "aggfnoid", "winfnoid", "hashfuncid", "negfuncid", "elemfuncid", "resfuncid"];

/** The nodes of queries and expressions in versions 12 to 18 whose meaning this prover knows. Those of the last line are before 15. */
const KNOWN = new Set(
  `AGGREF ALIAS ARRAYCOERCEEXPR ARRAYEXPR BOOLEANTEST BOOLEXPR CASEEXPR CASETESTEXPR CASEWHEN COALESCEEXPR COERCETODOMAIN
  COERCETODOMAINVALUE COERCEVIAIO COLLATEEXPR COMMONTABLEEXPR CONST CONVERTROWTYPEEXPR CTECYCLECLAUSE CTESEARCHCLAUSE DISTINCTEXPR FIELDSELECT
  FROMEXPR FUNCEXPR GROUPINGFUNC GROUPINGSET JOINEXPR JSONBEHAVIOR JSONCONSTRUCTOREXPR JSONEXPR JSONFORMAT JSONISPREDICATE JSONRETURNING
  JSONTABLEPATH JSONTABLEPATHSCAN JSONTABLESIBLINGJOIN JSONVALUEEXPR MINMAXEXPR NAMEDARGEXPR NULLIFEXPR NULLTEST OPEXPR PARAM QUERY
  RANGETBLENTRY RANGETBLFUNCTION RANGETBLREF RELABELTYPE ROWCOMPAREEXPR ROWEXPR ROWMARKCLAUSE RTEPERMISSIONINFO SCALARARRAYOPEXPR
  SETOPERATIONSTMT SORTGROUPCLAUSE SQLVALUEFUNCTION SUBLINK SUBSCRIPTINGREF TABLEFUNC TABLESAMPLECLAUSE TARGETENTRY VAR WINDOWCLAUSE
  WINDOWFUNC WINDOWFUNCRUNCONDITION XMLEXPR
  ARRAY CASE MINMAX ROW ROWCOMPARE RTE WHEN`.split(/\s+/),
);

export type Uses = { functions: Set<number>; relations: Set<number> };

/** All functions and relations in a tree. @throws UnknownTree if it has a node of another kind, such as one of a newer PostgreSQL. */
export function usesOf(tree: Value, uses: Uses = { functions: new Set(), relations: new Set() }): Uses {
  if (Array.isArray(tree)) for (const each of tree) usesOf(each, uses);
  if (!(tree instanceof Node)) return uses;
  if (!KNOWN.has(tree.tag)) throw new UnknownTree(`a stored expression has the unknown node ${tree.tag}`);
  for (const field of FUNCTIONS) if (tree.number(field) !== 0) uses.functions.add(tree.number(field));
  if (tree.number("relid") !== 0) uses.relations.add(tree.number("relid"));
  for (const value of tree.fields.values()) usesOf(value, uses);
  return uses;
}

/** The text of a constant of one of PostgreSQL's types of texts; undefined for any other one, and for NULL. */
export function textOf(node: Node): string | undefined {
  const bytes = node.fields.get("constvalue");
  if (node.tag !== "CONST" || !(bytes instanceof Uint8Array)) return undefined;
  // Four bytes of length come first.
  return ([TYPES.text, TYPES.unknown, TYPES.varchar] as number[]).includes(node.number("consttype"))
    ? new TextDecoder().decode(bytes.subarray(4))
    : undefined;
}

/** The texts of a constant array of texts, such as the path of `#>>`. */
export function textsOf(node: Node): string[] | undefined {
  const bytes = node.fields.get("constvalue");
  if (node.tag !== "CONST" || !(bytes instanceof Uint8Array) || node.number("consttype") !== TYPES.texts)
    return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const [dimensions, dataOffset] = [view.getInt32(4, true), view.getInt32(8, true)];
  // An offset says that an element is NULL.
  if (dimensions !== 1 || dataOffset !== 0) return undefined;
  const texts: string[] = [];
  let at = 24;
  for (let index = 0; index < view.getInt32(16, true); index += 1) {
    const length = view.getUint32(at, true) >>> 2;
    texts.push(new TextDecoder().decode(bytes.subarray(at + 4, at + length)));
    at += Math.ceil(length / 4) * 4;
  }
  return texts;
}

/** Oids of PostgreSQL's own types (`pg_type.dat`), which never change. */
export const TYPES = {
  boolean: 16,
  bigint: 20,
  smallint: 21,
  integer: 23,
  text: 25,
  json: 114,
  unknown: 705,
  texts: 1009,
  varchar: 1043,
  numeric: 1700,
  uuid: 2950,
  jsonb: 3802,
} as const;
