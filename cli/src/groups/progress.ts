const MS_BETWEEN_UPDATES = 100;

/** Shows the progress of a command in a line on standard error if that is a terminal; otherwise it prints only its notes. */
export class Progress implements Disposable {
  readonly #total: number;
  readonly #isShown: boolean;
  #updatedAt = Number.NEGATIVE_INFINITY;

  /** `total` is the last value of `update`, or 0 if that is unknown. */
  constructor(total: number, isShown = process.stderr.isTTY) {
    this.#total = total;
    this.#isShown = isShown;
  }

  update(value: number, status: string): void {
    const now = performance.now();
    if (!this.#isShown || now - this.#updatedAt < MS_BETWEEN_UPDATES) return;
    this.#updatedAt = now;
    const share = this.#total > 0 ? `${Math.floor((100 * value) / this.#total)}%  ` : "";
    this[Symbol.dispose]();
    // A line that wraps could not be cleared.
    process.stderr.write(`${share}${status}`.slice(0, process.stderr.columns - 1));
  }

  /** Prints a line above the progress. */
  note(text: string): void {
    this[Symbol.dispose]();
    console.error(text);
  }

  /** Removes the progress. */
  [Symbol.dispose](): void {
    if (!this.#isShown) return;
    process.stderr.cursorTo(0);
    process.stderr.clearLine(0);
  }
}
