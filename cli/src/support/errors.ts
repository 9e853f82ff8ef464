/** Errors that commands explain to their users. */
import { readFileSync } from "node:fs";

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The code of an error of a file, a pipe or a socket, such as ENOSPC; `undefined` for any other error. */
export const systemErrorCode = (error: unknown): string | undefined =>
  error instanceof Error && "syscall" in error && "code" in error ? String(error.code) : undefined;

/** Makes a failure of the code of an error of a file, a pipe or a socket, and of its path, if it has one. */
type FailureOf = (code: string, path?: string) => Error;

/** A handler of errors. It throws what `failureOf` makes of the code of such an error, and any other error as it is. */
export const onSystemError =
  (failureOf: FailureOf) =>
  (error: unknown): never => {
    const code = systemErrorCode(error);
    throw code === undefined ? error : failureOf(code, (error as NodeJS.ErrnoException).path);
  };

/** The result of `work`. @throws what `failureOf` makes of the code of an error of a file, a pipe or a socket */
export function explainErrors<Value>(work: () => Value, failureOf: FailureOf): Value {
  try {
    return work();
  } catch (error) {
    return onSystemError(failureOf)(error);
  }
}

/** The text of a file; `undefined` if there is none. @throws what `failureOf` makes of the code of another error */
export function textIn(file: string, failureOf: FailureOf): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    return systemErrorCode(error) === "ENOENT" ? undefined : onSystemError(failureOf)(error);
  }
}
