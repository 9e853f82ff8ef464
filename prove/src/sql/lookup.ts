import { type Catalogue, type CatalogueType, isPathSafe, type Relation, type StoredFunction } from "../catalogue.ts";
import { type Closure, type Column, columnOf, type Place, type Row, type Scope } from "./scope.ts";
import { parseBody } from "./sql-parser.ts";
import { Unreadable } from "./sql-tokens.ts";
import { childrenOf, type Expression, type Select, type TypeName } from "./sql-tree.ts";
import { elementOf, isInjective, type KnownType, knownType } from "./types.ts";

/** How many calls of functions within functions are followed. */
const DEPTH_MAX = 10;
const UNKNOWN_TYPE: CatalogueType = { schema: "", name: "", array: false };

/** Functions of PostgreSQL that the prover knows, which only read. */
const PURE = [
  ...["current_setting", "nullif", "coalesce", "string_to_array", "unnest"],
  ...["json_extract_path_text", "jsonb_extract_path_text", "json_array_elements_text", "jsonb_array_elements_text"],
];

/** Others that show nothing but their arguments, or the time. */
const HARMLESS = ["now", "lower", "upper", "length", "date_trunc", "array_length", "cardinality"];

/** A function names a table without its schema, and a temporary table can take its place. */
export type TemporaryProblem = { kind: "temporary"; stored: StoredFunction; table: Relation };

/** A cast of the integrator, by which values that differ may become one. */
export type CastProblem = { kind: "cast"; from: CatalogueType; to: CatalogueType };

/** Finds what the names in a condition mean: columns, parameters, tables and functions. */
export class Lookup {
  readonly #catalogue: Catalogue;
  readonly #report: (problem: TemporaryProblem | CastProblem) => void;

  /** Reports each table that a temporary one can replace, and then does not find it. */
  constructor(catalogue: Catalogue, report: (problem: TemporaryProblem | CastProblem) => void) {
    this.#catalogue = catalogue;
    this.#report = report;
  }

  /** The rows that a subquery reads; `undefined` for what is no table, and for an aggregate. */
  scopeOf(select: Select, place: Place): Scope | undefined {
    if (this.mayAggregate(select, place)) return undefined;
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
    // Which of several tables is meant depends on the role and its rights.
    const isSure = searched && !searched.includes("$user");
    const [table, other] = isSure ? found.filter((one) => searched.includes(one.schema)) : found;
    if (!table || other || !"rp".includes(table.kind)) return undefined;
    if (schema === undefined && stored?.parsedBody === null && mayCreateTemporary && searched?.at(-1) !== "pg_temp") {
      this.#report({ kind: "temporary", stored, table });
      return undefined;
    }
    return table;
  }

