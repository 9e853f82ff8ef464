import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";

/** Runs the directory's alarm now. Returns whether one was set. */
export const runAlarm = (directory: string): Promise<boolean> =>
  runDurableObjectAlarm(env.GROUP_DIRECTORY.getByName(directory));
