/**
 * A real systemd on a small machine of its own, for tests of the units in `deploy/`. The machine has a root, namespaces and cgroups of
 * its own (`boot-systemd.sh`), so that nothing systemd does at its start or later reaches the machine that runs the tests.
 */
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { waitUntil } from "./service.ts";

const INIT = "/lib/systemd/systemd";
const TARGET = "ug-test.target";
const BOOT = join(import.meta.dirname, "boot-systemd.sh");
const NAMESPACES = ["--mount", "--pid", "--uts", "--ipc", "--net", "--cgroup"];
const ENV = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" };
const OUTPUT_BYTES_MAX = 64 * 2 ** 20;

const CGROUPS = "/sys/fs/cgroup";
/** The hierarchies of version 1 that systemd uses. */
const CONTROLLERS = ["cpu", "cpuacct", "memory", "devices", "blkio", "pids", "name=systemd"];

/** A cgroup for the machine, in one hierarchy. `controller` is empty in version 2. */
type Cgroup = { controller: string; folder: string };

/** The cgroups that a new machine needs. */
function newCgroups(): Cgroup[] {
  const name = `ug-systemd-${randomUUID()}`;
  const own = [...readFileSync("/proc/self/cgroup", "utf8").matchAll(/^\d+:(.*?):(.*)$/gm)];
  // Below any other cgroup of version 2 that has processes, a cgroup gets no controllers.
  if (own.length === 1) return [{ controller: "", folder: join(CGROUPS, name) }];
  // In version 1 they are below the cgroups of this process, whose limits stay in force.
  return own
    .map(([, controller = "", path = ""]) => ({
      controller,
      folder: join(CGROUPS, controller.replace("name=", "") || "unified", path, name),
    }))
    .filter(({ controller }) => controller === "" || CONTROLLERS.includes(controller));
}

/** Removes a cgroup and those below it. Their files are the kernel's. */
function removeCgroup(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) removeCgroup(join(folder, entry.name));
  rmdirSync(folder);
}

/** What this machine lacks for a test with systemd, or nothing. */
function missingForSystemd(): string | undefined {
  if (!existsSync("/proc/self/cgroup")) return "Linux is missing";
  const programs = ["unshare", "nsenter", "setpriv", "pivot_root"];
  const missing = programs.filter((program) => spawnSync(program, ["--version"], { env: ENV }).error !== undefined);
  if (!existsSync(INIT)) missing.unshift("systemd");
  if (missing.length > 0) return `${missing.join(" and ")} is missing`;
  const tries =
    "mount -t tmpfs none /sys && mknod /sys/null c 1 3 && mount -t proc none /proc && mount -t sysfs none /sys";
  if (spawnSync("unshare", [...NAMESPACES, "--fork", "sh", "-c", tries], { env: ENV }).status !== 0)
    return "this user may not make namespaces";
  try {
    for (const { folder } of newCgroups()) {
      mkdirSync(folder);
      rmdirSync(folder);
    }
  } catch {
    return "this user may not make cgroups";
  }
  return undefined;
}

const missing = missingForSystemd();
export const hasSystemd = missing === undefined;
/** Why the tests with systemd are skipped, for their names, or an empty text. */
export const skippedWithoutSystemd = hasSystemd ? "" : `, skipped: ${missing}`;

/** Whether a process is systemd. Before, its namespaces may still show the root of this machine. */
const isInit = (pid: number) => pid > 0 && readFileSync(`/proc/${pid}/comm`, "utf8") === "systemd\n";

export class Systemd {
  readonly #unshare: ChildProcess;
  readonly #cgroups: Cgroup[];
  /** systemd, which is process 1 in its namespace. */
  #pid = 0;

  private constructor(releases: string) {
    this.#cgroups = newCgroups();
    for (const { folder } of this.#cgroups) mkdirSync(folder);
    const joinCgroups = `for folder in $CGROUPS; do echo 0 >"$folder/cgroup.procs"; done; exec unshare "$@"`;
    this.#unshare = spawn(
      "setpriv",
      [
        // The kernel ends the machine together with this process.
        ...["--pdeathsig", "KILL", "sh", "-euc", joinCgroups, "sh"],
        ...[...NAMESPACES, "--mount-proc", "--fork", "--kill-child", "sh"],
        ...[BOOT, releases, INIT, "--system", `--unit=${TARGET}`],
      ],
      {
        env: {
          ...ENV,
          CGROUPS: this.#cgroups.map(({ folder }) => folder).join(" "),
          CONTROLLERS: this.#cgroups.map(({ controller }) => controller).join(" "),
        },
        stdio: ["ignore", "ignore", "inherit"],
      },
    );
  }

  /**
   * Boots a machine with each release of this folder in `/opt/user-group-service`, where nobody can write it. The machine has the users
   * of the service, a loopback interface and journald, but no unit of `deploy/`.
   */
  static async boot(releases: string): Promise<Systemd> {
    const machine = new Systemd(releases);
    try {
      await waitUntil(() => machine.#findInit(), "systemd ran");
      const isReady = () => machine.systemctl("is-active", TARGET).catch(() => "");
      await waitUntil(async () => (await isReady()) === "active", "systemd had booted");
    } catch (error) {
      await machine.stop();
      throw error;
    }
    return machine;
  }

  #findInit(): boolean {
    const { pid, exitCode, signalCode } = this.#unshare;
    if (exitCode !== null || signalCode !== null) throw new Error("The machine of systemd could not be made.");
    this.#pid = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8"));
    return isInit(this.#pid);
  }

  /** Runs a program on the machine, as root. Returns what it has printed, without blanks and line feeds at the ends. */
  async run(program: string, ...args: string[]): Promise<string> {
    const enter = ["--target", String(this.#pid), ...NAMESPACES, "--", program, ...args];
    const { stdout } = await promisify(execFile)("nsenter", enter, { env: ENV, maxBuffer: OUTPUT_BYTES_MAX });
    return stdout.trim();
  }

  systemctl(...args: string[]): Promise<string> {
    return this.run("systemctl", "--no-pager", ...args);
  }

  /** The messages of a unit in the journal, and what systemd has logged about it. */
  async journal(unit: string): Promise<string> {
    // journald writes later what it has received.
    await this.run("journalctl", "--sync");
    return this.run("journalctl", "--no-pager", "--output=cat", `--unit=${unit}`);
  }

  /** Writes a file of the machine, which only its root can read. */
  write(path: string, content: string): void {
    writeFileSync(join(`/proc/${this.#pid}/root`, path), content, { mode: 0o600 });
  }

  /** Ends all processes of the machine. Its files end with them. */
  async stop(): Promise<void> {
    const { exitCode, signalCode } = this.#unshare;
    if (exitCode === null && signalCode === null) {
      const ended = once(this.#unshare, "exit");
      // The kernel ends the processes of a PID namespace together with their process 1.
      this.#unshare.kill("SIGKILL");
      await ended;
    }
    await waitUntil(() => {
      try {
        for (const { folder } of this.#cgroups) if (existsSync(folder)) removeCgroup(folder);
        return true;
      } catch {
        return false;
      }
    }, "the machine of systemd had no process");
  }
}
