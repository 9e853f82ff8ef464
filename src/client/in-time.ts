/** What took longer than it may. */
export class TooLate extends Error {}

/**
 * What `work` comes to, or `TooLate` after `timeoutMs`, or the reason of `signal` when that is aborted. The last two come
 * at once, even where `work` does not heed the signal that it is given.
 */
export function inTime<Value>(
  work: (signal: AbortSignal) => Promise<Value>,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<Value> {
  // Not AbortSignal.any and AbortSignal.timeout, which a long-lived signal would gather one of for every call.
  const controller = new AbortController();
  let release = () => {};
  const outcome = new Promise<Value>((resolve, reject) => {
    const stop = (reason: unknown) => {
      reject(reason);
      controller.abort(reason);
    };
    const onAbort = () => stop(signal?.reason);
    const timer = setTimeout(() => stop(new TooLate()), timeoutMs);
    signal?.addEventListener("abort", onAbort);
    release = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    };
    if (signal?.aborted) onAbort();
    else work(controller.signal).then(resolve, reject);
  });
  return outcome.finally(release);
}

/** Waits, or throws the reason of `signal` as soon as that is aborted. */
export async function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await inTime(() => new Promise<never>(() => {}), milliseconds, signal);
  } catch (error) {
    if (!(error instanceof TooLate)) throw error;
  }
}
