/** Checks the machine on which the service runs: its backups, its files, its clock, and what its proxy passes on. */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { attempt } from "../../../common/attempt.ts";
import { isLoopback } from "../../../common/origin.ts";
import { newestBackupAt } from "../backup/newest-backup.ts";
import { DEFAULT_SECRETS_FILE } from "../serve/options.ts";
import { runningService, valuesOf } from "./env-file.ts";
import { type Finding, failed, ok, skipped, warning } from "./finding.ts";

/** Where the unit of `deploy/` has them. */
const STATE = "/var/lib/user-group-service/state";
const BACKUPS = "/var/lib/user-group-service-backup";
const TIMER = "user-group-service-backup.timer";
const BACKUP_HOURS_MAX = 26;
const HOUR_MS = 3_600_000;
const LOG_LINES = 2000;

/** The checks of a service on this machine; none for another one. */
export function checkBox(url: URL, envFile: string = DEFAULT_SECRETS_FILE): Finding[] {
  if (!isLoopback(url)) return [];
  const service = runningService(url.port, envFile);
  const folderOf = (option: string, usual: string): string | undefined => {
    const [given] = service ? valuesOf(service.args, option) : [];
    if (service) return given === undefined ? undefined : resolve(service.folder, given);
    return existsSync(usual) ? usual : undefined;
  };
  const state = folderOf("--persist-to", STATE);
  const backups = folderOf("--backups", BACKUPS);
  return [
    ...(backups === undefined ? [] : [checkBackups(backups, new Date()), ...checkTimer(backups)]),
    ...(state === undefined ? [] : [checkOwners(state)]),
    ...checkAddress(service ? valuesOf(service.args, "--client-address-header")[0] : undefined),
    ...checkOwnClock(),
  ];
}

/** The age of the newest backup. */
export function checkBackups(folder: string, now: Date): Finding {
  const check = "backup";
  if (!attempt(() => readdirSync(folder)))
    return skipped(check, `${folder} cannot be listed: run ug doctor as root, to see the newest backup`);
  const newest = newestBackupAt(folder, now);
  const run = "Run: sudo systemctl start user-group-service-backup";
  if (!newest) return failed(check, `${folder} has no backup. ${run}`);
  const hours = Math.round((now.getTime() - newest.getTime()) / HOUR_MS);
  return hours > BACKUP_HOURS_MAX
    ? failed(check, `The newest backup in ${folder} began ${hours} hours ago. ${run}`)
    : ok(check, `the newest in ${folder} began ${hours} hours ago`);
}

/** Whether systemd takes the backups of the usual folder, and the last one has succeeded. */
function checkTimer(folder: string): Finding[] {
  if (folder !== BACKUPS) return [];
  const show = (unit: string, property: string) =>
    outputOf("systemctl", "show", unit, `--property=${property}`, "--value");
  const state = show(TIMER, "ActiveState");
  if (!state) return [];
  const start = `Run: sudo systemctl enable --now /opt/user-group-service/current/deploy/${TIMER}`;
  if (state !== "active") return [failed("timer", `${TIMER} is ${state}, so nothing takes backups. ${start}`)];
  const result = show("user-group-service-backup.service", "Result");
  const why = "Its reason: journalctl -u user-group-service-backup";
  if (result && result !== "success") return [failed("timer", `The last backup has failed (${result}). ${why}`)];
  return [ok("timer", `${TIMER} is active`)];
}

/** Whether all files of the state have the owner of their folder: the service cannot open the others. */
export function checkOwners(state: string): Finding {
  const check = "owners";
  const files = attempt(() => readdirSync(state, { recursive: true, encoding: "utf8" }));
  if (!files) return skipped(check, `${state} cannot be read: run ug doctor as root, to check the owners of its files`);
  const { uid } = statSync(state);
  // A file may have been deleted since.
  const other = files.find((file) => (attempt(() => statSync(join(state, file)).uid) ?? uid) !== uid);
  const own = `sudo chown -R --reference=${state} ${state}`;
  return other === undefined
    ? ok(check, `all files in ${state} belong to one user`)
    : failed(
        check,
        `${join(state, other)} belongs to another user than ${state}, so the service cannot open it. Run: ${own}`,
      );
}

/** Whether the proxy passes on addresses, as far as the log of the usual unit shows it. */
function checkAddress(header: string | undefined): Finding[] {
  if (header === undefined) return [];
  const log = outputOf("journalctl", "-u", "user-group-service", "-o", "cat", "-n", String(LOG_LINES)) ?? "";
  return proxyFinding(header, log);
}

/** The finding for a log. Calls on the machine itself, such as those of this command, have an address of loopback. */
export function proxyFinding(header: string, log: string): Finding[] {
  const clients = [...log.matchAll(/"client":"([^"]+)"/g)].map(([, client = ""]) => client);
  if (clients.length === 0) return [];
  if (clients.some((client) => !/^(?:127\.|::1$)/.test(client)))
    return [ok("proxy", `the log has addresses that the proxy passes in ${header}`)];
  const set = `If users have called since, let the proxy set ${header}: deploy/Caddyfile shows how.`;
  return [warning("proxy", `All addresses in the log are of this machine. ${set}`)];
}

/** Whether the clock of this machine is synchronised, where systemd knows it. The service on it has the same clock. */
function checkOwnClock(): Finding[] {
  const synchronised = outputOf("timedatectl", "show", "--property=NTPSynchronized", "--value");
  if (synchronised === "yes") return [ok("ntp", "this machine is synchronised with NTP")];
  const wrong =
    "This machine is not synchronised with NTP, and a wrong clock ends sessions early or late. Run: sudo timedatectl set-ntp true";
  return synchronised === "no" ? [warning("ntp", wrong)] : [];
}

/** What a program prints; `undefined` where it is missing or fails, such as without systemd. */
function outputOf(program: string, ...args: string[]): string | undefined {
  const { status, stdout } = spawnSync(program, args, { encoding: "utf8", timeout: 5_000 });
  return status === 0 ? stdout.trim() : undefined;
}
