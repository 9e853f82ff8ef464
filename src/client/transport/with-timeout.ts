/** Thrown when an operation exceeds its time limit. */
export class TimeoutError extends Error {}

/** The callbacks to run when a signal is aborted. */
const callbacks = new WeakMap<EventTarget, Set<() => void>>();

/** The only listener of each signal, however many calls share it: Node 20 warns of a leak at the eleventh listener. */
const runCallbacks = ({ currentTarget }: Event): void => {
  if (currentTarget)
    callbacks.get(currentTarget)?.forEach((callback) => {
      callback();
    });
};

/** Calls `callback` when the signal is aborted. The function that it returns removes the callback. */
function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const all = callbacks.get(signal) ?? new Set();
  callbacks.set(signal, all.add(callback));
  signal.addEventListener("abort", runCallbacks);
  return () => {
    all.delete(callback);
    if (all.size === 0) signal.removeEventListener("abort", runCallbacks);
  };
}

/**
 * Resolves to the result of `work`. Rejects with a `TimeoutError` after `timeoutMs`, and with the reason of `signal` when
 * that is aborted; both at once, even if `work` ignores the signal that it receives.
 */
export function withTimeout<Value>(
  work: (signal: AbortSignal) => Promise<Value>,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<Value> {
  // AbortSignal.any and AbortSignal.timeout would leave one dependent signal per call on a signal that lives long.
  const controller = new AbortController();
  let release = () => {};
  const outcome = new Promise<Value>((resolve, reject) => {
    const stop = (reason: unknown) => {
      reject(reason);
      controller.abort(reason);
    };
    const removeCallback = signal && onAbort(signal, () => stop(signal.reason));
    const timer = setTimeout(() => stop(new TimeoutError()), timeoutMs);
    release = () => {
      clearTimeout(timer);
      removeCallback?.();
    };
    if (signal?.aborted) stop(signal.reason);
    else work(controller.signal).then(resolve, reject);
  });
  return outcome.finally(release);
}

/** Waits. Rejects with the reason of `signal` as soon as that is aborted. */
export function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return withTimeout(() => new Promise<void>(() => {}), milliseconds, signal).catch((error) => {
    if (!(error instanceof TimeoutError)) throw error;
  });
}