  /** Whether a subquery may select an aggregate, which is one row even if the conditions find none. */
  mayAggregate({ targets }: Select, place: Place): boolean {
    return targets.some((target) => target !== "*" && this.#hasUnknown(target, place));
  }

  #hasUnknown(expression: Expression, place: Place): boolean {
    if (expression.kind === "opaque") return true;
    const isUnknown =
      expression.kind === "call" && !this.#onlyReads(expression.name, place) && !this.inlined({ expression, place });
    return isUnknown || childrenOf(expression).some((each) => this.#hasUnknown(each, place));
  }

  /** The subquery by which an expression gets its value, perhaps in the body of a function. */
  selected({ expression, place }: Closure): { select: Select; place: Place } | undefined {
    if (expression.kind === "cast") return this.selected({ expression: expression.of, place });
    if (expression.kind === "call") {
      const body = this.inlined({ expression, place });
      return body && this.selected(body);
    }
    if (expression.kind !== "subquery" || expression.as === "exists") return undefined;
    const { select } = expression;
    const [target] = select.targets;
    const [source] = select.sources;
    if (select.sources.length === 1 && source?.kind === "call" && select.conditions.length === 0)
      return this.selected({ expression: source.call, place });
    if (select.sources.length > 0) return { select, place };
    return target === undefined || target === "*" ? undefined : this.selected({ expression: target, place });
  }

  /** The body of a function that a call names, with its arguments. */
  inlined({ expression, place }: Closure): Closure | undefined {
    if (expression.kind !== "call" || place.depth >= DEPTH_MAX) return undefined;
    const stored = this.function(expression, place);
    const body = stored && this.body(stored);
    if (!stored || !body) return undefined;
    const args = expression.args.map((of, index): Closure => {
      const type = { ...(stored.argTypes[index] ?? UNKNOWN_TYPE), limited: false };
      return { expression: { kind: "cast", of, type }, place };
    });
    const [asOwner, depth] = [place.asOwner || stored.definer, place.depth + 1];
    return { expression: body, place: { scopes: [], called: { stored, args }, asOwner, depth, ofOneRole: false } };
  }

  /** The function of the integrator that a call names. */
  function({ name, args }: Expression & { kind: "call" }, place: Place): StoredFunction | undefined {
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
  body(stored: StoredFunction): Expression | undefined {
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
  meant({ expression, place }: Closure): Closure | undefined {
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

  /** The column that an expression names, perhaps with casts that keep its values apart. */
  column({ expression, place }: Closure): Column | undefined {
    if (expression.kind === "bytes") return this.#textColumn({ expression: expression.of, place }, "bytes");
    if (expression.kind === "cast") {
      const column = this.column({ expression: expression.of, place });
      if (!column && isText(expression.type)) return this.#textColumn({ expression: expression.of, place }, "cast");
      const type = knownType(expression.type, this.#catalogue.types);
      const isExact =
        column && type !== undefined && isInjective(column.type, type) && !this.isOwnCast(column.type, type);
      return isExact ? { ...column, type } : undefined;
    }
    const meant = this.meant({ expression, place });
    if (meant) return this.column(meant);
    const named = this.#namedColumn({ expression, place });
    const type = named && this.#typeOf(named.row.relation, named.name);
    return named && type !== undefined ? { ...named, type } : undefined;
  }

  /** A column that folds or pads, such as one of citext, as a text of bytes. A cast keeps the column's collation. */
  #textColumn(closure: Closure, by: "bytes" | "cast"): Column | undefined {
    const column = this.column(closure);
    if (column) return isInjective(column.type, "text") ? { ...column, type: "text" } : undefined;
    const meant = this.meant(closure);
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
    return type && !foldedColumns.includes(column)
      ? knownType({ ...type, limited: false }, this.#catalogue.types, true)
      : undefined;
  }

  /** The type of a result, if the prover knows it. */
  known(type: CatalogueType): KnownType | undefined {
    return knownType({ ...type, limited: false }, this.#catalogue.types);
  }

  /** Whether the integrator has defined what a cast of these types does. */
  isOwnCast(from: KnownType, to: KnownType): boolean {
    const [source, target] = [elementOf(from) ?? from, elementOf(to) ?? to];
    const cast = this.#catalogue.casts.find(
      (each) => this.known(each.from) === source && this.known(each.to) === target,
    );
    if (cast) this.#report({ kind: "cast", ...cast });
    return cast !== undefined;
  }

  /** The value of a constant, perhaps one with which a function was called. */
  constant(closure: Closure): string | undefined {
    const { expression, place } = closure;
    if (expression.kind === "cast") return this.constant({ expression: expression.of, place });
    if (expression.kind === "constant") return expression.value ?? undefined;
    const meant = this.meant(closure);
    return meant && this.constant(meant);
  }

  /** Whether a function does nothing but read. */
  isPure(stored: StoredFunction, depth = 0): boolean {
    const body = depth < DEPTH_MAX ? this.body(stored) : undefined;
    return body !== undefined && this.#callsPure(body, stored, depth);
  }

  #callsPure(expression: Expression, within: StoredFunction, depth: number): boolean {
    if (expression.kind === "opaque") return false;
    if (expression.kind === "call") {
      const place = { scopes: [], called: { stored: within, args: [] }, asOwner: false, depth, ofOneRole: false };
      const stored = this.function(expression, place);
      if (stored ? !this.isPure(stored, depth + 1) : !this.#onlyReads(expression.name, place)) return false;
    }
    return childrenOf(expression).every((each) => this.#callsPure(each, within, depth));
  }

  /** Whether a path names one of the functions of PostgreSQL that only read. */
  #onlyReads(path: readonly string[], place: Place): boolean {
    return PURE.some((name) => this.isBuiltIn(path, name, place));
  }

  /** Whether a path names a function of PostgreSQL that shows nothing but its arguments and settings. */
  isHarmless(path: readonly string[], place: Place): boolean {
    return [...PURE, ...HARMLESS].some((name) => this.isBuiltIn(path, name, place));
  }

  /** In a body that PostgreSQL reads at each call, a function of the integrator could be meant. */
  isBuiltIn(path: readonly string[], name: string, { called }: Place): boolean {
    if (!isBuiltIn(path, name)) return false;
    const isSure = path.length === 2 || called?.stored.parsedBody !== null;
    return isSure || !this.#catalogue.functions.some((each) => each.name === name);
  }
}

/** Whether a type is text without a limit, whose collation is the database's: that is never one that folds. */
const isText = ({ name, schema, limited, array }: TypeName): boolean =>
  ["text", "varchar"].includes(name) && (schema ?? "pg_catalog") === "pg_catalog" && !limited && !array;

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((part, index) => part === other[index]);

/** Whether a path may name this function of PostgreSQL. */
export const isBuiltIn = (path: readonly string[], name: string): boolean =>
  path.at(-1) === name && (path.length === 1 || (path.length === 2 && path[0] === "pg_catalog"));
