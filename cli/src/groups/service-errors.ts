import { UserGroupServiceError } from "../../../client/src/index.ts";
import { CommandError } from "../../../common/command-error.ts";

/** Whether a call failed with this code. */
export const hasCode = (error: unknown, code: string): boolean =>
  error instanceof UserGroupServiceError && error.code === code;

/** A failure with this code in the words of a command; any other as it is. */
export const reworded = (error: unknown, code: string, message: string): unknown =>
  error instanceof UserGroupServiceError && error.code === code
    ? new CommandError(message, { code, requestId: error.requestId })
    : error;
