import { type Token, Unreadable } from "./sql-tokens.ts";

/** Reads the tokens of an SQL text one after the other. What it does not find is Unreadable. */
export class TokenCursor {
  readonly #tokens: Token[];
  /** The index of the next token. */
  position = 0;

  constructor(tokens: Token[]) {
    this.#tokens = tokens;
  }

  /** Refuses tokens that are left. */
  end(): void {
    if (this.position < this.#tokens.length) throw new Unreadable();
  }

  peek(ahead = 0): Token | undefined {
    return this.#tokens[this.position + ahead];
  }

  next(): Token {
    const token = this.peek();
    if (!token) throw new Unreadable();
    this.position += 1;
    return token;
  }

  word(): string {
    const token = this.next();
    if (token.kind !== "word") throw new Unreadable();
    return token.text;
  }

  isWord(...words: string[]): boolean {
    const token = this.peek();
    return token?.kind === "word" && !token.quoted && words.includes(token.text);
  }

  isMark(text: string, ahead = 0): boolean {
    const token = this.peek(ahead);
    return token?.kind === "mark" && token.text === text;
  }

  /** Takes an unquoted word, a mark or an operator, if it is the next token. */
  take(text: string): boolean {
    const token = this.peek();
    if (token?.text !== text || token.kind === "string" || (token.kind === "word" && token.quoted)) return false;
    this.position += 1;
    return true;
  }

  expect(text: string): void {
    if (!this.take(text)) throw new Unreadable();
  }

  /** Skips what stands in parentheses, after the opening one, and the closing one. */
  skipToClosing(): void {
    for (let depth = 1; depth > 0; ) {
      const { kind, text } = this.next();
      if (kind === "mark" && text === "(") depth += 1;
      if (kind === "mark" && text === ")") depth -= 1;
    }
  }

  /** A name, perhaps with the names of its schema and table before it; the last may be `*`. */
  path(first = this.word()): string[] {
    const path = [first];
    while (this.take(".")) path.push(this.take("*") ? "*" : this.word());
    return path;
  }
}
