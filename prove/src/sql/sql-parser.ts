/** Reads expressions and subqueries, both as PostgreSQL writes them back and as people write them in functions. */

import { BINDS, BINDS_OPERATOR, NO_ALIAS, OPAQUE_CALLS, typeOf } from "./sql-grammar.ts";
import { tokensOf, Unreadable } from "./sql-tokens.ts";
import type { Expression, Select, Source, TypeName } from "./sql-tree.ts";
import { TokenCursor } from "./token-cursor.ts";

const OPAQUE = { kind: "opaque" } as const;
const opaque = (...parts: Expression[]): Expression => ({ kind: "opaque", parts });

/** Reads an expression. @throws Unreadable */
export function parseExpression(sql: string): Expression {
  const tokens = new TokenCursor(tokensOf(sql));
  const expression = new Parser(tokens).expression();
  tokens.end();
  return expression;
}

/** Reads the body of a function: `RETURN …`, or one SELECT, perhaps within BEGIN ATOMIC or BEGIN RETURN. @throws Unreadable */
export function parseBody(sql: string): Expression {
  const tokens = new TokenCursor(tokensOf(sql));
  const body = new Parser(tokens).body();
  tokens.end();
  return body;
}

class Parser {
  readonly #tokens: TokenCursor;

  constructor(tokens: TokenCursor) {
    this.#tokens = tokens;
  }

