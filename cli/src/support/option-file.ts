import { readFileSync } from "node:fs";
import { UsageError } from "../../../common/command-error.ts";
import { systemErrorCode } from "./output.ts";

/** The text of the file that an option names, without blanks around it; `-` is standard input. @throws UsageError if it cannot be read. */
export function textInOptionFile(option: string, file: string): string {
  try {
    return readFileSync(file === "-" ? process.stdin.fd : file, "utf8").trim();
  } catch (error) {
    throw new UsageError(`The file of ${option} cannot be read: ${systemErrorCode(error)}.`);
  }
}
