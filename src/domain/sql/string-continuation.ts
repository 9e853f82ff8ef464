import type { Piece } from "./clauses.ts";
import type { Refusal, Token } from "./tokens.ts";

/**
 * PostgreSQL joins a string to one on an earlier line when only blanks and comments stand between them, and reads it by
 * the rules of the first: `E'a'` makes backslashes of the second escape quotes. A variable counts as a string, because some
 * drivers write its value as one.
 */
export class StringContinuation {
  /** Where the last string begins, if only blanks and comments follow it: on this line, or on an earlier one. */
  #last: { onThisLine?: number | undefined; onEarlierLine?: number | undefined } = {};
  #beforeClause = this.#last;

  /** Refuses a token that continues a string. */
  add(token: Token, at: number): Refusal | undefined {
    if (token.kind === "[[") {
      this.#beforeClause = this.#last;
    } else if (token.kind === "]]") {
      // The clause may be kept or dropped.
      this.#last = {
        onThisLine: this.#last.onThisLine ?? this.#beforeClause.onThisLine,
        onEarlierLine: this.#last.onEarlierLine ?? this.#beforeClause.onEarlierLine,
      };
    } else {
      const continued = this.#last.onEarlierLine;
      if (continued !== undefined && (token.kind === "variable" || token.text.startsWith("'")))
        return {
          position: continued,
          reason:
            "Databases disagree on a string or variable that another one on a later line follows. Write one string, or put an " +
            "operator or comma between them.",
        };
      this.#pass(token, at);
    }
    return undefined;
  }

  #pass(token: Piece, at: number): void {
    if (token.kind === "variable" || token.quoted === "string") this.#last = { onThisLine: at };
    else if (token.quoted !== "comment" && /\S/.test(token.text)) this.#last = {};
    else if (token.text.includes("\n"))
      this.#last = { onEarlierLine: this.#last.onThisLine ?? this.#last.onEarlierLine };
  }
}
