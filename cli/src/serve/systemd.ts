/** Reports to systemd, by its own program: Node has no datagram sockets of UNIX, which sd_notify(3) needs. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { CommandError } from "../../../common/command-error.ts";
import { systemErrorCode } from "../support/errors.ts";

const NOTIFY = "systemd-notify";
/** How many reports are sent in the time after which systemd restarts a service that does not report. */
const REPORTS = 3;

/**
 * If systemd runs this process as `Type=notify`, reports that the service is ready. From then on it reports at intervals that the service
 * works, while `/health` of `url` answers. It does not ask `/ready`, because a full disk is no reason for a restart.
 *
 * @throws CommandError if `systemd-notify` cannot be run.
 */
export async function reportToSystemd(url: string, env: NodeJS.ProcessEnv): Promise<void> {
  if (!env.NOTIFY_SOCKET) return;
  await notify("--ready");
  const watchdogMs = Number(env.WATCHDOG_USEC ?? 0) / 1000;
  if (watchdogMs > 0) setInterval(() => void reportHealth(url, watchdogMs / REPORTS), watchdogMs / REPORTS).unref();
}

async function reportHealth(url: string, timeoutMs: number): Promise<void> {
  try {
    await (await fetch(`${url}/health`, { signal: AbortSignal.timeout(timeoutMs) })).arrayBuffer();
    await notify("WATCHDOG=1");
  } catch {
    // systemd restarts a service that does not report.
  }
}

const notify = (message: string) =>
  promisify(execFile)(NOTIFY, [message]).catch((error: unknown) => {
    throw new CommandError(
      `${NOTIFY} failed (${systemErrorCode(error) ?? error}). Install systemd's programs, or start the service without Type=notify.`,
    );
  });
