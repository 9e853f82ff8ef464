import { MultiBar } from "cli-progress";

/** Shows the progress of a command on standard error if that is a terminal; otherwise it prints only its notes. */
export class Progress {
  readonly #bars: MultiBar | undefined;
  readonly #bar: ReturnType<MultiBar["create"]> | undefined;

  /** `total` is the last value of `update`, or 0 if that is unknown. */
  constructor(total: number, isShown = process.stderr.isTTY) {
    if (!isShown) return;
    const format = total > 0 ? "{bar} {percentage}%  {status}" : "{status}";
    // Neither line wrapping nor the cursor is switched off, so a command that is killed leaves the terminal as it was.
    this.#bars = new MultiBar({ format, barsize: 20, clearOnComplete: true, linewrap: true, stream: process.stderr });
    this.#bar = this.#bars.create(total, 0, { status: "" });
  }

  update(value: number, status: string): void {
    this.#bar?.update(value, { status });
  }

  /** Prints a line above the progress. */
  note(text: string): void {
    if (this.#bars) this.#bars.log(`${text}\n`);
    else console.error(text);
  }

  stop(): void {
    // Prints the notes that are still queued.
    this.#bars?.update();
    this.#bars?.stop();
  }
}
