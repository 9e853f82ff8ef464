import type { Refusal, TextToken, Token, VariableToken } from "./tokens.ts";

export type Piece = TextToken | VariableToken;
/** A variable with its value, and the name under which that was found. */
export type BoundVariable = VariableToken & { key: string; value: unknown };
export type BoundPiece = TextToken | BoundVariable;
/** An optional clause, or the text between two of them. */
export type Clause = { isOptional: boolean; pieces: Piece[] } & ClauseRange;
/** Where an optional clause is in its template, with its brackets. */
export type ClauseRange = { start: number; end: number };

/** Collects tokens into clauses, and finds brackets that do not pair. */
export class Clauses {
  readonly all: Clause[] = [{ isOptional: false, pieces: [], start: 0, end: 0 }];
  #openedAt: number | undefined;
  /** How many brackets of SQL, such as those of an array, are open in the clause. */
  #depth = 0;

  /** Whether `]]` closes a bracket of SQL first: that of `[[AND {{a}} = b[1]]]`. */
  get isInBrackets(): boolean {
    return this.#openedAt !== undefined && this.#depth > 0;
  }

  add(token: Token, at: number): Refusal | undefined {
    if (token.kind === "[[") return this.#open(at);
    if (token.kind === "]]") return this.#close(at, token.end);
    this.all.at(-1)?.pieces.push(token);
    return token.kind === "text" ? this.#count(token, at) : undefined;
  }

  #count({ text, quoted }: TextToken, at: number): Refusal | undefined {
    if (quoted === undefined) this.#depth += text === "[" ? 1 : text === "]" ? -1 : 0;
    return this.#openedAt !== undefined && quoted !== undefined && /^\[.*\]\]/s.test(text)
      ? { position: at, reason: "]] in a name could close the clause. Put a space before the ]] that closes it." }
      : undefined;
  }

  findUnclosed(): Refusal | undefined {
    return this.#openedAt === undefined
      ? undefined
      : { position: this.#openedAt, reason: "This clause in [[ ]] is not closed. Close it with ]]." };
  }

  #open(at: number): Refusal | undefined {
    if (this.#openedAt !== undefined)
      return { position: at, reason: "A clause in [[ ]] cannot contain another one. Close the first one before this." };
    this.#openedAt = at;
    this.#depth = 0;
    this.all.push({ isOptional: true, pieces: [], start: at, end: at });
    return undefined;
  }

  #close(at: number, end: number): Refusal | undefined {
    if (this.#openedAt === undefined)
      return {
        position: at,
        reason: "These brackets close no clause. Remove them, or put a space between them if they are two brackets.",
      };
    const clause = this.all.at(-1);
    if (!clause?.pieces.some(({ kind }) => kind === "variable"))
      return {
        position: this.#openedAt,
        reason: "This clause in [[ ]] contains no variable. Put a space between two brackets that begin no clause.",
      };
    clause.end = end;
    this.#openedAt = undefined;
    this.all.push({ isOptional: false, pieces: [], start: end, end });
    return undefined;
  }
}
