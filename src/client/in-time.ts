/** What took longer than it may. */
export class TooLate extends Error {}

/** What is to stop when a signal is aborted. */
const stops = new WeakMap<EventTarget, Set<() => void>>();

/** The one listener of each signal, whatever waits for it: Node 20 takes an eleventh for a leak, and warns of it. */
const stopAll = ({ currentTarget }: Event): void => {
  for (const stop of [...((currentTarget && stops.get(currentTarget)) ?? [])]) stop();
};

/** Calls `stop` when the signal is aborted, until what this returns is called. */
function onAbort(signal: AbortSignal, stop: () => void): () => void {
  const all = stops.get(signal) ?? new Set();
  stops.set(signal, all.add(stop));
  signal.addEventListener("abort", stopAll);
  return () => {
    all.delete(stop);
    if (all.size === 0) signal.removeEventListener("abort", stopAll);
  };
}

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
    const forget = signal && onAbort(signal, () => stop(signal.reason));
    const timer = setTimeout(() => stop(new TooLate()), timeoutMs);
    release = () => {
      clearTimeout(timer);
      forget?.();
    };
    if (signal?.aborted) stop(signal.reason);
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
