import { UserGroupServiceError } from "../../../src/client/index.ts";

/** Whether a call failed with this code. */
export const hasCode = (error: unknown, code: string): boolean =>
  error instanceof UserGroupServiceError && error.code === code;
