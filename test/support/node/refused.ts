import { UserGroupServiceError } from "../../../client/src/index.ts";

/** The error with which a call fails. */
export const errorOf = (call: Promise<unknown>): Promise<UserGroupServiceError> =>
  call.then(
    () => Promise.reject(new Error("The call succeeded.")),
    (error) => (error instanceof UserGroupServiceError ? error : Promise.reject(error)),
  );
