import { abortable, pause } from "./abortable.ts";
import { UserGroupServiceError } from "./user-group-service-error.ts";

/** How often and how long to try. */
export type RetryOptions = {
  /** The time limit of one try; 10 seconds by default. */
  timeoutMs?: number | undefined;
  /** How many times a call is retried at most; 3 by default. */
  retries?: number | undefined;
  /** The longest backoff before the second try, 200 ms by default. It doubles with each try; the wait is a random part of it. */
  backoffMs?: number | undefined;
  /** The longest wait before any try, a minute by default. If `Retry-After` asks for a longer one, the call fails at once. */
  waitMsMax?: number | undefined;
};

/** An option of `ug` alone: waits, or throws in place of a retry. `failures` are those before this one. */
export type Waiting = {
  wait?: (ms: number, signal: AbortSignal | undefined, error: unknown, failures: number) => Promise<void>;
};

/** A day. `setTimeout` fires at once for delays of more than 24 days. */
export const OPTION_MS_MAX = 86_400_000;

/** A status, a code or an error's name after which a later try may succeed. `fetch` reports a lost connection as a `TypeError`. */
const TRANSIENT = /\b(429|50[234]|52\d|TimeoutError|TypeError|network_error|timeout)\b/;

/**
 * Whether a later try may succeed: after a 429, a 502, 504 or 52x of a proxy, a timeout or a lost connection, and a 503 but for a damaged
 * database.
 */
export function isTransient(error: unknown): boolean {
  const { status, code, name } = Object(error);
  return code !== "environment_damaged" && TRANSIENT.test([status, code, name].join());
}

/**
 * Returns a function that runs `work` until it succeeds, has failed too often, or fails with an error for which `mayRetry` is false. A run
 * that takes too long is a `timeout`, whose message begins with `problem`. Throws a `TypeError` for options that cannot work.
 */
export function retriesOf({
  timeoutMs = 10_000,
  retries = 3,
  backoffMs = 200,
  waitMsMax = 60_000,
  wait = pause,
}: RetryOptions & Waiting) {
  milliseconds("timeoutMs", timeoutMs);
  milliseconds("backoffMs", backoffMs);
  milliseconds("waitMsMax", waitMsMax);
  if (!Number.isInteger(retries) || retries < 0) throw new TypeError("Give retries as 0 or more.");

  return async <Value>(
    work: (signal: AbortSignal) => Promise<Value>,
    problem: string,
    mayRetry: (error: unknown) => boolean,
    signal: AbortSignal | undefined,
  ): Promise<Value> => {
    const onTimeout = async () => {
      throw new UserGroupServiceError("timeout", `${problem} within ${timeoutMs} ms.`);
    };
    for (let failures = 0; ; failures += 1) {
      try {
        return await abortable(work, [signal], { ms: timeoutMs, onTimeout });
      } catch (error) {
        const { retryAfterMs = 0 } = Object(error);
        if (failures >= retries || retryAfterMs > waitMsMax || !mayRetry(error)) throw error;
        // Exponential backoff with full jitter.
        const backoff = Math.random() * Math.min(waitMsMax, backoffMs * 2 ** failures);
        await wait(Math.min(waitMsMax, retryAfterMs + backoff), signal, error, failures);
      }
    }
  };
}

/** Returns `value` if it can be a wait. */
export function milliseconds(name: string, value: number): number {
  if (!(value >= 0 && value <= OPTION_MS_MAX)) throw new TypeError(`Give ${name} as 0 to ${OPTION_MS_MAX}.`);
  return value;
}
