import { CommandError } from "../../../common/command-error.ts";
import { systemErrorCode } from "./errors.ts";

/** Standard output cannot be written: `EPIPE` if its reader has ended. */
export class OutputError extends CommandError {
  readonly isClosed: boolean;

  constructor(systemCode: string | undefined) {
    super(`Standard output could not be written: ${systemCode}.`);
    this.isClosed = systemCode === "EPIPE";
  }
}

/** Writes a text and a line feed to standard output. @throws OutputError if it cannot. */
export function print(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: Error | null) => {
      // After a failure the stream emits the error once more, which this listener then takes.
      if (error) return reject(new OutputError(systemErrorCode(error)));
      process.stdout.off("error", settle);
      resolve();
    };
    process.stdout.once("error", settle);
    process.stdout.write(`${text}\n`, settle);
  });
}
