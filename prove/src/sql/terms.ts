import type { Catalogue } from "../catalogue.ts";
import { type Atom, partOf } from "./atoms.ts";
import { isBuiltIn, type Lookup } from "./lookup.ts";
import { type Closure, type Place, within } from "./scope.ts";
import type { Expression } from "./sql-tree.ts";
import { elementOf, type KnownType, keepsApart, knownType } from "./types.ts";

/** What identifies the caller, or a list of it. */
export type Term = { atom: Atom; type: KnownType; isList: boolean; isSplit?: true };

/** Finds what identifies the caller: a setting, a part of its JSON, or a role, perhaps returned by a function. */
export class Terms {
  readonly #catalogue: Catalogue;
  readonly #lookup: Lookup;

  constructor(catalogue: Catalogue, lookup: Lookup) {
    this.#catalogue = catalogue;
    this.#lookup = lookup;
  }

  /** The term that an expression is; `undefined` for any other expression. */
  term({ expression, place }: Closure): Term | undefined {
    const of = (each: Expression): Term | undefined => this.term({ expression: each, place });
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
        const inner = this.#lookup.scopeOf(select, place);
        const term = inner && this.term({ expression: target, place: within(inner, place) });
        return term && as === "list" ? { ...term, isList: true } : term;
      }
      case "call":
        return this.#callTerm(expression, place);
      default: {
        const meant = this.#lookup.meant({ expression, place });
        return meant && this.term(meant);
      }
    }
  }

  #cast(term: Term, type: KnownType | undefined): Term | undefined {
    if (type === undefined || !keepsApart(term.type, type) || this.#lookup.isOwnCast(term.type, type)) return undefined;
    return { ...term, type, isList: term.isList || elementOf(type) !== undefined };
  }

  /** `json -> 'key'`, `json ->> 'key'`, `json #>> '{a,b}'` */
  #memberOf(operator: string, right: Closure, term: Term | undefined): Term | undefined {
    const key = this.#lookup.constant(right);
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
    const of = (each: Expression | undefined): Term | undefined => each && this.term({ expression: each, place });
    if (this.#lookup.isBuiltIn(name, "current_setting", place)) {
      const setting = first && this.#lookup.constant({ expression: first, place })?.toLowerCase();
      // Others than those of the integrator have values that nobody has set.
      if (!setting?.includes(".")) return undefined;
      return { atom: { kind: "setting", name: setting, path: [] }, type: "text", isList: false };
    }
    if (isBuiltIn(name, "nullif"))
      return second && this.#lookup.constant({ expression: second, place }) !== undefined ? of(first) : undefined;
    if (isBuiltIn(name, "coalesce")) return firstOf(args.filter((each) => !isNull(each)).map(of));
    return this.#listTerm(call, place) ?? this.#ownTerm(call, place);
  }

  /** Functions of PostgreSQL that make a list of a text or of JSON, or take a part of it. */
  #listTerm({ args, name }: Expression & { kind: "call" }, place: Place): Term | undefined {
    const is = (...names: string[]) => names.some((each) => this.#lookup.isBuiltIn(name, each, place));
    const [first, ...rest] = args;
    const term = first && this.term({ expression: first, place });
    if (!first || !term) return undefined;
    const keys = rest.map((each) => this.#lookup.constant({ expression: each, place }));
    if (is("json_extract_path_text", "jsonb_extract_path_text") && keys.every((key) => key !== undefined)) {
      const atom = partOf(term.atom, keys);
      return atom && { atom, type: "text", isList: false };
    }
    // A separator that is a part of a number or UUID would take it apart.
    const isSeparator = keys[0] !== undefined && /^[^\w+.-]+$/.test(keys[0]);
    if (is("string_to_array") && rest.length === 1 && isSeparator && !term.isList && term.type === "text")
      return { ...term, type: "text[]", isList: true, isSplit: true };
    if (rest.length > 0) return undefined;
    if (is("json_array_elements_text", "jsonb_array_elements_text")) return { ...term, type: "text", isList: true };
    if (is("unnest") && term.isList) return { ...term, type: elementOf(term.type) ?? term.type };
    return undefined;
  }

  /** A function of the integrator that returns what identifies the caller. */
  #ownTerm(call: Expression & { kind: "call" }, place: Place): Term | undefined {
    const stored = this.#lookup.function(call, place);
    const body = this.#lookup.inlined({ expression: call, place });
    const term = body && this.term(body);
    if (!stored || !term) return undefined;
    const made = this.#cast(term, this.#lookup.known(stored.returns));
    return made && stored.returnsSet ? { ...made, isList: true } : made;
  }
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
