/** Thrown when an operation exceeds its time limit. */
export class TimeoutError extends Error {}

/** Waits for `work`, and throws a `TimeoutError` if it takes longer than `seconds`. The work itself is not stopped. */
export function withTimeout<Value>(work: Promise<Value>, seconds: number): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new TimeoutError(`No answer within ${seconds} seconds.`)), seconds * 1000);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
