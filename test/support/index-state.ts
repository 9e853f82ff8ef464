import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { vi } from "vitest";

/** How many tokens the index has yet to be told of. */
export const outboxSize = (directory: string): Promise<number> =>
  runInDurableObject(env.GROUP_DIRECTORY.getByName(directory), (_, { storage: { sql } }) => {
    // Not by `sql.exec` itself, behind which a test may count.
    const exec: typeof sql.exec = Object.getPrototypeOf(sql).exec.bind(sql);
    return Number(exec("SELECT count(*) AS entries FROM outbox").one().entries);
  });

/** Waits until the index has been told of all changes of a directory. */
export async function indexSettled(directory: string): Promise<void> {
  await vi.waitUntil(async () => (await outboxSize(directory)) === 0, { timeout: 20_000, interval: 10 });
}

/**
 * The same where the test has stopped the clock: moves it on, and runs the alarm by hand, until nothing is left to tell.
 * Answers with how far it had to be moved, in seconds.
 */
export async function indexSettledByAlarms(directory: string, stepSeconds = 5): Promise<number> {
  for (let seconds = 0; seconds <= 600; seconds += stepSeconds) {
    if ((await outboxSize(directory)) === 0) return seconds;
    vi.setSystemTime(Date.now() + stepSeconds * 1000);
    await runAlarm(directory);
  }
  throw new Error("The index was not told of all changes within ten minutes.");
}

/** Runs the directory's alarm now, if one is set. */
export const runAlarm = (directory: string): Promise<boolean> =>
  runDurableObjectAlarm(env.GROUP_DIRECTORY.getByName(directory));
