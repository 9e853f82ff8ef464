import { MultiBar } from "cli-progress";

/** Shows on a terminal how far a command is, on standard error; anywhere else it prints nothing but its notes. */
export class Progress {
  readonly #bars: MultiBar | undefined;
  readonly #bar: ReturnType<MultiBar["create"]> | undefined;

  /** `total` is what `update` counts up to; 0 where that is not known. */
  constructor(total: number, isShown = process.stderr.isTTY) {
    if (!isShown) return;
    const format = total > 0 ? "{bar} {percentage}%  {told}" : "{told}";
    // With lines that wrap and a cursor that stays, a terminal is as it was, whatever ends the command.
    this.#bars = new MultiBar({ format, barsize: 20, clearOnComplete: true, linewrap: true, stream: process.stderr });
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
