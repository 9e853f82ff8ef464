import { isTransient } from "../transport/retries.ts";
import { UserGroupServiceError } from "../transport/user-group-service-error.ts";

/** The failure of a call with the client. Throws any other error again, such as a bug. */
export function failureOf(error: unknown): UserGroupServiceError {
  if (isServiceError(error)) return error;
  if (Object(error).name === "TimeoutError")
    return new UserGroupServiceError("timeout", "The service did not respond in time.");
  throw error;
}

/** Not by `instanceof`: the client is another bundle of the package, with a class of its own. */
const isServiceError = (error: unknown): error is UserGroupServiceError =>
  error instanceof Error && error.name === "UserGroupServiceError";

/** Whether the same call may succeed later, without a change of yours. */
export const maySucceedLater = (failure: UserGroupServiceError): boolean =>
  isTransient(failure) || (failure.status ?? 0) >= 500;
