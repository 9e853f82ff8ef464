import { type Call, type CallOptions, type Connection, headerValue, type ServiceResponse } from "./connection.ts";
import { UserGroupServiceError } from "./user-group-service-error.ts";

/** The options of a call that acts once, however often it is sent: a rotation, a delete, a restore. */
export type OnceOptions = CallOptions & {
  /**
   * The service recognizes a retry by this key, and repeats its first response for a day. The default is a random key, which
   * covers the client's own retries; give your own to retry the call later, or from another process.
   */
  idempotencyKey?: string | undefined;
};

/**
 * Sends a call with an Idempotency-Key, so that it can be retried. A full environment stores no response, and refuses the
 * key before it does anything: the call is then sent without the key, and not retried, unless the caller has given the key.
 */
export async function sendOnce(
  connection: Connection,
  call: Call,
  { idempotencyKey, ...options }: OnceOptions = {},
): Promise<ServiceResponse> {
  const key = headerValue("idempotencyKey", idempotencyKey ?? crypto.randomUUID());
  const keyed = { ...call, headers: { ...call.headers, "Idempotency-Key": key }, retryable: true };
  return connection.send(keyed, options).catch((error: unknown) => {
    const isFull = error instanceof UserGroupServiceError && error.code === "environment_full";
    if (!isFull || idempotencyKey !== undefined) throw error;
    return connection.send(call, options);
  });
}
