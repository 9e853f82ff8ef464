/** What took longer than it may. */
export class TooLate extends Error {}

/** What `work` comes to, or `TooLate` when that takes longer than `seconds`. The work itself is not stopped. */
export async function inTime<Value>(work: Promise<Value>, seconds: number): Promise<Value> {
  const settled = new AbortController();
  const tooLate = scheduler.wait(seconds * 1000, { signal: settled.signal }).then((): never => {
    throw new TooLate(`No answer within ${seconds} seconds.`);
  });
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    settled.abort();
  }
}
