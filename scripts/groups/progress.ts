import { MultiBar } from "cli-progress";

/** Shows on a terminal how far a command is, on standard error; anywhere else it prints nothing but its notes. */
export class Progress {
  readonly #bars: MultiBar | undefined;
  readonly #bar: ReturnType<MultiBar["create"]> | undefined;

  /** `total` is what `update` counts up to; 0 where that is not known. */
  constructor(total: number) {
    if (!process.stderr.isTTY) return;
    const format = total > 0 ? "{bar} {percentage}%  {told}" : "{told}";
    this.#bars = new MultiBar({ format, clearOnComplete: true, hideCursor: true, stream: process.stderr });
    this.#bar = this.#bars.create(total, 0, { told: "" });
  }

  update(value: number, told: string): void {
    this.#bar?.update(value, { told });
  }

  /** Prints a line that stays. */
  note(text: string): void {
    if (this.#bars) this.#bars.log(`${text}\n`);
    else console.error(text);
  }

  stop(): void {
    // Prints the notes that wait for the next drawing.
    this.#bars?.update();
    this.#bars?.stop();
  }
}
