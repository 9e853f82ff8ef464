import { isTransient } from "../transport/retries.ts";
import { UserGroupServiceError } from "../transport/user-group-service-error.ts";

/** The refusals of this kit, in the form of the service's own, so that the page's client reads both alike. */
const REFUSALS = {
  // Messages for the people who view a page.
  signed_out: { status: 401, message: "Sign in to see this." },
  user_group_suspended: { status: 403, message: "This account is suspended. Contact our support." },
  user_group_not_found: { status: 404, message: "There is nothing to see for this account. Contact our support." },
  service_unavailable: { status: 503, message: "This is not available at the moment. Try again in a few minutes." },
  // Messages for the people who program it.
  method_not_allowed: { status: 405, message: "Send a POST: a browser may cache the answer to a GET." },
  origin_not_allowed: { status: 403, message: "Pages of this origin may not call this. Add the origin to origins." },
  unauthenticated: { status: 401, message: "Send a viewer session in the header Authorization: Bearer <session>." },
  credential_expired: { status: 401, message: "This session has expired. Get a new one." },
  credential_revoked: { status: 401, message: "This session has ended. Get a new one." },
} as const;

/** The codes after which a caller may present another session (RFC 9110, section 11.6.1). */
const CHALLENGES = /^(unauthenticated|credential_\w+)$/;

/** Differences from the refusal's usual answer. */
type Details = { status?: number; message?: string; headers?: Record<string, string> };

/** Answers with a code and a sentence, as the service does. */
export function refusal(code: keyof typeof REFUSALS, details: Details = {}): Response {
  const { status, message, headers } = { ...REFUSALS[code], headers: {}, ...details };
  const challenge = CHALLENGES.test(code) ? { "WWW-Authenticate": "Bearer" } : {};
  return noStore({ success: 0, error: { code, message } }, { status, headers: { ...challenge, ...headers } });
}

/** Answers with JSON that nobody may cache: it contains a session, or depends on one. */
export function noStore(
  body: object,
  { status, headers = {} }: { status: number; headers?: Record<string, string> },
): Response {
  return Response.json(body, { status, headers: { "Cache-Control": "no-store", ...headers } });
}

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
