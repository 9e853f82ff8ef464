/** What took longer than it may. */
export class TooLate extends Error {}

/** What `work` comes to, or `TooLate` when that takes longer than `seconds`. The work itself is not stopped. */
export function inTime<Value>(work: Promise<Value>, seconds: number): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new TooLate(`No answer within ${seconds} seconds.`)), seconds * 1000);
    work.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}