  body(): Expression {
    const isBlock = this.#tokens.take("begin");
    if (isBlock) this.#tokens.take("atomic");
    const body = this.#tokens.take("return") ? this.expression() : this.#subquery("value");
    if (isBlock) {
      this.#tokens.expect(";");
      this.#tokens.expect("end");
    }
    this.#tokens.take(";");
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
    const token = this.#tokens.peek();
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
        return minimum <= BINDS.is ? this.#test(left) : undefined;
      case "not":
      case "in":
      case "like":
      case "ilike":
      case "similar":
      case "between":
        return minimum <= BINDS.membership ? this.#membership(left) : undefined;
      case "operator":
        return minimum <= BINDS.other ? this.#namedOperation(left) : undefined;
      case "collate":
        return minimum <= BINDS.collate ? this.#collation(left) : undefined;
      case "at":
        throw new Unreadable();
      default:
        return undefined;
    }
  }

  #suffix(left: Expression): Expression | undefined {
    if (this.#tokens.take("::")) return { kind: "cast", of: left, type: this.#type() };
    if (!this.#tokens.take("[")) return undefined;
    const index = this.expression();
    this.#tokens.expect("]");
    return { kind: "subscript", of: left, index };
  }

  #junction(left: Expression, kind: "and" | "or", minimum: number): Expression | undefined {
    const precedence = BINDS[kind];
    if (precedence < minimum) return undefined;
    this.#tokens.next();
    const right = this.expression(precedence + 1);
    const parts = left.kind === kind ? left.parts : [left];
    return { kind, parts: [...parts, right] };
  }

  #operation(left: Expression, minimum: number): Expression | undefined {
    const operator = this.#tokens.peek()?.text ?? "";
    const precedence = BINDS_OPERATOR[operator] ?? BINDS.other;
    if (precedence < minimum) return undefined;
    this.#tokens.next();
    if (this.#tokens.isWord("any", "some", "all")) return this.#anyOf(left, operator);
    return { kind: "operation", operator, left, right: this.expression(precedence + 1) };
  }

  #anyOf(left: Expression, operator: string): Expression {
    const isAll = this.#tokens.isWord("all");
    this.#tokens.next();
    this.#tokens.expect("(");
    const array = this.#tokens.isWord("select") ? this.#subquery("list") : this.expression();
    this.#tokens.expect(")");
    return operator === "=" && !isAll ? { kind: "any", left, array } : opaque(left, array);
  }

  /** `OPERATOR(schema.=)`, which may mean anything, unless it is of PostgreSQL itself. */
  #namedOperation(left: Expression): Expression {
    this.#tokens.next();
    this.#tokens.expect("(");
    const schema = this.#tokens.word();
    this.#tokens.expect(".");
    const { text: operator } = this.#tokens.next();
    this.#tokens.expect(")");
    const made: Expression = this.#tokens.isWord("any", "some", "all")
      ? this.#anyOf(left, operator)
      : { kind: "operation", operator, left, right: this.expression(BINDS.other + 1) };
    return schema === "pg_catalog" ? made : OPAQUE;
  }

  #test(left: Expression): Expression {
    const first = this.#tokens.next();
    if (first.text !== "is") return opaque(left);
    const isNot = this.#tokens.take("not");
    if (this.#tokens.take("distinct")) {
      this.#tokens.expect("from");
      return opaque(left, this.expression(BINDS.comparison + 1));
    }
    return this.#tokens.word() === "true" && !isNot ? { kind: "isTrue", of: left } : opaque(left);
  }

  #membership(left: Expression): Expression | undefined {
    const isNot = this.#tokens.take("not");
    const { text } = this.#tokens.next();
    if (text === "in") return this.#inList(left, isNot);
    if (!["like", "ilike", "similar", "between"].includes(text)) throw new Unreadable();
    this.#tokens.take("to");
    this.#tokens.take("symmetric");
    const parts = [left, this.expression(BINDS.membership + 1)];
    if (text === "between") {
      this.#tokens.expect("and");
      parts.push(this.expression(BINDS.membership + 1));
    }
    if (this.#tokens.take("escape")) parts.push(this.expression(BINDS.membership + 1));
    return opaque(...parts);
  }

  #inList(left: Expression, isNot: boolean): Expression {
    this.#tokens.expect("(");
    const array: Expression = this.#tokens.isWord("select")
      ? this.#subquery("list")
      : { kind: "array", items: this.#listUntil(")") };
    this.#tokens.expect(")");
    return isNot ? opaque(left, array) : { kind: "any", left, array };
  }

  /** Any other collation may make texts equal that differ, so none is judged. */
  #collation(of: Expression): Expression {
    this.#tokens.next();
    const [name = "", schema = "pg_catalog"] = this.#tokens.path().toReversed();
    return schema === "pg_catalog" && ["C", "POSIX"].includes(name) ? { kind: "bytes", of } : OPAQUE;
  }

  #operand(): Expression {
    const token = this.#tokens.next();
    switch (token.kind) {
      case "string":
      case "number":
        return { kind: "constant", value: token.text };
      case "parameter":
        return { kind: "parameter", place: Number(token.text) };
      case "operator":
        if (!["-", "+"].includes(token.text)) {
          this.expression(BINDS.sign);
          return OPAQUE;
        }
        return opaque(this.expression(BINDS.sign));
      case "mark":
        if (token.text === "(") return this.#closed(() => this.#valueOrSubquery());
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
        return opaque(this.expression(BINDS.not));
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
        return opaque();
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
    this.#tokens.expect("as");
    return { kind: "cast", of, type: this.#type() };
  }

  #arrayLiteral(): Expression {
    if (this.#tokens.isMark("(")) return this.#bracketed(() => this.#subquery("list"));
    this.#tokens.expect("[");
    const items = this.#listUntil("]");
    this.#tokens.expect("]");
    return { kind: "array", items };
  }

  #cases(): Expression {
    const parts = this.#tokens.isWord("when") ? [] : [this.expression()];
    while (this.#tokens.take("when")) {
      parts.push(this.expression());
      this.#tokens.expect("then");
      parts.push(this.expression());
    }
    if (this.#tokens.take("else")) parts.push(this.expression());
    this.#tokens.expect("end");
    return opaque(...parts);
  }

  /** What stands in parentheses, or nothing that is judged. */
  #bracketed(read: () => Expression): Expression {
    this.#tokens.expect("(");
    return this.#closed(read);
  }

  /** After the opening parenthesis: what `read` reads, and the closing one. If that fails, skips to the closing one. */
  #closed(read: () => Expression): Expression {
    const start = this.#tokens.position;
    try {
      const of = read();
      this.#tokens.expect(")");
      return of;
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      this.#tokens.position = start;
      this.#tokens.skipToClosing();
      return OPAQUE;
    }
  }

  #valueOrSubquery(): Expression {
    return this.#tokens.isWord("select") ? this.#subquery("value") : this.expression();
  }

  /** A column, a call, or a constant with its type before it. */
  #named(first: string): Expression {
    const path = this.#tokens.path(first);
    if (this.#tokens.peek()?.kind === "string") {
      const { text } = this.#tokens.next();
      const of: Expression = { kind: "constant", value: text };
      return { kind: "cast", of, type: typeOf(path) };
    }
    if (!this.#tokens.isMark("(")) return { kind: "name", path };
    const [name = ""] = path.slice(-1);
    if (path.length === 1 && OPAQUE_CALLS.has(name)) {
      this.#tokens.expect("(");
      this.#tokens.skipToClosing();
      return OPAQUE;
    }
    return this.#bracketed(() => ({ kind: "call", name: path, args: this.#listUntil(")") }));
  }

  #listUntil(end: string): Expression[] {
    const items: Expression[] = [];
    if (this.#tokens.isMark(end)) return items;
    do items.push(this.expression());
    while (this.#tokens.take(","));
    return items;
  }

  #type(): TypeName {
    const path = this.#tokens.path();
    if (path.length === 1 && ["double", "character", "bit", "national"].includes(path[0] ?? ""))
      for (const word of ["precision", "varying"]) if (this.#tokens.take(word)) path[0] += ` ${word}`;
    const type = typeOf(path);
    if (this.#tokens.take("(")) {
      this.#listUntil(")");
      this.#tokens.expect(")");
      type.limited = true;
    }
    while (this.#tokens.isMark("[") && this.#tokens.isMark("]", 1)) {
      this.#tokens.expect("[");
      this.#tokens.expect("]");
      type.array = true;
    }
    if (this.#tokens.isWord("with", "without")) throw new Unreadable();
    return type;
  }

  #subquery(as: "value" | "exists" | "list"): Expression {
    this.#tokens.expect("select");
    this.#tokens.take("distinct");
    const targets: Select["targets"] = [];
    const hasNoTarget = this.#tokens.isWord("from", "where") || this.#tokens.isMark(")") || this.#tokens.isMark(";");
    if (!hasNoTarget && this.#tokens.peek())
      do targets.push(this.#target());
      while (this.#tokens.take(","));
    const sources: Source[] = [];
    const conditions: Expression[] = [];
    if (this.#tokens.take("from"))
      do this.#source(sources, conditions);
      while (this.#tokens.take(","));
    if (this.#tokens.take("where")) conditions.push(this.expression());
    return { kind: "subquery", as, select: { targets, sources, conditions } };
  }

  #target(): Expression | "*" {
    if (this.#tokens.take("*")) return "*";
    const target = this.expression();
    this.#alias();
    return target.kind === "name" && target.path.at(-1) === "*" ? "*" : target;
  }

  /** One table or function with what is joined to it. Joins other than inner ones are not read. */
  #source(sources: Source[], conditions: Expression[]): void {
    this.#joinable(sources, conditions);
    for (;;) {
      const isInner = this.#tokens.take("inner");
      if (!this.#tokens.take("join")) {
        if (isInner) throw new Unreadable();
        return;
      }
      this.#joinable(sources, conditions);
      this.#tokens.expect("on");
      conditions.push(this.expression());
    }
  }

  /** One table or function, or several in parentheses. */
  #joinable(sources: Source[], conditions: Expression[]): void {
    if (this.#tokens.take("(")) {
      this.#source(sources, conditions);
      this.#tokens.expect(")");
    } else sources.push(this.#sourceItem());
  }

  #sourceItem(): Source {
    const isOnly = this.#tokens.take("only");
    const path = this.#tokens.path();
    const name = path.at(-1) ?? "";
    if (isOnly || !this.#tokens.isMark("(")) return { kind: "table", alias: this.#alias() ?? name, path };
    const call = this.#bracketed(() => ({ kind: "call", name: path, args: this.#listUntil(")") }));
    const alias = this.#alias() ?? name;
    const [column] = this.#tokens.take("(") ? [this.#tokens.word(), this.#tokens.expect(")")] : [];
    return { kind: "call", alias, column, call };
  }

  #alias(): string | undefined {
    const isNamed =
      this.#tokens.take("as") || (this.#tokens.peek()?.kind === "word" && !this.#tokens.isWord(...NO_ALIAS));
    return isNamed ? this.#tokens.word() : undefined;
  }
}
