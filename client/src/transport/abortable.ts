/** The only listener of a signal, however many calls share it: Node 20 warns of a leak at the eleventh listener. */
class Callbacks extends Set<() => void> {
  handleEvent(): void {
    for (const callback of this) callback();
  }
}

const callbacksOf = new WeakMap<AbortSignal, Callbacks>();

/** Calls `callback` when the signal is aborted, or at once if it is. The function that it returns removes the callback. */
function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const callbacks = callbacksOf.get(signal) ?? new Callbacks();
  callbacksOf.set(signal, callbacks.add(callback));
  signal.addEventListener("abort", callbacks);
  if (signal.aborted) callback();
  return () => {
    callbacks.delete(callback);
    if (!callbacks.size) signal.removeEventListener("abort", callbacks);
  };
}

/** A time limit, and what decides the result when it is exceeded. */
type Limit<Value> = { ms: number; onTimeout: () => Promise<Value> };

/**
 * Resolves to the result of `work`, or of `onTimeout` if the limit is exceeded. Rejects with the reason of the first of `signals` that
 * is aborted. The last two happen at once, even if `work` ignores the signal that it receives.
 */
export function abortable<Value>(
  work: (signal: AbortSignal) => Promise<Value>,
  signals: (AbortSignal | undefined)[],
  limit?: Limit<Value>,
): Promise<Value> {
  // AbortSignal.any and AbortSignal.timeout would leave one dependent signal per call on a signal that lives long.
  const controller = new AbortController();
  const { signal: stopped } = controller;
  let release = () => {};
  const outcome = new Promise<Value>((resolve, reject) => {
    stopped.addEventListener("abort", () => reject(stopped.reason));
    const removals = signals.map((signal) => signal && onAbort(signal, () => controller.abort(signal.reason)));
    const timer =
      limit &&
      setTimeout(() => {
        resolve(limit.onTimeout());
        controller.abort();
      }, limit.ms);
    release = () => {
      clearTimeout(timer);
      for (const remove of removals) remove?.();
    };
    if (!stopped.aborted) work(stopped).then(resolve, reject);
  });
  return outcome.finally(release);
}

/** Waits. Rejects with the reason of `signal` as soon as that is aborted. */
export const pause = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  abortable(() => new Promise<void>(() => {}), [signal], { ms, onTimeout: async () => {} });
