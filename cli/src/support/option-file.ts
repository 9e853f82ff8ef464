import { readFileSync, readSync } from "node:fs";
import { UsageError } from "../../../common/command-error.ts";
import { explainErrors, systemErrorCode } from "./errors.ts";

const STDIN = 0;
const WAIT_MS = 10;
const waiting = new Int32Array(new SharedArrayBuffer(4));

/** The text of the file that an option names, without blanks around it; `-` is standard input. @throws UsageError if it cannot be read. */
export const textInOptionFile = (option: string, file: string): string =>
  explainErrors(
    () => (file === "-" ? readStandardInput() : readFileSync(file, "utf8")).trim(),
    (code) => new UsageError(`The file of ${option} cannot be read: ${code}.`),
  );

/**
 * All of standard input. Each module that imports `node:process` makes Node set a pipe to non-blocking, so a read fails with EAGAIN
 * while the writer is at work, such as a password manager that asks for its passphrase.
 */
export function readStandardInput(): string {
  const chunks: Buffer[] = [];
  for (let chunk = readChunk(); chunk?.length !== 0; chunk = readChunk())
    if (chunk) chunks.push(chunk);
    else Atomics.wait(waiting, 0, 0, WAIT_MS);
  return Buffer.concat(chunks).toString("utf8");
}

/** The line that the user of a terminal types, without its end. The terminal passes on whole lines. */
export function readTypedLine(): string {
  for (let chunk = readChunk(); ; chunk = readChunk())
    if (chunk) return chunk.toString("utf8").replace(/\r?\n$/, "");
    else Atomics.wait(waiting, 0, 0, WAIT_MS);
}

/** The next bytes of standard input: none at its end, and `undefined` if there are none yet. */
function readChunk(): Buffer | undefined {
  const buffer = Buffer.alloc(65_536);
  try {
    return buffer.subarray(0, readSync(STDIN, buffer));
  } catch (error) {
    if (systemErrorCode(error) === "EAGAIN") return undefined;
    throw error;
  }
}
