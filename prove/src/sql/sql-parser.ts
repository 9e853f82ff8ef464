/** Reads expressions and subqueries, both as PostgreSQL writes them back and as people write them in functions. */

import { type Token, tokensOf, Unreadable } from "./sql-tokens.ts";
import type { Expression, Select, Source, TypeName } from "./sql-tree.ts";

/** How strongly operators bind, as in PostgreSQL's grammar. */
const OR = 1;
const AND = 2;
const NOT = 3;
const IS = 4;
const COMPARISON = 5;
const MEMBERSHIP = 6;
const OTHER = 7;
const SUM = 8;
const PRODUCT = 9;
const POWER = 10;
const COLLATE = 12;
const SIGN = 13;

const PRECEDENCES: Record<string, number> = {
  ...{ "=": COMPARISON, "<": COMPARISON, ">": COMPARISON, "<=": COMPARISON, ">=": COMPARISON, "<>": COMPARISON },
  ...{ "!=": COMPARISON, "+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "%": PRODUCT, "^": POWER },
};

/** Types whose SQL names are not those of `pg_type`. */
const TYPES: Record<string, string> = {
  bigint: "int8",
  integer: "int4",
  int: "int4",
  smallint: "int2",
  decimal: "numeric",
  boolean: "bool",
  real: "float4",
  "double precision": "float8",
  "character varying": "varchar",
  character: "bpchar",
  char: "bpchar",
};

/** The words that may follow a name without AS, and so are no alias. */
const NO_ALIAS = new Set(
  "where on join inner cross left right full natural using group order having limit offset union intersect except for fetch window and or not as".split(
    " ",
  ),
);

/** Functions with a grammar of their own, in which FROM, FOR and others stand between the arguments. */
const OPAQUE_CALLS = new Set(["extract", "substring", "trim", "overlay", "position", "xmlelement", "normalize", "row"]);

const OPAQUE = { kind: "opaque" } as const;

/** Reads an expression. @throws Unreadable */
export function parseExpression(sql: string): Expression {
  const parser = new Parser(tokensOf(sql));
  const expression = parser.expression();
  parser.end();
  return expression;
}

/** Reads the body of a function: `RETURN …`, or one SELECT, perhaps within BEGIN ATOMIC or BEGIN RETURN. @throws Unreadable */
export function parseBody(sql: string): Expression {
  const parser = new Parser(tokensOf(sql));
  const body = parser.body();
  parser.end();
  return body;
}

class Parser {
  readonly #tokens: Token[];
  #at = 0;

  constructor(tokens: Token[]) {
    this.#tokens = tokens;
  }

  end(): void {
    if (this.#at < this.#tokens.length) throw new Unreadable();
  }

  body(): Expression {
    const isBlock = this.#take("begin");
    if (isBlock) this.#take("atomic");
    const body = this.#take("return") ? this.expression() : this.#subquery("value");
    if (isBlock) {
      this.#expect(";");
      this.#expect("end");
    }
    this.#take(";");
    return body;
  }

  expression(minimum = 0): Expression {
    let left = this.#operand();
    for (;;) {
      const next = this.#continued(left, minimum);
      if (!next) return left;
      left = next;
    }
  }

  /** Reads one operator and its right side, if it binds strongly enough. */
  #continued(left: Expression, minimum: number): Expression | undefined {
    const token = this.#peek();
    if (!token) return undefined;
    if (token.kind === "mark") return this.#suffix(left);
    if (token.kind === "operator") return this.#operation(left, minimum);
    if (token.kind !== "word" || token.quoted) return undefined;
    switch (token.text) {
      case "or":
      case "and":
        return this.#junction(left, token.text, minimum);
      case "is":
      case "isnull":
      case "notnull":
        return minimum <= IS ? this.#test(left) : undefined;
      case "not":
      case "in":
      case "like":
      case "ilike":
      case "similar":
      case "between":
        return minimum <= MEMBERSHIP ? this.#membership(left) : undefined;
      case "operator":
        return minimum <= OTHER ? this.#namedOperation(left) : undefined;
      case "collate":
        return minimum <= COLLATE ? this.#collation(left) : undefined;
      case "at":
        throw new Unreadable();
      default:
        return undefined;
    }
  }

  #suffix(left: Expression): Expression | undefined {
    if (this.#take("::")) return { kind: "cast", of: left, type: this.#type() };
    if (!this.#take("[")) return undefined;
    const index = this.expression();
    this.#expect("]");
    return { kind: "subscript", of: left, index };
  }

  #junction(left: Expression, kind: "and" | "or", minimum: number): Expression | undefined {
    const precedence = kind === "or" ? OR : AND;
    if (precedence < minimum) return undefined;
    this.#at += 1;
    const right = this.expression(precedence + 1);
    const parts = left.kind === kind ? left.parts : [left];
    return { kind, parts: [...parts, right] };
  }

  #operation(left: Expression, minimum: number): Expression | undefined {
    const operator = this.#peek()?.text ?? "";
    const precedence = PRECEDENCES[operator] ?? OTHER;
    if (precedence < minimum) return undefined;
    this.#at += 1;
    if (this.#isWord("any", "some", "all")) return this.#anyOf(left, operator);
    return { kind: "operation", operator, left, right: this.expression(precedence + 1) };
  }

  #anyOf(left: Expression, operator: string): Expression {
    const isAll = this.#isWord("all");
    this.#at += 1;
    this.#expect("(");
    const array = this.#isWord("select") ? this.#subquery("list") : this.expression();
    this.#expect(")");
    return operator === "=" && !isAll ? { kind: "any", left, array } : OPAQUE;
  }

  /** `OPERATOR(schema.=)`, which may mean anything, unless it is of PostgreSQL itself. */
  #namedOperation(left: Expression): Expression {
    this.#at += 1;
    this.#expect("(");
    const schema = this.#word();
    this.#expect(".");
    const operator = this.#next();
    this.#expect(")");
    const any = this.#isWord("any", "some", "all") ? this.#anyOf(left, operator.text) : undefined;
    const made: Expression = any ?? {
      kind: "operation",
      operator: operator.text,
      left,
      right: this.expression(OTHER + 1),
    };
    return schema === "pg_catalog" ? made : OPAQUE;
  }

  #test(left: Expression): Expression {
    const first = this.#next();
    if (first.text !== "is") return OPAQUE;
    const isNot = this.#take("not");
    if (this.#take("distinct")) {
      this.#expect("from");
      this.expression(COMPARISON + 1);
      return OPAQUE;
    }
    return this.#word() === "true" && !isNot ? { kind: "isTrue", of: left } : OPAQUE;
  }

  #membership(left: Expression): Expression | undefined {
    const isNot = this.#take("not");
    const { text } = this.#next();
    if (text === "in") return this.#inList(left, isNot);
    if (!["like", "ilike", "similar", "between"].includes(text)) throw new Unreadable();
    this.#take("to");
    this.#take("symmetric");
    this.expression(MEMBERSHIP + 1);
    if (text === "between") {
      this.#expect("and");
      this.expression(MEMBERSHIP + 1);
    }
    if (this.#take("escape")) this.expression(MEMBERSHIP + 1);
    return OPAQUE;
  }

  #inList(left: Expression, isNot: boolean): Expression {
    this.#expect("(");
    const array: Expression = this.#isWord("select")
      ? this.#subquery("list")
      : { kind: "array", items: this.#listUntil(")") };
    this.#expect(")");
    return isNot ? OPAQUE : { kind: "any", left, array };
  }

  /** Any other collation may make texts equal that differ, so none is judged. */
  #collation(of: Expression): Expression {
    this.#at += 1;
    const [name = "", schema = "pg_catalog"] = this.#path().toReversed();
    return schema === "pg_catalog" && ["C", "POSIX"].includes(name) ? { kind: "bytes", of } : OPAQUE;
  }

  #operand(): Expression {
    const token = this.#next();
    switch (token.kind) {
      case "string":
        return { kind: "constant", value: token.text };
      case "number":
        return { kind: "constant", value: token.text };
      case "parameter":
        return { kind: "parameter", place: Number(token.text) };
      case "operator":
        this.expression(SIGN);
        return OPAQUE;
      case "mark":
        if (token.text === "(") return this.#parenthesized();
        throw new Unreadable();
      default:
        return token.quoted ? this.#named(token.text) : this.#keyword(token.text);
    }
  }

  #keyword(word: string): Expression {
    switch (word) {
      case "null":
        return { kind: "constant", value: null };
      case "true":
      case "false":
        return { kind: "constant", value: word, isBoolean: true };
      case "current_user":
      case "current_role":
      case "user":
        return { kind: "user", of: "current" };
      case "session_user":
        return { kind: "user", of: "session" };
      case "not":
        this.expression(NOT);
        return OPAQUE;
      case "exists":
        return this.#bracketed(() => this.#subquery("exists"));
      case "cast":
        return this.#bracketed(() => this.#castCall());
      case "array":
        return this.#arrayLiteral();
      case "case":
        return this.#cases();
      case "current_date":
      case "current_timestamp":
      case "localtimestamp":
        return OPAQUE;
      case "select":
      case "from":
      case "where":
        throw new Unreadable();
      default:
        return this.#named(word);
    }
  }

  #castCall(): Expression {
    const of = this.expression();
    this.#expect("as");
    return { kind: "cast", of, type: this.#type() };
  }

  #arrayLiteral(): Expression {
    if (this.#isMark("(")) return this.#bracketed(() => this.#subquery("list"));
    this.#expect("[");
    const items = this.#listUntil("]");
    this.#expect("]");
    return { kind: "array", items };
  }

  #cases(): Expression {
    if (!this.#isWord("when")) this.expression();
    while (this.#take("when")) {
      this.expression();
      this.#expect("then");
      this.expression();
    }
    if (this.#take("else")) this.expression();
    this.#expect("end");
    return OPAQUE;
  }

  /** After the opening parenthesis: an expression, or a subquery with one value. */
  #parenthesized(): Expression {
    const start = this.#at;
    try {
      const of = this.#isWord("select") ? this.#subquery("value") : this.expression();
      this.#expect(")");
      return of;
    } catch (error) {
      return this.#skipped(start, error);
    }
  }

  /** What stands in parentheses, or nothing that is judged. */
  #bracketed(read: () => Expression): Expression {
    this.#expect("(");
    const start = this.#at;
    try {
      const of = read();
      this.#expect(")");
      return of;
    } catch (error) {
      return this.#skipped(start, error);
    }
  }

  /** Goes on behind the parenthesis that closes what could not be read. */
  #skipped(start: number, error: unknown): Expression {
    if (!(error instanceof Unreadable)) throw error;
    this.#at = start;
    for (let depth = 1; depth > 0; ) {
      const { kind, text } = this.#next();
      if (kind === "mark" && text === "(") depth += 1;
      if (kind === "mark" && text === ")") depth -= 1;
    }
    return OPAQUE;
  }

  /** A column, a call, or a constant with its type before it. */
  #named(first: string): Expression {
    const path = this.#path(first);
    if (this.#peek()?.kind === "string") {
      const { text } = this.#next();
      const of: Expression = { kind: "constant", value: text };
      return { kind: "cast", of, type: typeOf(path) };
    }
    if (!this.#isMark("(")) return { kind: "name", path };
    const [name = ""] = path.slice(-1);
    if (path.length === 1 && OPAQUE_CALLS.has(name)) return this.#bracketed(() => fail());
    return this.#bracketed(() => ({ kind: "call", name: path, args: this.#listUntil(")") }));
  }

  #listUntil(end: string): Expression[] {
    const items: Expression[] = [];
    if (this.#isMark(end)) return items;
    do items.push(this.expression());
    while (this.#take(","));
    return items;
  }

  #path(first = this.#word()): string[] {
    const path = [first];
    while (this.#take(".")) path.push(this.#take("*") ? "*" : this.#word());
    return path;
  }

  #type(): TypeName {
    const path = this.#path();
    if (path.length === 1 && ["double", "character", "bit", "national"].includes(path[0] ?? ""))
      for (const word of ["precision", "varying"]) if (this.#take(word)) path[0] += ` ${word}`;
    const type = typeOf(path);
    if (this.#isMark("(")) {
      this.#expect("(");
      this.#listUntil(")");
      this.#expect(")");
      type.limited = true;
    }
    while (this.#isMark("[") && this.#isMark("]", 1)) {
      this.#at += 2;
      type.array = true;
    }
    if (this.#isWord("with", "without")) throw new Unreadable();
    return type;
  }

  #subquery(as: "value" | "exists" | "list"): Expression {
    this.#expect("select");
    this.#take("distinct");
    const targets: Select["targets"] = [];
    if (!(this.#isWord("from", "where") || this.#isMark(")") || this.#isMark(";") || !this.#peek()))
      do targets.push(this.#target());
      while (this.#take(","));
    const sources: Source[] = [];
    const conditions: Expression[] = [];
    if (this.#take("from"))
      do this.#source(sources, conditions);
      while (this.#take(","));
    if (this.#take("where")) conditions.push(this.expression());
    return { kind: "subquery", as, select: { targets, sources, conditions } };
  }

  #target(): Expression | "*" {
    if (this.#take("*")) return "*";
    const target = this.expression();
    if (this.#take("as") || (this.#peek()?.kind === "word" && !this.#isWord("from", "where", ...NO_ALIAS)))
      this.#word();
    return target.kind === "name" && target.path.at(-1) === "*" ? "*" : target;
  }

  /** One table or function with what is joined to it. Joins other than inner ones are not read. */
  #source(sources: Source[], conditions: Expression[]): void {
    if (this.#take("(")) {
      this.#source(sources, conditions);
      this.#expect(")");
    } else sources.push(this.#sourceItem());
    for (;;) {
      const isInner = this.#take("inner");
      if (!this.#take("join")) {
        if (isInner) throw new Unreadable();
        return;
      }
      if (this.#take("(")) {
        this.#source(sources, conditions);
        this.#expect(")");
      } else sources.push(this.#sourceItem());
      this.#expect("on");
      conditions.push(this.expression());
    }
  }

  #sourceItem(): Source {
    const isOnly = this.#take("only");
    const path = this.#path();
    const name = path.at(-1) ?? "";
    if (isOnly || !this.#isMark("(")) return { kind: "table", alias: this.#alias() ?? name, path };
    const call = this.#bracketed(() => ({ kind: "call", name: path, args: this.#listUntil(")") }));
    const alias = this.#alias() ?? name;
    const [column] = this.#take("(") ? [this.#word(), this.#expect(")")] : [];
    return { kind: "call", alias, column, call };
  }

  #alias(): string | undefined {
    const isNamed = this.#take("as") || (this.#peek()?.kind === "word" && !this.#isWord(...NO_ALIAS));
    return isNamed ? this.#word() : undefined;
  }

  #peek(ahead = 0): Token | undefined {
    return this.#tokens[this.#at + ahead];
  }

  #next(): Token {
    const token = this.#peek();
    if (!token) throw new Unreadable();
    this.#at += 1;
    return token;
  }

  #word(): string {
    const token = this.#next();
    if (token.kind !== "word") throw new Unreadable();
    return token.text;
  }

  #isWord(...words: string[]): boolean {
    const token = this.#peek();
    return token?.kind === "word" && !token.quoted && words.includes(token.text);
  }

  #isMark(text: string, ahead = 0): boolean {
    const token = this.#peek(ahead);
    return token?.kind === "mark" && token.text === text;
  }

  /** Takes an unquoted word, a mark or an operator, if it is the next token. */
  #take(text: string): boolean {
    const token = this.#peek();
    if (token?.text !== text || token.kind === "string" || (token.kind === "word" && token.quoted)) return false;
    this.#at += 1;
    return true;
  }

  #expect(text: string): void {
    if (!this.#take(text)) throw new Unreadable();
  }
}

function fail(): never {
  throw new Unreadable();
}

function typeOf(path: readonly string[]): TypeName {
  const [name = "", schema] = path.toReversed();
  const isLimited = schema === undefined && ["char", "character"].includes(name);
  return { name: (schema === undefined ? TYPES[name] : undefined) ?? name, schema, limited: isLimited, array: false };
}
